"""Whose process a process is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.parsers.process import stat

if TYPE_CHECKING:
    from neuron_observer.parsers.process import Stat

_MOST = 64  # generations


def status_of(pid: int) -> Stat | None:
    """The stat line of a process of our own /proc; None where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a thousand a look
            return stat(file.read(4096))
    except OSError:
        return None


def descends(pid: int, ancestor: int) -> bool:
    """Whether a process is another or was started below it, by parents that are still there."""
    for _ in range(_MOST):
        if pid == ancestor:
            return True
        found = status_of(pid)
        if found is None or found.parent <= 1:
            return False
        pid = found.parent
    return False
