"""The clock: the only place that reads the time or waits."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. All times are in seconds."""

    def wall(self) -> float:
        """Seconds since the epoch; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary instant; never goes back."""
        ...

    def wait(self, seconds: float) -> None:
        """Let `seconds` pass; nothing happens for a negative number."""
        ...


class SystemClock:
    """The machine's clock."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()  # noqa: TID251 - this module is the one that may

    def monotonic(self) -> float:
        """CLOCK_MONOTONIC."""
        return time.monotonic()  # noqa: TID251 - this module is the one that may

    def wait(self, seconds: float) -> None:
        """Sleep."""
        if seconds > 0:
            time.sleep(seconds)  # noqa: TID251 - this module is the one that may


class ManualClock:
    """A clock moved by hand, of tests and of recordings; waiting moves it."""

    def __init__(self, wall: float = 1_788_000_000.0, monotonic: float = 1_000.0) -> None:
        self._wall = wall
        self._monotonic = monotonic

    def wall(self) -> float:
        """Seconds since the epoch, as last set."""
        return self._wall

    def monotonic(self) -> float:
        """Monotonic seconds, as last set."""
        return self._monotonic

    def wait(self, seconds: float) -> None:
        """Advance by `seconds`."""
        self.advance(max(seconds, 0.0))

    def advance(self, seconds: float) -> None:
        """Move both readings forward by `seconds` (not negative)."""
        if seconds < 0:
            raise ValueError("a monotonic clock does not go back; use step_wall")
        self._wall += seconds
        self._monotonic += seconds

    def step_wall(self, seconds: float) -> None:
        """Move the wall clock only, as an administrator or NTP does."""
        self._wall += seconds
