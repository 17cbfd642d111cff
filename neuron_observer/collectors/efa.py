"""Elastic Fabric Adapters: counters of every port and device, state, and their place.

A port's counters are fetched from the adapter with admin commands and cached by the kernel for
`lifespan` milliseconds. A command without an answer blocks its reader, uninterruptibly, for up to
30 s (`efa_com.c`); the driver then closes the queue and later reads fail at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.efa import EFA_METRICS, NOT_COUNTERS, PORT_METRICS
from neuron_observer.collectors.adapters import find_adapters, place_adapters
from neuron_observer.collectors.batching import Absent, BatchName, FileBatch, FileRead, Target
from neuron_observer.model import Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from neuron_observer.catalogue.spec import MetricSpec, Source
    from neuron_observer.clock import Clock
    from neuron_observer.collectors.adapters import Adapter, AdapterPlace
    from neuron_observer.collectors.topology import PciFunction
    from neuron_observer.model import Batch
    from neuron_observer.sources.hostfs import HostFs

LANES = ("normal", "slow")
NOT_COUNTED = Missing(Why.UNSUPPORTED, "this adapter or kernel does not have it")
_KNOWN = NOT_COUNTERS | {
    source.path.removeprefix("hw_counters/")
    for spec in (*PORT_METRICS, *EFA_METRICS)
    for source in spec.sources
    if source.path.startswith("hw_counters/")
}


class EfaCollector:
    """Reads all adapters of a host; `functions` are the Neuron functions, for the map."""

    name = "efa"

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        functions: Sequence[PciFunction] = (),
        *,
        keep: bool = False,
    ) -> None:
        self._host = host
        self._keep = keep
        self._clock = clock
        self._functions = functions
        self._batches: dict[str, FileBatch] = {}
        self.found = find_adapters(host)
        self._build()

    @property
    def kept(self) -> int:
        """Descriptors held between reads."""
        return sum(batch.kept for batch in self._batches.values())

    @property
    def ignored(self) -> tuple[str, ...]:
        """Counter files that nobody here knows, by path below /sys."""
        return tuple(
            f"{adapter.path.removeprefix('sys/')}/{file}"
            for adapter in self.found.efa
            for file in sorted(adapter.files)
            if "hw_counters/" in file and file.rpartition("/")[2] not in _KNOWN
        )

    def efa_map(self) -> tuple[AdapterPlace, ...]:
        """Which Neuron PCI functions each adapter is nearest to, as far as it can be known."""
        return place_adapters(self._host, self.found.efa, self._functions)

    def poll(self, lanes: Collection[str]) -> list[Batch]:
        """Read the lanes that are due; the slow lane also looks for adapters that came or went."""
        if "slow" in lanes:
            found = find_adapters(self._host)
            if found != self.found:
                self.found = found
                self._build()
        return [batch.poll(self._clock) for lane, batch in self._batches.items() if lane in lanes]

    def close(self) -> None:
        """Give the descriptors back."""
        for batch in self._batches.values():
            batch.close()

    def _build(self) -> None:
        self.close()
        batches: dict[str, FileBatch] = {}  # `kept` is asked for while a hanging read goes on
        for lane in LANES:
            targets: dict[str, list[Target]] = {}
            absent: list[Absent] = []
            for adapter, spec, place in self._cells(lane):
                found = _find(adapter, spec, place)
                if isinstance(found, Missing):
                    absent.append(Absent(spec, place, found))
                else:
                    path, source = found
                    targets.setdefault(path, []).append(Target(spec, source, place, spec.limit))
            # also without any adapter: an empty batch takes the place of one that was there before
            batches[lane] = FileBatch(
                BatchName(self.name, lane),
                self._host,
                "sys",
                [FileRead(path, tuple(some)) for path, some in targets.items()],
                absent=absent,
                keep=self._keep and lane == "normal",
            )
        self._batches = batches

    def _cells(self, lane: str) -> list[tuple[Adapter, MetricSpec, Place]]:
        cells: list[tuple[Adapter, MetricSpec, Place]] = []
        for adapter in self.found.efa:
            place = Place(label=adapter.name)
            cells += [(adapter, spec, place) for spec in EFA_METRICS]
            for port in adapter.ports:
                place = Place(label=f"{adapter.name}/{port}")
                cells += [(adapter, spec, place) for spec in PORT_METRICS]
        return [cell for cell in cells if cell[1].lane == lane]


def _find(adapter: Adapter, spec: MetricSpec, place: Place) -> tuple[str, Source] | Missing:
    """The file of a cell, below sys, by the first source that this adapter has."""
    port = place.label.partition("/")[2]
    for source in spec.sources:
        if source.where == "pci":
            if adapter.pci_path and f"device/{source.path}" in adapter.files:
                return f"{adapter.pci_path.removeprefix('sys/')}/{source.path}", source
            continue
        own = source.where == ("port" if port else "efa")
        if not own and len(adapter.ports) != 1:
            continue  # which of several ports the one list is about cannot be told
        folder = f"ports/{port or adapter.ports[0]}/" if source.where == "port" else ""
        if f"{folder}{source.path}" in adapter.files:
            return f"{adapter.path.removeprefix('sys/')}/{folder}{source.path}", source
    return _why_not(adapter, port)


def _why_not(adapter: Adapter, port: str) -> Missing:
    folder = f"ports/{port}" if port else "hw_counters"
    for path, reason in adapter.errors:
        if path.startswith(folder):
            return reason
    return NOT_COUNTED
