"""Captures: what a host shows, written into one file that plays the part of that host again.

The form is that of a listing (`sources.listing`): every capture is also a listing. Counters are
captured as they are, serial numbers too; names and ids in lines of text are replaced (`Scrubber`).
"""

from __future__ import annotations

import errno
import gzip
import json
import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer import __version__
from neuron_observer.collectors.batching import CPU_STAT_BYTES
from neuron_observer.contract import instant
from neuron_observer.errors import InputError
from neuron_observer.recording.leaves import leaves
from neuron_observer.recording.output import opened_new
from neuron_observer.recording.processes import ProcessRows
from neuron_observer.recording.scrub import Scrubber
from neuron_observer.sources.hostfs import DEFAULT_LIMIT
from neuron_observer.sources.listing import encode
from neuron_observer.sources.workers import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from neuron_observer.clock import Clock
    from neuron_observer.recording.leaves import Leaf
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Workers

SCHEMA = "neuron-observer/capture/1"
_PATIENCE = 60.0  # seconds for one device's firmware registers
_FIRMWARE = re.compile(r"(?:serial_number|(?:sram|mem)_ecc_\w+|fw_\w+|pe_cntrs)")


class Seen(NamedTuple):
    """What reading a file gave, when and how fast."""

    content: Content
    offset: float  # seconds since the capture began
    seconds: float


class Capture:
    """A capture in the making: passes over the host, each adding what changed."""

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        workers: Workers,
        *,
        jobs: bool = False,
        scrub: Callable[[str], str] | None = None,
    ) -> None:
        """With `jobs` also the processes that hold devices; `scrub`: of lines of text."""
        self._host, self._clock, self._workers = host, clock, workers
        self._begin = clock.monotonic()
        self._last: dict[str, str] = {}
        self.scrub = scrub or Scrubber(host)
        self._processes = ProcessRows(host, clock, self.scrub) if jobs else None
        self.files = 0
        self.unreadable = 0

    def header(self) -> str:
        """The first line."""
        about = {"schema": SCHEMA, "version": __version__, "at": instant(self._clock.wall())}
        return f"#capture {json.dumps(about)}"

    def one_pass(self) -> Iterator[str]:
        """Read everything once; rows of what is new or changed since the last pass."""
        yield f"#at {self._since() if self._last else 0.0:.3f}"
        groups = list(leaves(self._host).values())
        seen = self._read([[leaf.path for leaf in group if not leaf.target] for group in groups])
        processes = self._processes.rows() if self._processes else {}
        gone = self._last.keys() - _there(groups, seen) - processes.keys()
        for group in groups:
            for leaf in group:
                yield from self._rows(leaf, seen.get(leaf.path))
        for path, row in processes.items():
            yield from self._changed(path, row)
        for path in sorted(gone):
            del self._last[path]
            yield f"#error {_json([path, '0000', 'ENOENT'])}"

    def _read(self, groups: list[list[str]]) -> dict[str, Seen]:
        """Every group's firmware registers by a worker of their own: a hang costs only them."""
        lanes: dict[int, list[str]] = {}
        for number, paths in enumerate(groups):
            slow = {path for path in paths if _FIRMWARE.fullmatch(path.rpartition("/")[2])}
            lanes[2 * number] = [path for path in paths if path not in slow]
            lanes[2 * number + 1] = [path for path in paths if path in slow]
        asked: list[int] = []
        for lane, names in lanes.items():
            limits = tuple(_limit(name) for name in names)
            if self._workers.submit(lane, Request("", tuple(names), limits)):
                asked.append(lane)
        answers = self._workers.gather(asked, _PATIENCE)  # an answer owed may be to other names
        late = OSError(errno.ETIMEDOUT, "no answer")
        found: dict[str, Seen] = {}
        for lane, names in lanes.items():
            if lane not in answers:
                found |= {name: Seen(late, self._since(), _PATIENCE) for name in names}
                continue
            contents, durations, read_at = answers[lane]
            offset = read_at - self._begin
            for name, content, seconds in zip(names, contents, durations, strict=True):
                found[name] = Seen(content, offset, seconds)
                offset += seconds
        return found

    def _since(self) -> float:
        return self._clock.monotonic() - self._begin

    def _rows(self, leaf: Leaf, seen: Seen | None) -> Iterator[str]:
        if leaf.target:
            yield from self._changed(leaf.path, f"l\t{_below_sys(leaf.path)}\t{_json(leaf.target)}")
            return
        if seen is None:
            return
        mode = self._mode(leaf)
        if isinstance(seen.content, OSError):
            if seen.content.errno == errno.ENOENT:
                return
            self.unreadable += 1
            name = errno.errorcode.get(seen.content.errno or 0, "EIO")
            row = f"#error {_json([leaf.path, mode, name])}"
        elif leaf.path.startswith("sys/"):
            row = f"{mode}\t{_below_sys(leaf.path)}\t{encode(seen.content)}"
        else:
            text = seen.content.decode("utf-8", "surrogateescape")
            row = f"#host {_json([leaf.path, mode, text])}"
        self.files += 1
        for line in self._changed(leaf.path, row):
            yield f"#read [{max(seen.offset, 0):.6f}, {seen.seconds:.6f}]"
            yield line

    def _changed(self, path: str, row: str) -> Iterator[str]:
        if self._last.get(path) != row:
            self._last[path] = row
            yield row

    def _mode(self, leaf: Leaf) -> str:
        try:
            return f"{stat.S_IMODE(self._host.lstat(leaf.path).st_mode):04o}"
        except OSError:
            return f"{leaf.mode:04o}"

    def text_rows(self, word: str, lines: Iterable[str]) -> Iterator[str]:
        """Lines of the kernel log or of neuron-monitor, scrubbed."""
        for line in lines:
            yield f"#{word} {_json([round(self._since(), 3), self.scrub(line)])}"


def _there(groups: Iterable[list[Leaf]], seen: Mapping[str, Seen]) -> set[str]:
    """Paths that a pass found: a device that fell off the bus must not live on in the file."""
    return {
        leaf.path
        for group in groups
        for leaf in group
        if leaf.target or not isinstance(seen[leaf.path].content, FileNotFoundError)
    }


def _limit(path: str) -> int:
    """A sysfs file is a page at most; /proc/stat of a large machine is many."""
    return DEFAULT_LIMIT if path.startswith("sys/") else CPU_STAT_BYTES


def _below_sys(path: str) -> str:
    return path.removeprefix("sys/")


def _json(value: Any) -> str:
    return json.dumps(value)


def write_rows(file: str, rows: Iterable[str], *, force: bool = False) -> None:
    """Write a file that the user asked for; a name that ends in .gz is packed.

    `InputError` where it cannot be written, or is there already and nobody said `force`.
    """
    try:
        with opened_new(file, force=force) as out:
            if file.endswith(".gz"):
                with gzip.open(out, "wt", encoding="utf-8", compresslevel=6) as packed:
                    packed.writelines(f"{row}\n" for row in rows)
            else:
                out.writelines(f"{row}\n".encode() for row in rows)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from error
