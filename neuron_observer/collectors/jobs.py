"""The job map of a node: read every two seconds, in a lane of its own, without any device.

It says too what it rests on: how many processes there are and how many could not be looked into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.collectors.holders import HolderReader
from neuron_observer.collectors.probing import word_at
from neuron_observer.collectors.processes import Holding, ProcessScanner
from neuron_observer.jobs.beats import Mark
from neuron_observer.jobs.grouping import Around, group, refresh
from neuron_observer.jobs.ownership import NodeShape, Told, ranges
from neuron_observer.model import NODE, Event, JobScan, Missing
from neuron_observer.parsers.process import TICKS, plain, status, uptime

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.kubelet import PodNames
    from neuron_observer.collectors.monitor import MonitorSample
    from neuron_observer.jobs.identity import Holder
    from neuron_observer.model import Device, Job, Scalar
    from neuron_observer.sources.hostfs import HostFs

PERIOD: Final = 2.0  # seconds
ENDED_AFTER: Final = 10.0  # seconds without it: an elastic restart is no end
MAPPING_BYTES: Final = 4096
MOST_MAPPED: Final = 64  # job ids of a device
_NOTHING: Final = Holding({})


class _Known(NamedTuple):
    job: Job
    at: float  # wall clock, last seen
    monotonic: float


class _Grouped(NamedTuple):
    holders: list[Holder]
    around: Around
    jobs: tuple[Job, ...]


class JobCollector:
    """Holders → jobs, with events of those that began and ended."""

    name = "jobs"

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        mapping: str | None = None,
        pods: PodNames | None = None,
    ) -> None:
        """`mapping` is the folder that a scheduler's prolog writes, as the host names it."""
        self._pods = pods
        self._host = host
        self._clock = clock
        self._mapping = mapping.strip("/") if mapping else None
        self._scanner = ProcessScanner(host, clock)
        self._reader = HolderReader(host, clock)
        self._known: dict[str, _Known] = {}
        self._last: _Grouped | None = None
        self._verified: set[Mark] = set()  # whose user is that of its file
        self._since: float | None = None  # wall clock of the first read
        # whom the step hook writes for, with the owner of the file; None: nobody knows
        self.hooked: Mapping[Mark, int | None] | None = None
        self.jobs: tuple[Job, ...] = ()
        self.scan: JobScan | None = None

    def poll(
        self, devices: Sequence[Device], monitored: MonitorSample | None = None
    ) -> list[Event]:
        """Read anew; `jobs` and `scan` hold what was found, `scan` None where none can be seen."""
        self.jobs, self.scan = (), None
        passed = self._uptime()
        holders = self._holders(passed)
        if not self._scanner.processes:  # a capture, or no /proc here
            return []
        if self.hooked is not None:
            self._verified &= self.hooked.keys()
            holders = [_with_hook(holder, self.hooked) for holder in holders]
        shape = _shape(devices)
        if self._pods:
            holders = self._pods.name(holders, shape)
        mapped = self._mapped()
        booted = None if passed is None else self._clock.wall() - passed
        self.jobs = self._group(holders, Around(shape, _told(monitored), mapped, booted))
        self.scan = JobScan(
            processes=self._scanner.processes,
            holders=sum(bool(holder.process.devices) for holder in holders),
            denied=self._scanner.denied,
            pending=self._scanner.pending,
            notes=self._notes(),
            mapped=tuple(sorted(mapped.items())),
            stray_hooks=_stray(holders),
        )
        return self._changes()

    def _holders(self, passed: float | None) -> list[Holder]:
        """Scan and read; a pid that was given to another process is looked at anew.

        Who has the step hook belongs to a job also before it opens a device, or without one.
        """
        holdings = self._scanner.scan()
        hooked = {
            mark.pid: _NOTHING
            for mark, owner in (self.hooked or {}).items()
            if mark.pid not in holdings and self._is_there(mark, owner)
        }
        return self._reader.read(hooked | holdings, passed, self._look_again)

    def _look_again(self, pid: int) -> Holding | None:
        """What the new owner of a pid holds; nothing, if it has the hook."""
        found = self._scanner.look_again(pid)
        there = any(
            mark.pid == pid and self._is_there(mark, owner)
            for mark, owner in (self.hooked or {}).items()
        )
        return _NOTHING if found is None and there else found

    def _is_there(self, mark: Mark, owner: int | None) -> bool:
        """Whether that very process is there, and is of the user who says so."""
        now = self._reader.stat(mark.pid)
        if now is None or round(now.start * TICKS) != mark.ticks:
            return False
        if mark not in self._verified and self._is_of(mark, owner):
            self._verified.add(mark)
        return mark in self._verified

    def _is_of(self, mark: Mark, owner: int | None) -> bool:
        try:
            seen = status(self._host.read(f"proc/{mark.pid}/status", 8192))
        except OSError:
            return False
        same = not seen.pids or seen.pids[-1] == mark.pid  # as it numbers itself
        return same and owner in (None, seen.uid)

    def _group(self, holders: list[Holder], around: Around) -> tuple[Job, ...]:
        """Anew only where more changed than figures; the time of boot drifts with every reading."""
        jobs = None
        if self._last and self._last.around == around._replace(booted=self._last.around.booted):
            jobs = refresh(self._last.jobs, self._last.holders, holders)
        if jobs is None:
            jobs = group(holders, around)
            self._last = _Grouped(holders, around, jobs)
        return jobs

    def _uptime(self) -> float | None:
        try:
            return uptime(self._host.read("proc/uptime"))
        except OSError:
            return None

    def _mapped(self) -> dict[int, tuple[str, ...]]:
        """Job ids, one a line, in a file a device: the folder that dcgm-exporter reads."""
        found: dict[int, tuple[str, ...]] = {}
        for name in self._mapping_files():
            try:
                raw = self._host.read(f"{self._mapping}/{name}", MAPPING_BYTES)
            except OSError:
                continue
            lines = (plain(line, 128).strip() for line in raw.split(b"\n")[:MOST_MAPPED])
            found[int(name)] = tuple(line for line in lines if line)
        return found

    def _mapping_files(self) -> list[str]:
        if self._mapping is None:
            return []
        try:
            entries = self._host.entries(self._mapping)
        except OSError:
            return []
        return [e.name for e in entries if e.name.isdecimal() and len(e.name) < 4]

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self._scanner.denied:
            notes.append(
                f"{self._scanner.denied} of {self._scanner.processes} processes may not be looked"
                " into: they may hold devices"
                " (it takes CAP_SYS_PTRACE, which root of a container may lack)"
            )
        if word_at(self._host, "proc/2/comm") != "kthreadd":
            notes.append("this /proc is not the whole host's: other processes may hold devices")
        if self._pods and self._pods.note:
            notes.append(self._pods.note)
        if self._mapping is not None and not self._mapping_files():
            notes.append(f"/{self._mapping}: no file of a device in the job mapping folder")
        return tuple(notes)

    def _changes(self) -> list[Event]:
        """Jobs that began and ended; one that was there before us is told as found.

        Monitors are none: somebody's neuron-ls would be an event a minute.
        """
        wall, now = self._clock.wall(), self._clock.monotonic()
        events = []
        for job in self.jobs:
            if job.kind == "monitor":
                continue
            if job.id not in self._known:
                events.append(self._began(job, wall))
            self._known[job.id] = _Known(job, wall, now)
        for known in list(self._known.values()):
            if now - known.monotonic >= ENDED_AFTER:
                del self._known[known.job.id]
                events.append(_ended(known))
        self._since = wall if self._since is None else self._since
        return events

    def _began(self, job: Job, wall: float) -> Event:
        ours = self._since is not None and (job.started is None or job.started >= self._since - 1)
        kind = "job_started" if ours else "job_found"
        verb = "started" if ours else "was running before we watched"
        at = wall if job.started is None else job.started
        return Event(kind, NODE, at if ours else wall, f"{job.name} {verb}", _fields(job))


