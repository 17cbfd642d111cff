"""Which files each lane reads of a host, in groups as the program reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.clock import SystemClock
from neuron_observer.loop import PERIODS
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.wakeups import FileWakeups
from neuron_observer.sources.workers import DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from neuron_observer.sources.hostfs import Content, FileSet


class Group(NamedTuple):
    """Files of one folder that are read together."""

    lane: str
    keep: bool
    folder: Path
    names: tuple[str, ...]

    def files(self) -> list[Path]:
        """Their paths."""
        return [self.folder / name for name in self.names]


class NotedFiles:
    """A set of files that tells when it is read."""

    def __init__(
        self, group: tuple[bool, str, tuple[str, ...]], host: NotingFs, files: FileSet
    ) -> None:
        self._group, self._host, self._files = group, host, files

    @property
    def kept(self) -> int:
        """Descriptors held."""
        return self._files.kept

    def read(self) -> list[Content]:
        """Each file's bytes or error."""
        self._host.read_now.append(self._group)
        return self._files.read()

    def close(self) -> None:
        """Give the descriptors back."""
        self._files.close()


class NotingFs(DirectoryFs):
    """A directory that notes which sets of files, and which single files, are read."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.read_now: list[tuple[bool, str, tuple[str, ...]]] = []

    def read(self, path: str, limit: int = 4097) -> bytes:
        """Note one file."""
        folder, _, name = path.rpartition("/")
        self.read_now.append((False, folder, (name,)))
        return super().read(path, limit)

    def file_set(
        self, base: str, names: Sequence[str], limits: Sequence[int], *, keep: bool
    ) -> FileSet:
        """A set that notes its reads."""
        files = super().file_set(base, names, limits, keep=keep)
        return NotedFiles((keep, base, tuple(names)), self, files)


def groups(root: Path) -> list[Group]:
    """What a tick of each lane reads of a host below `root`, those that can be read."""
    host, clock = NotingFs(str(root)), SystemClock()
    reader = HostReader(host, clock, Options(keep=True), lambda fs, now, _: DirectWorkers(fs, now))
    found: dict[tuple[str, bool, str], list[str]] = {}
    for lane in sorted(PERIODS, key=lambda lane: lane != "firmware"):  # due once, at first
        host.read_now.clear()
        reader.poll((lane,))
        for keep, folder, names in host.read_now:
            found.setdefault((lane, keep, folder), []).extend(names)
    reader.close()
    return [
        Group(lane, keep, root / folder, tuple(dict.fromkeys(readable)))
        for (lane, keep, folder), names in found.items()
        if (readable := [name for name in names if (root / folder / name).is_file()])
    ]


def periods(root: Path) -> dict[str, float]:
    """Seconds by lane, as the loop has them: what is announced needs no fast lane of its own."""
    reader = HostReader(DirectoryFs(str(root)), SystemClock(), Options(machine=False))
    wakeups = FileWakeups(str(root))
    wakeups.watch(reader.pollable)
    announced = wakeups.watched.issuperset(reader.pollable)
    wakeups.close()
    reader.close()
    return PERIODS | ({"fast": PERIODS["normal"]} if announced else {})


def write_groups(file: Path, found: Sequence[Group], seconds: Mapping[str, float]) -> Path:
    """A list of groups, with seconds by lane, as the floor reads it."""
    lines = []
    for group in found:
        way = "keep" if group.keep else "open"
        lines += [f"@ {round(seconds[group.lane] * 1000)} {way} {group.folder}", *group.names]
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file
