"""Asking again and again in a thread of its own, with growing pauses while nobody answers."""

from __future__ import annotations

from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING

from neuron_observer.errors import ObserverError

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_PAUSE = 30.0  # seconds, while nobody answers
LAST_WAIT = 1.0  # seconds for the thread to end


class Polling:
    """Asks; what fails is told, and the next question waits longer."""

    def __init__(
        self, ask: Callable[[], object], lost: Callable[[ObserverError], None], period: float
    ) -> None:
        """`ask` fails with an `ObserverError`, which `lost` is told."""
        self._ask = ask
        self._lost = lost
        self._period = period
        self._ended = Flag()
        self._thread = Thread(target=self._run, name="poll", daemon=True)
        self.pause = period  # seconds until the next question

    def look(self) -> None:
        """Ask once."""
        try:
            self._ask()
        except ObserverError as error:
            self.pause = min(self.pause * 2, LONGEST_PAUSE)
            self._lost(error)
        else:
            self.pause = self._period

    def start(self, *, at_once: bool = False) -> None:
        """Go on asking until `close`; the first question after a pause, or now."""
        if at_once:
            self.pause = 0.0
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self.pause):
            self.pause = self.pause or self._period
            self.look()

    def close(self, wait: float = LAST_WAIT) -> None:
        """Stop asking; a question that is under way for longer than that is left behind."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(wait)
