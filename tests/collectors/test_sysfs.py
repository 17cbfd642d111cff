"""The driver's counters, lane by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.collectors.sysfs import SysfsCollector, plan_devices
from neuron_observer.collectors.topology import read_topology
from neuron_observer.sources.filesets import EachFile
from neuron_observer.sources.listing import ListingFs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.clock import ManualClock
    from neuron_observer.sources.filesets import Content


class Watched(ListingFs):
    """A host that notes when files are read together, and when what came is looked at."""

    def __init__(self, host: ListingFs) -> None:
        super().__init__(host.listing, host.root)
        self.noted: list[tuple[str, str]] = []

    def file_set(
        self, base: str, names: Sequence[str], limits: Sequence[int], *, keep: bool
    ) -> EachFile:
        """Files that note that they are read."""
        return WatchedFiles(self, base, super().file_set(base, names, limits, keep=keep))

    def witness(self, base: str, _names: Sequence[str]) -> Looks:
        """Who notes that they are looked at."""
        return Looks(self, base)


class WatchedFiles(EachFile):
    """Files that note that they are read."""

    def __init__(self, host: Watched, base: str, files: EachFile) -> None:
        self._noted, self._base, self._each = host.noted, base, files

    def read(self) -> list[Content]:
        """All of them."""
        self._noted.append(("read", self._base.rpartition("neuron")[2]))
        return self._each.read()


class Looks:
    """Notes that files are looked at."""

    def __init__(self, host: Watched, base: str) -> None:
        self._host, self._base = host, base

    def took(self, read_at: float, seconds: float) -> tuple[float, float]:
        """They are, from now on."""
        self._host.noted.append(("look", self._base.rpartition("neuron")[2]))
        return read_at, seconds

    def changed(self, positions: Sequence[int], contents: Sequence[Content]) -> None:
        """Some of them are not what they were."""


def test_all_devices_are_read_before_one_is_looked_at(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """What the kernel goes through for a device drives what looks at it out of the processor."""
    host = Watched(tree("trn2.48xlarge-2.30.2-busy"))
    topology = read_topology(host)
    plans = plan_devices(host, topology, {})
    collector = SysfsCollector(host, clock, plans)
    batches = collector.poll(["normal", "slow"])
    devices = [str(device.number) for device in topology.devices]
    assert len(devices) == 16
    each = [("read", one) for one in devices], [("look", one) for one in devices]
    assert host.noted == [*each[0], *each[1]] * 2
    assert [(one.lane, one.device) for one in batches] == [
        (lane, int(one)) for lane in ("normal", "slow") for one in devices
    ]
