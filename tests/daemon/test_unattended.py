"""What months without anybody bring: sources that go, devices that hang, jobs by the thousand,
clocks that are wrong. The peers' bug cases E04, E06 and E26, each with its right behaviour.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks.judging import judge_by, load_rules
from neuron_observer.clock import ManualClock
from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.pace import Pace
from neuron_observer.daemon.reporting import FrameLog
from neuron_observer.exporters.message import Request
from neuron_observer.exporters.page import Page
from neuron_observer.history import History
from neuron_observer.log import Log
from neuron_observer.loop import PERIODS, Loop
from neuron_observer.model import Severity, State
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.faulty import FaultyFs
from neuron_observer.sources.listing import Listing, ListingFs, Pass
from neuron_observer.sources.workers import DirectWorkers
from tests.collectors.test_firmware import StuckWorkers
from tests.collectors.test_jobs import with_rank
from tests.hosts import changed, overlay, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import Clock
    from neuron_observer.model import Frame
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Workers

SMALL, WHOLE = "trn2.3xlarge-2.30.2-busy", "trn2.48xlarge-2.30.2-busy"
DRIVER = ("sys/devices/virtual/neuron_device", "sys/class/neuron_device", "sys/module/neuron")
READ = ("neuron_core_", "neuron_device_")
# the verdict on them; and power figures, which are of the minute in which the tree was recorded
NOT_READ = ("neuron_device_health{", "neuron_core_health{", "neuron_device_power_")


class Unattended:
    """All that a daemon puts over a host, under a clock that is moved by hand."""

    def __init__(
        self,
        host: ListingFs,
        clock: ManualClock,
        *,
        workers: Callable[[HostFs, Clock, bool], Workers] | None = None,
        periods: dict[str, float] = PERIODS,
        machine: bool = False,
    ) -> None:
        self.host, self.clock = FaultyFs(host), clock
        options = Options(keep=True, wait_for_firmware=False, machine=machine)
        reader = HostReader(self.host, clock, options, workers)
        judge = judge_by(load_rules(()), one_shot=False)
        self.loop = Loop(reader, judge=judge, history=History(window=60.0), schedule=periods)
        self.page = Page(self.loop.feed, clock)
        self.answers = Answers(
            self.loop.feed, clock, period=lambda: self.loop.schedule.periods["normal"]
        )
        self.lines: list[bytes] = []
        log = Log(clock, self._take)
        for listener in (self.page.note, FrameLog(log).note, Pace(self.loop, clock, log).note):
            self.loop.subscribe(listener)

    def _take(self, line: bytes) -> bool:
        self.lines.append(line)
        return True

    def run(self, seconds: float) -> Frame:
        """Tick as `Loop.run` does; the last frame."""
        until = self.clock.monotonic() + seconds
        while (now := self.clock.monotonic()) < until:
            self.loop.tick()
            self.clock.advance(min(max(self.loop.schedule.until_next(now), 1e-3), until - now))
        frame = self.loop.feed.latest()
        assert frame
        return frame

    def series(self) -> set[str]:
        """The series of devices and cores on the page that are readings."""
        lines = {line.rpartition(" ")[0] for line in self.page.render().decode().splitlines()}
        return {line for line in lines if line.startswith(READ) and not line.startswith(NOT_READ)}

    def figure(self, name: str) -> float:
        """The value of a series."""
        lines = self.page.render().decode().splitlines()
        return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def status(self, path: str) -> int:
        """What a probe is told."""
        handler = self.answers.routes()[path]
        assert callable(handler)
        answer = handler(Request("GET", path, "", {}))
        status = getattr(answer, "status", None)
        assert isinstance(status, int)
        return status


def here(host: HostFs, clock: Clock, _blocking: bool) -> Workers:
    """Workers that cannot hang."""
    return DirectWorkers(host, clock)


# E04: last values are served while the source is gone


def test_e04_a_driver_that_is_gone_for_ten_minutes(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Its series go within two periods and stay away; no verdict stands on them; they come back."""
    whole = tree(SMALL)
    unattended = Unattended(whole, clock)
    well = unattended.run(30.0)
    before = unattended.series()
    assert len(before) > 50
    assert well.health.verdict.value == "healthy"
    unattended.host.host = without(whole, *DRIVER)
    for second in range(600):
        frame = unattended.run(1.0)
        if second >= 1:
            assert unattended.series() == set(), second
        assert unattended.figure("neuron_observer_frame_age_seconds") <= 1.0
        if second >= 30:
            assert frame.health.verdict.value != "healthy"
    unattended.host.host = whole
    unattended.run(2 * PERIODS["normal"])
    assert unattended.series() == before
    told = [line for line in unattended.lines if b"event=driver_reloaded" in line]
    assert [b"devices none" in line.partition(b" \xe2\x86\x92 ")[2] for line in told] == [
        True,
        False,
    ]
    assert len(unattended.lines) < 20


