"""What neuron-ls can tell: the listing, its devices and their processes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

TOOLS = frozenset({"neuron-ls", "neuron-monitor", "neuron-top"})  # they list themselves


class Outcome(str, Enum):
    """How a call of neuron-ls ended."""

    OK = "ok"
    NO_DEVICE = "no device or driver"
    USAGE_ERROR = "usage error"
    TOOL_MISSING = "tool missing"
    BAD_OUTPUT = "bad output"
    NO_ANSWER = "no answer in time"


@dataclass(frozen=True, slots=True)
class ListedProcess:
    """A process that has the device open; its pid is the host's, also inside a container."""

    pid: int
    command: str | None = None  # cut by the tool; None where the column is missing
    runtime_version: str | None = None  # None: NA, no runtime in the process
    tool: bool = False  # one of the Neuron tools, not a job


@dataclass(frozen=True, slots=True)
class ListedDevice:
    """One device as neuron-ls lists it; None where this output does not tell.

    `nc_count` is the number printed: physical cores on some chips and versions, logical on others.
    `core_ids` are logical and count over the whole node.
    """

    index: int
    bdf: str | None = None  # as printed: with or without the PCI domain
    nc_count: int | None = None
    core_ids: tuple[int, ...] | None = None
    memory_bytes: int | None = None
    neighbours: tuple[int, ...] | None = None  # (): the chip has no links
    numa: int | None = None
    cpu_affinity: str | None = None
    processes: tuple[ListedProcess, ...] | None = None

    @property
    def jobs(self) -> tuple[ListedProcess, ...]:
        """Processes that are no Neuron tools."""
        return tuple(process for process in self.processes or () if not process.tool)


@dataclass(frozen=True, slots=True)
class NeuronListing:
    """What a call of neuron-ls told."""

    outcome: Outcome
    devices: tuple[ListedDevice, ...] = ()
    detail: str = ""  # why there is no listing
    instance_type: str | None = None
    instance_id: str | None = None
    lnc: int | None = None  # physical cores in a logical one
    unknown: tuple[str, ...] = ()  # keys or columns that we do not know

    @property
    def logical_cores(self) -> int | None:
        """Logical cores of all devices; `nc_count` counts them only where LNC is 1."""
        counts = [_logical(device, self.lnc) for device in self.devices]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    @property
    def physical_cores(self) -> int | None:
        """Physical cores of all devices."""
        logical = self.logical_cores
        return None if logical is None else logical * (self.lnc or 1)

    def device_of_core(self, core: int) -> tuple[int, int] | None:
        """(device, logical core within it) of a logical core of the node; None if not listed."""
        for device in self.devices:
            if device.core_ids and core in device.core_ids:
                return device.index, device.core_ids.index(core)
        return None


def core_size(stated: int | None, devices: tuple[ListedDevice, ...]) -> int | None:
    """LNC: as stated, else how many times more cores are counted than have ids, on every device."""
    if stated:
        return stated
    ratios = {
        device.nc_count // len(device.core_ids)
        for device in devices
        if device.nc_count and device.core_ids and device.nc_count % len(device.core_ids) == 0
    }
    ratio = ratios.pop() if len(ratios) == 1 else 1
    return ratio if ratio > 1 else None  # equal numbers may both be logical


def _logical(device: ListedDevice, lnc: int | None) -> int | None:
    if device.core_ids is not None:
        return len(device.core_ids)
    return device.nc_count if lnc in (None, 1) else None


def process(pid: int, command: str | None, version: str | None) -> ListedProcess:
    """A process; the Neuron tools are told by their name."""
    words = (command or "").split()
    name = words[0].rsplit("/", 1)[-1] if words else ""
    return ListedProcess(pid, command, version, tool=name in TOOLS)


def numa_node(text: str) -> int | None:
    """A NUMA node; "-1" and whatever is no number are unknown."""
    return int(text) if re.fullmatch(r"\s*[0-9]{1,6}\s*", text) else None


def text(value: object) -> str | None:
    """A printable text that says something; NA, empty and other types are None."""
    if not isinstance(value, str) or value in ("", "NA"):
        return None
    return value.encode("utf-8", "backslashreplace").decode()
