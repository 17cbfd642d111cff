"""A dump of PyTorch's flight recorder: how far each process group is, and in which collective.

Form of torch 2.10 to 2.13 (`_dump_fr_trace_json`, version 2.10): an object with its keys sorted, so
that `pg_status` stands behind the entries and an entry begins with `collective_seq_id`. Only the
end is looked at: a whole dump is a megabyte, and anybody may have written it. Total.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

LIMIT: Final = 1 << 20  # bytes of a dump
TAIL: Final = 128 * 1024  # of them that are looked at
MOST_ENTRIES: Final = 256
MOST_GROUPS: Final = 64
_STATUS: Final = b'"pg_status"'
_ENTRY: Final = b'{"collective_seq_id"'


class Group(NamedTuple):
    """One process group as one rank saw it."""

    enqueued: int  # the number of the last collective that it asked for
    completed: int
    operation: str = ""  # the last one: name, sizes, types


def groups(raw: bytes) -> dict[str, Group] | str:
    """The groups by their number; else what is wrong with the dump."""
    tail = raw[-TAIL:]
    at = tail.rfind(_STATUS)
    if at < 0:
        return "no dump of the flight recorder: no pg_status at its end"
    colon = tail.find(b":", at + len(_STATUS))
    status = _decoded(tail[colon + 1 :].lstrip())
    if not isinstance(status, dict):
        return "a dump of the flight recorder that is cut off"
    last = _last(tail[:at])
    found = {}
    for name, one in list(status.items())[:MOST_GROUPS]:
        if isinstance(one, dict):
            enqueued = _count(one.get("last_enqueued_collective"))
            completed = _count(one.get("last_completed_collective"))
            if enqueued is not None and completed is not None:
                found[name[:32]] = Group(enqueued, completed, last.get(name, ""))
    return found or "a dump of the flight recorder without a process group"


def _last(raw: bytes) -> dict[str, str]:
    """The last collective of each group, by the entries at the end."""
    found: dict[str, str] = {}
    end = len(raw)
    for _ in range(MOST_ENTRIES):
        at = raw.rfind(_ENTRY, 0, end)
        if at < 0:
            break
        entry = _decoded(raw[at:end])
        end = at
        if isinstance(entry, dict) and not entry.get("is_p2p"):
            group = entry.get("process_group")
            name = str(group[0])[:32] if isinstance(group, list) and group else "0"
            found.setdefault(name, _operation(entry))
    return found


def _operation(entry: dict[str, Any]) -> str:
    words = (entry.get(name) for name in ("profiling_name", "input_sizes", "input_dtypes"))
    text = " ".join(str(word)[:80] for word in words if word)
    return "".join(c for c in text if c.isprintable())


def _decoded(raw: bytes) -> object:
    """The JSON value that these bytes begin with; None where there is none."""
    text = raw.decode("utf-8", "replace")
    try:
        value: object = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return value


def _count(value: object) -> int | None:
    """A number, written as one or as text; -1 is none yet."""
    text = str(value).strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 19):
        return None
    return max(int(text), 0)
