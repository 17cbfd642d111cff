"""What rules must know of earlier times: the seam for a store.

Everything is kept by the key of the chip, never by its index: indexes move, serial numbers do not.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Event, Finding, Place, Verdict
    from neuron_observer.rules.lifecycle import Life


class Mark(NamedTuple):
    """A finding of a chip (or, without a key, of the node)."""

    rule: str
    key: str
    place: Place  # without the device's index


class Word(NamedTuple):
    """What a person said: of a finding that it is known, of a device that it is well."""

    who: str  # `root (uid 0)`
    at: float  # wall clock
    reason: str


class Kept(NamedTuple):
    """A finding as it is kept."""

    life: Life
    confirmed: bool = False
    escalated: bool = False
    until: float | None = None  # wall clock; what made it true counts until then at least
    word: Word | None = None  # by which it was acknowledged
    told: Finding | None = None  # as it was told last


class Suppression(NamedTuple):
    """A rule's findings count for nothing until then, as long as they get no worse."""

    rule: str
    key: str | None  # of the chip; None: wherever it fires
    until: float  # wall clock
    worst: Verdict  # what it hides; a finding that weighs more is told
    word: Word


class Memory(NamedTuple):
    """Baselines, counters as read last, findings that stand, and when others were resolved.

    `keys` tells which chip was where; `events` are the latest of this boot, and what was settled
    by `set-healthy` (by key, wall clock) has an end to all that came before.
    """

    baselines: Mapping[tuple[str, str], int] = MappingProxyType({})  # (key, metric)
    counters: Mapping[tuple[str, str, Place], int] = MappingProxyType({})  # (key, metric, place)
    findings: Mapping[Mark, Kept] = MappingProxyType({})
    resolved: Mapping[Mark, tuple[float, ...]] = MappingProxyType({})  # wall clock
    suppressions: tuple[Suppression, ...] = ()
    settled: Mapping[str, Word] = MappingProxyType({})
    keys: Mapping[int, str] = MappingProxyType({})
    events: tuple[Event, ...] = ()


class Store(Protocol):
    """Where the memory lives between two runs of the observer."""

    def load(self) -> Memory:
        """What was saved last; empty if nothing was."""
        ...

    def save(self, memory: Memory) -> None:
        """Keep it."""
        ...
