"""The daemon in this process: its routes follow the loop, and it ends in time."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.contract import jobs_document
from neuron_observer.daemon import Daemon
from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.signals import stopped_by_signals
from neuron_observer.errors import HostError
from neuron_observer.exporters.listener import Address, bound, listen
from neuron_observer.exporters.message import Request, Response
from neuron_observer.loop import Loop
from neuron_observer.model import Frame, Health, Run, Verdict
from neuron_observer.observer import HostReader, Options
from tests.exporters.feeds import OneFrame, frame_of
from tests.hosts import overlay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.exporters.message import Stream
    from neuron_observer.sources.listing import ListingFs

GOOD = Health(Verdict.HEALTHY, "41 of 41 signals")


class StillLoop:
    """A loop that ticks when its test says so: the port that the daemon needs."""

    def __init__(self, *, ends_by_itself: bool = False, breaks: bool = False) -> None:
        self.feed = OneFrame()
        self.closed = False
        self.noted: list[Callable[[Frame], None]] = []
        self._stop = threading.Event()
        self._breaks = breaks
        if ends_by_itself:
            self._stop.set()

    def run(self) -> None:
        """Do nothing until stopped."""
        if self._breaks:
            raise RuntimeError("out of order")
        self._stop.wait(10)

    def stop(self) -> None:
        """End `run`."""
        self._stop.set()

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def subscribe(self, listener: Callable[[Frame], None]) -> None:
        """Remember who listens."""
        self.noted.append(listener)


@contextmanager
def running(daemon: Daemon) -> Iterator[None]:
    """A daemon that runs in a thread for as long as the test needs it."""
    thread = threading.Thread(target=daemon.run)
    thread.start()
    try:
        yield
    finally:
        daemon.stop()
        thread.join(5)
        assert not thread.is_alive()


def get(address: Address, path: str) -> tuple[int, str]:
    """Status and body."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=5)
    connection.request("GET", path, headers={"Connection": "close"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@contextmanager
def still() -> Iterator[tuple[Address, StillLoop, ManualClock]]:
    """A daemon over a loop that stands still."""
    clock, loop = ManualClock(monotonic=50.0), StillLoop()
    listener = listen(Address("127.0.0.1", 0))
    with running(Daemon(loop, [listener], clock)):
        yield bound(listener), loop, clock
    assert loop.closed


def test_before_the_first_frame() -> None:
    """Alive, not ready, and saying so; a first frame that never comes is a loop that hangs."""
    with still() as (address, _, clock):
        assert get(address, "/healthz") == (200, "ok\n")
        assert get(address, "/readyz") == (503, "not ready: the first frame is not there yet\n")
        assert "no frame yet" in get(address, "/")[1]
        status, page = get(address, "/metrics")
        assert status == 200
        assert "neuron_observer_info" in page
        clock.advance(31.0)
        assert get(address, "/healthz") == (503, "the loop hangs: no frame since the start, 31 s\n")


def test_readiness_follows_the_frame() -> None:
    """Ready up to three periods, alive for longer, then neither."""
    with still() as (address, loop, clock):
        loop.feed.frame = frame_of(monotonic=clock.monotonic(), health=GOOD)
        assert get(address, "/readyz") == (200, "ready\n")
        clock.advance(3.0)
        assert get(address, "/readyz") == (200, "ready\n")
        clock.advance(0.5)
        assert get(address, "/readyz") == (503, "not ready: the last frame is 3.5 s old\n")
        assert get(address, "/healthz") == (200, "ok\n")
        clock.advance(30.0)
        assert get(address, "/healthz") == (503, "the loop hangs: no new frame, 34 s\n")
        loop.feed.frame = frame_of(monotonic=clock.monotonic(), health=GOOD)
        assert get(address, "/readyz") == (200, "ready\n")


def test_what_is_behind_is_told() -> None:
    """Which collector is late or broken, and since when; not while all is ready."""
    with still() as (address, loop, clock):
        frame = frame_of(monotonic=clock.monotonic(), health=GOOD)
        runs = (
            Run("sysfs", ok=True, seconds=0.1),
            Run("jobs", ok=False, seconds=0.1, error="a\nb"),
        )
        loop.feed.frame = frame._replace(snapshot=frame.snapshot._replace(runs=runs))
        for listener in loop.noted:
            listener(loop.feed.frame)
        assert get(address, "/readyz") == (200, "ready\n")
        clock.advance(4.0)
        assert get(address, "/readyz")[1].splitlines() == [
            "not ready: the last frame is 4.0 s old",
            "jobs: never ran well, failed since: a·b",
            "sysfs: last ran well 4.0 s ago",
        ]


def test_the_index_says_where_things_are() -> None:
    """One screen: version, verdict, age, and the names of all routes."""
    with still() as (address, loop, clock):
        loop.feed.frame = frame_of(monotonic=clock.monotonic(), health=GOOD)
        clock.advance(0.5)
        status, text = get(address, "/")
        assert status == 200
        assert "verdict healthy: 41 of 41 signals" in text
        assert "read 0.5 s ago" in text
        for path in ("/metrics", "/healthz", "/readyz"):
            assert f"\n{path}\n" in text
            assert get(address, path)[0] == 200


def test_a_whole_daemon(tree: Callable[[str], ListingFs]) -> None:
    """Loop, page and HTTP together: what was read is on the page."""
    clock = SystemClock()
    reader = HostReader(tree("trn2.3xlarge-2.30.2-busy"), clock, Options(wait_for_firmware=False))
    loop = Loop(reader)
    seen = threading.Event()
    listener = listen(Address("127.0.0.1", 0))
    with running(Daemon(loop, [listener], clock, detail="full")):
        loop.subscribe(lambda _: seen.set())
        assert seen.wait(10)
        page = get(bound(listener), "/metrics")[1]
        assert get(bound(listener), "/readyz") == (200, "ready\n")
    assert 'neuron_core_inferences_total{neuron_core="0",neuron_device="0"} ' in page
    assert 'neuron_health{neuron_health="unknown"} 1' in page
    assert 'neuron_observer_collector_success{collector="sysfs"} 1' in page


def test_jobs_as_json(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """The document of the verb `jobs`, of the last frame; before it nothing is claimed."""
    host = overlay(tree("trn2.48xlarge-2.30.2-busy"), tree("proc/vllm"))
    snapshot = HostReader(host, clock).poll(("slow", "firmware", "jobs"))
    with still() as (address, loop, _):
        assert get(address, "/api/v1/jobs")[0] == 503
        loop.feed.frame = Frame(snapshot, (), GOOD)
        status, text = get(address, "/api/v1/jobs")
    assert status == 200
    told = json.loads(text)
    assert told.pop("frame").keys() >= {"age", "stale"}
    assert told == json.loads(json.dumps(jobs_document(snapshot)))
    assert [job["kind"] for job in json.loads(text)["jobs"]] == ["server"]


def test_a_loop_that_ends_ends_the_daemon() -> None:
    """Nobody serves the page of a loop that is no more; the exit code asks for a restart."""
    loop = StillLoop(ends_by_itself=True)
    with pytest.raises(HostError, match="the loop ended by itself"):
        Daemon(loop, [listen(Address("127.0.0.1", 0))], ManualClock()).run()
    assert loop.closed


def test_a_loop_that_breaks_is_told() -> None:
    """The reason is the last that is said."""
    loop = StillLoop(breaks=True)
    with pytest.raises(HostError, match="the loop broke: RuntimeError: out of order"):
        Daemon(loop, [listen(Address("127.0.0.1", 0))], ManualClock()).run()
    assert loop.closed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_stop(number: signal.Signals) -> None:
    """Both end `run`; afterwards they do what they did before."""
    before = signal.getsignal(number)
    listener = listen(Address("127.0.0.1", 0))
    daemon = Daemon(StillLoop(), [listener], ManualClock())
    with stopped_by_signals(daemon):
        signal.raise_signal(number)
        daemon.run()
    assert signal.getsignal(number) is before


def test_ready_follows_the_period() -> None:
    """Three periods of the lane as it is now, not as it was."""
    period = 1.0
    loop, clock = StillLoop(), ManualClock()
    loop.feed.frame = frame_of(monotonic=clock.monotonic(), health=GOOD)
    ready = Answers(loop.feed, clock, period=lambda: period).routes()["/readyz"]
    assert callable(ready)
    clock.advance(5.0)
    request = Request("GET", "/readyz", "", {})
    assert status_of(ready(request)) == 503
    period = 2.0
    assert status_of(ready(request)) == 200


def status_of(answer: Response | Stream) -> int:
    """The status of an answer that has an end."""
    assert isinstance(answer, Response)
    return answer.status


def test_the_page_hears_of_every_frame() -> None:
    """The loop calls the page and the answers, so that nothing between two questions is lost."""
    loop = StillLoop()
    with listen(Address("127.0.0.1", 0)) as listener:
        daemon = Daemon(loop, [listener], ManualClock())
        assert loop.noted[0] == daemon.page.note
        assert len(loop.noted) == 4  # the page, the answers, systemd, the log
