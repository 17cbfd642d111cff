"""A recording that plays the part of the host that it was made of, tick by tick."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from neuron_observer.sources.filesets import EachFile
from neuron_observer.sources.hostfs import resolve_link
from neuron_observer.sources.lines import LineCounts
from neuron_observer.sources.listing import Listing, ListingFs
from neuron_observer.sources.passes import Pass
from neuron_observer.sources.workers import Answer, DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.hostfs import HostFs, Space
    from neuron_observer.sources.passes import Answered, Node, Status
    from neuron_observer.sources.replay import Log
    from neuron_observer.sources.workers import Request


class RecordedFs(ListingFs):
    """What a recording holds, as it was at the tick that was played last.

    What was not read when it was recorded cannot be read now: ENODATA where the recording knows
    that there was a file.
    """

    timed = True

    def __init__(self, root: str, first: Pass) -> None:
        """`root` as the recorded host had it; `first`: what stood there."""
        self._sets: dict[str, list[tuple[RecordedFiles, int]]] = {}  # by path
        self._queues: list[RecordedLines] = []
        self._spaces: dict[str, Space | None] = {}
        self._stats: dict[str, Status] = {}
        self.now = Pass()
        super().__init__(Listing({}, [first]), root)

    def apply(self, one: Pass) -> None:
        """Let what a tick saw come to be."""
        self.now = one
        if one.whole:
            self._stats.clear()
        super().apply(one)
        self._stats.update(one.stats)
        self._spaces.update(one.spaces)
        if one.whole:
            for known in self._sets.values():
                for files, _ in known:
                    files.forget()
        for path in (*one.nodes, *one.patches):
            for files, position in self._sets.get(path, ()):
                files.stale.add(position)
        for queue in self._queues:
            queue.add(one)

    def lines(self, word: Log) -> RecordedLines:
        """The lines of a log from this tick on."""
        queue = RecordedLines(self, word)
        queue.add(self.now)
        self._queues.append(queue)
        return queue

    def space(self, mount: str) -> Space | None:
        """How full a file system was."""
        return self._spaces.get(mount)

    def witness(self, base: str, names: Sequence[str]) -> RecordedTimes:
        """Who knows when these files were read."""
        return RecordedTimes(self, resolve_link("", f"{base}/{names[0]}") if names else "")

    def file_set(
        self,
        base: str,
        names: Sequence[str],
        limits: Sequence[int],
        *,
        keep: bool,  # noqa: ARG002 - nothing to keep in memory
    ) -> RecordedFiles:
        """Files below `base`, read anew only where the recording says that they changed."""
        paths = [resolve_link("", f"{base}/{name}") for name in names]
        files = RecordedFiles(self, paths, limits)
        for position, path in enumerate(paths):
            self._sets.setdefault(path, []).append((files, position))
        return files

    def leave(self, files: RecordedFiles, paths: Sequence[str]) -> None:
        """Nobody reads these any more."""
        for path in paths:
            self._sets[path] = [one for one in self._sets.get(path, ()) if one[0] is not files]

    def readlink(self, path: str) -> str:
        """Where a link pointed."""
        self._raise(path)
        return super().readlink(path)

    def lstat(self, path: str) -> os.stat_result:
        """Mode, device number and identity of the path."""
        status = self._stats.get(path)
        if status is None:
            self._raise(path)
            return super().lstat(path)
        fields = (status.mode, status.inode, 0, 1, 0, 0, 0, 0, 0, 0)
        more = {"st_rdev": status.device, "st_ctime_ns": status.changed}
        return os.stat_result(fields, more)

    def _raise(self, path: str) -> None:
        node = self._nodes.get(path)
        if node is not None and node.error:
            raise OSError(node.error, os.strerror(node.error), path)

    def _forget(self, path: str) -> None:
        self._stats.pop(path, None)
        super()._forget(path)

    def _find(self, path: str) -> Node:
        if path not in self._nodes:
            folder, _, name = path.rpartition("/")
            if self._folders.get(folder, {}).get(name, "dir") != "dir":
                raise OSError(errno.ENODATA, "not in the recording", path)
        return super()._find(path)


class RecordedFiles(EachFile):
    """Files read together; only what the recording changed is news."""

    def __init__(self, host: RecordedFs, paths: Sequence[str], limits: Sequence[int]) -> None:
        super().__init__(host, paths, limits)
        self._recorded, self._paths = host, tuple(paths)
        self._contents: list[Content] = []
        self.stale: set[int] = set()  # positions

    def forget(self) -> None:
        """All of it may be another."""
        self._contents = []

    def read(self) -> list[Content]:
        """Each file's bytes or error."""
        if not self._contents:
            self._contents = super().read()
        elif self.stale:
            self._contents = self._contents.copy()
            for position in self.stale:
                self._contents[position] = self._one(*self._files[position])
        self.stale.clear()
        return self._contents

    def close(self) -> None:
        """Nobody reads them any more."""
        self._recorded.leave(self, self._paths)


