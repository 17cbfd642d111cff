"""Watching a job: whose it is, what is told while it runs, and that nothing of it can harm."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.errors import DaemonError
from neuron_observer.launch.watching import Watch, by_daemon, by_loop, kernel_lines
from neuron_observer.loop import Loop
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Entity,
    Event,
    Finding,
    Severity,
    State,
)
from neuron_observer.observer import HostReader, Options
from neuron_observer.oneshot import NOT_JUDGED, StillFeed
from tests.hosts import host_of
from tests.jobs.makers import TORCHRUN, TRN2, holder, rank_variables, torch_job
from tests.jobs.test_report import WALL, frame

if TYPE_CHECKING:
    from neuron_observer.model import Frame, Job

from neuron_observer.jobs.grouping import Around, group

OWN = os.getpid()


def own_job() -> Job:
    """A job whose rank 0 is this very process."""
    rank = holder(OWN, (0,), variables=rank_variables(0, 1), above=(TORCHRUN,))
    return group([rank], Around(TRN2))[0]


def finding(job: str, rank: int | None = 2, **change: object) -> Finding:
    """That a rank is slow."""
    made = Finding(
        "straggler",
        Entity("rank", job=job, rank=rank),
        Severity.WARNING,
        Confidence.PROBABLE,
        Action.WATCH,
        "slower than its peers",
    )
    return made._replace(**change)  # type: ignore[arg-type]


def test_only_the_jobs_own_is_told_and_each_thing_once() -> None:
    """Another job's straggler is nothing to us; an end is told as well."""
    said: list[str] = []
    watch = Watch(os.getppid(), said.append)
    ours, other = own_job(), torch_job(4, TORCHELASTIC_RUN_ID="other")
    slow = finding(ours.id)
    for at, findings in enumerate([[finding(other.id)], [slow], [slow, finding(other.id)], []]):
        watch.note(frame([ours, other], at, findings=findings))
    assert said == [
        "straggler [warning, probable]: slower than its peers",
        "straggler rank 2: over",
    ]
    assert [one.job.id for one in watch.reports()] == [ours.id]
    assert watch.frames == 4


def test_the_end_of_a_job_ends_nothing_else() -> None:
    """What stood at its end is not said to be over; a fault of the node may pass."""
    said: list[str] = []
    watch = Watch(OWN, said.append)
    job = own_job()
    fault = finding(job.id, None, id="sram", entity=Entity("device", device=0))
    watch.note(frame([job], findings=[finding(job.id), fault]))
    said.clear()
    watch.note(frame([], 5))
    assert said == ["sram neuron0: over"]


def test_what_a_job_does_when_it_is_ended_says_nothing_of_it() -> None:
    """What stood goes on to stand, and a fault of the hardware counts to the last."""
    said: list[str] = []
    ended: list[bool] = []
    watch = Watch(OWN, said.append, lambda: bool(ended))
    job = own_job()
    slow = finding(job.id, program=True)
    crash = finding(job.id, 3, id="hang-crashed-peer", program=True)
    fault = finding(job.id, None, id="sram", entity=Entity("device", device=0))
    watch.note(frame([job], findings=[slow]))
    ended.append(True)
    said.clear()
    watch.note(frame([job], 1, findings=[slow, crash, fault]))
    assert said == ["sram [warning, probable]: slower than its peers"]
    (report,) = watch.reports()
    assert [one.finding.id for one in report.sightings] == ["straggler", "sram"]


def test_what_does_not_count_is_not_told() -> None:
    """Notices, what is in shadow, what is not sure yet."""
    said: list[str] = []
    watch = Watch(OWN, said.append)
    job = own_job()
    quiet = [
        finding(job.id, 0, severity=Severity.INFO),
        finding(job.id, 1, shadow=True),
        finding(job.id, 2, state=State.PENDING),
    ]
    watch.note(frame([job], findings=quiet))
    assert said == []


def test_a_job_is_known_when_its_processes_are_gone() -> None:
    """Whose it was is found once; its report lasts."""
    watch = Watch(OWN, print)
    watch.note(frame([own_job()]))
    watch.note(frame([], 5))
    assert [one.ended for one in watch.reports()] == [True]


def test_by_a_loop_there_is_a_last_look() -> None:
    """Also of a job that is over before the loop began."""
    frames: list[Frame] = []
    options = Options(wait_for_firmware=False, machine=False)

    def make() -> Loop:
        return Loop(HostReader(host_of({}), SystemClock(), options))

    with by_loop(make, frames.append, print) as feed:
        pass
    assert frames
    last = feed()
    assert last is not None
    assert last.latest() is frames[-1]


def test_what_breaks_is_told_and_costs_only_the_watching() -> None:
    """The job knows nothing of it."""
    said: list[str] = []

    def make() -> Loop:
        raise OSError("no such host")

    with by_loop(make, lambda _: None, said.append) as feed:
        pass
    assert feed() is None
    assert said == ["not watched any more: OSError: no such host"]


class Asked(StillFeed):
    """A daemon whose frames are as old as they are; None: it does not answer."""

    def __init__(self, *frames: Frame | None) -> None:
        super().__init__([frame([]).snapshot], NOT_JUDGED)
        self._left = list(frames)

    def poll(self) -> Frame:
        """The next; the last for ever."""
        found = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        if found is None:
            raise DaemonError("no answer")
        return found


def test_by_a_daemon_until_a_frame_of_after_the_end() -> None:
    """Earlier ones do not know yet that the job is over; one that is broken is told."""
    clock = ManualClock(wall=WALL + 10)
    feed = Asked(frame([], 1), frame([], 9), frame([], 11))
    noted: list[float] = []
    said: list[str] = []

    def note(of: Frame) -> None:
        noted.append(of.snapshot.at - WALL)
        if len(noted) == 1:
            raise ValueError("odd")

    with by_daemon(feed, note, said.append, clock) as given:
        while not said:
            pass
    assert given() is feed
    assert noted == [1, 9, 11]
    assert said == ["a frame is lost: ValueError: odd"]


def test_a_daemon_that_does_not_answer_is_told_once() -> None:
    """At the end nobody waits for it."""
    said: list[str] = []
    with by_daemon(Asked(None), print, said.append, ManualClock()):
        while not said:
            pass
    assert said == ["not watched for now: no answer"]


def test_kernel_lines_of_the_time() -> None:
    """Not those of before, not those that our own reads caused, and nothing but kernel lines."""
    events = [
        Event("sram-error", NODE, WALL - 10, "before", {"ours": 0}),
        Event("sram-error", NODE, WALL + 1, "meanwhile", {"ours": 0}),
        Event("register-read", NODE, WALL + 1, "by us", {"ours": 1}),
        Event("job_started", NODE, WALL + 1, "no line"),
    ]
    still = StillFeed([frame([], 2)._replace().snapshot._replace(events=tuple(events))], NOT_JUDGED)
    assert [one.message for one in kernel_lines(still, WALL, 100.0)] == ["meanwhile"]
    assert kernel_lines(None, WALL, 100.0) == []
