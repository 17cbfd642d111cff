"""Chips, instance types and driver versions that can be simulated.

Source: driver 2.24.7 `v1|v2|v3/neuron_dhal_*.c`, `*/address_map.h`, `neuron_device.h`, 2.30.2
`v4/neuron_dhal_v4.c` and `neuron_cdev.c` (platforms). Processors and memory of the hosts are
those of AWS's instance pages; of Trainium3 instances they are made up.
"""

from __future__ import annotations

import difflib
from typing import Literal, NamedTuple, TypeAlias

from neuron_observer.errors import InputError

GIB = 1 << 30
Platform: TypeAlias = Literal["ordinary", "ultraserver", "pds", "max"]


class Chip(NamedTuple):
    """One generation as the driver names it; cores are physical."""

    device_name: str
    instance_type: str  # the family, as `info/architecture/instance_type` has it
    device_arch: str
    core_arch: str
    cores: int
    dice: int
    stacks: int  # of HBM; inf1: DRAM channels
    stack_bytes: int
    pci_id: str
    hertz: float  # cycles of a matrix engine a second; made up
    flops: float  # of a core at full use; made up


INF1 = Chip("Inferentia", "Inf1", "NDv1", "NCv1", 4, 1, 2, 4 * GIB, "0x7064", 1.0e9, 16e12)
TRN1 = Chip("Trainium1", "Trn1", "NDv2", "NCv2", 2, 1, 2, 16 * GIB, "0x7164", 1.4e9, 95e12)
INF2 = Chip("Inferentia2", "Inf2", "NDv3", "NCv2", 2, 1, 2, 16 * GIB, "0x7264", 1.4e9, 95e12)
TRN2 = Chip("Trainium2", "Trn2", "NDv3", "NCv3", 8, 2, 4, 24 * GIB, "0x7364", 1.4e9, 83e12)
TRN3 = Chip("Trainium3", "Trn3", "NDv4", "NCv4", 8, 2, 4, 36 * GIB, "0x7564", 1.4e9, 83e12)


class Instance(NamedTuple):
    """One instance type."""

    name: str
    chip: Chip
    devices: int
    processors: int
    memory: int  # GiB of the host
    adapters: int = 0  # EFA that a simulation attaches; how many are real is chosen at the launch
    platform: Platform = "ordinary"
    newest_only: bool = False  # named in driver 2.30.2 only


INSTANCES: dict[str, Instance] = {
    one.name: one
    for one in (
        Instance("inf1.xlarge", INF1, 1, 4, 8),
        Instance("inf1.2xlarge", INF1, 1, 8, 16),
        Instance("inf1.6xlarge", INF1, 4, 24, 48),
        Instance("inf1.24xlarge", INF1, 16, 96, 192),
        Instance("inf2.xlarge", INF2, 1, 4, 16),
        Instance("inf2.8xlarge", INF2, 1, 32, 128),
        Instance("inf2.24xlarge", INF2, 6, 96, 384),
        Instance("inf2.48xlarge", INF2, 12, 192, 768),
        Instance("trn1.2xlarge", TRN1, 1, 8, 32),
        Instance("trn1.32xlarge", TRN1, 16, 128, 512, 8),
        Instance("trn1n.32xlarge", TRN1, 16, 128, 512, 16),
        Instance("trn2.3xlarge", TRN2, 1, 12, 128, 1),
        Instance("trn2.48xlarge", TRN2, 16, 192, 2048, 16),
        Instance("trn2u.48xlarge", TRN2, 16, 192, 2048, 16, "ultraserver"),
        Instance("trn2en.24xlarge", TRN2, 4, 96, 1024, 4, "max", newest_only=True),
        Instance("trn3.48xlarge", TRN3, 16, 192, 2048, 16, "pds"),
        Instance("trn3e.24xlarge", TRN3, 4, 96, 1024, 4, "max"),
        Instance("trn3sn.3xlarge", TRN3, 1, 12, 128, 1, newest_only=True),
        Instance("trn3s-es.3xlarge", TRN3, 1, 12, 128, 1, newest_only=True),
    )
}


class Driver(NamedTuple):
    """A driver version; what differs between versions is asked of `number`."""

    version: str  # as /sys/module/neuron/version has it
    number: tuple[int, int, int]

    @property
    def live_counters(self) -> bool:
        """Whether counters of the runtime move while its process runs."""
        return self.number >= (2, 30, 2)

    @property
    def splits_ecc(self) -> bool:
        """Whether the driver knows unrepairable (15:12) from repairable (11:0) HBM errors."""
        return self.number >= (2, 26, 5)

    @property
    def blocks(self) -> bool:
        """Whether reads wait for a register that reads 0xdeadbeef."""
        return self.number <= (2, 24, 7)