class RecordedTimes:
    """When files were read, as the recording tells it: what is derived of them is then the same."""

    def __init__(self, host: RecordedFs, first: str) -> None:
        self._host, self._first = host, first

    def took(self, read_at: float, seconds: float) -> tuple[float, float]:
        """As it was recorded; a capture does not tell."""
        return self._host.now.took.get(self._first, (read_at, seconds))

    def changed(self, positions: Sequence[int], contents: Sequence[Content]) -> None:
        """Known already."""


class RecordedLines:
    """Lines of one log, as they came; what became of others is told as it was."""

    def __init__(self, host: RecordedFs, word: Log) -> None:
        self.name = f"{word} lines of {host.root}"
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self._word = word
        self._ready: list[bytes] = []

    def add(self, one: Pass) -> None:
        """What a tick brought."""
        told = one.logs.get(self._word)
        if told is not None:
            self.name = str(told.get("name", self.name))
            self.error = str(told.get("error", ""))
            for count in ("cut", "dropped", "overruns", "restarts", "errors"):
                setattr(self.counts, count, int(told.get(count, 0)))
        lines = one.kernel if self._word == "kernel" else one.monitor
        self._ready += [line.encode("utf-8", "surrogateescape") for line in lines]

    def poll(self, limit: int) -> list[bytes]:
        """Lines that are there."""
        found, self._ready = self._ready[:limit], self._ready[limit:]
        self.counts.read += len(found)
        return found

    def fileno(self) -> int | None:
        """None: nothing to wait on."""
        return None

    def close(self) -> None:
        """Forget what is left."""
        self.ended = True
        self._ready = []


class RecordedWorkers(DirectWorkers):
    """Firmware registers as they were answered: each at the tick at which its answer was there.

    A capture does not tell when; there an answer is there at once.
    """

    def __init__(self, host: HostFs, clock: Clock) -> None:
        super().__init__(host, clock)
        self._owed: dict[int, Request] = {}
        self._answers_of: dict[str, Answered] = {}  # by the first path, not handed out yet
        self._heard: Pass | None = None  # the tick whose answers are among them

    def submit(self, device: int, request: Request) -> bool:
        """Read now, or when the recording says that it was answered."""
        if not (isinstance(self._host, RecordedFs) and request.names):
            return super().submit(device, request)
        if device in self._owed:
            return False
        self._owed[device] = request
        return True

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """The answers that were there by now."""
        if not isinstance(self._host, RecordedFs):
            return super().gather(devices, seconds)
        found = super().gather(devices, seconds)
        if self._host.now is not self._heard:
            self._heard = self._host.now
            self._answers_of.update(self._heard.answers)
        for device in devices:
            request = self._owed.get(device)
            first = resolve_link("", f"{request.folder}/{request.names[0]}") if request else ""
            answered = self._answers_of.pop(first, None)
            if request is None or answered is None:
                continue
            del self._owed[device]
            super().submit(device, request)
            read = super().gather([device], seconds)[device]
            found[device] = Answer(read.contents, list(answered.seconds), answered.read_at)
        return found
