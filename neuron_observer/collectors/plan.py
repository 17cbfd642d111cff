"""Which files make up which batch: the catalogue laid over what discovery found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.chips import BLOCKING_UNTIL, CHIPS
from neuron_observer.collectors.batching import Absent, FileRead, Target
from neuron_observer.collectors.discovery import locate, suffix_of
from neuron_observer.model import Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from neuron_observer.catalogue.chips import Chip
    from neuron_observer.catalogue.spec import MetricSpec, Source, Version
    from neuron_observer.collectors.topology import DeviceTree

_TREE = ("device", "core")
_IN_TREE = tuple(s for s in METRICS.values() if any(at.where in _TREE for at in s.sources))
_DEVICE_SPECS = tuple(spec for spec in _IN_TREE if spec.scope == "device")
_CORE_SPECS = tuple(spec for spec in _IN_TREE if spec.scope == "core")
_LOADING = Missing(Why.NOT_YET, "the driver is loading: initstate is coming")


class Plan:
    """The files of one lane and the cells that no file gives."""

    def __init__(self) -> None:
        self.targets: dict[str, list[Target]] = {}  # by path
        self.absent: list[Absent] = []

    def files(self) -> list[FileRead]:
        """One entry a file, with all the cells that come from it."""
        return [FileRead(path, tuple(targets)) for path, targets in self.targets.items()]


def version_text(version: Version | None) -> str:
    """(2, 30, 2) → 2.30.2."""
    return ".".join(map(str, version)) if version else "unknown"


def plan_device(
    device: DeviceTree,
    chip_name: str | None,
    version: Version | None,
    path_map: Mapping[str, str],
    *,
    loading: bool = False,
    only: Collection[str] | None = None,
) -> dict[str, Plan]:
    """Lane → plan for one device and its cores, of all metrics or `only` some.

    Nothing is read while the driver loads.
    """
    chip = CHIPS.get(chip_name or "")
    plans: dict[str, Plan] = {}
    cores = sorted(device.tree.cores)
    places = [Place(device.number, core) for core in cores]
    spots = [(spec, Place(device.number)) for spec in chosen(_DEVICE_SPECS, only)]
    spots += [(spec, place) for spec in chosen(_CORE_SPECS, only) for place in places]
    for spec, place in spots:
        found = _find(device, spec, place.core, chip_name, path_map)
        plan = plans.setdefault(_lane(spec, chip), Plan())
        if isinstance(found, Missing):
            reason = found if found.detail else _why_absent(spec, chip_name, version)
            reason = _LOADING if loading else reason
            plans.setdefault("slow", Plan()).absent.append(Absent(spec, place, reason))
        else:
            path, source = found
            target = Target(spec, source, place, _limit(spec, chip))
            plan.targets.setdefault(path, []).append(target)
    return plans


def chosen(specs: Iterable[MetricSpec], only: Collection[str] | None) -> list[MetricSpec]:
    """The metrics that are read at all: every one but the derived, or `only` some."""
    read = [spec for spec in specs if spec.lane != "derived"]
    return read if only is None else [spec for spec in read if spec.id in only]


def _lane(spec: MetricSpec, chip: Chip | None) -> str:
    # inf1 asks its firmware for its two neighbours, which can take a minute
    if spec.id == "device.connected_devices" and chip and chip.name == "Inferentia":
        return "firmware"
    return spec.lane


def _limit(spec: MetricSpec, chip: Chip | None) -> int | None:
    # an allocation counter that wrapped reads about 2⁶⁴; no core holds more than its device has
    if spec.id.startswith("core.hbm.") and chip:
        return chip.hbm_bytes
    return spec.limit


def _find(
    device: DeviceTree,
    spec: MetricSpec,
    core: int | None,
    chip: str | None,
    path_map: Mapping[str, str],
) -> tuple[str, Source] | Missing:
    for source in spec.sources:
        if source.where not in _TREE or (source.part and source.chips and chip not in source.chips):
            continue
        found = locate(device.tree, spec.id, suffix_of(source.path), core, path_map)
        if isinstance(found, str):
            return found, source
        if found:
            some = ", ".join(found[:3])
            return Missing(Why.UNSUPPORTED, f"ambiguous: {len(found)} files could be it ({some})")
    return Missing(Why.UNSUPPORTED)


def _why_absent(spec: MetricSpec, chip: str | None, version: Version | None) -> Missing:
    here = version_text(version)
    for source in spec.sources:
        if source.where not in _TREE:
            continue
        if source.chips and chip in CHIPS and chip not in source.chips:
            return Missing(Why.UNSUPPORTED, f"{chip} does not have it")
        if source.since and version and version < source.since:
            needed = version_text(source.since)
            return Missing(Why.UNSUPPORTED, f"needs driver {needed} or later, this is {here}")
        if source.until and version and version > source.until:
            last = version_text(source.until[:2])
            return Missing(Why.UNSUPPORTED, f"drivers up to {last} have it, this is {here}")
    return Missing(Why.UNSUPPORTED, f"not found in the tree of driver {here}")


def reads_can_block(version: Version | None) -> bool:
    """Whether a read of a firmware register may sleep uninterruptibly; unknown drivers may."""
    return version is None or version <= BLOCKING_UNTIL
