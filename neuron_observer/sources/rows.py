"""The rows of listings, captures and recordings: one form, so that one reader reads them all.

A row is one file: kind, path below /sys, content, separated by tabs. Kind is the octal mode of a
file, `l` for a link (content is its target) or `d` for an empty directory; the mode of a device
node holds its type (`020666`), and its content is `MAJOR:MINOR`; content is a JSON string. Rows
that begin with `#` are comments; captures and recordings keep in them what a plain listing has no
place for, so each of them is also a listing (docs/recording.md tells the form in full).
"""

from __future__ import annotations

import errno
import json
import stat
from typing import TYPE_CHECKING, Any

from neuron_observer.errors import InputError
from neuron_observer.sources.form import SEPARATOR, Patch, patched
from neuron_observer.sources.hostfs import EntryKind, Space, resolve_link
from neuron_observer.sources.passes import Answered, Node, Pass, Status, Tick, Took, put

if TYPE_CHECKING:
    from collections.abc import Callable

# First words of the comment rows that mean something, each followed by a JSON value:
#   #capture {"schema": "neuron-observer/capture/1", …}     the first row
#   #at 12.5                                                seconds after the start; a new pass
#   #read [0.000123, 0.000009]   offset and duration in seconds of reading the next row
#   #error ["sys/…", "0400", "EACCES"]   a leaf that could not be read; ENOENT: it is gone
#   #host ["proc/stat", "0444", "cpu …"]                    a file outside /sys
#   #kernel [12.5, "6,1234,5678,-;…"]                       a line of the kernel log
#   #monitor [12.5, "{…}"]                                  a line of neuron-monitor
# and of recordings, which hold what one reader read, tick by tick:
#   #base                        what follows, up to the next tick, is all that there is
#   #tick [1234.5, 1796032800.1, ["fast", "normal"]]   monotonic and wall clock; lanes that were due
#   #dir ["proc", {"dir": ["1", "2"]}]                      all that a directory holds, by kind
#   #stat ["dev/neuron0", 8630, 62464, 7, 1796032800000000000]   mode, device, inode, ctime in ns
#   #files [7, "sys/devices/…", ["stats/…/total", …]]       files that are read together
#   #file [7, 12, "proc/1/stat"]                            one more of them, its position and path
#   #set [7, [0, 4], "12\n\f44\n"]                          contents of some of these
#   #patch [0, 12, [[64, "…"], …]]                          bytes from an offset on, of one of these
#   #took [[7, 8], 1234.501, 0.002]                         when sets were read, and for how long
#   #answer [7, 1234.4, [0.00001, …]]                       a device's firmware answered
#   #space ["/", 1000, 400]                                 a file system: size, available or null
#   #log ["kernel", {"name": "/dev/kmsg", "dropped": 3}]    how a log itself does
#   #periods {"fast": 0.25}                                 seconds by lane, from here on
_LATEST = 250e9  # seconds: later than the last that a date can name
VERSION = 1  # of either schema that this reads
_SCHEMAS = ("neuron-observer/capture/", "neuron-observer/recording/")
_ERRNO = {name: number for number, name in errno.errorcode.items()}
_WRONG = (ValueError, TypeError, LookupError, RecursionError, AttributeError)  # of a bad row


def check_schema(file: str, header: dict[str, Any]) -> None:
    """InputError for a file of a later form than this reads."""
    schema = str(header.get("schema", ""))
    for known in _SCHEMAS:
        number = schema.removeprefix(known)
        if number != schema and number.isdecimal() and int(number) > VERSION:
            by = header.get("version", "a later version")
            raise InputError(
                f"{file}: of form {schema}, and this reads {known}{VERSION}",
                remedy=f"It was written by neuron-observer {by}: use that version or a later one.",
            )


def check_head(header: dict[str, Any]) -> None:
    """TypeError, ValueError for a head of other types than are written."""
    for name in ("wall", "monotonic"):
        if name in header:
            _finite(header[name])
    for name in ("at", "host_root", "python", "version"):
        if name in header:
            _text(header[name])
    options = dict(header.get("options") or {})
    for name in ("firmware_deadline", "firmware_period"):
        if options.get(name) is not None:
            _finite(options[name])
    for key, path in dict(options.get("path_map") or {}).items():
        _text(key), _text(path)
    if options.get("job_mapping") is not None:
        _text(options["job_mapping"])


