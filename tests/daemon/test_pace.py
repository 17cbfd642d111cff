"""How often lanes are read: while a job runs, over the budget, and what is said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.daemon.budget import Budget
from neuron_observer.daemon.pace import CALM, QUIET, Pace
from neuron_observer.derive import make_batch
from neuron_observer.log import Log
from neuron_observer.loop import PERIODS, Loop
from neuron_observer.model import NODE, Frame, Job, Value
from neuron_observer.observer import HostReader, Options
from neuron_observer.readings import reading
from tests.exporters.feeds import frame_of
from tests.hosts import host_of, overlay

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import ManualClock
    from neuron_observer.model import JobKind
    from neuron_observer.sources.listing import ListingFs

OPTIONS = Options(keep=True, wait_for_firmware=False, machine=False)


class Said:
    """The events of the log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: bytes) -> bool:
        """Take one."""
        self.lines.append(line.decode())
        return True


class Paced:
    """A loop on an empty host with its pace, and frames made by hand."""

    def __init__(self, clock: ManualClock, *, quiet: bool = True, budget: Budget) -> None:
        self.clock, self.said = clock, Said()
        self.loop = Loop(HostReader(host_of({}), clock, OPTIONS))
        self.loop.tick()
        log = Log(clock, self.said)
        self.pace = Pace(self.loop, clock, log, quiet=quiet, budget=budget)
        self.cpu = 0.0

    def frame(self, kind: JobKind | None = None, share: float = 0.0) -> Frame:
        """Ten seconds later: a frame with a job of a kind, and our cost."""
        self.clock.advance(10.0)
        self.cpu += 10.0 * share
        cost = {
            "observer.cpu_user": [(NODE, self.cpu)],
            "observer.cpu_system": [(NODE, 0.0)],
            "observer.resident_memory": [(NODE, 30_000_000)],
        }
        own = make_batch("own", cost, self.clock.monotonic())  # type: ignore[arg-type]
        frame = frame_of(own, monotonic=self.clock.monotonic())
        jobs = () if kind is None else (Job("j", "train.py", kind, "", None, (), (0,)),)
        frame = frame._replace(snapshot=frame.snapshot._replace(jobs=jobs))
        self.pace.note(frame)
        return frame

    @property
    def periods(self) -> dict[str, float]:
        """Those in force."""
        return self.loop.schedule.periods


@pytest.fixture
def paced(clock: ManualClock) -> Paced:
    """With the defaults."""
    return Paced(clock, budget=Budget())


def test_quiet_while_a_job_runs(paced: Paced) -> None:
    """At once when it is seen, and for half a minute after the last: short jobs are one."""
    assert paced.periods == PERIODS
    paced.frame("training")
    assert paced.periods == PERIODS | QUIET
    paced.frame()
    paced.frame()
    assert paced.periods == PERIODS | QUIET
    paced.frame()
    assert paced.periods == PERIODS
    assert CALM == 30.0


def test_what_the_quiet_profile_promises() -> None:
    """Half a second in the fast lane, 2 s in the normal one; the firmware's lane is as it was."""
    assert QUIET["fast"] <= 0.5
    assert QUIET["normal"] <= 2.0
    assert "firmware" not in QUIET


def test_it_is_told_once_in_a_metric_an_event_and_a_line(paced: Paced) -> None:
    """And again when it ends; not with every frame."""
    for _ in range(5):
        paced.frame("training")
    assert [line.count("event=profile_changed") for line in paced.said.lines] == [1]
    frame = paced.loop.tick()
    assert frame
    [event] = [e for e in frame.snapshot.events if e.kind == "profile_changed"]
    assert event.message == "profile quiet: jobs on this node: 1"
    assert _told(frame, "observer.profile") == "quiet"
    assert _told(frame, "observer.lane.normal.period") == 2.0
    for _ in range(3):
        paced.frame()
    assert len(paced.said.lines) == 2
    later = paced.loop.tick()
    assert later
    assert _told(later, "observer.profile") == "full"


def _told(frame: Frame, metric: str) -> object:
    found = reading(frame.snapshot.batches, metric, NODE)
    assert isinstance(found, Value)
    return found.value


@pytest.mark.parametrize("kind", ["monitor", "leftover"])
def test_what_is_no_work_is_not_minded(paced: Paced, kind: JobKind) -> None:
    """neuron-monitor attaches to all devices all day; a leftover computes nothing."""
    paced.frame(kind)
    assert not paced.pace.quiet


def test_quiet_may_be_switched_off(clock: ManualClock) -> None:
    """`profile.quiet: false`."""
    paced = Paced(clock, quiet=False, budget=Budget())
    paced.frame("training")
    assert paced.periods == PERIODS


def test_lanes_that_are_longer_already_stay_so(paced: Paced) -> None:
    """The quiet profile reads no lane more often than it was configured to."""
    slow = PERIODS | {"normal": 5.0, "jobs": 60.0}
    paced.pace.configure(slow, quiet=True, budget=Budget())
    paced.frame("training")
    assert paced.periods == slow | {"fast": 0.5, "slow": 20.0}


def test_over_the_budget(paced: Paced) -> None:
    """A minute at a tenth of a core: longer lanes, and it is said in all three ways."""
    for _ in range(6):
        paced.frame(share=0.1)
    assert paced.periods == PERIODS
    paced.frame(share=0.1)
    assert paced.periods["normal"] == 2.0
    assert paced.periods["fast"] == PERIODS["fast"]
    (line,) = paced.said.lines
    assert "over the budget, lanes get longer: 10.0% of a core and 30 MB of 5.0% and 80 MB" in line
    frame = paced.loop.tick()
    assert frame
    assert [e.kind for e in frame.snapshot.events if e.kind == "budget_step"] == ["budget_step"]
    assert _told(frame, "observer.budget.step") == 1


def test_both_at_once(paced: Paced) -> None:
    """Over the budget beside a job: longer still, within the bounds of the lanes."""
    for _ in range(30):
        paced.frame("training", share=0.2)
    assert _periods(paced) == (1.0, 4.0, 30.0, 30.0)
    assert paced.periods["firmware"] == PERIODS["firmware"]


def _periods(paced: Paced) -> tuple[float, ...]:
    return tuple(paced.periods[lane] for lane in ("fast", "normal", "slow", "jobs"))


def test_other_settings_at_run_time(paced: Paced) -> None:
    """A reload of the configuration: they count at once, and what is in force stays."""
    paced.frame("training")
    paced.pace.configure(PERIODS | {"normal": 3.0}, quiet=True, budget=Budget(0.5, 1e9))
    assert paced.periods["normal"] == 3.0
    assert paced.periods["fast"] == 0.5
    for _ in range(12):
        paced.frame("training", share=0.4)
    assert len(paced.said.lines) == 1


def test_a_job_of_a_real_tree_makes_it_quiet(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The whole way: processes that hold devices, the job map, the periods; no read is lost."""
    host = overlay(tree("trn2.48xlarge-2.30.2-busy"), tree("proc/vllm"))
    loop = Loop(HostReader(host, clock, OPTIONS))
    pace = Pace(loop, clock, Log(clock, Said()))
    loop.subscribe(pace.note)
    frames = []
    for _ in range(60):
        frame = loop.tick()
        frames.append(frame)
        clock.advance(loop.schedule.until_next(clock.monotonic()))
    assert pace.quiet
    assert all(frames)
    kinds = {event.kind for frame in frames if frame for event in frame.snapshot.events}
    assert "profile_changed" in kinds
    assert "reads_skipped" not in kinds
    assert loop.schedule.skipped == dict.fromkeys(PERIODS, 0)
