"""Time stamps at the start of a log line: dmesg's, syslog's, the journal's and ISO 8601."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import NamedTuple

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Stamp(NamedTuple):
    """A stamp found at the start of a text; None where it does not tell."""

    length: int  # characters to skip, blanks after the stamp included
    monotonic: float | None = None  # seconds since boot
    wall: float | None = None  # seconds since the epoch
    zoned: bool = False  # False: `wall` was read as UTC because the stamp names no zone
    headed: bool = False  # a syslog's stamp: host and program follow


_SECONDS = re.compile(r"\[\s*(\d{1,10}\.\d{1,9})(?:\s*<\s*\d+\.\d+\s*>)?\] ?")
_RELATIVE = re.compile(r"\[\s*(?:<?\s*\+?\d{1,10}\.\d{1,9}>?|\w{3,5}\d\d? \d\d:\d\d)\] ?")
_ISO = re.compile(
    r"\[?(?:\w{2,9} )?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(?: ?(Z|UTC|GMT|[+-]\d\d:?\d\d))?\]?(?: |$)"
)
# weekday day-month-in-any-order time year, in whatever language `dmesg -T` was run
_CTIME = re.compile(
    r"\[\S{1,12}\s+(?:(\S{1,12})\s+(\d{1,2})|(\d{1,2})\.?\s+(\S{1,12}))"
    r"\s+(\d\d):(\d\d):(\d\d)\s+(\d{4})\] ?"
)
_SHORT = re.compile(r"([^\W\d]{3,9}\.?) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ")


def match(text: str, *, year: int | None = None) -> Stamp | None:
    """The stamp that `text` starts with; None if there is none.

    `year` completes `Nov 23 22:35:01`; without it such a stamp has no `wall`.
    """
    if text[:1] == "[":
        return _bracketed(text)
    if ":" not in text[:32]:  # all that follow have hours and minutes; this rules most lines out
        return None
    found = _ISO.match(text)
    if found:
        return _iso(found)
    found = _SHORT.match(text)
    if found:
        moment = _moment(year, _month(found[1]), found[2], found.group(3, 4, 5), found[6])
        return Stamp(found.end(), wall=moment, headed=True)
    return None


def _bracketed(text: str) -> Stamp | None:
    found = _SECONDS.match(text)
    if found:
        return Stamp(found.end(), monotonic=float(found[1]))
    found = _CTIME.match(text)
    if found:
        month, day = _month(found[1] or found[4]), found[2] or found[3]
        return Stamp(found.end(), wall=_moment(int(found[8]), month, day, found.group(5, 6, 7)))
    found = _ISO.match(text)
    if found:
        return _iso(found)
    found = _RELATIVE.match(text)  # `dmesg -H`, `dmesg -d`: no absolute time
    return Stamp(found.end()) if found else None


def _iso(found: re.Match[str]) -> Stamp:
    moment = _moment(int(found[1]), int(found[2]), found[3], found.group(4, 5, 6), found[7])
    headed = not found[0].startswith("[") and "," not in found[0]  # `dmesg` writes a comma
    zone = found[8]
    if moment is None or zone is None:
        return Stamp(found.end(), wall=moment, headed=headed)
    if zone[0] in "+-":
        offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        moment -= offset if zone[0] == "+" else -offset
    return Stamp(found.end(), wall=moment, zoned=True, headed=headed)


def _month(name: str) -> int | None:
    """English names only; another language's month gives no time rather than a guess."""
    short = name[:3].lower()
    return MONTHS.index(short) + 1 if short in MONTHS else None


def _moment(
    year: int | None,
    month: int | None,
    day: str,
    time: tuple[str | None, ...],
    fraction: str | None = None,
) -> float | None:
    if year is None or month is None:
        return None
    hour, minute, second = (int(part or 0) for part in time)
    try:
        # the zone is the caller's matter
        then = datetime(year, month, int(day), hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return then.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)
