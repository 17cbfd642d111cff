"""Heartbeat files of training jobs: what the step hook of each rank says.

Anybody may write into that folder, so nothing in it is believed before it is checked: a regular
file, owned by the user of the process that it names, of this boot and of our version. What is
refused is told once, with its reason. A file is read as a whole only when something was written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from neuron_observer.collectors.heartbeat_file import LIMIT, HeartbeatFile
from neuron_observer.jobs.beats import Beat, Gone, Mark
from neuron_observer.model import NODE, Event
from neuron_observer.parsers import flight_recorder as recorder
from neuron_observer.parsers import heartbeat as parse
from neuron_observer.parsers.process import TICKS
from neuron_observer.sources.regular import regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from neuron_observer.clock import Clock
    from neuron_observer.model import Job, Process
    from neuron_observer.parsers.heartbeat import Head
    from neuron_observer.sources.hostfs import HostFs

    Traces: TypeAlias = dict[str, recorder.Group]

PERIOD, IDLE_PERIOD = 1.0, 10.0  # seconds between looks: while there is a file, and else
MOST_FILES: Final = 512  # that are looked at
MOST_TOLD: Final = 64  # refused files that an event tells of
UNKNOWN_FOR: Final = 60.0  # seconds that a process may be unknown: the job map has its own period
_NAME: Final = re.compile(r"rank-([0-9]{1,10})-([0-9]{1,19})\.hb")
DUMP: Final = ".fr.json"  # of the same rank, if its user asked for it
_BOOT: Final = "proc/sys/kernel/random/boot_id"


class HeartbeatCollector:
    """The files of the folder, by the processes of the job map."""

    def __init__(self, host: HostFs, clock: Clock, folder: str) -> None:
        self._host = host
        self._clock = clock
        self.folder = folder.strip("/")
        self._files: dict[str, HeartbeatFile] = {}
        self._told: set[str] = set()
        self.idle_period = IDLE_PERIOD  # less where a job is awaited
        self._due = 0.0
        self._boot: str | None = None
        self.present = False  # whether the folder is there
        self.left_out = 0  # files beyond MOST_FILES
        self.beats: tuple[Beat, ...] = ()
        self.gone: tuple[Gone, ...] = ()  # since the poll before

    @property
    def marks(self) -> dict[Mark, int | None] | None:
        """Processes that the hook writes for and that may be alive, each with its file's owner.

        The owner is None in a recording; None for all: there is no folder.
        """
        if not self.present:
            return None
        files = self._files.values()
        return {file.mark: file.owner for file in files if file.regular and not file.over}

    @property
    def refused(self) -> dict[str, str]:
        """Files that are not taken, with the reason."""
        return {name: file.refused for name, file in self._files.items() if file.refused}

    def look(self) -> None:
        """List the folder, if it is time to; then `marks` are those of now."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        names = self._names()
        for name, file in list(self._files.items()):
            file.removed = name not in names
            if file.removed and (file.over or file.process is None):
                self._told.discard(name)
                del self._files[name]
        for name, mark in names.items():
            if name not in self._files:
                file = self._files[name] = HeartbeatFile(mark, now)
                file.regular, file.owner = self._owner(name)
        waiting = any(not file.over for file in self._files.values())
        self._due = now + (PERIOD if waiting else self.idle_period) - 0.1

    def _owner(self, name: str) -> tuple[bool, int | None]:
        """Whether it is a regular file, and whose."""
        try:
            with regular(self._host, f"{self.folder}/{name}") as opened:
                return True, opened.uid
        except OSError:
            return False, None

    def _names(self) -> dict[str, Mark]:
        try:
            entries = self._host.entries(self.folder)
        except OSError:
            self.present = False
            return {}
        self.present = True
        found = [(entry, match) for entry in entries if (match := _NAME.fullmatch(entry.name))]
        known = [pair for pair in found if pair[0].name in self._files]
        fresh = [pair for pair in found if pair[0].name not in self._files]
        self.left_out = max(len(found) - MOST_FILES, 0)
        return {entry.name: _mark(match) for entry, match in [*known, *fresh][:MOST_FILES]}

    def read(self, jobs: Iterable[Job], *, certain: bool) -> list[Event]:
        """Read what moved; `certain`: the job map is known, so a process not in it is gone."""
        self.beats, self.gone = (), ()
        if not self._files:
            return []
        processes = _by_mark(jobs)
        if self._boot is None:
            self._boot = self._boot_id()
        now = self._clock.monotonic()
        beats: list[Beat] = []
        gone: list[Gone] = []
        for name, file in self._files.items():
            if file.over:
                continue
            process = processes.get(file.mark)
            if process is not None and process.state != "Z":
                file.process = process
                beat = None if file.removed else self._beat(name, file, process, now)
                beats += [beat] if beat else []
            elif certain or process is not None:
                over = self._lost(name, file, now)
                gone += [over] if over else []
        self.beats, self.gone = tuple(beats), tuple(gone)
        return list(self._tell())

    def _beat(self, name: str, file: HeartbeatFile, process: Process, now: float) -> Beat | None:
        """The rank as its file shows it now; of an unchanged file the header that is known."""
        try:
            with regular(self._host, f"{self.folder}/{name}") as opened:
                if opened.uid is not None and opened.uid != process.uid:
                    file.refused = f"owned by user {opened.uid}, its process is of {process.uid}"
                    return None
                content = file.read(opened)
        except OSError as error:
            file.refused = error.strerror or type(error).__name__
            return None
        if content is None:
            return Beat(process.pid, file.head, (), now, name) if file.head else None
        head = parse.head(content.front, content.size)
        why = head if isinstance(head, str) else self._wrong(head, file.mark)
        if why or isinstance(head, str):
            file.refused = why
            torn = why.startswith("torn") and file.head is not None
            return Beat(process.pid, file.head, (), now, name) if torn and file.head else None
        steps, filled = file.take(content, head)
        return Beat(process.pid, head, steps, now, name, filled)

    def _wrong(self, head: Head, mark: Mark) -> str:
        if (head.pid, head.ticks) != mark:
            return f"it is of pid {head.pid}, its name says {mark.pid}"
        if self._boot and head.boot != self._boot:
            return "of an earlier boot"
        return ""

    def _lost(self, name: str, file: HeartbeatFile, now: float) -> Gone | None:
        """A process that is not there: it ended, it died, or it never was (yet)."""
        if file.process is None or file.head is None:
            if now - file.seen >= UNKNOWN_FOR:
                file.over = True
                file.refused = file.refused or self._orphan(name, file)
            return None
        last = self._last(name, file)
        file.over = True
        return Gone(file.process.pid, last, file.removed or last.phase == "ended", now)

    def _last(self, name: str, file: HeartbeatFile) -> Head:
        """What stands in the file at the end; what was known of it where that cannot be read."""
        head = self._head(name)
        known = file.head
        if isinstance(head, str) or (head.pid, head.ticks) != file.mark:
            if known is None:  # never: a process was found by it
                raise ValueError(name)
            return known
        return head

    def _orphan(self, name: str, file: HeartbeatFile) -> str:
        """Why a file whose process was never there is not taken."""
        head = self._head(name)
        if isinstance(head, str):
            return head
        if why := self._wrong(head, file.mark):
            return why
        how = "ended" if head.phase == "ended" else "died, or is in a container that is not seen"
        return f"no process with pid {file.mark.pid} that began then: it {how}"

    def _head(self, name: str) -> Head | str:
        try:
            with regular(self._host, f"{self.folder}/{name}") as opened:
                return parse.head(opened.read(LIMIT))
        except OSError as error:
            return error.strerror or type(error).__name__

    def dumps(self, since: float) -> dict[int, Traces]:
        """Flight recorder dumps by pid that were written since a time of the wall clock."""
        found = {}
        for name, file in self._files.items():
            if file.process is None or file.over:
                continue
            path = f"{self.folder}/{name.removesuffix('.hb')}{DUMP}"
            try:
                with regular(self._host, path) as opened:
                    mine = opened.uid in (None, file.process.uid)
                    old = opened.changed is not None and opened.changed < since
                    traces = recorder.groups(opened.read(recorder.LIMIT)) if mine else ""
            except OSError:
                continue
            if not (old or isinstance(traces, str)):
                found[file.process.pid] = traces
        return found

    def _boot_id(self) -> str:
        """32 hex digits; empty where the host does not tell."""
        try:
            text = self._host.read(_BOOT, 64).decode("ascii", "replace")
        except OSError:
            return ""
        return text.strip().replace("-", "").lower()

    def _tell(self) -> Iterator[Event]:
        """Once for each file, why it is not taken; those of dead processes are no news."""
        for name, file in self._files.items():
            quiet = not file.refused or file.refused.startswith(("torn", "no process"))
            if quiet or name in self._told or len(self._told) >= MOST_TOLD:
                continue
            self._told.add(name)
            message = f"{self.folder}/{name} is not taken: {file.refused}"
            yield Event("heartbeat_refused", NODE, self._clock.wall(), message, {"file": name})


def _mark(match: re.Match[str]) -> Mark:
    return Mark(int(match.group(1)), int(match.group(2)))


def _by_mark(jobs: Iterable[Job]) -> dict[Mark, Process]:
    """Processes of the job map by how they see themselves."""
    found = {}
    for job in jobs:
        for rank in job.ranks:
            process = rank.process
            own = process.pid if process.own_pid is None else process.own_pid
            found[Mark(own, round(process.start * TICKS))] = process
    return found
