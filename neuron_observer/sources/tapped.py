"""A host that is read through a tape: whatever is asked of it, the tape hears the answer.

What is read again and again in sets goes past the tape by their witness (`HostFs.file_set` stays
as fast as it is); all else comes through here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from neuron_observer.sources.hostfs import (
    DEFAULT_LIMIT,
    DirectoryFs,
    Entry,
    HostFs,
    LoggingHost,
    Space,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from neuron_observer.sources.filesets import Content, FileSet
    from neuron_observer.sources.form import Patch
    from neuron_observer.sources.hostfs import Witness
    from neuron_observer.sources.lines import LineCounts, LineSource
    from neuron_observer.sources.replay import Log
    from neuron_observer.sources.workers import Answer, Request, Workers

Found = TypeVar("Found")


class Tape(Protocol):
    """Who hears what a host answers; any thread may call, but for `around` and `tick`."""

    def read(self, path: str, content: Content) -> None:
        """A file was read."""
        ...

    def pieces(self, path: str, size: int, pieces: Sequence[Patch]) -> bool:
        """Of a file of this size these pieces were read; False if what it holds is not known."""
        ...

    def listed(self, path: str, entries: Sequence[Entry] | OSError) -> None:
        """A directory was listed."""
        ...

    def named(self, path: str, names: Sequence[str] | OSError) -> None:
        """A directory was listed without saying what each is."""
        ...

    def linked(self, path: str, target: str | OSError) -> None:
        """A link was read."""
        ...

    def stood(self, path: str, status: os.stat_result | OSError) -> None:
        """Mode, type and number of a path were asked for."""
        ...

    def space(self, mount: str, space: Space | None) -> None:
        """It was asked how full a file system is; None: nobody knows."""
        ...

    def files(self, base: str, names: Sequence[str]) -> Witness:
        """These will be read together, again and again."""
        ...

    def answered(self, request: Request, answer: Answer) -> None:
        """A device's firmware answered."""
        ...

    def lines(self, word: Log, source: LineSource, lines: Sequence[bytes]) -> None:
        """A log was polled."""
        ...

    def around(self) -> AbstractContextManager[None]:
        """Meanwhile the host is looked at anew, and nothing that was seen before counts."""
        ...

    def tick(self, monotonic: float, wall: float, lanes: Collection[str]) -> None:
        """All that was heard since the last one belongs to this turn of the reader."""
        ...


@runtime_checkable
class Tapped(Protocol):
    """A host with a tape."""

    tape: Tape

    @property
    def untapped(self) -> HostFs:
        """The host itself."""
        ...


class TappedDirectory(DirectoryFs):
    """A directory that is, or plays the part of, a host's root."""

    def __init__(self, root: str, tape: Tape) -> None:
        super().__init__(root)
        self.tape = tape

    @property
    def untapped(self) -> HostFs:
        """The directory itself."""
        return DirectoryFs(self.root)

    def read(self, path: str, limit: int = DEFAULT_LIMIT) -> bytes:
        """At most `limit` bytes from the start of a file."""
        try:
            content = super().read(path, limit)
        except OSError as error:
            self.tape.read(path, error)
            raise
        self.tape.read(path, content)
        return content

    def entries(self, path: str) -> list[Entry]:
        """What a directory holds, sorted by name."""
        return _heard(super().entries, path, self.tape.listed)

    def names(self, path: str) -> list[str]:
        """What a directory holds, unsorted."""
        return _heard(super().names, path, self.tape.named)

    def readlink(self, path: str) -> str:
        """Where a link points, as written."""
        return _heard(super().readlink, path, self.tape.linked)

    def lstat(self, path: str) -> os.stat_result:
        """Mode, owner and device number of the path itself."""
        return _heard(super().lstat, path, self.tape.stood)

    def witness(self, base: str, names: Sequence[str]) -> Witness:
        """Who sees these files below `base`."""
        return self.tape.files(base, names)


