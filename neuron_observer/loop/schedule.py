"""When which lane is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_EARLY = 1e-6  # of a period: what a sum of floats may be off


class Schedule:
    """Lanes on a grid of monotonic time that begins at the first question.

    Nothing drifts, because a period counts from the grid and not from the last read; and a late
    read is one read, however many points of the grid passed: those are skipped, and counted.
    """

    def __init__(self, periods: Mapping[str, float]) -> None:
        """Seconds by lane."""
        self.periods = dict(periods)
        self._begin: float | None = None
        self._taken = dict.fromkeys(periods, -1)  # the last point of the grid that was due
        self.skipped = dict.fromkeys(periods, 0)  # points that passed without a read

    def due(self, now: float) -> dict[str, int]:
        """The lanes that are due, each with the number of points that passed unread before."""
        if self._begin is None:
            self._begin = now
        found: dict[str, int] = {}
        for lane, period in self.periods.items():
            point = int((now - self._begin) / period + _EARLY)
            missed = point - self._taken[lane] - 1
            if missed >= 0:
                found[lane] = missed
                self.skipped[lane] += missed
                self._taken[lane] = point
        return found

    def until_next(self, now: float) -> float:
        """Seconds until a lane is due, 0 if one is."""
        begin = now if self._begin is None else self._begin
        points = (begin + (self._taken[lane] + 1) * p for lane, p in self.periods.items())
        return max(min(points) - now, 0.0)
