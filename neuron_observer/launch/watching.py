"""Watching a job while it runs: frames in; findings are told as they begin, the rest is kept.

Frames come from a loop of our own, which reads as seldom as the daemon does while a job runs, or
from this machine's daemon. The job comes first: whatever goes wrong here is told, and costs only
itself.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from neuron_observer.daemon.pace import QUIET
from neuron_observer.errors import DaemonError
from neuron_observer.feed import Feed
from neuron_observer.jobs.report import JobTally, concerns
from neuron_observer.launch.kin import descends, status_of
from neuron_observer.loop import PERIODS
from neuron_observer.model import Severity, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.clock import Clock
    from neuron_observer.jobs.report import JobReport
    from neuron_observer.loop import Loop
    from neuron_observer.model import Entity, Event, Finding, Frame, Job

SCHEDULE = {lane: max(period, QUIET.get(lane, 0.0)) for lane, period in PERIODS.items()}
SCHEDULE["jobs"] = PERIODS["jobs"]  # its ranks are looked for
ASKED = 2.0  # seconds between two questions to a daemon
_LAST_LANES = ("fast", "normal", "jobs")
_LAST_WAIT = 5.0  # seconds for the last look
LAST_FRAME = 5.0  # seconds until a daemon has read what a job left
_AGAIN = 0.25  # seconds until a daemon is asked again for a frame of after the job's end
_MOST_LINES = 50  # kernel lines that a report shows
_THERE = (State.FIRING, State.ACKNOWLEDGED)


class Watch:
    """What frames said of one job and all that it started."""

    def __init__(
        self, pid: int, say: Callable[[str], None], asked_to_end: Callable[[], bool] = lambda: False
    ) -> None:
        """`pid`: the job's first process, as this /proc numbers it.

        What a job does once it was asked to end says nothing of it.
        """
        self._pid = pid
        self._asked_to_end = asked_to_end
        self._say = say
        self._tally = JobTally()
        self._told: dict[tuple[str, Entity], Finding] = {}
        self.jobs: dict[str, Job] = {}  # that are its, by id, as they were last seen
        self.frames = 0

    def note(self, frame: Frame) -> None:
        """Take a frame in."""
        self.frames += 1
        if self._asked_to_end():
            frame = frame._replace(findings=tuple(filter(self._is_no_end, frame.findings)))
        self._tally.add(frame)
        for job in frame.snapshot.jobs:
            if job.id in self.jobs or self._is_ours(job):
                self.jobs[job.id] = job
        self._tell(frame)

    def reports(self) -> list[JobReport]:
        """A report on each of its jobs; what the last frame still showed may have ended since."""
        found = [one for id_ in self.jobs if (one := self._tally.report(id_))]
        return [one._replace(ended=one.ended or not _is_alive(one.job)) for one in found]

    def _is_no_end(self, finding: Finding) -> bool:
        """Whether it is about more than the program, or stood already."""
        return not finding.program or _key(finding) in self._told

    @property
    def hooked(self) -> int:
        """Of how many ranks a step hook was heard, as far as they were seen last."""
        return sum(rank.pace is not None for job in self.jobs.values() for rank in job.ranks)

    def _is_ours(self, job: Job) -> bool:
        pids = (rank.process.own_pid or rank.process.pid for rank in job.ranks)
        return any(descends(pid, self._pid) for pid in pids)

    def _tell(self, frame: Frame) -> None:
        """Findings that began or ended, of the job or of what it uses."""
        now = {}
        for finding in frame.findings:
            if _counts(finding) and any(concerns(finding, job) for job in self.jobs.values()):
                now[_key(finding)] = finding
        for key in now.keys() - self._told.keys():
            one = now[key]
            self._say(f"{one.id} [{one.severity.value}, {one.confidence.value}]: {one.message}")
        there = {job.id for job in frame.snapshot.jobs}
        for id_, entity in self._told.keys() - now.keys():
            if entity.job is None or entity.job in there:  # else the job is over
                self._say(f"{id_}{_place(entity)}: over")
        self._told = now


def _is_alive(job: Job) -> bool:
    processes = (rank.process for rank in job.ranks)
    return any(status_of(one.own_pid or one.pid) is not None for one in processes)


def _counts(finding: Finding) -> bool:
    return not finding.shadow and finding.state in _THERE and finding.severity != Severity.INFO


def _key(finding: Finding) -> tuple[str, Entity]:
    return finding.id, finding.entity._replace(serial=None)


def _place(entity: Entity) -> str:
    parts = (("rank ", entity.rank), ("neuron", entity.device))
    return "".join(f" {word}{number}" for word, number in parts if number is not None)


@contextmanager
def by_loop(
    make: Callable[[], Loop], note: Callable[[Frame], None], say: Callable[[str], None]
) -> Iterator[Callable[[], Feed | None]]:
    """Watch by a loop that is made and run in a thread; gives its feed once there is one.

    At the end there is a last look, when the job is over.
    """
    made: list[Loop] = []
    over = threading.Event()

    def run() -> None:
        try:
            loop = make()
            loop.subscribe(note)
            made.append(loop)
            if not over.is_set():
                loop.run()
            loop.tick(also=_LAST_LANES)
        except Exception as error:  # noqa: BLE001 - the job goes on
            say(f"not watched any more: {type(error).__name__}: {error}")

    thread = threading.Thread(target=run, name="loop", daemon=True)
    thread.start()
    try:
        yield lambda: made[0].feed if made else None
    finally:
        over.set()
        for loop in made:
            loop.stop()
        thread.join(_LAST_WAIT)
        if made and not thread.is_alive():  # else a read hangs and keeps what it uses
            made[0].close()


class Polled(Feed, Protocol):
    """A feed that asks somebody for a frame."""

    def poll(self) -> Frame:
        """Ask now; `DaemonError` where there is no answer."""
        ...


class _Asking:
    """Asks a daemon again and again; that it does not answer is told once, and that it does."""

    def __init__(
        self, feed: Polled, note: Callable[[Frame], None], say: Callable[[str], None]
    ) -> None:
        self._feed, self._note, self._say = feed, note, say
        self._lost = False

    def ask(self) -> Frame | None:
        """Ask once; whatever goes wrong, the job goes on."""
        try:
            frame = self._feed.poll()
            self._note(frame)
        except DaemonError as error:
            if not self._lost:
                self._say(f"not watched for now: {error.message}")
            self._lost = True
            return None
        except Exception as error:  # noqa: BLE001 - see above
            self._say(f"a frame is lost: {type(error).__name__}: {error}")
            return None
        if self._lost:
            self._say("watched again: the daemon answers")
        self._lost = False
        return frame


@contextmanager
def by_daemon(
    feed: Polled, note: Callable[[Frame], None], say: Callable[[str], None], clock: Clock
) -> Iterator[Callable[[], Feed | None]]:
    """Watch by what this machine's daemon reads, asked each two seconds."""
    asking, over = _Asking(feed, note, say), threading.Event()

    def run() -> None:
        while not over.is_set():
            asking.ask()
            over.wait(ASKED)

    thread = threading.Thread(target=run, name="ask", daemon=True)
    thread.start()
    try:
        yield lambda: feed
    finally:
        over.set()
        thread.join(_LAST_WAIT)
        ended, until = clock.wall(), clock.monotonic() + LAST_FRAME
        while (last := asking.ask()) and last.snapshot.at < ended and clock.monotonic() < until:
            clock.wait(_AGAIN)


def kernel_lines(feed: Feed | None, since: float, seconds: float) -> list[Event]:
    """What the kernel log said from `since` on (wall clock), but for lines of our own reads.

    `seconds`: how long ago that was.
    """
    found = feed.events(seconds) if feed else ()
    return [one for one in found if one.fields.get("ours") == 0 and one.at >= since][-_MOST_LINES:]
