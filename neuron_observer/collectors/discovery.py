"""Which file of a device's tree is which metric: by leaf name and nearest core, not by path.

Driver 2.31 moves nodes to paths that nobody here has seen, so a node is found by the last part of
its name below its device or core, wherever it stands. Two candidates make it unsupported: with
one of them wrong, either would be a guess. A path map from the configuration overrides.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.catalogue import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from neuron_observer.catalogue.spec import Where
    from neuron_observer.sources.hostfs import Entry, HostFs

# What the kernel puts below every device, and files that carry nothing of ours.
GENERIC_NAMES = {"uevent", "dev", "notify_delay", "present", "subsystem", "driver", "device"}
GENERIC_POWER = re.compile(
    r"power/(?:async|autosuspend_delay_ms|control|runtime_[a-z_]+|wakeup[a-z_]*|pm_qos_[a-z_]+)"
)
_NESTING = {"host_mem", "device_mem"}  # hold a total and folders of categories
_SHARED_LEAVES = {"total", "peak"}  # mean something only with the name of their folder
_CORE = re.compile(r"neuron_core(\d{1,3})")
_PLAIN_CORE = re.compile(r"neuron_core(?:0|[1-9]\d{0,2})")
# Categories have the same names in both: what is a device's host memory is no core's HBM.
_FOREIGN: dict[Where, str] = {"device": "device_mem", "core": "host_mem"}
THERMAL_LEAF = re.compile(r"(?:temp|therm|throttl)[a-z0-9_]*", re.IGNORECASE)
_DEEPEST = 12
_MOST_ENTRIES = 50_000

# (core or None, suffix): which node of a device's tree
Key: TypeAlias = "tuple[int | None, str]"


class Tree:
    """What a device's directory holds; paths are relative to it."""

    def __init__(self) -> None:
        self.found: dict[Key, list[str]] = {}
        self.cores: set[int] = set()
        self.thermal: list[tuple[int | None, str]] = []
        self.unknown: list[str] = []  # files nobody here knows
        self.stand_ins: dict[Key, list[str]] = {}  # links and folders named like a node
        self.alike: list[str] = []  # folders of cores that may be taken to be like the first
        self.generic = 0  # files of the kernel, and named exceptions
        self.errors: list[str] = []  # folders that could not be listed


def suffix_of(path: str) -> str:
    """The part of a path that tells what it is: the leaf, for shared leaves with its folder."""
    folder, _, leaf = path.rpartition("/")
    return f"{folder.rpartition('/')[2]}/{leaf}" if leaf in _SHARED_LEAVES else leaf


@cache
def known_suffixes(where: Where) -> frozenset[str]:
    """All suffixes that the catalogue reads in one kind of place."""
    return frozenset(
        suffix_of(source.path)
        for spec in METRICS.values()
        for source in spec.sources
        if source.where == where
    )


def walk(host: HostFs, device_path: str, *, thorough: bool = True) -> Tree:
    """List a device's tree without following links.

    With `thorough` off, which is for drivers whose layout is known, only the first core is looked
    into, the others are taken to be like it, and folders that hold nothing but `total`, `present`
    and `peak` are not listed: reading will tell whether the files are there. The count of unknown
    files is then a lower bound.
    """
    tree = Tree()
    pending: list[tuple[str, int | None, int]] = [("", None, 0)]
    seen = 0
    while pending:
        folder, core, depth = pending.pop()
        try:
            entries = host.entries(f"{device_path}/{folder}" if folder else device_path)
        except OSError as error:
            tree.errors.append(f"{folder or '.'}: {error.strerror}")
            continue
        seen += len(entries)
        if seen > _MOST_ENTRIES:
            tree.errors.append(f"more than {_MOST_ENTRIES} entries; the rest was not looked at")
            break
        for entry in entries:
            below = _take(tree, f"{folder}/{entry.name}" if folder else entry.name, entry, core)
            if below is None or depth == _DEEPEST:
                continue
            path, nearest = below
            if thorough or not (_implied(tree, path, nearest) or _is_like_first(tree, path)):
                pending.append((path, nearest, depth + 1))
    for key, paths in tree.stand_ins.items():
        tree.found.setdefault(key, paths)  # reading one says what it is
    _repeat_first_core(tree)
    return tree


