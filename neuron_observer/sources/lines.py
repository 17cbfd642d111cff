"""Line sources: files that rotate, pipes and FIFOs. Nothing here waits, writes or grows unbounded.

A source hands on whole lines as bytes. What it could not hand on is counted, never silent.
"""

from __future__ import annotations

import os
import select
import stat
from collections import deque
from pathlib import Path
from typing import Protocol

from neuron_observer.sources.splitter import MAX_LINE, LineSplitter

CHUNK = 65_536  # bytes a read
MAX_FILL = 64 * 1024 * 1024  # bytes a poll: a writer that never pauses must not hold us
MAX_BEHIND = 256 * 1024 * 1024  # bytes that a file may be ahead of us before we skip
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class LineCounts:
    """What happened to the lines of one source since it was opened."""

    def __init__(self) -> None:
        self.read = 0  # handed on
        self.cut = 0  # longer than the bound: shortened, or refused where a piece is of no use
        self.dropped = 0  # thrown away because they came faster than they were taken
        self.overruns = 0  # times the writer lapped us; how many lines is not known here
        self.restarts = 0  # file rotated or truncated, child started again
        self.errors = 0  # reads that failed

    def copy(self) -> LineCounts:
        """As they are now."""
        made = LineCounts()
        vars(made).update(vars(self))
        return made


class LineSource(Protocol):
    """Where lines come from."""

    @property
    def name(self) -> str:
        """What to call the source towards people: a path or a command."""
        ...

    @property
    def counts(self) -> LineCounts:
        """What was read, cut, dropped."""
        ...

    @property
    def error(self) -> str:
        """Why no line can come just now; empty while all is well."""
        ...

    @property
    def ended(self) -> bool:
        """Whether no line will ever come again."""
        ...

    def poll(self, limit: int) -> list[bytes]:
        """Up to `limit` whole lines that are there, without their newline; never waits."""
        ...

    def fileno(self) -> int | None:
        """A descriptor that turns readable when there is more; None if there is none."""
        ...

    def close(self) -> None:
        """Give up the source."""
        ...


class Descriptor:
    """Lines of an open descriptor: reads chunks until there are enough lines or nothing more."""

    def __init__(self, splitter: LineSplitter, counts: LineCounts) -> None:
        self.splitter = splitter
        self.counts = counts
        self.ready: deque[bytes] = deque()
        self.seen = 0  # bytes read

    def fill(self, fd: int, limit: int) -> bool:
        """Read until `limit` lines or MAX_FILL bytes; False once a read finds the end."""
        most = self.seen + MAX_FILL
        while len(self.ready) < limit and self.seen < most:
            if not readable(fd):
                return True
            chunk = os.read(fd, CHUNK)
            if not chunk:
                return False
            self.seen += len(chunk)
            self.add(self.splitter.feed(chunk))
        return True

    def add(self, lines: list[bytes]) -> None:
        """Lines that are ready to be handed on."""
        self.ready.extend(lines)
        self.counts.cut = self.splitter.cut

    def take(self, limit: int) -> list[bytes]:
        """Up to `limit` ready lines, oldest first."""
        taken = [self.ready.popleft() for _ in range(min(limit, len(self.ready)))]
        self.counts.read += len(taken)
        return taken


