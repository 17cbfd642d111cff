"""What listings, captures and recordings hold: nodes, and passes of what was seen of them."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from neuron_observer.sources.form import patched

if TYPE_CHECKING:
    from neuron_observer.sources.form import Patch
    from neuron_observer.sources.hostfs import EntryKind, Space

Folder: TypeAlias = "dict[str, EntryKind]"


@dataclass(slots=True)
class Node:
    """What stands at one path."""

    kind: EntryKind
    mode: int = 0o444
    content: bytes = b""
    error: int = 0  # errno of reading it
    target: str = ""
    names: Folder | None = None  # of a directory that was told in full


class Tick(NamedTuple):
    """One turn of the reader that was recorded: its clocks, and the lanes that were due."""

    monotonic: float
    wall: float
    lanes: tuple[str, ...]


class Took(NamedTuple):
    """When files were read together (monotonic), and for how long."""

    read_at: float
    seconds: float


class Answered(NamedTuple):
    """When a device's firmware registers were read (monotonic), and how long each took."""

    read_at: float
    seconds: tuple[float, ...]


class Status(NamedTuple):
    """What lstat told of a path."""

    mode: int
    device: int  # of a device node
    inode: int
    changed: int  # ctime in nanoseconds


@dataclass(slots=True)
class Pass:
    """Everything that one pass over a host saw, on top of the passes before."""

    at: float = 0.0
    nodes: dict[str, Node] = field(default_factory=dict)
    kernel: list[str] = field(default_factory=list)
    monitor: list[str] = field(default_factory=list)
    patches: dict[str, list[Patch]] = field(default_factory=dict)  # of files as they were before
    tick: Tick | None = None
    whole: bool = False  # of what was before nothing is left
    took: dict[str, Took] = field(default_factory=dict)  # by the first path of the files
    answers: dict[str, Answered] = field(default_factory=dict)  # the same
    stats: dict[str, Status] = field(default_factory=dict)
    spaces: dict[str, Space | None] = field(default_factory=dict)
    logs: dict[str, dict[str, Any]] = field(default_factory=dict)
    periods: dict[str, float] = field(default_factory=dict)


def put(nodes: dict[str, Node], path: str, node: Node) -> None:
    """What was said of a path before, and below one that is gone, does not count any more."""
    if node.error == errno.ENOENT:
        below = f"{path}/"
        for old in [old for old in nodes if old == path or old.startswith(below)]:
            del nodes[old]
    nodes[path] = node


def _both(one: Tick | None, other: Tick | None) -> Tick | None:
    """The later of two ticks, with the lanes of both."""
    if one is None or other is None:
        return other or one
    return other._replace(lanes=tuple(dict.fromkeys(one.lanes + other.lanes)))


def merged(one: Pass, other: Pass) -> Pass:
    """Two passes, the later one second, as one that says the same; it takes the place of both."""
    tick, answers = _both(one.tick, other.tick), one.answers | other.answers
    if other.whole:
        other.tick, other.answers = tick, answers
        other.kernel[:0], other.monitor[:0] = one.kernel, one.monitor
        return other
    for path, node in other.nodes.items():
        put(one.nodes, path, node)
    for path, patches in other.patches.items():
        known = one.nodes.get(path)
        if known is None:
            one.patches.setdefault(path, []).extend(patches)
        else:
            one.nodes[path] = replace(known, content=patched(known.content, patches))
    one.at, one.tick, one.answers = other.at, tick, answers
    one.kernel += other.kernel
    one.monitor += other.monitor
    one.stats.update(other.stats)
    one.spaces.update(other.spaces)
    one.logs.update(other.logs)
    one.periods.update(other.periods)
    return one