def test_e04_a_loop_that_stands_still(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """Not ready after three periods, no readings after 15 s, not alive after 30; then all again."""
    unattended = Unattended(tree(SMALL), clock)
    unattended.run(30.0)
    before = unattended.series()
    seen = []
    for _ in range(600):
        clock.advance(1.0)
        age = unattended.figure("neuron_observer_frame_age_seconds")
        probes = unattended.status("/readyz"), unattended.status("/healthz")
        seen.append((round(age - 0.25), *probes, bool(unattended.series())))
    assert [age for age, *_ in seen] == list(range(1, 601))
    assert [age for age, ready, _, _ in seen if ready == 200] == [1, 2]
    assert [age for age, _, alive, _ in seen if alive == 200] == list(range(1, 30))
    assert [age for age, *_, shown in seen if shown] == list(range(1, 15))
    assert unattended.figure('neuron_health{neuron_health="unknown"}') == 1
    unattended.run(1.0)
    assert unattended.series() == before
    assert (unattended.status("/readyz"), unattended.status("/healthz")) == (200, 200)


def test_readiness_follows_the_periods_in_force(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Where frames come every 4 s, one of 11 s ago is younger than three periods."""
    periods = dict.fromkeys(PERIODS, 4.0)
    unattended = Unattended(tree(SMALL), clock, periods=periods)
    unattended.run(4.0)
    clock.advance(7.0)
    assert unattended.status("/readyz") == 200
    clock.advance(1.5)
    assert unattended.status("/readyz") == 503


# E06: a device, or a tool, that does not answer


def test_e06_a_driver_that_does_not_answer_is_critical_within_a_minute(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Of that device alone; the frames go on, nothing piles up, all other devices are judged."""
    stuck = {5}
    workers: list[StuckWorkers] = []

    def make(host: HostFs, of: Clock, _blocking: bool) -> Workers:
        assert of is clock
        workers.append(StuckWorkers(host, clock, stuck))
        return workers[-1]

    unattended = Unattended(tree(WHOLE), clock, workers=make)
    begin = clock.monotonic()
    found: dict[int | None, float] = {}
    frames = []
    while clock.monotonic() < begin + 60.0:
        frames.append(unattended.run(0.25))
        for one in frames[-1].findings:
            if one.severity is Severity.CRITICAL and one.state is State.FIRING:
                found.setdefault(one.entity.device, clock.monotonic() - begin)
    frame = frames[-1]
    assert found.keys() == stuck
    assert found[5] <= 20.5  # the firmware's period and its deadline
    assert len({id(one) for one in frames}) == 240
    assert len(workers) == 1
    assert workers[0].owed == stuck
    hung = [one for one in frame.findings if one.id == "collector-stuck"]
    assert [one.entity.device for one in hung] == [5]
    verdicts = {one.index: one.verdict.value for one in frame.health.devices}
    assert {index for index, verdict in verdicts.items() if verdict != "healthy"} == stuck


# E26: thousands of jobs come and go


def only(host: ListingFs, prefix: str) -> ListingFs:
    """The same host with nothing but what stands below a path."""
    found = host.listing.passes[0].nodes.items()
    nodes = {path: node for path, node in found if path.startswith(f"{prefix}/")}
    return ListingFs(Listing({}, [Pass(nodes=nodes)]), host.root)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.long
def test_e26_thousands_of_short_jobs(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """Five hours of them, 25 at a time, each with new pids: memory stays within 2 MB."""
    few = without(tree(SMALL), *(f"{DRIVER[0]}/neuron0/neuron_core{core}" for core in range(1, 8)))
    base = overlay(few, tree("proc/torchrun"))
    one = only(tree("proc/torchrun"), "proc/4110")
    unattended = Unattended(base, clock, workers=here, periods=dict.fromkeys(PERIODS, 100.0))
    warm = 0
    for number in range(200):
        pids = range(20_000 + 25 * number, 20_025 + 25 * number)
        jobs = [with_rank(one, pid, 4000.0 + number, f"run-{pid}") for pid in pids]
        unattended.host.host = overlay(base, *jobs)
        unattended.run(100.0)
        unattended.page.render(gzip=True)
        if number == 100:
            warm = _resident()
    assert clock.monotonic() - 1000.0 == 20_000.0
    assert _resident() - warm < 2_000_000
    frame = unattended.loop.feed.latest()
    assert frame
    assert len(frame.snapshot.jobs) >= 25


# starting under odd circumstances


def test_it_starts_without_devices(clock: ManualClock, tree: Callable[[str], ListingFs]) -> None:
    """No driver, no device: frames all the same; a driver that comes is seen at once."""
    whole = tree(SMALL)
    unattended = Unattended(without(whole, *DRIVER), clock)
    frame = unattended.run(10.0)
    assert frame.snapshot.devices == ()
    assert all(run.ok for run in frame.snapshot.runs)
    unattended.host.host = whole
    frame = unattended.run(2 * PERIODS["normal"])
    assert len(frame.snapshot.devices) == 1
    assert unattended.series()


def test_it_starts_while_the_driver_loads(
    clock: ManualClock, tree: Callable[[str], ListingFs]
) -> None:
    """Nothing is read before the driver is live; then all is, within two periods."""
    whole = tree(SMALL)
    unattended = Unattended(changed(whole, initstate=b"coming\n"), clock)
    frame = unattended.run(120.0)
    assert frame.snapshot.driver.state == "coming"
    assert not any(name.startswith("neuron_core_") for name in unattended.series())
    assert frame.health.verdict.value != "healthy"
    unattended.host.host = whole
    unattended.run(2 * PERIODS["normal"])
    assert any(name.startswith("neuron_core_inferences") for name in unattended.series())


@pytest.mark.parametrize("year", [0.0, 1.0, 4_102_444_800.0, 32_503_680_000.0, -86_400.0])
def test_it_starts_with_a_wrong_clock(year: float, tree: Callable[[str], ListingFs]) -> None:
    """1970, the day before it, 2100, the year 3000: it reads, judges and serves; the clock is set
    while it runs: that is told, and ages and rates know nothing of it.
    """
    clock = ManualClock(wall=year)
    unattended = Unattended(tree(SMALL), clock, machine=True)
    frame = unattended.run(20.0)
    before = unattended.series()
    assert all(run.ok for run in frame.snapshot.runs)
    assert unattended.figure("neuron_observer_frame_age_seconds") <= 1.0
    clock.step_wall(1_788_000_000.0 - clock.wall())
    frame = unattended.run(5.0)
    assert unattended.series() >= before
    assert sum(b"event=clock_stepped" in line for line in unattended.lines) == 1
    assert unattended.status("/readyz") == 200
