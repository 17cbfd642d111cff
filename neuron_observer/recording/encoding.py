"""What a tape heard, as rows of a recording (their form: `sources.rows`), and packed.

Rows that come by the hundred a second are put together by hand: a list of numbers prints as JSON.
"""

from __future__ import annotations

import errno
import json
import zlib
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

from neuron_observer.sources.form import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from neuron_observer.sources.hostfs import Entry

SCHEMA = "neuron-observer/recording/1"
SUFFIX = ".nobs.gz"
_GZIP = 31  # wbits: a member of a gzip file
_LEVEL = 1  # of compression: the next one takes twice the time for a tenth of the bytes
_AT_ONCE = 1 << 16  # characters that are packed at once
_SEPARATOR = SEPARATOR.encode()
_json = json.JSONEncoder(separators=(",", ":")).encode


def text_of(raw: bytes) -> str:
    """Any bytes: UTF-8, and lone surrogates for what is not."""
    return raw.decode("utf-8", "surrogateescape")


def row(word: str, value: Any) -> str:
    """A comment row."""
    return f"#{word} {_json(value)}"


def file_row(path: str, raw: bytes) -> str:
    """A file and its content."""
    return f'#host [{quoted(path)},"0444",{quoted(text_of(raw))}]'


def link_row(path: str, target: str) -> str:
    """A link and where it points."""
    return f'#host [{quoted(path)},"l",{quoted(target)}]'


def process_row(pid: str) -> str:
    """A process that is there, whatever else is known of it."""
    return f'#host ["proc/{pid}","d",""]'


def error_row(path: str, number: int) -> str:
    """A path that cannot be read; ENOENT: it is gone."""
    return row("error", [path, "0444", errno.errorcode.get(number, "EIO")])


def gone_row(path: str) -> str:
    """A path that is no longer there, and all that stood below it."""
    return error_row(path, errno.ENOENT)


def folder_row(path: str, entries: Iterable[Entry]) -> str:
    """All that a directory holds."""
    kinds: dict[str, list[str]] = {}
    for name, kind in entries:
        kinds.setdefault(kind, []).append(name)
    return row("dir", [path, kinds])


def set_rows(
    number: int,
    path_of: Callable[[int], str],
    positions: list[int],
    contents: Sequence[bytes],
) -> list[str]:
    """Contents of some files of a set: one row, unless one of them holds the separator itself."""
    joined = _SEPARATOR.join(contents)
    if joined.count(_SEPARATOR) == len(contents) - 1:
        return [f"#set [{number}, {_listed(tuple(positions))}, {quoted(text_of(joined))}]"]
    pairs = zip(positions, contents, strict=True)
    return [file_row(path_of(position), content) for position, content in pairs]


@lru_cache(64)  # a steady job moves the same files each second
def _listed(numbers: tuple[int, ...]) -> str:
    return str([*numbers])


def patch_row(number: int, position: int, patches: Iterable[tuple[int, bytes]]) -> str:
    """Bytes of a large file that are others than before."""
    told = ", ".join([f"[{offset}, {quoted(text_of(content))}]" for offset, content in patches])
    return f"#patch [{number}, {position}, [{told}]]"


def took_row(numbers: list[int], read_at: float, seconds: float) -> str:
    """Sets that were read together."""
    return f"#took [{numbers}, {read_at!r}, {seconds!r}]"


def tick_row(monotonic: float, wall: float, lanes: Iterable[str]) -> str:
    """A turn of the reader begins."""
    return f"#tick [{monotonic!r}, {wall!r}, {_json(list(lanes))}]"


def packed(rows: Iterable[str]) -> bytes:
    """Rows as one member of a gzip file: members one after another are a file again.

    They are taken one after another, so that rows that are made meanwhile are not held as a whole.
    """
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    parts, waiting, size = [], [], 0
    for one in rows:
        waiting.append(one)
        size += len(one)
        if size >= _AT_ONCE:
            parts.append(packer.compress(_lines(waiting)))
            waiting, size = [], 0
    return b"".join([*parts, packer.compress(_lines(waiting)), packer.flush()])


def _lines(rows: Sequence[str]) -> bytes:
    return "\n".join((*rows, "")).encode("utf-8", "surrogatepass")
