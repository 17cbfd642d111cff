"""Looks at single files and folders, where what cannot be read is simply not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.parsers.sysfs import number, word
from neuron_observer.sources.hostfs import resolve_link

if TYPE_CHECKING:
    from neuron_observer.sources.hostfs import HostFs

_MOST_LINKS = 8


def word_at(host: HostFs, path: str) -> str | None:
    """The one line of a file; None where it cannot be read or is no text."""
    try:
        cell = word(host.read(path))
    except OSError:
        return None
    return cell if isinstance(cell, str) else None


def number_at(host: HostFs, path: str) -> int | None:
    """The signed decimal in a file; None where it cannot be read or is none."""
    try:
        cell = number(host.read(path))
    except OSError:
        return None
    return cell if isinstance(cell, int) else None


def names_in(host: HostFs, folder: str) -> list[str]:
    """Names in a folder, sorted; none where it cannot be listed."""
    try:
        return [entry.name for entry in host.entries(folder)]
    except OSError:
        return []


def real_path(host: HostFs, path: str) -> str:
    """What stands behind a link (or the path itself); a loop ends after a few steps."""
    for _ in range(_MOST_LINKS):
        try:
            path = resolve_link(path, host.readlink(path))
        except OSError:
            break
    return path
