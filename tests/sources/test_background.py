"""Work that may hang, in a thread of its own."""

from __future__ import annotations

import threading

import pytest

from neuron_observer.sources import background
from neuron_observer.sources.background import Background

LONG = 10.0  # seconds, for what takes none


def test_one_thread_does_one_piece_after_the_other() -> None:
    """None is started for each."""
    worker: Background[int] = Background("works")
    found = [worker.run(threading.get_ident, LONG) for _ in range(3)]
    assert len(set(found)) == 1
    assert found[0] not in (None, threading.get_ident())


def test_a_late_result_is_given_later_and_nothing_is_begun_meanwhile() -> None:
    """Whoever asks again does not wait."""
    worker: Background[str] = Background("late")
    gate, begun = threading.Event(), []

    def work(name: str) -> str:
        begun.append(name)
        gate.wait(LONG)
        return name

    assert worker.run(lambda: work("first"), 0.0) is None
    assert worker.run(lambda: work("second"), LONG) is None
    gate.set()
    assert worker._done.wait(LONG)
    assert worker.run(lambda: work("third"), LONG) == "first"
    assert begun == ["first"]
    assert worker.run(lambda: work("fourth"), LONG) == "fourth"


def test_an_exception_is_raised_where_the_result_is_asked_for() -> None:
    """And costs only that piece of work."""
    worker: Background[int] = Background("fails")

    def fail() -> int:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        worker.run(fail, LONG)
    assert worker.run(lambda: 7, LONG) == 7


def test_a_thread_without_work_ends_and_another_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever made it need not end it."""
    monkeypatch.setattr(background, "IDLE", 0.001)
    worker: Background[int] = Background("idle")
    for number in range(50):
        assert worker.run(lambda n=number: n, LONG) == number  # type: ignore[misc]
        thread = worker._thread
        if thread and number % 2:
            thread.join(LONG)
            assert not thread.is_alive()
            assert worker._thread is None
