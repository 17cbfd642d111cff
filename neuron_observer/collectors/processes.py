"""Which processes have Neuron devices open, by `/proc/PID/fd`, looking at little at a time.

Nothing is opened but folders of /proc, so nobody is disturbed. A poll lists /proc, looks at new
processes, checks one descriptor of each known holder, and looks again at old processes in turn: a
process usually opens its devices seconds after it began, so it is looked at again when it is half
as old again, at the latest after `LONGEST` seconds. A poll looks at no more than `MOST_PROCESSES`,
so with more than 3,800 processes an old one's turn comes later (5 min with 10,000).
"""

from __future__ import annotations

import errno
import heapq
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.parsers.process import stat
from neuron_observer.sources.hostfs import is_character_device, names_in_folder

if TYPE_CHECKING:
    from neuron_observer.clock import Clock
    from neuron_observer.sources.hostfs import HostFs

MOST_PROCESSES: Final = 64  # a poll, but for the first
MOST_LINKS: Final = 768  # a poll; then it stops after the process at hand
SHORTEST, LONGEST = 2.0, 120.0  # seconds between two looks at all descriptors of a process
_DEVICE: Final = re.compile(r"(?:/.*)?/dev/neuron(\d{1,3})(?: \(deleted\))?")
_DENIED: Final = (errno.EACCES, errno.EPERM)


class Holding(NamedTuple):
    """The descriptors of one process that are Neuron devices: descriptor → (link, device)."""

    descriptors: dict[str, tuple[str, int]]
    uncertain: str = ""  # why a device's number may be its container's

    @property
    def devices(self) -> tuple[int, ...]:
        """Host indexes."""
        return tuple(sorted({device for _, device in self.descriptors.values()}))

    @property
    def alive(self) -> str:
        """Below which folder of the process its memory is: of a zombie, a thread that lives on."""
        number = next(iter(self.descriptors), "fd/")
        return number.rpartition("fd/")[0]


class _Look(NamedTuple):
    since: float  # monotonic, since when it holds devices or holds none
    due: float


