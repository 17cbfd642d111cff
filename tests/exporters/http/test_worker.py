"""The thread for what may wait: one after the other, and no queue without end."""

from __future__ import annotations

import threading

from neuron_observer.exporters.http.worker import Worker


def test_one_after_the_other() -> None:
    """In the order in which it was asked for, in a thread that begins when it is needed."""
    before = threading.active_count()
    worker, done = Worker("w", 10), threading.Event()
    assert threading.active_count() == before
    found: list[int] = []
    for number in range(5):
        assert worker.submit(lambda number=number: found.append(number))  # type: ignore[misc]
    assert worker.submit(done.set)
    assert done.wait(5)
    assert found == list(range(5))
    worker.close()


def test_too_much_is_refused() -> None:
    """While one thing takes long as many wait as may, and the next is refused at once."""
    worker, begun, go_on = Worker("w", 2), threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        go_on.wait(5)

    assert worker.submit(long)
    assert begun.wait(5)
    assert worker.submit(lambda: None)
    assert worker.submit(lambda: None)
    assert not worker.submit(lambda: None)
    worker.close()
    go_on.set()


def test_closing_forgets_what_waits() -> None:
    """What is being done ends; what waits is not begun; the thread is gone."""
    worker, begun, go_on = Worker("one of a kind", 5), threading.Event(), threading.Event()
    late: list[int] = []

    def long() -> None:
        begun.set()
        go_on.wait(5)

    worker.submit(long)
    assert begun.wait(5)
    worker.submit(lambda: late.append(1))
    [thread] = [one for one in threading.enumerate() if one.name == "one of a kind"]
    worker.close()
    go_on.set()
    thread.join(5)
    assert not thread.is_alive()
    assert late == []
