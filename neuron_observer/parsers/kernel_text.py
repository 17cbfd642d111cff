"""Kernel log lines as text: what `dmesg` and syslogs put before a message is taken off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from neuron_observer.parsers import stamps
from neuron_observer.parsers.kernel_record import KernelRecord

if TYPE_CHECKING:
    from neuron_observer.parsers.stamps import Stamp

LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
FACILITIES = ("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron")

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
    whole = line.rstrip("\r\n")
    rest = _take_priority(whole, parts)
    stamp = stamps.match(rest, year=year)
    rest = _take_header(_take_stamp(rest, stamp, parts), stamp, parts)
    if rest is not whole and parts.get("identifier", "kernel") == "kernel":
        rest = _take_kernel_prefix(rest, parts, year)
    return KernelRecord(message=rest, **parts)


def _take_kernel_prefix(text: str, parts: dict[str, Any], year: int | None) -> str:
    """What the kernel's own formatting put below a daemon's; a program's stamp is its message."""
    rest = _take_priority(text, parts)
    rest = _take_stamp(rest, stamps.match(rest, year=year), parts)
    caller = _CALLER.match(rest) if "monotonic" in parts else None
    if caller:
        parts["fields"] = (("caller", caller[1]),)
        rest = rest[caller.end() :]
    return rest


def _take_priority(text: str, parts: dict[str, Any]) -> str:
    number = _PRIORITY.match(text) if text[:1] == "<" else None
    if number:
        parts["level"], parts["facility"] = int(number[1]) & 7, int(number[1]) >> 3
        return text[number.end() :]
    words = _DMESG_X.match(text) if text[:1].islower() else None
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
    kernel = _KERNEL_HEADER.match(text) if "kernel: " in text else None
    if kernel and (stamp or not kernel[1]):
        parts["host"], parts["identifier"] = kernel[1], "kernel"
        return text[kernel.end() :]
    header = _SYSLOG.match(text) if stamp and stamp.headed else None
    if not header:
        return text
    parts["host"], parts["identifier"] = header[1], header[2]
    parts["pid"] = int(header[3]) if header[3] else None
    return text[header.end() :]
