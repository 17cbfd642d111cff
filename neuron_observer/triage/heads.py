"""What stands around a message in a line: when, on which node, by which process it was written."""

from __future__ import annotations

import json
import re
from calendar import timegm
from functools import lru_cache
from typing import NamedTuple

from neuron_observer.parsers import kmsg
from neuron_observer.parsers.stamps import MONTHS

# the runtime's own: `2025-Jan-03 21:00:33.247541 13423:13423 ERROR   NRT:nrt_close   …`
_RUNTIME = re.compile(
    rb"(?:(\d{4})-([A-Z][a-z]{2})-(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{1,9}))?"
    rb"(?: {1,6}|\b)(\d{1,10}):\d{1,10} {1,8}"
    rb"(?:\[\d+\] |(?:ERROR|WARN|INFO|FATAL|DEBUG|TRACE) +(?:[A-Z]+:\w+ +)?)"
)
_HOST = rb"([A-Za-z][\w-]*[\d-][\w.-]*)"
_PREFIX = re.compile(rb"\s*\[?" + _HOST + rb"\]?(?: +(?:kernel|runtime) ?)?: ")
_RANK = re.compile(rb"\s*(?:\[?rank[ _-]?(\d{1,6})\]?:|\[1,(\d{1,6})\]<std|(\d{1,6}): )")
_POD = re.compile(rb"\s*\[pod/([\w.-]+)/")  # kubectl logs --prefix
_NO_HOST = re.compile(
    rb"(?:nd|nc)\d|.*rank|(?:lib|aws-|nrt|neuron|nccl|python|torch|pytorch|kernel)", re.IGNORECASE
)
_BARE = re.compile(rb"\[ *\d+\.\d+\] neuron:")  # of dmesg: seconds since boot, nothing else
_TEXT_KEYS = ("MESSAGE", "log", "message", "msg", "line")
_NODE_KEYS = ("_HOSTNAME", "hostname", "host", "node")


class Head(NamedTuple):
    """Who wrote a line and when; None where the line does not tell."""

    node: str | None = None
    at: float | None = None  # wall clock
    pid: int | None = None
    by_kernel: bool | None = None  # False: a process wrote it into the kernel log
    job: str | None = None  # container, else systemd unit
    rank: int | None = None  # as torchrun, mpirun or srun put it in front
    length: int = 0  # bytes of the line that belong to the head; 0 where the form is not known

    def within(self, outer: Head) -> Head:
        """What both say of a line that stood inside another one; the outer one knows better."""
        told = {key: value for key, value in outer._asdict().items() if value is not None}
        return self._replace(**told | {"length": self.length})


class Wrapped(NamedTuple):
    """A message that stood in a line of JSON, and what the JSON says of it."""

    text: bytes
    head: Head


def unwrap(line: bytes) -> Wrapped | None:
    """The message inside a line of a JSON journal or a container's log; None if it is none."""
    start = line.find(b"{")
    if start < 0 or start > 64 or b'":' not in line:
        return None
    record = kmsg.parse_journal(line[start:]) if b'"MESSAGE"' in line else None
    if record:
        fields = dict(record.fields)
        job = fields.get("CONTAINER") or fields.get("UNIT")
        head = Head(record.host, record.wall, record.pid, record.from_kernel, job)
        return Wrapped(record.message.encode("utf-8", "backslashreplace"), head)
    entry = _entry(line[start:])
    text = _first_text(entry, _TEXT_KEYS)
    if text is None:
        return None
    head = Head(_first_text(entry, _NODE_KEYS))
    return Wrapped(text.encode("utf-8", "backslashreplace"), head)


def _first_text(entry: dict[str, object], keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := entry.get(key), str)), None)


def _entry(line: bytes) -> dict[str, object]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


@lru_cache(maxsize=256)  # a burst has the same second, host and program in front of each line
def head(before: bytes) -> Head:
    """The head that stands in front of a message, or a part of one."""
    if _BARE.match(before):
        return Head()
    record = kmsg.parse(before + b"x")  # some forms are known by what follows them
    node, at, pid = record.host, record.wall, record.pid
    length = 0
    for found in _RUNTIME.finditer(before):  # the last one: lines of processes get mixed
        pid = int(found[8])
        at, length = _moment(found) or at, found.end()
    if node is None:
        pod = _POD.match(before)
        prefix = pod or _PREFIX.match(before)
        if prefix and not _NO_HOST.match(prefix[1]):
            node = prefix[1].decode()
    ranks = _RANK.match(before)
    rank = int(ranks[ranks.lastindex or 0]) if ranks else None
    return Head(node, at, pid, record.from_kernel, rank=rank, length=length)


def _moment(found: re.Match[bytes]) -> float | None:
    if not found[1]:
        return None
    month = found[2].decode().lower()
    if month not in MONTHS:
        return None
    day, hour, minute, second = (int(found[group]) for group in (3, 4, 5, 6))
    whole = timegm((int(found[1]), MONTHS.index(month) + 1, day, hour, minute, second))
    return whole + float(b"0." + found[7])
