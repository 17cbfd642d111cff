"""A person asks for what the flight recorder holds: an act like others, carried out by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.errors import UsageError
from neuron_observer.store.acts import MOST_REASON, Done

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from neuron_observer.recording.flight import FlightRecorder
    from neuron_observer.store.acts import Act

VERB = "dump"


class Dumping:
    """Takes acts: dumps are the recorder's, all others go on to whoever else takes them."""

    def __init__(
        self, recorder: FlightRecorder | None, others: Callable[[Act], Future[Done]]
    ) -> None:
        self._recorder, self._others = recorder, others

    def __call__(self, act: Act) -> Future[Done]:
        """Have it carried out; `UsageError` at once if it cannot be."""
        if act.verb != VERB:
            return self._others(act)
        if self._recorder is None:
            raise UsageError(
                "the flight recorder is off",
                remedy="recorder.enabled in the configuration, and a restart.",
            )
        from concurrent.futures import Future  # noqa: PLC0415 - brings logging along

        done: Future[Done] = Future()
        asked = self._recorder.request(f"{act.word.who}: {act.word.reason[:MOST_REASON]}")
        asked.add_done_callback(lambda written: _pass_on(written, done))
        return done


def _pass_on(written: Future[str], done: Future[Done]) -> None:
    error = written.exception()
    if error is None:
        done.set_result(Done(f"recorded: {written.result()}", kept=True))
    else:
        done.set_exception(UsageError(f"nothing was recorded: {error}"))
