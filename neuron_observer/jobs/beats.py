"""What is handed on of a heartbeat file: from who reads it to who judges the job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from neuron_observer.parsers.heartbeat import Head, Step


class Mark(NamedTuple):
    """Which process a file is of, as the process sees itself."""

    pid: int
    ticks: int  # its start, clock ticks since boot


class Beat(NamedTuple):
    """What a rank's hook said last; `steps` are those that no earlier beat held."""

    pid: int  # as the host numbers it
    head: Head
    steps: tuple[Step, ...]
    read_at: float  # monotonic, ours
    name: str  # of the file
    filled: tuple[Step, ...] = ()  # of earlier beats, whose time in collectives is known by now


class Gone(NamedTuple):
    """A rank whose process is no longer there: it ended, or it died."""

    pid: int
    head: Head
    ended: bool
    at: float  # monotonic, ours, when that was noticed
