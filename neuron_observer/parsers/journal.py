"""Entries of `journalctl -o json` (systemd.journal-fields(7))."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from neuron_observer.parsers.kernel_record import KERNEL, KernelRecord, decode

if TYPE_CHECKING:
    from collections.abc import Iterator


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
