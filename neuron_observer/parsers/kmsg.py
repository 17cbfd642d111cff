"""Kernel log lines in every form that people and daemons meet, as `KernelRecord`s.

Forms: a record of /dev/kmsg (`6,339,5140900,-;text`, Documentation/ABI/testing/dev-kmsg), `dmesg`
in its time formats, syslog and journal short lines, `journalctl -o json`. Each function is total.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_observer.parsers.journal import parse_journal
from neuron_observer.parsers.kernel_record import KERNEL, KernelRecord, decode
from neuron_observer.parsers.kernel_text import parse_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "KERNEL",
    "KernelRecord",
    "decode",
    "is_dictionary",
    "join_pieces",
    "parse",
    "parse_journal",
    "parse_kmsg",
    "parse_text",
    "unescape",
    "whole_records",
]

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
    code = int(priority)
    return KernelRecord(  # by position: this is the hot path of a flood
        decode(unescape(text)).rstrip("\r\n"),
        code & 7,
        code >> 3,
        int(sequence),
        int(microseconds) / 1e6,
        None,
        False,
        flags in (b"c", b"+"),
        fields=tuple(_dictionary(dictionary, extra)) if dictionary or extra else (),
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


def is_dictionary(line: bytes) -> bool:
    """Whether a line of a copied /dev/kmsg may belong to the record above it."""
    return line[:1] == b" " and _DICTIONARY.match(line) is not None


def whole_records(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join the dictionary lines of a copied /dev/kmsg to their record; other lines pass."""
    held: bytes | None = None
    for line in lines:
        if held is not None:
            if is_dictionary(line) and _KMSG.match(held):
                held += b"\n" + line
                continue
            yield held
        held = line
    if held is not None:
        yield held


def join_pieces(records: Iterable[KernelRecord]) -> Iterator[KernelRecord]:
    """Append records marked as continuation to the one right before them.

    The mark is a hint (dev-kmsg), so only neighbours by sequence and of one source are joined.
    """
    held: KernelRecord | None = None
    last: int | None = None  # sequence of the piece appended last
    for record in records:
        if held is not None:
            if record.continues and _follows(held, last, record):
                held = held._replace(message=held.message + record.message)
                last = record.sequence
                continue
            yield held
        held, last = record, record.sequence
    if held is not None:
        yield held


def _follows(held: KernelRecord, last: int | None, record: KernelRecord) -> bool:
    same = record.facility == held.facility
    return same and last is not None and record.sequence == last + 1
