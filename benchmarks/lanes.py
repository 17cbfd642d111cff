"""What each lane asks of a host, in groups as the program asks: files, folders, links."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.loop import PERIODS
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.wakeups import FileWakeups
from neuron_observer.sources.workers import DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from neuron_observer.sources.filesets import Content, FileSet
    from neuron_observer.sources.hostfs import Entry

# A file that stays open, one opened each time, a folder that is listed, a link that is followed.
Way: TypeAlias = Literal["keep", "open", "list", "link"]
_Ask: TypeAlias = "tuple[Way, str, str]"  # folder and name in it

POLLS = {"jobs": 60}  # of a lane that are noted: old processes are looked at in turn
_FEW = 2  # of the others


class Group(NamedTuple):
    """What is asked of one folder at one period."""

    lane: str
    way: Way
    folder: Path
    names: tuple[str, ...]
    share: float = 1.0  # of the lane's reads that ask for it

    def files(self) -> list[Path]:
        """Files that are read."""
        return [self.folder / name for name in self.names] if self.way in ("keep", "open") else []


class NotedFiles:
    """A set of files that tells when it is read."""

    def __init__(self, asks: list[_Ask], host: NotingFs, files: FileSet) -> None:
        self._asks, self._host, self._files = asks, host, files

    @property
    def kept(self) -> int:
        """Descriptors held."""
        return self._files.kept

    def read(self) -> list[Content]:
        """Each file's bytes or error."""
        self._host.asked.update(self._asks)
        return self._files.read()

    def close(self) -> None:
        """Give the descriptors back."""
        self._files.close()


class NotingFs(DirectoryFs):
    """A directory that notes what is asked of it."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.asked: Counter[_Ask] = Counter()

    def read(self, path: str, limit: int = 4097) -> bytes:
        """Note one file."""
        self._note("open", path)
        return super().read(path, limit)

    def entries(self, path: str) -> list[Entry]:
        """Note one folder."""
        self._note("list", path)
        return super().entries(path)

    def names(self, path: str) -> list[str]:
        """Note one folder."""
        self._note("list", path)
        return super().names(path)

    def readlink(self, path: str) -> str:
        """Note one link."""
        self._note("link", path)
        return super().readlink(path)

    def _note(self, way: Way, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self.asked[way, folder, name] += 1

    def file_set(
        self, base: str, names: Sequence[str], limits: Sequence[int], *, keep: bool
    ) -> FileSet:
        """A set that notes its reads."""
        files = super().file_set(base, names, limits, keep=keep)
        return NotedFiles([("keep" if keep else "open", base, name) for name in names], self, files)


def groups(root: Path) -> list[Group]:
    """What each lane asks of a host below `root` once all is known, of that what is there.

    What is not asked at each read, such as the descriptors of a process, comes with its share.
    """
    host, clock = NotingFs(str(root)), ManualClock(wall=SystemClock().wall())
    reader = HostReader(host, clock, Options(keep=True), lambda fs, now, _: DirectWorkers(fs, now))
    reader.poll()
    found: dict[tuple[str, Way, str, float], list[str]] = {}
    for lane, period in PERIODS.items():
        host.asked.clear()
        polls = POLLS.get(lane, _FEW)
        for _ in range(polls):
            clock.advance(period)
            reader.poll((lane,), derived=False)
        for (way, folder, name), times in host.asked.items():
            if _is_there(way, root / folder / name):
                found.setdefault((lane, way, folder, times / polls), []).append(name)
    reader.close()
    return [
        Group(lane, way, root / folder, tuple(names), share)
        for (lane, way, folder, share), names in found.items()
    ]


def _is_there(way: Way, path: Path) -> bool:
    if way == "link":
        return path.is_symlink()
    return path.is_dir() if way == "list" else path.is_file()


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
    """A list of groups, with seconds by lane, as the floor reads it.

    What is not asked at each read of a lane is asked at one read or another.
    """
    lines = []
    for number, group in enumerate(found):
        own = round(seconds[group.lane] * 1000)
        period = round(own / group.share)
        phase = number % max(period // own, 1) * own
        lines += [f"@ {period} {phase} {group.way} {group.folder}", *group.names]
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file
