"""What rules must know of earlier times: the seam for a store.

Everything is kept by the key of the chip, never by its index: indexes move, serial numbers do not.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Place
    from neuron_observer.rules.lifecycle import Life


class Mark(NamedTuple):
    """A finding of a chip (or, without a key, of the node)."""

    rule: str
    key: str
    place: Place  # without the device's index


class Kept(NamedTuple):
    """A finding as it is kept."""

    life: Life
    confirmed: bool = False
    escalated: bool = False


class Memory(NamedTuple):
    """Baselines, counters as read last, findings that stand, and when others were resolved."""

    baselines: Mapping[tuple[str, str], int] = MappingProxyType({})  # (key, metric)
    counters: Mapping[tuple[str, str, Place], int] = MappingProxyType({})  # (key, metric, place)
    findings: Mapping[Mark, Kept] = MappingProxyType({})
    resolved: Mapping[Mark, tuple[float, ...]] = MappingProxyType({})  # wall clock


class Store(Protocol):
    """Where the memory lives between two runs of the observer."""

    def load(self) -> Memory:
        """What was saved last; empty if nothing was."""
        ...

    def save(self, memory: Memory) -> None:
        """Keep it."""
        ...
