"""The driver's counters: lanes fast, normal, slow and expensive, a batch for each device and lane.

Only the fast and normal lanes keep their descriptors: a kept one costs 4.7 KiB of kernel memory.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.collectors import guards
from neuron_observer.collectors.batching import BatchName, FileBatch
from neuron_observer.collectors.discovery import locate
from neuron_observer.collectors.plan import Plan, plan_device
from neuron_observer.parsers.sysfs import word

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.batching import Guard
    from neuron_observer.collectors.topology import DeviceTree, Topology
    from neuron_observer.model import Batch
    from neuron_observer.sources.filesets import FileSet
    from neuron_observer.sources.hostfs import HostFs

# Device index → its tree and its plans by lane.
Plans: TypeAlias = "Mapping[int, tuple[DeviceTree, dict[str, Plan]]]"

LANES = ("fast", "normal", "slow", "expensive")
PERIODS = {"fast": 0.25, "normal": 1.0, "slow": 10.0, "expensive": 2.0}  # seconds
_KEPT = ("fast", "normal")
_GUARDS: dict[str, Guard] = {"fast": guards.health_cache, "slow": guards.power_age}


def plan_devices(
    host: HostFs,
    topology: Topology,
    path_map: Mapping[str, str],
    only: Collection[str] | None = None,
) -> Plans:
    """What is to be read of each device."""
    return {
        device.number: (
            device,
            plan_device(
                device,
                _chip_name(host, device, path_map),
                topology.version,
                path_map,
                loading=topology.loading,
                only=only,
            ),
        )
        for device in topology.devices
    }


def count_kept(plans: Plans) -> int:
    """How many files of these plans are kept open by whoever keeps any."""
    return sum(
        len(lanes[lane].targets) for _, lanes in plans.values() for lane in _KEPT if lane in lanes
    )


def _chip_name(host: HostFs, device: DeviceTree, path_map: Mapping[str, str]) -> str | None:
    path = locate(device.tree, "device.name", "device_name", None, path_map)
    if not isinstance(path, str):
        return None
    try:
        cell = word(host.read(f"{device.path}/{path}"))
    except OSError:
        return None
    return cell if isinstance(cell, str) else None


class SysfsCollector:
    """Everything below the devices but the firmware's registers."""

    name = "sysfs"

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        plans: Plans,
        *,
        keep: bool = False,
    ) -> None:
        self._clock = clock
        self._batches: dict[str, list[FileBatch]] = {lane: [] for lane in LANES}
        for index, (device, lanes) in plans.items():
            for lane in LANES:
                plan = lanes.get(lane, Plan())
                if plan.targets or plan.absent:
                    batch = FileBatch(
                        BatchName(self.name, lane, index),
                        host,
                        device.path,
                        plan.files(),
                        absent=plan.absent,
                        keep=keep and lane in _KEPT,
                        guard=_GUARDS.get(lane),
                    )
                    self._batches[lane].append(batch)
        self._fast = self._fast_files(host) if keep else None

    def _fast_files(self, host: HostFs) -> FileSet:
        """A device has three such files or fewer: read one device at a time they cost double."""
        fast = self._batches["fast"]
        paths = [f"{one.base.removeprefix('sys/')}/{path}" for one in fast for path in one.paths]
        limits = [limit for batch in fast for limit in batch.limits]
        return host.file_set("sys", paths, limits, keep=True)

    @property
    def kept(self) -> int:
        """Descriptors held between reads."""
        apart = sum(batch.kept for batches in self._batches.values() for batch in batches)
        return apart + (self._fast.kept if self._fast else 0)

    def poll(self, lanes: Collection[str]) -> list[Batch]:
        """Read the lanes that are due."""
        found: list[Batch] = []
        for lane in lanes:
            if lane == "fast" and self._fast:
                found += self._poll_fast(self._fast)
            else:
                found += self._poll(self._batches.get(lane, ()))
        return found

    def _poll(self, batches: Sequence[FileBatch]) -> list[Batch]:
        """All are read before one is looked at.

        What the kernel goes through for a device is more than a processor's nearest memory holds:
        code and data that look at a batch would have to come back for each.
        """
        for batch in batches:
            batch.fetch(self._clock)
        return [batch.look() for batch in batches]

    def _poll_fast(self, files: FileSet) -> list[Batch]:
        begin = self._clock.monotonic()
        raw = iter(files.read())
        seconds, wall = self._clock.monotonic() - begin, self._clock.wall()
        return [
            batch.take(list(islice(raw, len(batch.paths))), begin, seconds, wall)
            for batch in self._batches["fast"]
        ]

    def close(self) -> None:
        """Give all descriptors back."""
        if self._fast:
            self._fast.close()
        for batches in self._batches.values():
            for batch in batches:
                batch.close()