class ProcessScanner:
    """Keeps which processes there are, which hold devices, and when to look at each again."""

    def __init__(self, host: HostFs, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._looks: dict[int, _Look] = {}
        self._queue: list[tuple[float, int]] = []
        self._fresh: set[int] = set()  # never looked at
        self._denied: set[int] = set()
        self._names: set[str] = set()
        self._others: set[str] = set()  # in /proc and no process
        self._links = 0
        self._empty = False  # the table read last
        self._own = self._own_name()
        self.holders: dict[int, Holding] = {}

    @property
    def processes(self) -> int:
        """How many there are."""
        return len(self._looks)

    @property
    def denied(self) -> int:
        """How many may not be looked into."""
        return len(self._denied)

    @property
    def refused(self) -> tuple[int, ...]:
        """Which these are."""
        return tuple(sorted(self._denied))

    @property
    def pending(self) -> int:
        """How many were never looked at yet."""
        return len(self._fresh)

    def scan(self) -> dict[int, Holding]:
        """The holders of now; OSError where /proc cannot be listed."""
        pids = self._pids()
        now = self._clock.monotonic()
        first = not self._looks
        self._forget(self._looks.keys() - pids)
        for pid in sorted(pids - self._looks.keys()):
            self._looks[pid] = _Look(now - LONGEST if first else now, now)
            self._fresh.add(pid)
            heapq.heappush(self._queue, (now, pid))
        self._check_holders()
        self._look_around(now, len(pids) if first else MOST_PROCESSES, bounded=not first)
        return self.holders

    def _pids(self) -> set[int]:
        try:
            names = set(names_in_folder(self._host, "proc"))
        except FileNotFoundError:
            return set()
        names -= self._others
        self._others |= {name for name in names - self._names if not name.isdecimal()}
        self._names = names - self._others
        return set(map(int, self._names))

    def look_again(self, pid: int) -> Holding | None:
        """Look at one now: its pid belongs to another process than before."""
        self.holders.pop(pid, None)
        if pid in self._looks:
            now = self._clock.monotonic()
            self._looks[pid] = _Look(now, now)
            self._look_at(pid, now)
        return self.holders.get(pid)

    def _forget(self, gone: set[int]) -> None:
        for pid in gone:
            del self._looks[pid]
            self.holders.pop(pid, None)
        self._fresh -= gone
        self._denied -= gone

    def _check_holders(self) -> None:
        """One descriptor of each holder is followed; where it changed, all are."""
        for pid, holding in list(self.holders.items()):
            number, (link, _) = next(iter(holding.descriptors.items()))
            try:
                same = self._host.readlink(f"proc/{pid}/{number}") == link
            except OSError:
                same = False
            if not same:
                self._look_at(pid, self._clock.monotonic())

    def _look_around(self, now: float, most: int, *, bounded: bool) -> None:
        self._links = 0
        looked = 0
        while self._queue and self._queue[0][0] <= now and looked < most:
            if bounded and self._links > MOST_LINKS:
                return
            due, pid = heapq.heappop(self._queue)
            if pid in self._looks and self._looks[pid].due == due:
                looked += 1
                self._look_at(pid, now, spread=not bounded)

    def _look_at(self, pid: int, now: float, *, spread: bool = False) -> None:
        """List its descriptors and say when next; after the first round turns are spread."""
        holding = self._descriptors(pid)
        self._fresh.discard(pid)
        since = self._looks[pid].since
        if holding.descriptors:
            since = since if pid in self.holders else now
            self.holders[pid] = holding
        elif self.holders.pop(pid, None):
            since = now
        wait = min(max((now - since) / 2, SHORTEST), LONGEST)
        if str(pid) == self._own:
            wait = LONGEST
        elif spread and pid not in self.holders:
            wait *= (pid % 60 + 1) / 60
        self._looks[pid] = _Look(since, now + wait)
        heapq.heappush(self._queue, (now + wait, pid))

    def _own_name(self) -> str:
        """Our pid as this /proc numbers it; we hold thousands of files: to look at us is 10 ms."""
        try:
            return self._host.readlink("proc/self")
        except OSError:  # a /proc of another machine, or one in memory
            return ""

    def _descriptors(self, pid: int) -> Holding:
        self._denied.discard(pid)
        self._empty = False
        holding = self._table(pid, "fd")
        if self._empty:
            for task in self._threads_of_a_zombie(pid):
                holding = self._table(pid, f"task/{task}/fd")
                if holding.descriptors:
                    break
        return holding

    def _table(self, pid: int, folder: str) -> Holding:
        """A table of descriptors; what vanishes meanwhile is not there."""
        try:
            names = names_in_folder(self._host, f"proc/{pid}/{folder}")
        except OSError as error:
            if error.errno in _DENIED:
                self._denied.add(pid)
            return Holding({})
        self._links += len(names) + 5
        self._empty = not names
        found: dict[str, tuple[str, int]] = {}
        notes: set[str] = set()
        for name in names:
            try:
                link = self._host.readlink(f"proc/{pid}/{folder}/{name}")
            except OSError as error:
                if error.errno in _DENIED:
                    self._denied.add(pid)
                    break
                continue
            device = self._device(pid, link, notes) if "/dev/neuron" in link else None
            if device is not None:
                found[f"{folder}/{name}"] = (link, device)
        return Holding(found, "; ".join(sorted(notes)))

    def _device(self, pid: int, link: str, notes: set[str]) -> int | None:
        """The host's index: the minor number of the node, for a container may name it anew.

        Driver 2.24.7 neuron_cdev.c: the minor number of a node is the device's index.
        """
        match = _DEVICE.fullmatch(link)
        if match is None:
            return None
        try:
            status = self._host.lstat(
                f"proc/{pid}/root/{link.removesuffix(' (deleted)').lstrip('/')}"
            )
        except OSError as error:
            if error.errno in _DENIED:
                notes.add(f"device numbers: {error.strerror}; a container's may differ")
            return int(match.group(1))
        if is_character_device(status.st_mode):
            return status.st_rdev & 0xFF
        return int(match.group(1)) if not self._has_nodes(match.group(1)) else None

    def _has_nodes(self, number: str) -> bool:
        """Whether /dev holds real nodes, so that a file with such a name is none."""
        try:
            return is_character_device(self._host.lstat(f"dev/neuron{number}").st_mode)
        except OSError:
            return False

    def _threads_of_a_zombie(self, pid: int) -> list[str]:
        """The main thread may have ended while others live on, and hold what is open."""
        try:
            found = stat(self._host.read(f"proc/{pid}/stat"))
            if found is None or found.state != "Z" or found.threads < 2:
                return []
            tasks = [entry.name for entry in self._host.entries(f"proc/{pid}/task")]
        except OSError:
            return []
        return [name for name in tasks if name != str(pid)][:16]
