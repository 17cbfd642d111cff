"""A feed that never keeps the screen waiting: what must be asked elsewhere is asked in a thread.

Frames and history are at hand. Events and explanations may come over a network: for a moment they
are waited for, then the screen goes on with what was said before, and paints what comes later.
"""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from neuron_observer.feed import Feed
    from neuron_observer.model import Event, Frame, Place, Value

PATIENCE = 0.02  # seconds


class Answers:
    """A feed over another one."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._known: dict[Hashable, tuple[object, Any]] = {}  # what was asked → frame, answer
        self._asked: dict[Hashable, Thread] = {}
        self.number = 0  # of answers that came

    def latest(self) -> Frame | None:
        """The last frame."""
        return self._feed.latest()

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """Values of one metric over the last `seconds`, oldest first."""
        return self._feed.history(metric, place, seconds)

    def events(self, seconds: float) -> Sequence[Event]:
        """Events of about the last `seconds`, oldest first; none until they are told."""
        span = -(-seconds // 60) * 60  # one question for all looks of a minute
        found: Sequence[Event] = self._answer(("events", span), lambda: self._feed.events(span), ())
        return found

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding; empty until it is told."""
        found: str = self._answer(finding_id, lambda: self._feed.explain(finding_id), "")
        return found

    def _answer(self, question: Hashable, ask: Callable[[], Any], before: Any) -> Any:
        """What is known for this frame; else what was said last, while it is asked anew."""
        frame = self._feed.latest()
        if question not in self._asked and self._known.get(question, (None,))[0] is not frame:
            thread = Thread(target=self._run, args=(question, frame, ask), daemon=True)
            self._asked[question] = thread
            thread.start()
            thread.join(PATIENCE)
        return self._known.get(question, (None, before))[1]

    def _run(self, question: Hashable, frame: object, ask: Callable[[], Any]) -> None:
        try:
            answer = ask()
            if self._known.get(question, (None, None))[1] != answer:
                self.number += 1
            self._known[question] = frame, answer
        finally:
            del self._asked[question]