def walk_all(host: HostFs, paths: Sequence[str], *, thorough: bool = True) -> list[Tree]:
    """The trees of several devices.

    With `thorough` off a device that lists the same names as the first, all its cores among them,
    is taken to be like it: reading will tell whether the files are there.
    """
    trees: list[Tree] = []
    first: list[Entry] | None = None
    for path in paths:
        entries = None if thorough else _entries(host, path)
        if trees and entries is not None and entries == first:
            trees.append(trees[0])
            continue
        tree = walk(host, path, thorough=thorough)
        trees.append(next((one for one in trees if vars(one) == vars(tree)), tree))  # held once
        if len(trees) == 1 and entries is not None:
            names = {entry.name for entry in entries}
            shown = all(f"neuron_core{core}" in names for core in trees[0].cores)
            first = entries if shown else None
    return trees


def _entries(host: HostFs, path: str) -> list[Entry] | None:
    try:
        return host.entries(path)
    except OSError:
        return None


def _is_like_first(tree: Tree, path: str) -> bool:
    """Note a core's folder; whether one of the same kind was there before it."""
    if not _PLAIN_CORE.fullmatch(path):
        return False
    tree.alike.append(path)
    return len(tree.alike) > 1


def _repeat_first_core(tree: Tree) -> None:
    if not tree.alike:
        return
    first, *others = tree.alike
    known = [(k, paths) for k, paths in tree.found.items() if k[0] == _number(first)]
    for folder in others:
        for (_, suffix), paths in known:
            here = [folder + p.removeprefix(first) for p in paths if p.startswith(f"{first}/")]
            tree.found.setdefault((_number(folder), suffix), []).extend(here)


def _number(folder: str) -> int:
    return int(folder.removeprefix("neuron_core"))


def _take(tree: Tree, path: str, entry: Entry, core: int | None) -> tuple[str, int | None] | None:
    """File one entry; a folder to look into is given back with its nearest core."""
    where: Where = "device" if core is None else "core"
    suffix = suffix_of(path)
    known = suffix in known_suffixes(where) and _FOREIGN[where] not in path.split("/")[:-2]
    if known:
        kept = tree.stand_ins if entry.kind in ("dir", "link") else tree.found
        kept.setdefault((core, suffix), []).append(path)
    if entry.kind == "dir":
        match = _CORE.fullmatch(entry.name)
        if match:
            core = int(match.group(1))
            tree.cores.add(core)
        return path, core
    if known:
        return None
    if entry.name in GENERIC_NAMES or GENERIC_POWER.fullmatch(path):
        tree.generic += 1
    elif THERMAL_LEAF.fullmatch(entry.name) and entry.kind == "file":
        tree.thermal.append((core, path))
    else:
        tree.unknown.append(path)
    return None


@cache
def _implied_suffixes(where: Where, folder: str) -> tuple[str, ...]:
    """What a folder that holds only shared leaves gives; nothing for one with folders below."""
    if folder in _NESTING:
        return ()
    return tuple(s for s in known_suffixes(where) if s.startswith(f"{folder}/"))


def _implied(tree: Tree, path: str, core: int | None) -> bool:
    folder = path.rpartition("/")[2]
    suffixes = _implied_suffixes("device" if core is None else "core", folder)
    for suffix in suffixes:
        leaf = suffix.rpartition("/")[2]
        tree.found.setdefault((core, suffix), []).append(f"{path}/{leaf}")
    return bool(suffixes)


def locate(
    tree: Tree, metric: str, suffix: str, core: int | None, path_map: Mapping[str, str]
) -> str | list[str]:
    """The one path of a metric, or all candidates: none or several."""
    mapped = path_map.get(metric)
    if mapped is not None:
        return mapped.replace("{core}", str(core))
    candidates = tree.found.get((core, suffix), [])
    return candidates[0] if len(candidates) == 1 else candidates


def moved(tree: Tree) -> list[tuple[str, str]]:
    """(documented path, path found) of nodes that stand elsewhere than in the known layouts."""
    documented: dict[tuple[bool, str], str] = {
        (source.where == "core", suffix_of(source.path)): source.path
        for spec in METRICS.values()
        for source in spec.sources
        if source.where in ("device", "core")
    }
    pairs = [
        (_under(core, documented[core is not None, suffix]), path)
        for (core, suffix), paths in sorted(tree.found.items(), key=str)
        for path in paths
    ]
    return [(known, path) for known, path in pairs if known != path]


def _under(core: int | None, path: str) -> str:
    return path if core is None else f"neuron_core{core}/{path}"


def first_listed(host: HostFs, folders: Iterable[str]) -> tuple[str, list[Entry]] | None:
    """The first of several folders that can be listed, with its entries."""
    for folder in folders:
        try:
            return folder, host.entries(folder)
        except OSError:
            continue
    return None
