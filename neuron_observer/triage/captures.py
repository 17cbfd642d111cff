"""Captures handed to `triage`: of the host's files it reads none, of the lines in them all.

A capture keeps lines of the kernel log and of neuron-monitor in comments (`sources.listing`). Each
becomes the line it was, every other row an empty one, so that line numbers stay the file's own.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.triage.inputs import Input

_LISTING = re.compile(rb"(?:#[^\n]*\n)*(?:0[0-7]{3}|l|d)\t\S|#capture \{")
_KEPT = (b"#kernel ", b"#monitor ")
_LONGEST = 16 << 20  # bytes of a row; of a longer one its first word and its end are left


def is_listing(head: bytes) -> bool:
    """Whether a file that begins so is a capture or a listing of a host tree."""
    return bool(_LISTING.match(head))


def kept_lines(source: Input, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of logs that a capture holds, where they stand; what it is goes into the notes."""
    counts = dict.fromkeys(_KEPT, 0)
    rest = b""
    for chunk in chunks:
        *rows, rest = (rest + chunk).split(b"\n")
        rest = rest if len(rest) <= _LONGEST else rest[:16]
        yield b"".join(_line(source, row, counts) + b"\n" for row in rows)
    if rest:
        yield _line(source, rest, counts)
    _say(source, *counts.values())


def _line(source: Input, row: bytes, counts: dict[bytes, int]) -> bytes:
    for word in _KEPT:
        if row.startswith(word):
            counts[word] += 1
            return _text(source, row[len(word) :])
    return b""


def _text(source: Input, value: bytes) -> bytes:
    try:
        _, text = json.loads(value)
        return str(text).replace("\n", " ").encode("utf-8", "backslashreplace")
    except (ValueError, TypeError, RecursionError):
        if not source.partial:
            source.cut("a line of a log in the capture is damaged: left out")
        return b""


def _say(source: Input, kernel: int, monitor: int) -> None:
    name = source.name if source.name.endswith((".tsv", ".gz")) else "FILE"
    remedy = f"neuron-observer devices --host-root {name}"
    if not kernel and not monitor:
        source.fail(
            "is a listing of a host tree without a line of a log",
            f"its registers are looked at with: {remedy}",
        )
        return
    source.kinds.add("capture")
    source.notes.append(
        f"is a capture: {kernel} lines of the kernel log and {monitor} of neuron-monitor were read;"
        f" its registers are looked at with: {remedy}"
    )
