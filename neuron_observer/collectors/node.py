"""Readings of the node: class attributes, the kernel module, DMI, Neuron PCI functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.collectors.batching import Absent, BatchName, FileBatch, Target
from neuron_observer.collectors.discovery import known_suffixes, suffix_of
from neuron_observer.collectors.plan import Plan, chosen, version_text
from neuron_observer.collectors.topology import DMI_FOLDER
from neuron_observer.model import NODE, Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from neuron_observer.catalogue.spec import MetricSpec, Source
    from neuron_observer.clock import Clock
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Batch
    from neuron_observer.sources.hostfs import HostFs

NAME = "node"
_SKIP = re.compile(r"neuron\d+|power|subsystem|uevent|version")
_DEPTH = 3
_NODE_SPECS = tuple(
    spec
    for spec in METRICS.values()
    if spec.scope == "node" and spec.sources[0].where in ("class", "module", "dmi")
)
_PCI_SPECS = tuple(spec for spec in METRICS.values() if spec.scope == "pci")


class NodeCollector:
    """Reads what belongs to the node as a whole; slow lane only."""

    name = NAME
    kept = 0

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        topology: Topology,
        path_map: Mapping[str, str],
        only: Collection[str] | None = None,
    ) -> None:
        self._clock = clock
        plan = _plan(host, topology, path_map, only)
        self._batches = [
            FileBatch(BatchName(NAME, "slow"), host, "sys", plan.files(), absent=plan.absent)
        ]
        self.unknown_parameters = _unknown_parameters(host, topology)

    def poll(self, lanes: Collection[str]) -> list[Batch]:
        """Read once if the slow lane is due."""
        return [batch.poll(self._clock) for batch in self._batches] if "slow" in lanes else []

    def close(self) -> None:
        """Nothing is held."""


def _plan(
    host: HostFs, topology: Topology, path_map: Mapping[str, str], only: Collection[str] | None
) -> Plan:
    plan = Plan()
    node_specs, pci_specs = chosen(_NODE_SPECS, only), chosen(_PCI_SPECS, only)
    if not (node_specs or pci_specs):
        return plan
    attributes = _class_files(host, topology)
    present = _present(host, topology)
    for spec in node_specs:
        source = spec.sources[0]
        mapped = path_map.get(spec.id)
        found = [mapped] if mapped else _candidates(source, topology, attributes, present)
        if len(found) == 1:
            target = Target(spec, source, NODE, spec.limit)
            plan.targets.setdefault(found[0], []).append(target)
        else:
            plan.absent.append(Absent(spec, NODE, _why_absent(spec, topology, found)))
    for function in topology.functions:
        base = function.path.removeprefix("sys/")
        names = _names(host, function.path)
        for spec in pci_specs:
            source, place = spec.sources[0], Place(label=function.address)
            if source.path in names:
                target = Target(spec, source, place, spec.limit)
                plan.targets.setdefault(f"{base}/{source.path}", []).append(target)
            else:
                reason = Missing(Why.UNSUPPORTED, "this kernel or guest does not show it")
                plan.absent.append(Absent(spec, place, reason))
    return plan


def _present(host: HostFs, topology: Topology) -> set[str]:
    """Paths below /sys of the module's and DMI's files."""
    folders = [DMI_FOLDER]
    if topology.module_folder:
        folders += [topology.module_folder, f"{topology.module_folder}/parameters"]
    return {
        f"{folder}/{name}".removeprefix("sys/")
        for folder in folders
        for name in _names(host, folder)
    }


def _candidates(
    source: Source, topology: Topology, attributes: dict[str, list[str]], present: set[str]
) -> list[str]:
    if source.where == "class":
        return attributes.get(suffix_of(source.path), [])
    folder = DMI_FOLDER if source.where == "dmi" else topology.module_folder
    path = f"{folder}/{source.path}".removeprefix("sys/")
    return [path] if path in present else []


def _why_absent(spec: MetricSpec, topology: Topology, found: list[str]) -> Missing:
    source = spec.sources[0]
    if found:
        return Missing(Why.UNSUPPORTED, f"ambiguous: {len(found)} files could be it")
    if source.where == "dmi":
        return Missing(Why.UNSUPPORTED, "this machine has no DMI table here")
    if topology.module_folder is None:
        return Missing(Why.UNSUPPORTED, "the driver is not loaded")
    if source.since and topology.version and topology.version < source.since:
        needed, here = version_text(source.since), version_text(topology.version)
        return Missing(Why.UNSUPPORTED, f"needs driver {needed} or later, this is {here}")
    return Missing(Why.UNSUPPORTED, "this driver does not show it on this kind of instance")


def _names(host: HostFs, folder: str) -> set[str]:
    try:
        return {entry.name for entry in host.entries(folder)}
    except OSError:
        return set()


def _class_files(host: HostFs, topology: Topology) -> dict[str, list[str]]:
    """Class attributes by name, wherever below the driver's class or devices they stand."""
    roots = [topology.class_folder] if topology.class_folder else []
    roots += [
        f"sys/devices/virtual/{name}"
        for name in sorted(_names(host, "sys/devices/virtual"))
        if "neuron" in name
    ]
    found: dict[str, list[str]] = {}
    pending = [(root, 0) for root in roots]
    while pending:
        folder, depth = pending.pop()
        try:
            entries = host.entries(folder)
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if _SKIP.fullmatch(entry.name):
                continue
            if entry.kind == "dir" and depth < _DEPTH:
                pending.append((path, depth + 1))
            elif entry.kind == "file" and entry.name in known_suffixes("class"):
                found.setdefault(entry.name, []).append(path.removeprefix("sys/"))
    return found


def _unknown_parameters(host: HostFs, topology: Topology) -> list[str]:
    folder = f"{topology.module_folder}/parameters"
    known = {s.rpartition("/")[2] for s in known_suffixes("module")}
    return sorted(_names(host, folder) - known) if topology.module_folder else []
