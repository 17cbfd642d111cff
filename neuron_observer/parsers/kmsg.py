"""Kernel log lines in every form that people and daemons meet, as `KernelRecord`s.

Forms: a record of /dev/kmsg (`6,339,5140900,-;text`, Documentation/ABI/testing/dev-kmsg), `dmesg`
in its time formats, syslog and journal short lines, `journalctl -o json`. Each function is total.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.parsers import stamps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.parsers.stamps import Stamp

KERNEL = 0  # facility of what the kernel prints; writing to /dev/kmsg never gives it

LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
FACILITIES = ("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron")


class KernelRecord(NamedTuple):
    """One record of the kernel log; None where the form does not tell.

    `level` and `facility` are syslog's (0 emerg to 7 debug; 0 kernel, 1 user space). A level says
    nothing on how bad a line is: the driver writes its load line at `err` and failures at `info`.
    Facility 0 is no proof either: a program may have the driver print a line (ioctl 113).
    """

    message: str
    level: int | None = None
    facility: int | None = None
    sequence: int | None = None
    monotonic: float | None = None  # seconds since boot on the kernel's log clock
    wall: float | None = None  # seconds since the epoch
    zoned: bool = False  # False: `wall` was read as UTC because the line names no zone
    continues: bool = False  # a piece of the line before it, says the kernel's hint
    host: str | None = None
    identifier: str | None = None  # `kernel`, or the program that wrote the line
    pid: int | None = None
    boot_id: str | None = None
    fields: tuple[tuple[str, str], ...] = ()  # SUBSYSTEM, DEVICE, caller

    @property
    def from_kernel(self) -> bool | None:
        """Whether the kernel printed it; None where the form does not tell."""
        return None if self.facility is None else self.facility == KERNEL


_KMSG = re.compile(rb"(\d{1,4}),(\d{1,20}),(\d{1,20}),([^,;\n]*)(?:,([^;\n]*))?;")
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")


def parse(line: bytes | str, *, year: int | None = None) -> KernelRecord:
    """Any line of a kernel log; what has no known form is the message of an empty record.

    `year` completes stamps that name none (`Nov 23 22:35:01`); without it they give no `wall`.
    """
    data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    if data[:1].isdigit():
        record = parse_kmsg(data)
        if record:
            return record
    if data.lstrip()[:1] == b"{":
        entry = parse_journal(data)
        if entry:
            return entry
    return parse_text(decode(data), year=year)


def decode(data: bytes) -> str:
    r"""Bytes as text that can always be printed; what is no UTF-8 is shown as `\xNN`."""
    return data.decode("utf-8", "backslashreplace")


def unescape(data: bytes) -> bytes:
    r"""Undo the kernel's `\xNN` for control characters, bytes above 126 and the backslash."""
    if b"\\x" not in data:
        return data
    return _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), data)


def parse_kmsg(data: bytes) -> KernelRecord | None:
    """A record as one read of /dev/kmsg gives it, dictionary lines included; None if it is none."""
    head = _KMSG.match(data)
    if not head:
        return None
    priority, sequence, microseconds, flags, extra = head.groups()
    text, _, dictionary = data[head.end() :].partition(b"\n")
    fields = tuple(_dictionary(dictionary, extra)) if dictionary or extra else ()
    return KernelRecord(
        message=decode(unescape(text)).rstrip("\r\n"),
        level=int(priority) & 7,
        facility=int(priority) >> 3,
        sequence=int(sequence),
        monotonic=int(microseconds) / 1e6,
        continues=flags in (b"c", b"+"),
        fields=fields,
    )


def _dictionary(lines: bytes, extra: bytes | None) -> Iterator[tuple[str, str]]:
    """` KEY=value` lines and the `key=value` list that may follow the flags."""
    for item in (extra or b"").split(b","):
        key, equals, value = item.partition(b"=")
        if equals:
            yield decode(key), decode(unescape(value))
    for line in lines.split(b"\n"):
        key, equals, value = line.partition(b"=")
        if equals and line.startswith(b" "):
            yield decode(unescape(key[1:])), decode(unescape(value))


_DICTIONARY = re.compile(rb" [A-Z_][A-Z0-9_]*=")