class RowReader:
    """Rows in, passes out."""

    def __init__(self, file: str) -> None:
        self.header: dict[str, Any] = {}
        self.number = 0  # of the row that was read last
        self.latest = Pass()  # that is not finished
        self._name = file
        self._sets: dict[int, dict[int, str]] = {}  # paths by position

    def take(self, row: str) -> Pass | None:
        """Read a row; the pass that it ends. InputError names the row that is wrong."""
        self.number += 1
        before = self.latest
        try:
            self._take(row.rstrip("\n"))
        except _WRONG as error:
            raise InputError(
                f"{self._name}:{self.number}: no row of a listing: {row.rstrip()[:60]!r}",
                remedy="A row is: kind, path below /sys, JSON string, separated by tabs.",
            ) from error
        return None if self.latest is before else before

    def _take(self, row: str) -> None:
        if row.startswith("#"):
            word, _, value = row[1:].partition(" ")
            comment = _COMMENTS.get(word)
            if comment:
                comment(self, json.loads(value) if value else None)
            return
        kind, path, content = row.split("\t", 2)
        node = make_node(kind, json.loads(content) if kind != "d" else "")
        self.latest.nodes[f"sys/{path}"] = node

    def _capture(self, value: Any) -> None:
        self.header = dict(value)
        check_schema(self._name, self.header)
        check_head(self.header)

    def _at(self, value: Any) -> None:
        if float(value) > 0:
            self.latest = Pass(float(value))

    def _tick(self, value: Any) -> None:
        monotonic, wall, lanes = value
        tick = Tick(_finite(monotonic), _finite(wall), tuple(map(_text, lanes)))
        begin = float(self.header.get("monotonic", tick.monotonic))
        self.latest = Pass(max(tick.monotonic - begin, 0.0), tick=tick)

    def _base(self, _value: Any) -> None:
        """A pass of its own, at the time of the one before."""
        self.latest = Pass(self.latest.at, whole=True)

    def _error(self, value: Any) -> None:
        path, mode, name = map(_text, value)
        node = Node("file", int(mode, 8), error=_ERRNO[name])
        put(self.latest.nodes, path, node)

    def _host(self, value: Any) -> None:
        path, mode, text = map(_text, value)
        self.latest.nodes[path] = make_node(mode, text)

    def _kernel(self, value: Any) -> None:
        self.latest.kernel.append(_text(value[1]))

    def _monitor(self, value: Any) -> None:
        self.latest.monitor.append(_text(value[1]))

    def _dir(self, value: Any) -> None:
        path, kinds = value
        names = {_text(name): _KINDS[kind] for kind, some in kinds.items() for name in some}
        self.latest.nodes[_text(path)] = Node("dir", 0o755, names=names)

    def _files(self, value: Any) -> None:
        number, base, names = value
        paths = [resolve_link("", f"{base}/{_text(name)}") for name in names]
        self._sets[int(number)] = dict(enumerate(paths))

    def _file(self, value: Any) -> None:
        number, position, path = value
        self._sets.setdefault(int(number), {})[int(position)] = _text(path)

    def _stat(self, value: Any) -> None:
        path, *fields = value
        self.latest.stats[_text(path)] = Status(*map(int, fields))

    def _set(self, value: Any) -> None:
        number, positions, text = value
        paths, nodes = self._sets[number], self.latest.nodes
        for position, content in zip(positions, text.split(SEPARATOR), strict=True):
            raw = content.encode("utf-8", "surrogateescape")
            nodes[paths[position]] = Node("file", 0o444, raw)

    def _patch(self, value: Any) -> None:
        number, position, patches = value
        path, latest = self._sets[number][position], self.latest
        found = [
            Patch(int(offset), text.encode("utf-8", "surrogateescape")) for offset, text in patches
        ]
        known = latest.nodes.get(path)
        if known is None:
            latest.patches.setdefault(path, []).extend(found)
        else:
            latest.nodes[path] = Node("file", known.mode, patched(known.content, found))

    def _took(self, value: Any) -> None:
        numbers, read_at, seconds = value
        took = Took(_finite(read_at), _finite(seconds))
        for number in numbers:
            paths = self._sets[number]
            if paths:
                self.latest.took[paths[0]] = took

    def _answer(self, value: Any) -> None:
        number, read_at, seconds = value
        paths = self._sets[number]
        if paths:
            answered = Answered(_finite(read_at), tuple(map(_finite, seconds)))
            self.latest.answers[paths[0]] = answered

    def _space(self, value: Any) -> None:
        mount, size, available = value
        free = None if available is None else int(available)
        space = None if size is None else Space(int(size), free)
        self.latest.spaces[_text(mount)] = space

    def _log(self, value: Any) -> None:
        word, told = value
        texts = {key: _text(told[key]) for key in ("name", "error") if key in told}
        counts = {_text(key): int(n) for key, n in told.items() if key not in texts}
        self.latest.logs[_text(word)] = {**counts, **texts}

    def _periods(self, value: Any) -> None:
        periods = {_text(lane): _finite(period) for lane, period in value.items()}
        if any(period <= 0 for period in periods.values()):
            raise ValueError("a period of no time")
        self.latest.periods = periods


_COMMENTS: dict[str, Callable[[RowReader, Any], None]] = {
    word: getattr(RowReader, f"_{word}")
    for word in (
        *(
            "capture",
            "at",
            "error",
            "host",
            "kernel",
            "monitor",
            "base",
            "tick",
            "dir",
            "files",
            "file",
            "stat",
        ),
        *("set", "patch", "took", "answer", "space", "log", "periods"),
    )
}
_KINDS: dict[str, EntryKind] = {"file": "file", "dir": "dir", "link": "link", "other": "other"}


def _finite(value: Any) -> float:
    number = float(value)
    if not -_LATEST < number < _LATEST:  # and no NaN
        raise ValueError(f"{value!r:.40} is no time")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def make_node(kind: str, content: Any) -> Node:
    """What a row's kind and content stand for."""
    if kind == "d":
        return Node("dir", 0o755)
    text = _text(content)
    if kind == "l":
        return Node("link", 0o777, target=text)
    if not kind.isdecimal():
        raise ValueError(f"{kind!r:.40} is no mode")
    mode = int(kind, 8)
    return Node(
        "other" if stat.S_IFMT(mode) else "file", mode, text.encode("utf-8", "surrogateescape")
    )


def encode(content: bytes) -> str:
    """Any bytes as a JSON string: UTF-8, and lone surrogates for what is not."""
    return json.dumps(content.decode("utf-8", "surrogateescape"))