def readable(fd: int) -> bool:
    """Whether a read would return at once: data, end or error."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))


class PipeLines:
    """Lines of a pipe: standard input, or a FIFO by path.

    The descriptor's flags are left alone, for standard input is shared with others. A FIFO
    without a writer waits for the next one; a pipe without a writer has ended.
    """

    def __init__(
        self,
        fd: int,
        name: str,
        *,
        reopens: bool = False,
        max_line: int = MAX_LINE,
        keep_cut: bool = True,
    ) -> None:
        self.name = name
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self._fd = fd
        self._reopens = reopens
        self._lines = Descriptor(LineSplitter(max_line, keep_cut=keep_cut), self.counts)

    def poll(self, limit: int) -> list[bytes]:
        """Lines that are there."""
        if not self.ended:
            try:
                more = self._lines.fill(self._fd, limit)
            except OSError as failure:
                self.counts.errors += 1
                self.error = str(failure)
                more = False
            if more:
                self.error = ""
            else:
                self._at_end()
        return self._lines.take(limit)

    def _at_end(self) -> None:
        self.error = self.error or "no writer"
        if self._lines.splitter.unfinished:
            self._lines.add(self._lines.splitter.flush())
        self.ended = not self._reopens

    def fileno(self) -> int | None:
        """The pipe."""
        return None if self.ended else self._fd

    def close(self) -> None:
        """Close the pipe; standard input stays open, it is not ours."""
        if self._fd > 2:
            os.close(self._fd)
        self.ended = True


class FileLines:
    """Lines of a file that grows, from its beginning or from its end; rotation is followed.

    A file that is not there yet is waited for. When the writer is `max_behind` bytes ahead, lines
    are counted as dropped instead of read, so that neither memory nor delay grows.
    """

    def __init__(
        self,
        path: str,
        *,
        from_end: int | None = None,
        max_line: int = MAX_LINE,
        keep_cut: bool = True,
        max_behind: int = MAX_BEHIND,
    ) -> None:
        self.name = path
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self._from_end = from_end  # bytes before the end to start at; None: the beginning
        self._max_behind = max_behind
        self._splitting = (max_line, keep_cut)
        self._fd: int | None = None
        self._lines = Descriptor(LineSplitter(max_line, keep_cut=keep_cut), self.counts)
        self._skip_first = False

    def poll(self, limit: int) -> list[bytes]:
        """Lines that are there."""
        try:
            if self._fd is None:
                self._open()
            if self._fd is not None:
                self._read(self._fd, limit)
        except OSError as failure:
            self._fail(failure)
        return self._lines.take(limit)

    def _open(self) -> None:
        fd = os.open(self.name, FLAGS)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise IsADirectoryError(f"{self.name} is no plain file")
        if self._from_end is not None:
            start = max(0, status.st_size - self._from_end)
            os.lseek(fd, max(0, start - 1), os.SEEK_SET)
            self._skip_first = start > 0 and os.read(fd, 1) != b"\n"  # we land within a line
        self._fd = fd
        self.error = ""

    def _read(self, fd: int, limit: int) -> None:
        self._catch_up(fd)
        more = self._lines.fill(fd, limit)
        if self._skip_first and self._lines.ready:
            self._lines.ready.popleft()
            self._skip_first = False
        if not more:
            self._follow(fd)

    def _catch_up(self, fd: int) -> None:
        """Skip what is too far back, counting its lines."""
        behind = os.fstat(fd).st_size - os.lseek(fd, 0, os.SEEK_CUR)
        skip = behind - self._max_behind
        if skip <= 0:
            return
        self.counts.overruns += 1
        while skip > 0:
            chunk = os.read(fd, min(CHUNK, skip))
            if not chunk:
                return
            skip -= len(chunk)
            lines = self._lines.splitter.feed(chunk)
            self.counts.dropped += len(lines)

    def _follow(self, fd: int) -> None:
        """At the end: has the file been truncated, or another put in its place?"""
        now, here = Path(self.name).stat(), os.fstat(fd)
        if (now.st_ino, now.st_dev) != (here.st_ino, here.st_dev):
            self._leave()
        elif here.st_size < os.lseek(fd, 0, os.SEEK_CUR):
            os.lseek(fd, 0, os.SEEK_SET)
            self.counts.restarts += 1

    def _leave(self) -> None:
        """Finish the old file; the next poll opens the new one at its beginning."""
        if self._lines.splitter.unfinished:
            self._lines.add(self._lines.splitter.flush())
        self.counts.restarts += 1
        self._from_end = None
        self.close()

    def _fail(self, failure: OSError) -> None:
        if not isinstance(failure, FileNotFoundError):
            self.counts.errors += 1
        elif self._fd is not None:
            self._leave()
        self.error = failure.strerror or str(failure)

    def fileno(self) -> int | None:
        """None: a plain file is always readable."""
        return None

    def close(self) -> None:
        """Close the file; a later poll opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def open_lines(
    path: str,
    *,
    from_end: int | None = None,
    max_line: int = MAX_LINE,
    keep_cut: bool = True,
) -> LineSource:
    """The source for a path: `-` is standard input, a FIFO is read as a pipe, else a file."""
    if path == "-":
        return PipeLines(0, "standard input", max_line=max_line, keep_cut=keep_cut)
    try:
        fifo = stat.S_ISFIFO(Path(path).stat().st_mode)
    except OSError:
        fifo = False  # a file that may come
    if fifo:
        fd = os.open(path, FLAGS)
        return PipeLines(fd, path, reopens=True, max_line=max_line, keep_cut=keep_cut)
    return FileLines(path, from_end=from_end, max_line=max_line, keep_cut=keep_cut)
