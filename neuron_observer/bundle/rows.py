"""Rows of a capture or a recording, redacted one by one; a row that is not known is text."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from typing import TYPE_CHECKING, Any, Final

from neuron_observer.bundle import commands
from neuron_observer.bundle.secrets import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from neuron_observer.bundle.names import Names
    from neuron_observer.bundle.redaction import Redactor

_COUNT: Final = re.compile(r'"[-\d\s\\nx]*"')  # most files of the driver: nothing to be found in it
_PROCESS: Final = re.compile(r"proc/\d+/(?:task/\d+/)?(\w+)")
_STAT: Final = re.compile(r"(\d+ \()(.*)(\) \w .*)", re.DOTALL)
_NAME: Final = re.compile(r"(Name:\t)(.*)")
_BLOCK: Final = 1 << 20


def row(redactor: Redactor, line: str) -> str:
    """One row, without its end of line."""
    if line.startswith("#"):
        word, blank, rest = line.partition(" ")
        value = _json(rest)
        if value is None:
            return redactor.text(line)
        return f"{word}{blank}{json.dumps(_comment(redactor, word, value))}"
    fields = line.split("\t", 2)
    if len(fields) != 3:
        return redactor.text(line)
    kind, path, content = fields
    if _COUNT.fullmatch(content):
        return line
    text = _json(content)
    told = redactor.text(content) if not isinstance(text, str) else json.dumps(redactor.text(text))
    return f"{kind}\t{redactor.text(path)}\t{told}"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _comment(redactor: Redactor, word: str, value: Any) -> Any:
    if word == "#host" and isinstance(value, list) and len(value) == 3:
        path, mode, text = value
        if isinstance(path, str) and isinstance(text, str):
            return [redactor.text(path), mode, host_file(redactor, path, text)]
    if word in ("#at", "#read"):
        return value
    return _walked(redactor, value)


def _walked(redactor: Redactor, value: Any) -> Any:
    """A value with all its texts; a report of neuron-monitor is a document inside a text."""
    if isinstance(value, list):
        return [_walked(redactor, one) for one in value]
    if isinstance(value, str):
        return line_text(redactor, value)
    return redactor.document(value)


def line_text(redactor: Redactor, line: str) -> str:
    """A line of a log; one that is a JSON object has its names in fields."""
    if line.lstrip().startswith("{"):
        document = _json(line)
        if isinstance(document, dict):
            return json.dumps(redactor.document(document), separators=(",", ":"))
    return redactor.text(line)


def host_file(redactor: Redactor, path: str, text: str) -> str:
    """A file of a host outside /sys, by what it is."""
    found = _PROCESS.match(path)
    leaf = path.rpartition("/")[2] if found else ""
    names = redactor.names
    special = _FILES.get(leaf)
    told = special(names, text) if special else text
    return masked(told) if leaf in ("cmdline", "environ", "stat", "status") else redactor.text(told)


def _cmdline(names: Names, text: str) -> str:
    return "\0".join(commands.words(names, text.split("\0")))


def _comm(names: Names, text: str) -> str:
    return commands.program(names, text.rstrip("\n")) + "\n" * text.endswith("\n")


def _stat(names: Names, text: str) -> str:
    return _STAT.sub(lambda one: f"{one[1]}{commands.program(names, one[2])}{one[3]}", text)


def _status(names: Names, text: str) -> str:
    return _NAME.sub(lambda one: one[1] + commands.program(names, one[2]), text, count=1)


_FILES: Final[Mapping[str, Callable[[Names, str], str]]] = {
    "cmdline": _cmdline,
    "environ": commands.environment,
    "cgroup": commands.group,
    "comm": _comm,
    "stat": _stat,
    "status": _status,
}


def packed(redactor: Redactor, rows: Iterable[str]) -> bytes:
    """Rows, redacted and compressed."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=6, mtime=0) as stream:
        for one in rows:
            stream.write(f"{row(redactor, one)}\n".encode("utf-8", "surrogateescape"))
    return out.getvalue()


def lines_of(raw: bytes, most: int) -> Iterator[str]:
    """Lines of a file, compressed or not; `ValueError` where it is damaged or unpacks to more."""
    stream = io.BytesIO(raw)
    file = gzip.GzipFile(fileobj=stream) if raw.startswith(b"\x1f\x8b") else stream
    rest, seen = b"", 0
    try:
        while block := file.read(_BLOCK):
            seen += len(block)
            if seen > most:
                raise ValueError(f"unpacks to more than {most} bytes")
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield line.decode("utf-8", "surrogateescape")
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"is damaged: {error}") from error
    if rest:
        yield rest.decode("utf-8", "surrogateescape")
