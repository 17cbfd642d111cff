"""Whether anybody but root could change what a service runs.

A daemon is as trustworthy as the least guarded of its files, the folders that lead to them, and the
links among those. An access control list shows in the group's bits, as its mask (acl(5)).
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.service.units import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_MOST_LINKS = 40  # as the kernel: more are a circle
ROOT_ONLY = frozenset({0})


class Weakness(NamedTuple):
    """A path that stands in the way of trusting or running what is there, and what mends it."""

    path: str
    why: str
    remedy: str  # no full stop: a sentence may hold several


def visited(path: str, root: str = "/") -> Iterator[str]:
    """All folders and links that lead to a path, and what is there; as seen from within `root`."""
    todo = path.split("/")[::-1]
    here: list[str] = []
    links = 0
    yield root
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            del here[-1:]
            continue
        full = os.path.join(root, *here, name)  # noqa: PTH118 - a string that may hold a link
        yield full
        if os.path.islink(full) and links < _MOST_LINKS:  # noqa: PTH114 - the same
            links += 1
            target = os.readlink(full)  # noqa: PTH115 - the same
            if target.startswith("/"):
                here = []
            todo += target.split("/")[::-1]
        else:
            here.append(name)


def below(path: str) -> Iterator[str]:
    """Everything below a folder, links as they are; what cannot be listed is left out."""
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            yield os.path.join(folder, name)  # noqa: PTH118 - ten thousand of them


def changeable(
    paths: Iterable[str], owners: Collection[int] = ROOT_ONLY, root: str = "/"
) -> Iterator[Weakness]:
    """Paths that others than the owners may write, and what links among them lead to."""
    for path in paths:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        if status.st_uid not in owners:
            why = f"belongs to user {status.st_uid}"
            yield Weakness(path, why, f"chown -h root:root {path}")
        elif stat.S_ISLNK(status.st_mode):
            inside = os.path.relpath(path, root)
            yield from changeable(
                (each for each in visited(inside, root) if not os.path.islink(each)),  # noqa: PTH114
                owners,
                root,
            )
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            who = "others" if status.st_mode & stat.S_IWOTH else f"group {status.st_gid}"
            yield Weakness(path, f"may be written by {who}", f"chmod go-w {path}")


def out_of_reach(paths: Iterable[str], root: str = "/") -> Iterator[Weakness]:
    """Paths that the service's user, in its sandbox, would not get at."""
    for path in paths:
        inside = "/" + os.path.relpath(path, root)
        hidden = next((top for top in HIDDEN if f"{inside}/".startswith(f"{top}/")), None)
        if hidden:
            remedy = "Install it elsewhere, for example under /opt/neuron-observer"
            yield Weakness(path, f"the service sees nothing below {hidden}", remedy)
            return
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            yield Weakness(path, "is not there", "Install it first")
            return
        needed = stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
        if not stat.S_ISLNK(mode) and not mode & needed:
            yield Weakness(path, "is closed to the service's user", f"chmod o+rX {path}")
            return
