"""The simulated host as a file system in memory: each read is made from the state of then."""

from __future__ import annotations

import errno
import stat
from os import stat_result
from threading import RLock
from typing import TYPE_CHECKING

from neuron_observer.sim.kernel import MOST, SimulatedLines
from neuron_observer.sim.machine_tree import build
from neuron_observer.sim.tree import error
from neuron_observer.sim.world import Clocks
from neuron_observer.sources.hostfs import DEFAULT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.sim.tree import Leaf, Tree
    from neuron_observer.sim.world import World
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.hostfs import Entry
    from neuron_observer.sources.lines import LineSource

QUANTUM = 0.05  # seconds: how often the driver's own thread looks; between, nothing moves


class SimulatedFs:
    """A world that goes with a clock, read as a host. Threads may share it."""

    def __init__(
        self, world: World, clock: Clock, *, speed: float = 1.0, name: str = "simulation"
    ) -> None:
        self.root = name
        self.world = world
        self.clock = self._clock = clock
        self._speed = speed
        self._begin = clock.monotonic()
        self._from = world.now
        self._lock = RLock()
        set_clocks(world, clock, world.now, speed)
        self._structure = world.node.structure
        self._tree = build(world)

    def sync(self) -> None:
        """Bring the world to the clock's time."""
        with self._lock:
            elapsed = self._clock.monotonic() - self._begin
            now = self._from + int(elapsed * self._speed / QUANTUM + 1e-6) * QUANTUM
            if now > self.world.now:
                passed = self._from + elapsed * self._speed
                set_clocks(self.world, self._clock, passed, self._speed)
                self.world.advance_to(now)

    @property
    def tree(self) -> Tree:
        """The files of the moment."""
        with self._lock:
            self.sync()
            if self._structure != self.world.node.structure:
                self._structure = self.world.node.structure
                self._tree = build(self.world)
            return self._tree

    def read(self, path: str, limit: int = DEFAULT_LIMIT) -> bytes:
        """At most `limit` bytes of a file."""
        leaf = self.tree.find(path)
        if leaf.kind == "link":
            raise error(errno.ELOOP, path)
        return self.content(leaf, limit)

    def content(self, leaf: Leaf, limit: int) -> bytes:
        """A leaf's bytes, after the time that reading it takes."""
        seconds = 0.0
        if leaf.seconds:
            with self._lock:
                seconds = leaf.seconds()
        if seconds > 0:
            self._clock.wait(seconds)
            self.sync()
        return leaf.render()[:limit] if leaf.render else b""

    def entries(self, path: str) -> list[Entry]:
        """What a directory holds, sorted by name."""
        return self.tree.entries(path)

    def readlink(self, path: str) -> str:
        """Where a link points, as written."""
        tree = self.tree
        leaf = tree.leaves.get(path) if path in tree.folders else tree.find(path)
        if leaf is None or leaf.kind != "link":
            raise error(errno.EINVAL, path)
        return leaf.target

    def lstat(self, path: str) -> stat_result:
        """Mode of the path; root owns all."""
        tree, number = self.tree, 0
        if path in tree.folders:
            mode = stat.S_IFDIR | 0o755
        else:
            leaf = tree.find(path)
            kinds = {"link": stat.S_IFLNK, "other": stat.S_IFCHR}
            mode, number = leaf.mode | kinds.get(leaf.kind, stat.S_IFREG), leaf.number
        fields = (mode, 0, 0, 1, 0, 0, 0, 0, 0, 0)
        return stat_result(fields, {"st_rdev": number})

    def file_set(
        self,
        base: str,
        names: Sequence[str],
        limits: Sequence[int],
        *,
        keep: bool,  # noqa: ARG002 - nothing to keep in memory
    ) -> SimulatedFiles:
        """Files below `base`."""
        return SimulatedFiles(self, [f"{base}/{name}" for name in names], limits)

    def kernel_log(self) -> LineSource:
        """The kernel log, from its oldest record on."""
        return SimulatedLines(self.records)

    def records(self, sequence: int, limit: int = MOST) -> tuple[list[bytes], int]:
        """Kernel records from a sequence number on, and the number of the oldest there is."""
        with self._lock:
            self.sync()
            log = self.world.log
            return log.since(sequence, limit), log.oldest


def set_clocks(world: World, clock: Clock, now: float, speed: float = 1.0) -> None:
    """Tie simulated seconds to a clock: the instant `now` is the clock's present."""
    world.clocks = Clocks(now, clock.wall(), clock.monotonic(), speed)


class SimulatedFiles:
    """Files read together; found again when files came or went."""

    kept = 0

    def __init__(self, host: SimulatedFs, paths: Sequence[str], limits: Sequence[int]) -> None:
        self._host = host
        self._paths = tuple(paths)
        self._limits = tuple(limits)
        self._tree: Tree | None = None
        self._leaves: list[Leaf | OSError] = []

    def read(self) -> list[Content]:
        """The content of each file, or the error that reading it gives."""
        tree = self._host.tree
        if tree is not self._tree:
            self._tree = tree
            self._leaves = [_look(tree, path) for path in self._paths]
        content = self._host.content
        return [
            leaf
            if isinstance(leaf, OSError)
            else content(leaf, limit)
            if leaf.seconds or leaf.render is None
            else leaf.render()[:limit]
            for leaf, limit in zip(self._leaves, self._limits, strict=True)
        ]

    def close(self) -> None:
        """Nothing is held."""


def _look(tree: Tree, path: str) -> Leaf | OSError:
    try:
        leaf = tree.find(path)
    except OSError as failure:
        return failure
    return error(errno.ELOOP, path) if leaf.kind == "link" else leaf