DRIVERS: dict[str, Driver] = {
    "2.24.7": Driver("2.24.7.0", (2, 24, 7)),
    "2.28": Driver("2.28.0.0", (2, 28, 0)),
    "2.30.2": Driver("2.30.2.0", (2, 30, 2)),
}
DEFAULT_INSTANCE = "trn2.48xlarge"
DEFAULT_DRIVER = "2.30.2"


def choose(instance: str, driver: str | None) -> tuple[Instance, Driver]:
    """Instance type and driver by name; without a driver the newest that knows the type.

    Raises InputError for names that are not known and pairs that do not exist.
    """
    if instance not in INSTANCES:
        raise InputError(
            f"no instance type {instance!r} can be simulated", remedy=nearest(instance, INSTANCES)
        )
    known = INSTANCES[instance]
    if driver is None:
        driver = "2.24.7" if known.chip is INF1 else DEFAULT_DRIVER
    if driver not in DRIVERS:
        raise InputError(f"no driver {driver!r} can be simulated", remedy=nearest(driver, DRIVERS))
    why = _impossible(known, DRIVERS[driver])
    if why:
        raise InputError(f"{instance} with driver {driver}: {why}", remedy="Name another --driver.")
    return known, DRIVERS[driver]


def _impossible(instance: Instance, driver: Driver) -> str:
    if instance.chip is INF1 and driver.number > (2, 24, 7):
        return "2.24.7 was the last driver for Inf1"
    if instance.chip is TRN3 and driver.number < (2, 25, 4):
        return "2.25.4 was the first driver for Trainium3"
    if instance.newest_only and driver.number < (2, 30, 2):
        return "the type is known from driver 2.30.2 only"
    return ""


def nearest(word: str, known: dict[str, Instance] | dict[str, Driver]) -> str:
    """A remedy that names the nearest match, or all there are."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}"


# driver 2.24.7 v3/neuron_dhal_v3.c; trn3 has the same table although its fabric is a switch
_TRN2_NEIGHBOURS = (
    (12, 1, 3, 4),
    (0, 13, 5, 2),
    (14, 3, 1, 6),
    (2, 15, 7, 0),
    (8, 5, 7, 0),
    (4, 9, 1, 6),
    (10, 7, 5, 2),
    (6, 11, 3, 4),
    (4, 9, 11, 12),
    (8, 5, 13, 10),
    (6, 11, 9, 14),
    (10, 7, 15, 8),
    (0, 13, 15, 8),
    (12, 1, 9, 14),
    (2, 15, 13, 10),
    (14, 3, 11, 12),
)


def neighbours(instance: Instance, index: int, counted: int) -> tuple[int, ...]:
    """Neighbours in the order in which the driver prints them, by how many devices it counted."""
    if instance.chip is INF1:  # read from the device: a chain (of 24xlarge: inferred)
        return tuple(n for n in (index + 1, index - 1) if 0 <= n < counted)
    if instance.chip is INF2:
        if counted == 12:
            return ((index - 1) % 12, (index + 1) % 12)
        return tuple(n for n in (index - 1, index + 1) if 0 <= n < 6) if counted == 6 else ()
    if counted == 0 or counted % 16:
        return ()
    if instance.chip is TRN1:
        row = index // 4 * 4
        left, right = row + (index - 1) % 4, row + (index + 1) % 4
        return ((index - 4) % 16, left, (index + 4) % 16, right)
    return _TRN2_NEIGHBOURS[index]


# Functions of a Trainium2 node, ascending, as tables of neuron-ls show them: NUMA node 0, then 1
_TRN2_BUSES = (
    *("58", "59", "6e", "6f", "84", "85", "9a", "9b"),
    *("b5", "b6", "cb", "cc", "e1", "e2", "f7", "f8"),
)


def pci_address(instance: Instance, index: int) -> tuple[str, int]:
    """PCI address and NUMA node of a device; of all but Trainium2 made up."""
    if instance.chip is TRN2 and instance.devices == 16:
        return f"0000:{_TRN2_BUSES[index]}:00.0", index // 8
    if instance.chip is TRN2 and instance.devices == 1:
        return "0000:cc:00.0", 1
    return f"0000:{16 * (index // 2 + 1) % 256:02x}:{0x1C + index % 2:02x}.0", 0
