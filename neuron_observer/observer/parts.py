"""The parts of a reader that are made only where they are asked for; what looking around counts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.collectors.identity import identify
from neuron_observer.derive import make_batch
from neuron_observer.model import NODE, Missing, Why
from neuron_observer.readings import ABSENT, find
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.job_reader import JobReader
    from neuron_observer.collectors.kmsg import OwnReads
    from neuron_observer.collectors.kubelet import PodNames
    from neuron_observer.collectors.machine import MachineReader
    from neuron_observer.collectors.sysfs import Plans
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.live import LiveReader
    from neuron_observer.model import Batch, Cell, Device, Place
    from neuron_observer.observer.options import Options
    from neuron_observer.observer.ranks import RankReader
    from neuron_observer.sources.hostfs import HostFs

_NOTIFIES = "device.health.error_events"
News: TypeAlias = "Callable[[], None] | None"


def live_reader(
    host: HostFs, clock: Clock, options: Options, news: Callable[[], News]
) -> LiveReader | None:
    """Of kernel lines and reports of neuron-monitor; `news` tells whom new lines are told."""
    if not options.kernel_log and options.monitor is None:
        return None
    from neuron_observer.live import KernelReader, LiveReader  # noqa: PLC0415 - a glance needs none

    def kernel(own: OwnReads) -> KernelReader:
        return KernelReader(
            host,
            clock,
            own,
            patterns=options.patterns,
            cursor=options.kernel_cursor,
            keep=options.keep,
            news=news(),
        )

    return LiveReader(host, clock, options.monitor, kernel if options.kernel_log else None)


def job_reader(host: HostFs, clock: Clock, options: Options) -> JobReader | None:
    """Of the processes that hold devices."""
    if not options.jobs:
        return None
    from neuron_observer.collectors.job_reader import JobReader  # noqa: PLC0415 - a glance needs none

    pods = _pod_names(host, clock) if options.kubelet else None
    fenced = isinstance(host, DirectoryFs)
    return JobReader(host, clock, options.job_mapping, pods, fenced=fenced)


def rank_reader(
    host: HostFs, clock: Clock, jobs: JobReader | None, options: Options
) -> RankReader | None:
    """Of what the ranks of jobs say, and of how their jobs get on."""
    if jobs is None or options.heartbeats is None:
        return None
    from neuron_observer.observer.ranks import RankReader  # noqa: PLC0415 - a glance needs none

    return RankReader(host, clock, jobs, options.heartbeats)


def _pod_names(host: HostFs, clock: Clock) -> PodNames | None:
    if not isinstance(host, DirectoryFs):
        return None
    from neuron_observer.collectors.kubelet import PodNames  # noqa: PLC0415 - on request
    from neuron_observer.sources.kubelet import list_pod_resources  # noqa: PLC0415 - the same

    return PodNames(partial(list_pod_resources, host.root), clock)


def machine_reader(
    host: HostFs, clock: Clock, topology: Topology, options: Options
) -> MachineReader | None:
    """Of EFA adapters, the host, temperatures and our own cost."""
    if not options.machine:
        return None
    from neuron_observer.collectors.machine import MachineReader  # noqa: PLC0415 - a glance needs none

    return MachineReader(host, clock, topology, keep=options.keep, reload=options.reload)


def topology_batch(topology: Topology, kept: int, clock: Clock) -> Batch:
    """What was found by looking around, counted."""
    unknown_type = Missing(Why.UNSUPPORTED, "instance type not known")
    counted: dict[str, Cell] = {
        "node.devices": len(topology.devices),
        "node.devices_expected": unknown_type if topology.expected is None else topology.expected,
        "node.devices_hidden": len(topology.hidden),
        "node.pci_functions": len(topology.functions),
        "node.pci_functions_bound": sum(function.bound for function in topology.functions),
        "node.unknown_files": sum(len(device.tree.unknown) for device in topology.devices),
        "node.kept_descriptors": kept,
    }
    rows = {metric: [(NODE, cell)] for metric, cell in counted.items()}
    return make_batch("topology", rows, clock.monotonic())


def pollable(host: HostFs, plans: Plans) -> tuple[str, ...]:
    """Files of which the kernel tells when they change, by path below the root."""
    if not isinstance(host, DirectoryFs):
        return ()
    return tuple(
        f"{device.path}/{path}"
        for device, lanes in plans.values()
        for path, targets in (lanes["fast"].targets.items() if "fast" in lanes else ())
        if any(target.spec.id == _NOTIFIES for target in targets)
    )


def devices_of(topology: Topology, batches: Iterable[Batch]) -> tuple[Device, ...]:
    """The devices of a topology, as far as what was read of them tells who they are."""
    by_device: dict[int | None, list[Batch]] = {}
    for batch in batches:
        by_device.setdefault(batch.device, []).append(batch)

    def cell(metric: str, place: Place) -> Cell:
        found = find(by_device.get(place.device, ()), metric, place)
        return found[0].cells[found[1]] if found else ABSENT

    return identify(topology, cell)
