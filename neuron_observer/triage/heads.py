"""What stands around a message in a line: when, on which node, by which process it was written."""

from __future__ import annotations

import json
import re
from calendar import timegm
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
    length: int = 0  # bytes of the line that belong to the head; 0 where the form is not known


def unwrap(line: bytes) -> bytes | None:
    """The message in a line of JSON (a journal's, a container runtime's); None if it is none."""
    start = line.find(b"{")
    if start < 0 or start > 64 or b'":' not in line:
        return None
    record = kmsg.parse_journal(line[start:])
    if record:
        return record.message.encode("utf-8", "backslashreplace")
    entry = _entry(line[start:])
    text = _first_text(entry, _TEXT_KEYS)
    return None if text is None else text.encode("utf-8", "backslashreplace")


def _first_text(entry: dict[str, object], keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := entry.get(key), str)), None)


def _entry(line: bytes) -> dict[str, object]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def head(line: bytes, start: int) -> Head:
    """The head of a message that starts at `start` in a line of text."""
    if _BARE.match(line):
        return Head()
    record = kmsg.parse(line[: start + 1])
    node, at, pid = record.host, record.wall, record.pid
    before, length = line[:start], 0
    for found in _RUNTIME.finditer(before):  # the last one: lines of processes get mixed
        pid = int(found[8])
        at, length = _moment(found) or at, found.end()
    if node is None:
        pod = _POD.match(before)
        prefix = pod or _PREFIX.match(before)
        if prefix and not _NO_HOST.match(prefix[1]):
            node = prefix[1].decode()
    return Head(node, at, pid, record.from_kernel, length=length)


def head_of_json(line: bytes) -> Head:
    """The head of a line of JSON."""
    start = line.find(b"{")
    record = kmsg.parse_journal(line[start:])
    if record:
        fields = dict(record.fields)
        job = fields.get("CONTAINER") or fields.get("UNIT")
        return Head(record.host, record.wall, record.pid, record.from_kernel, job)
    return Head(_first_text(_entry(line[start:]), _NODE_KEYS))


def _moment(found: re.Match[bytes]) -> float | None:
    if not found[1]:
        return None
    month = found[2].decode().lower()
    if month not in MONTHS:
        return None
    day, hour, minute, second = (int(found[group]) for group in (3, 4, 5, 6))
    whole = timegm((int(found[1]), MONTHS.index(month) + 1, day, hour, minute, second))
    return whole + float(b"0." + found[7])
