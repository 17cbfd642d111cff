"""Files of one process below `/proc/PID`: bytes → what they say, None where that cannot be told.

Total, like all parsers here. Forms: proc_pid_stat(5), proc_pid_status(5), proc_pid_environ(5),
the kernel's Documentation/scheduler/sched-stats. Times are seconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

TICKS: Final = 100  # USER_HZ, the same on every architecture that carries these chips
PAGE_SIZES: Final = (4096, 16384, 65536)
MAX_VALUE: Final = 255  # characters of an environment variable; NEURON_PROCESS_TAG's own limit
MAX_ARGUMENTS: Final = 64
MAX_COMMAND: Final = 200  # characters that are kept of a command line
_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_MASK: Final = "***"
_SECRET_NAME: Final = re.compile(
    r"token(?!iz|s\b)|secret|passw|api-?_?key|access-?_?key|credential", re.IGNORECASE
)
# credentials in a URL, tokens of hubs and clouds by their well-known heads
_SECRET: Final = re.compile(
    r"(?<=://)[^/@\s]*(?=@)|(?<=Bearer )\S+|\b(?:hf_|sk-|gh[pousr]_|AKIA|ASIA)[A-Za-z0-9_-]{8,}"
)
_STATES: Final = frozenset("RSDTtZXxKWPI")


class Stat(NamedTuple):
    """`/proc/PID/stat`, as far as it is used."""

    name: str
    state: str  # one letter: R S D T t Z X I …
    parent: int
    cpu: float  # user and system time since it began
    threads: int
    start: float  # seconds after boot; with the pid the identity of a process
    pages: int  # resident


class Status(NamedTuple):
    """`/proc/PID/status`, as far as it is used."""

    uid: int | None  # real
    rss: int | None  # bytes
    pids: tuple[int, ...]  # NSpid: outermost namespace (the reader's) first


class Waiting(NamedTuple):
    """`/proc/PID/schedstat` of the main thread."""

    running: float
    waiting: float  # runnable, on no processor


def stat(raw: bytes) -> Stat | None:
    """`PID (NAME) S PPID …`; a name may hold blanks and brackets."""
    head, bracket, tail = raw.rpartition(b")")
    fields = tail.split()
    _, opened, name = head.partition(b"(")
    if not bracket or not opened or len(fields) < 22:
        return None
    state = fields[0].decode("ascii", "replace")
    numbers = [_natural(fields[place]) for place in (1, 11, 12, 17, 19, 21)]
    if state not in _STATES or None in numbers:
        return None
    parent, user, system, threads, start, pages = (number or 0 for number in numbers)
    cpu = (user + system) / TICKS
    return Stat(plain(name, 64), state, parent, cpu, threads, start / TICKS, pages)


def _natural(field: bytes) -> int | None:
    return int(field) if field.isdigit() and len(field) <= 20 else None


def status(raw: bytes) -> Status:
    """Uid, VmRSS and NSpid; kernel threads have no VmRSS, kernels before 4.1 no NSpid."""
    lines = dict(row.partition(b":")[::2] for row in raw.split(b"\n"))
    uids = lines.get(b"Uid", b"").split()
    rss = lines.get(b"VmRSS", b"").split()
    pids = [_natural(field) for field in lines.get(b"NSpid", b"").split()]
    kib = _natural(rss[0]) if len(rss) == 2 and rss[1] == b"kB" else None
    return Status(
        uid=_natural(uids[0]) if uids else None,
        rss=None if kib is None else kib * 1024,
        pids=tuple(pid for pid in pids if pid is not None),
    )


def page_size(rss: int | None, pages: int) -> int:
    """The page size by which a count of pages comes nearest to the bytes of the same instant."""
    if not rss or not pages:
        return PAGE_SIZES[0]
    return min(PAGE_SIZES, key=lambda size: abs(rss - pages * size))


def schedstat(raw: bytes) -> Waiting | None:
    """`RUNNING WAITING SLICES` in nanoseconds; zeros where the kernel does not count."""
    fields = [_natural(field) for field in raw.split()]
    if len(fields) != 3 or fields[0] is None or fields[1] is None or not any(fields):
        return None
    return Waiting(fields[0] / 1e9, fields[1] / 1e9)


def arguments(raw: bytes) -> tuple[str, ...]:
    """`/proc/PID/cmdline`: the arguments, without control characters; empty for kernel threads.

    A process may write a title over its arguments; then they are one.
    """
    words = raw.rstrip(b"\0").split(b"\0", MAX_ARGUMENTS)[:MAX_ARGUMENTS]
    return tuple(plain(word, 4096) for word in words if word)


def masked(words: Sequence[str]) -> tuple[str, ...]:
    """Arguments without what looks like a secret: passwords, tokens, keys, credentials in URLs."""
    found = []
    secret = False
    for word in words:
        name, equals, _ = word.partition("=")
        hides = bool(_SECRET_NAME.search(name))
        if secret and not word.startswith("-"):
            found.append(_MASK)
        elif equals and hides:
            found.append(f"{name}={_MASK}")
        else:
            found.append(_SECRET.sub(_MASK, word))
        secret = hides and not equals and word.startswith("-")
    return tuple(found)


def command_text(words: Collection[str]) -> str:
    """A command line in one line, bounded."""
    text = " ".join(words)
    return text if len(text) <= MAX_COMMAND else text[: MAX_COMMAND - 1] + "…"


def environ(raw: bytes, wanted: Collection[str], *, cut: bool = False) -> dict[str, str] | None:
    """The wanted variables of an environment, all others forgotten; None where it is unknown.

    A process that writes a title over its arguments may write over its environment too, one that
    is ending has none left, and of one that was cut a missing variable may well be set.
    """
    pairs = [entry.partition(b"=") for entry in raw.split(b"\0")]
    named = [(name, value) for name, equals, value in pairs if equals and _NAME.fullmatch(name)]
    if cut or not named:
        return None
    found: dict[str, str] = {}
    for name, value in named:
        word = name.decode("ascii")
        if word in wanted:
            found.setdefault(word, plain(value, MAX_VALUE))
    return found


def plain(raw: bytes, limit: int) -> str:
    """Text without anything that could move a cursor, at most `limit` characters."""
    text = raw[: 4 * limit].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "·" for c in text[:limit])


def uptime(raw: bytes) -> float | None:
    """`/proc/uptime`: seconds since the machine started."""
    fields = raw.split()
    try:
        seconds = float(fields[0]) if fields else -1.0
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e12 else None


def users(raw: bytes) -> dict[int, str]:
    """`/etc/passwd`: uid → name; of several names the first."""
    found: dict[int, str] = {}
    for row in raw.split(b"\n"):
        fields = row.split(b":")
        uid = _natural(fields[2]) if len(fields) == 7 else None
        if uid is not None and fields[0]:
            found.setdefault(uid, plain(fields[0], 64))
    return found