def _shape(devices: Sequence[Device]) -> NodeShape:
    return NodeShape(
        {device.index: device.name for device in devices},
        {device.index: len(device.cores) for device in devices},
    )


def _told(sample: MonitorSample | None) -> dict[int, Told]:
    """Which logical cores neuron-monitor reports of each runtime, by pid."""
    report = sample.report if sample else None
    if report is None or isinstance(report.runtimes, Missing):
        return {}
    size = report.hardware.lnc if isinstance(report.hardware.lnc, int) else None
    return {
        runtime.pid: Told(tuple(sorted(runtime.cores)), size)
        for runtime in report.runtimes
        if not isinstance(runtime.cores, Missing)
    }


def _ended(known: _Known) -> Event:
    fields = {**_fields(known.job), "exit": "unknown"}
    message = f"{known.job.name} ended; how is not known"
    return Event("job_ended", NODE, known.at, message, fields)


def _fields(job: Job) -> dict[str, Scalar]:
    return {
        "job": job.id,
        "kind": job.kind,
        "ranks": len(job.ranks),
        "devices": ranges(job.devices),
    }


def _with_hook(holder: Holder, hooked: Mapping[Mark, int | None]) -> Holder:
    process = holder.process
    pid = process.pid if process.own_pid is None else process.own_pid
    mark = Mark(pid, round(process.start * TICKS))
    has = mark in hooked and hooked[mark] in (None, process.uid)
    return holder._replace(process=process._replace(hook=has))


def _stray(holders: Iterable[Holder]) -> tuple[int, ...]:
    """Who has the hook and no device."""
    return tuple(sorted(h.process.pid for h in holders if h.process.hook and not h.process.devices))
