"""Which logical cores a process uses, how that is known, and how sure it is.

A descriptor makes the device certain; cores are told by neuron-monitor's report, else by what the
process was started with. Logical cores are never turned into physical ones: the driver may swap
pairs below them (ioctl 120, driver 2.30.2 neuron_dhal_v3.c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.model import Cores
from neuron_observer.parsers.core_list import core_count, core_size, visible_cores

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from neuron_observer.jobs.identity import Holder

# Logical cores are of two physical ones unless a process says otherwise; the others have no such
_SIZE_TWO: Final = frozenset({"Trainium2", "Trainium3"})
_CANNOT_COMPARE: Final = "its cores are numbered within its container"
_NO_DEVICE: Final = "it holds no device"
_SIZE_ONE: Final = frozenset({"Inferentia", "Inferentia2", "Trainium1"})


class NodeShape(NamedTuple):
    """The devices of a node."""

    chips: Mapping[int, str | None]  # device → name, e.g. Trainium2
    cores: Mapping[int, int]  # device → physical cores

    @property
    def per_device(self) -> int | None:
        """Physical cores of each device, where all have as many."""
        counts = set(self.cores.values())
        return counts.pop() if len(counts) == 1 and 0 not in counts else None

    @property
    def default_size(self) -> int | None:
        """Physical cores of a logical one if a process does not say."""
        names = set(self.chips.values())
        if names and names <= _SIZE_TWO:
            return 2
        return 1 if names and names <= _SIZE_ONE else None

    def device_of(self, core: int, size: int | None) -> int | None:
        """The device of a logical core; None where the sizes are not known."""
        if not self.per_device or not size or self.per_device % size:
            return None
        return core // (self.per_device // size)


class Told(NamedTuple):
    """What neuron-monitor reports of a runtime."""

    numbers: tuple[int, ...]
    size: int | None


def cores_of(holder: Holder, job: Collection[Holder], shape: NodeShape, told: Told | None) -> Cores:
    """The cores of one process of a job; `job` holds all its processes on this node."""
    if told is not None and told.numbers:
        found = Cores(told.numbers, told.size, None, "monitor", "reported")
    elif holder.variables is None:
        return Cores(detail="its environment could not be read")
    else:
        size = _size(holder, shape)
        found = _stated(holder, job, size) or _by_rank(holder, size) or _counted(holder, size)
    return _checked(found, holder, shape)


def _size(holder: Holder, shape: NodeShape) -> int | None:
    """Physical cores in a logical one; None where two variables contradict each other."""
    names = ("NEURON_RT_VIRTUAL_CORE_SIZE", "NEURON_LOGICAL_NC_CONFIG")
    said = {core_size(text) for name in names if (text := holder.variable(name))}
    if not said:
        return shape.default_size
    return said.pop() if len(said) == 1 else None


def _stated(holder: Holder, job: Collection[Holder], size: int | None) -> Cores | None:
    """NEURON_RT_VISIBLE_CORES, unless ranks have it in common: then it was their launcher's."""
    text = holder.variable("NEURON_RT_VISIBLE_CORES")
    if text is None or (_shared(text, job) and holder.launched):
        return None
    numbers = visible_cores(text)
    if numbers is None:
        return Cores(size=size, detail=f"NEURON_RT_VISIBLE_CORES={text} is no list of cores")
    return Cores(numbers, size, None, "visible_cores", "stated")


def _shared(text: str, job: Collection[Holder]) -> bool:
    return sum(other.variable("NEURON_RT_VISIBLE_CORES") == text for other in job) > 1


def _by_rank(holder: Holder, size: int | None) -> Cores | None:
    """LOCAL_RANK: an equal share of the visible cores, else one core a rank, counted from 0."""
    local, ranks = holder.number("LOCAL_RANK"), holder.number("LOCAL_WORLD_SIZE")
    if local is None or not holder.launched or (ranks is not None and local >= ranks):
        return None
    text = holder.variable("NEURON_RT_VISIBLE_CORES")
    if text is None:
        if core_count(holder.variable("NEURON_RT_NUM_CORES") or "1") != 1:
            return None
        return Cores((local,), size, None, "local_rank", "derived", "one core a rank is assumed")
    visible = visible_cores(text)
    if visible is None or not ranks or len(visible) % ranks:
        return Cores(size=size, detail=f"{text} cannot be shared by {ranks or '?'} ranks")
    share = len(visible) // ranks
    mine = visible[local * share : (local + 1) * share]
    return Cores(mine, size, None, "local_rank", "derived", f"its share of {text}")


def _counted(holder: Holder, size: int | None) -> Cores:
    text = holder.variable("NEURON_RT_NUM_CORES")
    count = core_count(text) if text else None
    if count is None:
        return Cores(size=size, detail="nothing says which cores of its devices it uses")
    detail = "all that are free" if count == 0 else "which ones the runtime chose is not told"
    return Cores(size=size, how_many=count, detail=detail)


def _checked(found: Cores, holder: Holder, shape: NodeShape) -> Cores:
    """Numbers that contradict the descriptors count for nothing: a container counts from 0.

    Who holds no device has no core either, whatever its launcher numbered.
    """
    if not holder.process.devices and found.source != "monitor":
        return Cores(size=found.size, source=found.source, detail=_NO_DEVICE)
    where = (shape.device_of(core, found.size) for core in found.numbers)
    claims = {device for device in where if device is not None}
    inside = bool(holder.process.container or holder.process.own_pid)
    if inside and found.numbers and not claims and found.source != "monitor":
        return Cores(size=found.size, source=found.source, detail=_CANNOT_COMPARE)
    elsewhere = sorted(claims.difference(holder.process.devices))
    if not elsewhere:
        return found
    claimed = ", ".join(f"neuron{device}" for device in elsewhere)
    why = "; they are its container's numbers" if inside else ""
    detail = f"{_listed(found.numbers)} would be on {claimed}, which it does not hold{why}"
    return Cores(size=found.size, source=found.source, detail=detail)


def _listed(numbers: Sequence[int]) -> str:
    return ranges(numbers) if len(numbers) > 1 else f"core {numbers[0]}"


def ranges(numbers: Sequence[int]) -> str:
    """0, 1, 2, 5 → `0-2,5`."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)
