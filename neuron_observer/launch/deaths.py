"""Who ended first: when one rank dies the launcher ends the others, and soon all are gone.

The kernel tells the end of a process by its pidfd (Linux 5.3), at once and without being asked
again and again; how it ended stands in /proc until its parent has taken note. Ranks are found by
their heartbeat files. Only facts are told: that a rank was the first is no word on why.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.launch.kin import descends, status_of
from neuron_observer.parsers import heartbeat
from neuron_observer.parsers.process import TICKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.clock import Clock

LOOK = 1.0  # seconds between two looks for new ranks
MOST_RANKS = 1024
_NAME = re.compile(r"rank-(\d{1,10})-(\d{1,19})\.hb")
_ON_REQUEST = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGHUP))  # how launchers end ranks
_LAST_WAIT = 2.0  # seconds
# struct pidfd_info, its mask for the exit code, where that stands, and the request that gives it
_INFO, _EXIT, _EXIT_CODE = 64, 1 << 3, 60
_GET_INFO = 3 << 30 | _INFO << 16 | 0xFF << 8 | 11


class Death(NamedTuple):
    """A rank that ended before the others of its time, and not well. None is unknown."""

    at: float  # wall clock
    pid: int
    rank: int | None
    steps: int | None  # that it had finished
    restart: int | None  # of the job, by its launcher
    exit_code: int | None
    signal: int | None
    others: int  # ranks that were alive then

    def __str__(self) -> str:
        """In one line."""
        who = f"rank {self.rank}" if self.rank is not None else f"the rank of pid {self.pid}"
        how = "how is not known"
        if self.signal is not None:
            how = f"signal {self.signal} ({_signal_name(self.signal)})"
        elif self.exit_code is not None:
            how = f"exit code {self.exit_code}"
        after = "" if self.steps is None else f" after {self.steps} steps"
        return f"{who} was the first to end{after}: {how}; {self.others} others were running"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time one
        return "?"


class _Rank(NamedTuple):
    pid: int
    file: int  # a descriptor of what it writes, which can be read also when it has no name any more


class Deaths:
    """Watches the ranks below one process."""

    def __init__(
        self,
        folder: str,
        pid: int,
        clock: Clock,
        say: Callable[[str], None],
        asked_to_end: Callable[[], bool] = lambda: False,
    ) -> None:
        """`folder`: of the heartbeat files; `pid`: the process that started all."""
        self._asked_to_end = asked_to_end
        self._folder = folder
        self._pid = pid
        self._clock = clock
        self._say = say
        self._poll = select.poll()
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC)
        self._poll.register(self._woken, select.POLLIN)
        self._alive: dict[int, _Rank] = {}  # by pidfd
        self._seen: set[str] = set()
        self._over = False  # the first of these ranks has ended
        self.found: list[Death] = []
        self.followed = 0  # ranks, since the beginning

    def look(self) -> None:
        """Find ranks that are new."""
        try:
            names = set(os.listdir(self._folder))  # noqa: PTH208 - names only
        except OSError:
            return
        for name in names - self._seen:
            match = _NAME.fullmatch(name)
            if match and len(self._alive) < MOST_RANKS:
                self._follow(int(match[1]), int(match[2]), name)
        self._seen = names

    def _follow(self, pid: int, ticks: int, name: str) -> None:
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:  # gone already, or of another namespace
            return
        status = status_of(pid)
        if status is None or round(status.start * TICKS) != ticks or not descends(pid, self._pid):
            os.close(descriptor)
            return
        if not self._alive:
            self._over = False
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open(os.path.join(self._folder, name), flags)  # noqa: PTH118 - as above
        except OSError:
            os.close(descriptor)
            return
        self._alive[descriptor] = _Rank(pid, file)
        self._poll.register(descriptor, select.POLLIN)
        self.followed += 1

    def wait(self, seconds: float) -> None:
        """Note who ends within so many seconds."""
        for descriptor, _ in self._poll.poll(seconds * 1000):
            if descriptor in self._alive:
                self._ended(descriptor)

    def _ended(self, descriptor: int) -> None:
        rank = self._alive.pop(descriptor)
        how = _how_it_ended(rank.pid, descriptor)
        head = _head(rank.file)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        os.close(rank.file)
        well = how == (0, None) or how[1] in _ON_REQUEST or self._asked_to_end()
        if well or self._over or not self._alive:
            return
        self._over = True
        death = Death(
            self._clock.wall(),
            rank.pid,
            head.rank if head else None,
            head.steps if head else None,
            head.restarts if head else None,
            *how,
            others=len(self._alive),
        )
        self.found.append(death)
        self._say(str(death))

    def wake(self) -> None:
        """Have no wait last any longer, now and later; from any thread."""
        os.write(self._wake, b"x")

    def close(self) -> None:
        """Give back what is held."""
        os.close(self._woken)
        os.close(self._wake)
        for descriptor, rank in self._alive.items():
            os.close(descriptor)
            os.close(rank.file)
        self._alive.clear()


def _how_it_ended(pid: int, descriptor: int) -> tuple[int | None, int | None]:
    """Exit code and signal: of a zombie by the last field of stat (proc(5)).

    Once its parent has taken note, by its pidfd (Linux 6.15, include/uapi/linux/pidfd.h).
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if fields[0] in (b"Z", b"X"):
            return _meaning(int(fields[49]))
    except (OSError, IndexError, ValueError):
        pass
    info = bytearray(struct.pack("<Q", _EXIT).ljust(_INFO, b"\0"))
    try:
        fcntl.ioctl(descriptor, _GET_INFO, info)
    except OSError:
        return None, None
    (told,) = struct.unpack_from("<Q", info)
    return _meaning(*struct.unpack_from("<i", info, _EXIT_CODE)) if told & _EXIT else (None, None)


def _meaning(status: int) -> tuple[int | None, int | None]:
    return (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None)


def _head(file: int) -> heartbeat.Head | None:
    """What stands in its file at its end; it may have been cut short in a write."""
    try:
        raw = bytearray(os.pread(file, heartbeat.SIZE, 0))
    except OSError:
        return None
    if len(raw) >= heartbeat.FRONT:
        raw[heartbeat.GENERATION_AT] &= 0xFE  # of a dead writer nothing else will come
    head = heartbeat.head(bytes(raw))
    return None if isinstance(head, str) else head


@contextmanager
def watching_deaths(
    folder: str,
    pid: int,
    clock: Clock,
    say: Callable[[str], None],
    asked_to_end: Callable[[], bool] = lambda: False,
) -> Iterator[Deaths]:
    """Watch in a thread; what is found grows as it happens. Ends that were asked for are none."""
    deaths, over = Deaths(folder, pid, clock, say, asked_to_end), threading.Event()

    def run() -> None:
        try:
            while not over.is_set():
                deaths.look()
                deaths.wait(LOOK)
        except Exception as error:  # noqa: BLE001 - the job goes on
            say(f"who ends first is not watched any more: {type(error).__name__}: {error}")

    thread = threading.Thread(target=run, name="deaths", daemon=True)
    thread.start()
    try:
        yield deaths
    finally:
        over.set()
        deaths.wake()
        thread.join(_LAST_WAIT)
        if not thread.is_alive():
            deaths.close()
