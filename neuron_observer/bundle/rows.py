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
from neuron_observer.sources.form import SEPARATOR
from neuron_observer.sources.hostfs import resolve_link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from neuron_observer.bundle.names import Names
    from neuron_observer.bundle.redaction import Redactor

_COUNT: Final = re.compile(r'"[-\d\s\\nx]*"')  # most files of the driver: nothing to be found in it
# a row of numbers alone; letters only as JSON's escapes of what stands between them
_COUNTS: Final = re.compile(r'\[\d+, ?\[[\d, ]*\], ?"(?:[-\d ]|\\[nftr])*"\]')
_PROCESS: Final = re.compile(r"proc/\d+/(?:task/\d+/)?(\w+)")
_STAT: Final = re.compile(r"(\d+ \()(.*)(\) \w .*)", re.DOTALL)
_NAME: Final = re.compile(r"(Name:\t)(.*)")
_DIGITS: Final = re.compile(r"[-\d\s]*")
_BLOCK: Final = 1 << 20
_NUMBERS: Final = frozenset(["#at", "#read", "#tick", "#took", "#answer", "#periods", "#base"])


class Rows:
    """Redacts the rows of one file."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._sets: dict[int, list[str]] = {}  # of a recording: number → paths

    def __call__(self, line: str) -> str:
        """One row, without its end of line."""
        return self._commented(line) if line.startswith("#") else self._file(line)

    def _commented(self, line: str) -> str:
        word, blank, rest = line.partition(" ")
        if word in _NUMBERS or (word == "#set" and _COUNTS.fullmatch(rest)):
            return line
        value = _json(rest)
        if value is None:
            return self._redactor.text(line)
        return f"{word}{blank}{json.dumps(self._comment(word, value))}"

    def _file(self, line: str) -> str:
        kind, _, rest = line.partition("\t")
        path, tab, content = rest.partition("\t")
        if _COUNT.fullmatch(content):
            return line
        text = _json(content)
        if not tab or not isinstance(text, str):
            return self._redactor.text(line)
        return f"{kind}\t{self._redactor.text(path)}\t{json.dumps(self._redactor.text(text))}"

    def _comment(self, word: str, value: Any) -> Any:
        try:
            if word == "#host":
                path, mode, text = value
                return [self._redactor.text(path), mode, host_file(self._redactor, path, text)]
            if word == "#files":
                number, base, names = value
                self._sets[number] = [resolve_link("", f"{base}/{name}") for name in names]
            elif word == "#set":
                return self._contents(*value)
        except (TypeError, ValueError, LookupError, AttributeError):
            pass  # no row that is known: what it holds is taken as text
        return _walked(self._redactor, value)

    def _contents(self, number: int, positions: list[int], text: str) -> list[Any]:
        """Contents of several files in one text."""
        paths, told = self._sets[number], text.split(SEPARATOR)
        if len(told) != len(positions):
            raise ValueError("one content a position")
        files = [
            host_file(self._redactor, paths[position], content)
            for position, content in zip(positions, told, strict=True)
        ]
        return [number, positions, SEPARATOR.join(files)]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
    if _DIGITS.fullmatch(text):
        return text
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
    out, redacted = io.BytesIO(), Rows(redactor)
    with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=6, mtime=0) as stream:
        for one in rows:
            stream.write(f"{redacted(one)}\n".encode("utf-8", "surrogateescape"))
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
