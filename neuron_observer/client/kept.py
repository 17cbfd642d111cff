"""Answers at hand: what is wanted is asked for by the polling thread, so that nobody waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from neuron_observer.errors import ObserverError

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import Clock

Answer = TypeVar("Answer")
WANTED = 30.0  # seconds for which what was looked at is asked for again
_MOST = 64


class _Held(Generic[Answer]):
    def __init__(self, answer: Answer | None, at: float) -> None:
        self.answer = answer
        self.at = at


class Kept(Generic[Answer]):
    """The last answer to each question that was put within the last half minute."""

    def __init__(self, ask: Callable[[str], Answer], clock: Clock, period: float) -> None:
        """`ask` is called by `look` alone, and again for the same no sooner than after a period."""
        self._ask = ask
        self._clock = clock
        self._period = period
        self._wanted: dict[str, float] = {}  # until when
        self._held: dict[str, _Held[Answer]] = {}

    def want(self, question: str) -> None:
        """Have it asked with the next look."""
        self._wanted[question] = self._clock.monotonic() + WANTED

    def get(self, question: str) -> Answer | None:
        """What was answered last; None: nothing yet."""
        self.want(question)
        held = self._held.get(question)
        return held.answer if held else None

    def look(self) -> None:
        """Ask what is wanted and due; where nobody answers the last answer stays."""
        now = self._clock.monotonic()
        for question, until in list(self._wanted.items())[-_MOST:]:
            held = self._held.get(question)
            if until < now:
                self._wanted.pop(question, None)
            elif held is None or now - held.at >= self._period:
                self._held[question] = _Held(self._fresh(question, held), now)
        if len(self._held) > _MOST:
            self._held = {one: held for one, held in self._held.items() if one in self._wanted}

    def _fresh(self, question: str, held: _Held[Answer] | None) -> Answer | None:
        try:
            return self._ask(question)
        except ObserverError:
            return held.answer if held else None
