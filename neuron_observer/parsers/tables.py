"""Files with more than one value: bytes → {part: cell}.

A part that is not in the file is not in the answer; what is in the answer is a value or says why
not. Rows of uneven width are normal (`utilization_raw`), so nothing here is a CSV reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from neuron_observer.model import Missing, Why
from neuron_observer.parsers.proc import block, cpu_stat, descriptors, load, memory, pressure
from neuron_observer.parsers.sysfs import EMPTY, FELL_OFF, MALFORMED, NOT_ANSWERING, count, line

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Cell


POWER_PARTS: Final = ("status", "epoch", "minimum", "maximum", "mean")
_PERCENT: Final = re.compile(r"[0-9]{1,3}\.[0-9]{2}")
_BOGUS: Final = re.compile(r"bogus\(([0-9]+)\)")
_ROW_NUMBER: Final = re.compile(r"[0-9]{1,2}")
_STATUSES: Final = {f"POWER_STATUS_{name}" for name in ("VALID", "NO_DATA", "INVALID", "MAX")}
_LAST_EPOCH: Final = 253_402_300_799  # the last second that a date can name, in the year 9999


def power(raw: bytes) -> dict[str, Cell]:
    """`POWER_STATUS_VALID,<epoch>,<min>,<max>,<mean>`: figures in percent, only while VALID.

    NO_DATA with epoch 0 is NOT_YET: the first whole minute after the load is not over.
    """
    text = line(raw)
    if not isinstance(text, str):
        return dict.fromkeys(POWER_PARTS, text)
    fields = text.strip().split(",")
    if len(fields) != 5 or fields[0] not in _STATUSES:
        return dict.fromkeys(POWER_PARTS, MALFORMED if text.strip() else EMPTY)
    status, epoch = fields[0], count(fields[1].encode())
    if isinstance(epoch, int) and epoch > _LAST_EPOCH:
        epoch = MALFORMED
    parts: dict[str, Cell] = {"status": status, "epoch": epoch}
    if status != "POWER_STATUS_VALID":
        why = Why.NOT_YET if status.endswith("NO_DATA") and epoch == 0 else Why.FAILED
        return parts | dict.fromkeys(POWER_PARTS[2:], Missing(why, status))
    for name, field in zip(POWER_PARTS[2:], fields[2:], strict=True):
        valid = _PERCENT.fullmatch(field) and float(field) <= 100
        parts[name] = float(field) if valid else MALFORMED
    return parts


def power_dies(raw: bytes) -> dict[str, Cell]:
    """`die,util_bips,counter` and a line a die: parts `0.util_bips` and so on."""
    lines = raw.decode("utf-8", "replace").split("\n")
    if lines[0] != "die,util_bips,counter":
        return {}
    parts: dict[str, Cell] = {}
    for row in lines[1:]:
        die, _, rest = row.partition(",")
        if _ROW_NUMBER.fullmatch(die):
            bips, sample = _die(rest.split(","))
            parts[f"{int(die)}.util_bips"], parts[f"{int(die)}.counter"] = bips, sample
    return parts


def _die(fields: list[str]) -> tuple[Cell, Cell]:
    if fields == ["unavailable"]:
        gone = Missing(Why.FAILED, "unavailable: device not ready, or firmware API below 3")
        return gone, gone
    if fields == ["read_error"]:
        return Missing(Why.FAILED, "read_error"), Missing(Why.FAILED, "read_error")
    if len(fields) != 2:
        return MALFORMED, MALFORMED
    bogus = _BOGUS.fullmatch(fields[0])
    if bogus:
        known = {("65535", "65535"): FELL_OFF, ("48879", "57005"): NOT_ANSWERING}
        reason = known.get((bogus.group(1), fields[1]), Missing(Why.FAILED, fields[0][:40]))
        return reason, reason
    bips, sample = count(fields[0].encode()), count(fields[1].encode())
    if isinstance(bips, int) and bips > 10_000:
        bips = Missing(Why.FAILED, "more than 100 %")
    return bips, sample


def pe_array(raw: bytes) -> dict[str, Cell]:
    """`xrow_grp,mm_active,wl_active,idle` and a line a row group: parts `0.mm_active` and so on.

    The driver cuts the text after the last good line when a read fails, and anywhere after 255
    bytes: of a row without its newline the last number may be a part of a number.
    """
    names = ("mm_active", "wl_active", "idle")
    lines = raw.decode("utf-8", "replace").split("\n")[:-1]
    if not lines or lines[0] != "xrow_grp,mm_active,wl_active,idle":
        return {}
    parts: dict[str, Cell] = {}
    for row in lines[1:]:
        group, *fields = row.split(",")
        if _ROW_NUMBER.fullmatch(group) and len(fields) == len(names):
            for name, field in zip(names, fields, strict=True):
                parts[f"{int(group)}.{name}"] = count(field.encode())
    return parts


def named_counts(raw: bytes) -> dict[str, Cell]:
    """`NAME count` lines, as the kernel's AER files have them."""
    parts: dict[str, Cell] = {}
    for row in raw.decode("utf-8", "replace").split("\n"):
        name, _, value = row.rpartition(" ")
        if name and name.isprintable():
            parts[name.strip()] = count(value.encode())
    return parts


TABLES: Final[dict[str, Callable[[bytes], dict[str, Cell]]]] = {
    "power": power,
    "power_dies": power_dies,
    "pe_array": pe_array,
    "aer": named_counts,
    "cpu_stat": cpu_stat,
    "memory": memory,
    "load": load,
    "pressure": pressure,
    "descriptors": descriptors,
    "block": block,
}
