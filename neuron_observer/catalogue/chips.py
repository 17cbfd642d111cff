"""Chips, instance types and driver versions that are known.

Source: driver 2.24.7 `v1|v2|v3/neuron_dhal_*.c` and `*/address_map.h`, 2.26.5 and 2.30.2 `v4/…`,
`neuron_device.h` (PCI ids), `v3/neuron_dhal_v3.c` and `v4/neuron_dhal_v4.c` (product names).
"""

from __future__ import annotations

from typing import NamedTuple

GIB = 1 << 30

VENDOR = "0x1d0f"

NEURON_PCI_IDS: dict[str, str] = {
    "0x7064": "Inferentia",
    "0x7065": "Inferentia",
    "0x7066": "Inferentia",
    "0x7067": "Inferentia",
    "0x7164": "Trainium1",
    "0x7264": "Inferentia2",
    "0x7364": "Trainium2",
    "0x7564": "Trainium3",
    "0x7565": "Trainium3",
}


class Chip(NamedTuple):
    """One generation; cores are physical, `hbm_bytes` is per device."""

    name: str  # device_name
    arch: str
    core_arch: str
    cores: int
    dies: int
    hbm_bytes: int


CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("Inferentia", "NDv1", "NCv1", 4, 1, 8 * GIB),
        Chip("Trainium1", "NDv2", "NCv2", 2, 1, 32 * GIB),
        Chip("Inferentia2", "NDv3", "NCv2", 2, 1, 32 * GIB),
        Chip("Trainium2", "NDv3", "NCv3", 8, 2, 96 * GIB),
        Chip("Trainium3", "NDv4", "NCv4", 8, 2, 144 * GIB),
    )
}

HEALTH_CHIPS = ("Trainium2", "Trainium3")  # have stats/hardware/health_status
ECC_CHIPS = ("Trainium1", "Inferentia2", "Trainium2", "Trainium3")

INSTANCE_DEVICES: dict[str, int] = {
    "inf1.xlarge": 1,
    "inf1.2xlarge": 1,
    "inf1.6xlarge": 4,
    "inf1.24xlarge": 16,
    "inf2.xlarge": 1,
    "inf2.8xlarge": 1,
    "inf2.24xlarge": 6,
    "inf2.48xlarge": 12,
    "trn1.2xlarge": 1,
    "trn1.32xlarge": 16,
    "trn1n.32xlarge": 16,
    "trn2.3xlarge": 1,
    "trn2.48xlarge": 16,
    "trn2u.48xlarge": 16,
    "trn2en.24xlarge": 4,  # inferred from the index table of driver 2.30.2
    "trn3.48xlarge": 16,
    "trn3e.24xlarge": 4,
    "trn3sn.3xlarge": 1,
    "trn3s-es.3xlarge": 1,
}

# Driver versions whose files and meanings were checked against their source. Others are read by
# discovery, and what they say about hardware is capped (architecture, law 7).
OLDEST_CHECKED = (2, 23, 9)
NEWEST_CHECKED = (2, 30, 2)
BLOCKING_UNTIL = (2, 24, 7)  # up to here a firmware-register read can block for 15 to 75 s
LIVE_SINCE = (2, 30, 2)  # from here counters of the runtime move while a job runs


def parse_version(text: str | None) -> tuple[int, ...] | None:
    """`2.30.2.0` → (2, 30, 2); None where it is no version of three numbers or more."""
    parts = (text or "").strip().split(".")
    if len(parts) < 3 or not all(part.isdecimal() for part in parts[:3]):
        return None
    return tuple(int(part) for part in parts[:3])


def is_checked(version: tuple[int, ...] | None) -> bool:
    """Whether the driver's files and meanings are known from its source."""
    return version is not None and OLDEST_CHECKED <= version <= NEWEST_CHECKED