class TappedSimulation:
    """A host in memory that has a kernel log of its own."""

    def __init__(self, host: HostFs, log: Callable[[], LineSource], tape: Tape) -> None:
        self.root = host.root
        self.tape = tape
        self._host, self._log = host, log

    @property
    def untapped(self) -> HostFs:
        """The host itself."""
        return self._host

    def kernel_log(self) -> LineSource:
        """Records as /dev/kmsg gives them."""
        return self._log()

    def read(self, path: str, limit: int = DEFAULT_LIMIT) -> bytes:
        """At most `limit` bytes from the start of a file."""
        try:
            content = self._host.read(path, limit)
        except OSError as error:
            self.tape.read(path, error)
            raise
        self.tape.read(path, content)
        return content

    def entries(self, path: str) -> list[Entry]:
        """What a directory holds, sorted by name."""
        return _heard(self._host.entries, path, self.tape.listed)

    def readlink(self, path: str) -> str:
        """Where a link points, as written."""
        return _heard(self._host.readlink, path, self.tape.linked)

    def lstat(self, path: str) -> os.stat_result:
        """Mode, owner and device number of the path itself."""
        return _heard(self._host.lstat, path, self.tape.stood)

    def file_set(
        self, base: str, names: Sequence[str], limits: Sequence[int], *, keep: bool
    ) -> FileSet:
        """Files below `base`."""
        return self._host.file_set(base, names, limits, keep=keep)

    def witness(self, base: str, names: Sequence[str]) -> Witness:
        """Who sees these files below `base`."""
        return self.tape.files(base, names)


def _heard(
    ask: Callable[[str], Found], path: str, hear: Callable[[str, Found | OSError], None]
) -> Found:
    try:
        found = ask(path)
    except OSError as error:
        hear(path, error)
        raise
    hear(path, found)
    return found


class TappedWorkers:
    """Workers whose answers the tape hears."""

    def __init__(self, workers: Workers, tape: Tape) -> None:
        self._workers, self._tape = workers, tape
        self._asked: dict[int, Request] = {}

    def submit(self, device: int, request: Request) -> bool:
        """Start reading; False while the device's last read has not come back."""
        if not self._workers.submit(device, request):
            return False
        self._asked[device] = request
        return True

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """The answers of those devices that are there within `seconds`."""
        found = self._workers.gather(devices, seconds)
        for device, answer in found.items():
            self._tape.answered(self._asked[device], answer)
        return found

    def close(self) -> None:
        """Stop."""
        self._workers.close()


class TappedLines:
    """A log whose lines the tape hears."""

    def __init__(self, source: LineSource, word: Log, tape: Tape) -> None:
        self._source, self._word, self._tape = source, word, tape

    @property
    def name(self) -> str:
        """What to call the source."""
        return self._source.name

    @property
    def counts(self) -> LineCounts:
        """What was read, cut, dropped."""
        return self._source.counts

    @property
    def error(self) -> str:
        """Why no line can come just now."""
        return self._source.error

    @property
    def ended(self) -> bool:
        """Whether no line will ever come again."""
        return self._source.ended

    def poll(self, limit: int) -> list[bytes]:
        """Whole lines that are there."""
        lines = self._source.poll(limit)
        self._tape.lines(self._word, self._source, lines)
        return lines

    def fileno(self) -> int | None:
        """A descriptor that turns readable when there is more."""
        return self._source.fileno()

    def close(self) -> None:
        """Give up the source."""
        self._source.close()


def tape_of(host: HostFs) -> Tape | None:
    """The tape that hears a host, if one does."""
    tape: Tape | None = getattr(host, "tape", None)  # as `Tapped` has; asked for 64 files a second
    return tape


def tapped(host: HostFs, tape: Tape) -> HostFs:
    """The host, heard by a tape; as it is where it is a recording itself."""
    if isinstance(host, DirectoryFs):
        return TappedDirectory(host.root, tape)
    if isinstance(host, LoggingHost):
        return TappedSimulation(host, host.kernel_log, tape)
    return host


def tapped_lines(host: HostFs, word: Log, source: LineSource) -> LineSource:
    """A log of a host, heard by its tape if it has one."""
    return TappedLines(source, word, host.tape) if isinstance(host, Tapped) else source