def whole_records(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join the dictionary lines of a copied /dev/kmsg to their record; other lines pass."""
    held: bytes | None = None
    for line in lines:
        if held is not None:
            if _DICTIONARY.match(line):
                held += b"\n" + line
                continue
            yield held
            held = None
        if _KMSG.match(line):
            held = line
        else:
            yield line
    if held is not None:
        yield held


def join_pieces(records: Iterable[KernelRecord]) -> Iterator[KernelRecord]:
    """Append records marked as continuation to the one right before them.

    The mark is a hint (dev-kmsg), so only neighbours by sequence and of one source are joined.
    """
    held: KernelRecord | None = None
    last: int | None = None  # sequence of the piece appended last
    for record in records:
        if held is not None and _continues(held, last, record):
            held = held._replace(message=held.message + record.message)
        else:
            if held is not None:
                yield held
            held = record
        last = record.sequence
    if held is not None:
        yield held


def _continues(held: KernelRecord, last: int | None, record: KernelRecord) -> bool:
    return (
        record.continues
        and last is not None
        and record.sequence == last + 1
        and record.facility == held.facility
    )


def parse_journal(line: bytes | str) -> KernelRecord | None:
    """An entry of `journalctl -o json`; None if the line is none.

    Fields: systemd.journal-fields(7). A field is a string, null (too long to print), an array of
    byte values (not printable) or an array of strings (given more than once).
    """
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or "MESSAGE" not in entry:
        return None
    monotonic = _number(entry, "_SOURCE_MONOTONIC_TIMESTAMP")
    if monotonic is None:
        monotonic = _number(entry, "__MONOTONIC_TIMESTAMP")
    wall = _number(entry, "__REALTIME_TIMESTAMP")
    return KernelRecord(
        message=(_text(entry, "MESSAGE") or "").rstrip("\r\n"),
        level=_number(entry, "PRIORITY"),
        facility=_journal_facility(entry),
        monotonic=None if monotonic is None else monotonic / 1e6,
        wall=None if wall is None else wall / 1e6,
        zoned=wall is not None,
        host=_text(entry, "_HOSTNAME"),
        identifier=_text(entry, "SYSLOG_IDENTIFIER"),
        pid=_number(entry, "_PID"),
        boot_id=_text(entry, "_BOOT_ID"),
        fields=tuple(_journal_fields(entry)),
    )


def _journal_facility(entry: dict[str, Any]) -> int | None:
    facility = _number(entry, "SYSLOG_FACILITY")
    if facility is None and _text(entry, "_TRANSPORT") == "kernel":
        return KERNEL
    return facility


def _journal_fields(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, name in (
        ("_KERNEL_SUBSYSTEM", "SUBSYSTEM"),
        ("_KERNEL_DEVICE", "DEVICE"),
        ("_SYSTEMD_UNIT", "UNIT"),
        ("CONTAINER_NAME", "CONTAINER"),
    ):
        value = _text(entry, key)
        if value:
            yield name, value


def _text(entry: dict[str, Any], key: str) -> str | None:
    value = entry.get(key)
    if isinstance(value, list) and value and isinstance(value[0], str):
        value = value[0]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()  # no lone surrogates
    if isinstance(value, list) and value and all(_is_byte(item) for item in value):
        return decode(bytes(value))
    return None


def _is_byte(item: object) -> bool:
    return isinstance(item, int) and 0 <= item <= 255


def _number(entry: dict[str, Any], key: str) -> int | None:
    text = _text(entry, key)
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


_PRIORITY = re.compile(r"<(\d{1,4})>")
_DMESG_X = re.compile(rf"({'|'.join(FACILITIES)}|\w{{3,8}})\s*:({'|'.join(LEVELS)})\s*:\s")
_SYSLOG = re.compile(r"(\S+) ([^\s:\[\]]{1,64})(?:\[(\d{1,10})\])?: ")
_KERNEL_HEADER = re.compile(r"(?:(\S+) )?kernel: ")
_CALLER = re.compile(r"\[\s*([TC]\d{1,10})\] ?")


def parse_text(line: str, *, year: int | None = None) -> KernelRecord:
    """A line as `dmesg` (any time format) or a syslog prints it; a message without prefix passes.

    What one tool puts before what another had printed (`<6>`, a syslog header, `kern :err :`,
    `[  12.345678]`) is taken off piece by piece; only the message's own words are left.
    """
    parts: dict[str, Any] = {}
    rest = _take_priority(line.rstrip("\r\n"), parts)
    stamp = stamps.match(rest, year=year)
    rest = _take_header(_take_stamp(rest, stamp, parts), stamp, parts)
    if parts.get("identifier", "kernel") == "kernel":  # a program's own stamp is its message
        rest = _take_priority(rest, parts)
        rest = _take_stamp(rest, stamps.match(rest, year=year), parts)
        caller = _CALLER.match(rest) if "monotonic" in parts else None
        if caller:
            parts["fields"] = (("caller", caller[1]),)
            rest = rest[caller.end() :]
    return KernelRecord(message=rest, **parts)


def _take_priority(text: str, parts: dict[str, Any]) -> str:
    number = _PRIORITY.match(text)
    if number:
        parts["level"], parts["facility"] = int(number[1]) & 7, int(number[1]) >> 3
        return text[number.end() :]
    words = _DMESG_X.match(text)
    if words:
        parts["level"] = LEVELS.index(words[2])
        if words[1] in FACILITIES:
            parts["facility"] = FACILITIES.index(words[1])
        return text[words.end() :]
    return text


def _take_stamp(text: str, stamp: Stamp | None, parts: dict[str, Any]) -> str:
    if stamp is None:
        return text
    if stamp.monotonic is not None:
        parts["monotonic"] = stamp.monotonic
    if stamp.wall is not None:
        parts["wall"], parts["zoned"] = stamp.wall, stamp.zoned
    return text[stamp.length :]


def _take_header(text: str, stamp: Stamp | None, parts: dict[str, Any]) -> str:
    """Take `host program[pid]: ` where a syslog stamp stands before it, or `kernel: ` anywhere."""
    kernel = _KERNEL_HEADER.match(text)
    if kernel and (stamp or not kernel[1]):
        parts["host"], parts["identifier"] = kernel[1], "kernel"
        return text[kernel.end() :]
    header = _SYSLOG.match(text) if stamp and stamp.headed else None
    if not header:
        return text
    parts["host"], parts["identifier"] = header[1], header[2]
    parts["pid"] = int(header[3]) if header[3] else None
    return text[header.end() :]
