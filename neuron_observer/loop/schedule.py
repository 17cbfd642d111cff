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
        self._periods = dict(periods)
        self._follows: dict[str, str] = {}  # lane → the lane that it is read with
        self._begin: float | None = None
        self._taken = dict.fromkeys(periods, -1)  # the last point of the grid that was due
        self.skipped = dict.fromkeys(periods, 0)  # points that passed without a read

    def due(self, now: float) -> dict[str, int]:
        """The lanes that are due, each with the number of points that passed unread before."""
        if self._begin is None:
            self._begin = now
        found: dict[str, int] = {}
        for lane, period in self._own_periods():
            point = int((now - self._begin) / period + _EARLY)
            missed = point - self._taken[lane] - 1
            if missed >= 0:
                found[lane] = missed
                self.skipped[lane] += missed
                self._taken[lane] = point
        for lane, leader in self._follows.items():
            if leader in found:
                found[lane] = 0
                self._taken[lane] = int((now - self._begin) / self._periods[lane] + _EARLY)
        return found

    def follow(self, follows: Mapping[str, str]) -> None:
        """Have lanes read whenever another one is, instead of at their own period."""
        self._follows = {
            lane: leader
            for lane, leader in follows.items()
            if lane in self._periods and leader in self._periods
        }

    def change(self, periods: Mapping[str, float], now: float) -> None:
        """Other seconds by lane from now on, for lanes that there are.

        Grids still begin where they began; a lane is next due within its new period.
        """
        for lane, period in periods.items():
            if period != self._periods.get(lane, period):
                self._periods[lane] = period
                if self._begin is not None:
                    self._taken[lane] = int((now - self._begin) / period + _EARLY)

    @property
    def periods(self) -> dict[str, float]:
        """Seconds by lane, as they are now."""
        return self._periods | {
            lane: self._periods[leader] for lane, leader in self._follows.items()
        }

    @property
    def configured(self) -> dict[str, float]:
        """Seconds by lane as they were set last, whoever a lane follows."""
        return dict(self._periods)

    def _own_periods(self) -> list[tuple[str, float]]:
        return [item for item in self._periods.items() if item[0] not in self._follows]

    def until_next(self, now: float) -> float:
        """Seconds until a lane is due, 0 if one is."""
        return max(self._next(now) - now, 0.0)

    def late(self, now: float) -> float:
        """Seconds since a lane became due, 0 if none is."""
        return max(now - self._next(now), 0.0)

    def _next(self, now: float) -> float:
        begin = now if self._begin is None else self._begin
        return min(begin + (self._taken[lane] + 1) * p for lane, p in self._own_periods())
