"""A worker a device: a read that hangs delays nobody else, and comes back when it ends."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.workers import DirectWorkers, Request, ThreadWorkers, read_files
from tests.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Workers

PATIENCE = 10.0  # seconds; a test that needs them has failed
DEVICES = (0, 1, 2, 3)


def host() -> FaultyFs:
    """Four devices with a serial number and a count each."""
    files = {f"sys/n{n}/serial": f"serial {n}\n".encode() for n in DEVICES}
    files |= {f"sys/n{n}/count": f"{n}\n".encode() for n in DEVICES}
    return FaultyFs(host_of(files))


def request(device: int, *names: str) -> Request:
    """All of each file of a device."""
    return Request(f"sys/n{device}", names, (4097,) * len(names))


Make = "Callable[[HostFs, Clock], ThreadWorkers]"


@pytest.fixture
def threads() -> Iterator[Callable[[HostFs], ThreadWorkers]]:
    """Makes thread workers and tells them to end."""
    made: list[ThreadWorkers] = []

    def make(of: HostFs) -> ThreadWorkers:
        made.append(ThreadWorkers(of, SystemClock()))
        return made[-1]

    yield make
    for workers in made:
        workers.close()


def test_each_device_gets_its_own_answer(threads: Callable[[HostFs], ThreadWorkers]) -> None:
    """Contents in the order of the names, a duration each."""
    workers = threads(host())
    assert all(workers.submit(n, request(n, "serial", "count")) for n in DEVICES)
    answers = workers.gather(DEVICES, PATIENCE)
    assert set(answers) == set(DEVICES)
    for n, answer in answers.items():
        assert answer.contents == [f"serial {n}\n".encode(), f"{n}\n".encode()]
        assert len(answer.seconds) == 2
        assert min(answer.seconds) >= 0


def test_a_blocked_device_delays_no_other(threads: Callable[[HostFs], ThreadWorkers]) -> None:
    """Three answers are there while the fourth hangs, which is asked no second time."""
    release = threading.Event()
    slow = host()
    slow.faults["sys/n2"] = Fault(block=release)
    workers = threads(slow)
    try:
        for n in DEVICES:
            workers.submit(n, request(n, "serial"))
        assert set(workers.gather((0, 1, 3), PATIENCE)) == {0, 1, 3}
        assert workers.gather((2,), 0.0) == {}
        assert not workers.submit(2, request(2, "serial"))
        assert workers.submit(0, request(0, "count"))
        assert workers.gather((0,), PATIENCE)[0].contents == [b"0\n"]
    finally:
        release.set()
    assert workers.gather((2,), PATIENCE)[2].contents == [b"serial 2\n"]


def test_a_deadline_gives_those_that_are_there(threads: Callable[[HostFs], ThreadWorkers]) -> None:
    """Waiting for all, with one that hangs, still gives the others."""
    release, read = threading.Event(), threading.Event()
    slow = host()
    slow.faults["sys/n0"] = Fault(block=release)
    slow.faults["sys/n1"] = Fault(then=read.set)
    workers = threads(slow)
    try:
        workers.submit(0, request(0, "serial"))
        workers.submit(1, request(1, "serial"))
        assert read.wait(PATIENCE)
        assert workers.gather((1,), PATIENCE)  # so it is there before the deadline is tried
        workers.submit(1, request(1, "count"))
        assert workers.gather((1,), PATIENCE)[1].contents == [b"1\n"]
        assert workers.gather((0, 1), 0.01) == {}
    finally:
        release.set()


def test_a_late_answer_is_given_once(threads: Callable[[HostFs], ThreadWorkers]) -> None:
    """What came after its deadline is kept until it is asked for, and then it is gone."""
    workers = threads(host())
    workers.submit(0, request(0, "serial"))
    assert set(workers.gather((0,), PATIENCE)) == {0}
    assert workers.gather((0,), 0.0) == {}


def test_an_old_answer_is_dropped_for_a_new_request(
    threads: Callable[[HostFs], ThreadWorkers],
) -> None:
    """Who asks again waits for what is read for that, and never gets what nobody fetched."""
    release = threading.Event()
    slow = host()
    slow.faults["sys/n0/count"] = Fault(block=release)
    workers = threads(slow)
    workers.submit(0, request(0, "serial"))
    with workers._gathering._changed:
        assert workers._gathering._changed.wait_for(lambda: workers._gathering._answers, PATIENCE)
    try:
        assert workers.submit(0, request(0, "count"))
        assert workers.gather((0,), 0.0) == {}
    finally:
        release.set()
    assert workers.gather((0,), PATIENCE)[0].contents == [b"0\n"]


def test_errors_are_answers(threads: Callable[[HostFs], ThreadWorkers]) -> None:
    """A file that cannot be read is its error; the next file is read."""
    broken = host()
    broken.faults["sys/n0/serial"] = Fault(errno.EIO)
    workers = threads(broken)
    workers.submit(0, request(0, "serial", "absent", "count"))
    first, second, third = workers.gather((0,), PATIENCE)[0].contents
    assert isinstance(first, OSError)
    assert isinstance(second, OSError)
    assert (first.errno, second.errno, third) == (errno.EIO, errno.ENOENT, b"0\n")


def test_closing_ends_the_threads(threads: Callable[[HostFs], ThreadWorkers]) -> None:
    """Idle workers end at once, a stuck one when its read does."""
    release = threading.Event()
    slow = host()
    slow.faults["sys/n1"] = Fault(block=release)
    before = set(threading.enumerate())
    workers = threads(slow)
    for n in (0, 1):
        workers.submit(n, request(n, "serial"))
    assert workers.gather((0,), PATIENCE)
    started = {t.name: t for t in threading.enumerate() if t not in before}
    assert set(started) == {"firmware-0", "firmware-1"}
    workers.close()
    started["firmware-0"].join(PATIENCE)
    assert not started["firmware-0"].is_alive()
    assert started["firmware-1"].is_alive()
    release.set()
    started["firmware-1"].join(PATIENCE)
    assert not started["firmware-1"].is_alive()


def test_durations_are_each_files(clock: ManualClock) -> None:
    """A read that took 15 s is told with its own time, and the answer with its beginning."""
    slow = host()
    slow.faults["sys/n0/serial"] = Fault(then=lambda: clock.advance(15.0))
    begin = clock.monotonic()
    answer = read_files(slow, clock, request(0, "count", "serial"))
    assert answer.seconds == [0.0, 15.0]
    assert answer.read_at == begin


def test_direct_workers_read_at_once(clock: ManualClock) -> None:
    """For hosts in memory: the answer is there, once."""
    workers: Workers = DirectWorkers(host(), clock)
    assert workers.submit(1, request(1, "serial"))
    assert workers.gather((0, 1), 0.0)[1].contents == [b"serial 1\n"]
    assert workers.gather((1,), 0.0) == {}
    workers.close()
