"""Chips, instance types and versions against the driver's tables."""

from __future__ import annotations

import pytest

from neuron_observer.catalogue.chips import (
    CHIPS,
    INSTANCE_DEVICES,
    NEURON_PCI_IDS,
    is_checked,
    parse_version,
)

GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "arch", "core_arch", "cores", "dies", "gib"),
    [
        ("Inferentia", "NDv1", "NCv1", 4, 1, 8),
        ("Trainium1", "NDv2", "NCv2", 2, 1, 2 * 16),
        ("Inferentia2", "NDv3", "NCv2", 2, 1, 2 * 16),
        ("Trainium2", "NDv3", "NCv3", 8, 2, 4 * 24),
        ("Trainium3", "NDv4", "NCv4", 8, 2, 4 * 36),
    ],
)
def test_chips(name: str, arch: str, core_arch: str, cores: int, dies: int, gib: int) -> None:
    """Cores, dice and HBM; inf2 and trn2 share NDv3 and differ by name and core."""
    assert CHIPS[name] == (name, arch, core_arch, cores, dies, gib * GIB)
    assert len(CHIPS) == 5


@pytest.mark.parametrize(
    ("types", "devices"),
    [
        ("inf1.xlarge inf1.2xlarge inf2.xlarge inf2.8xlarge trn1.2xlarge trn2.3xlarge", 1),
        ("trn3sn.3xlarge trn3s-es.3xlarge", 1),
        ("inf1.6xlarge trn3e.24xlarge trn2en.24xlarge", 4),
        ("inf2.24xlarge", 6),
        ("inf2.48xlarge", 12),
        ("inf1.24xlarge trn1.32xlarge trn1n.32xlarge trn2.48xlarge trn2u.48xlarge", 16),
        ("trn3.48xlarge", 16),
    ],
)
def test_devices_of_an_instance(types: str, devices: int) -> None:
    """E25: the number comes from the type, not from what is there."""
    assert {INSTANCE_DEVICES[name] for name in types.split()} == {devices}


def test_pci_ids() -> None:
    """Every id of the driver's table leads to a chip that is known."""
    assert {int(number, 16) for number in NEURON_PCI_IDS} == {
        *(0x7064, 0x7065, 0x7066, 0x7067),
        *(0x7164, 0x7264, 0x7364, 0x7564, 0x7565),
    }
    assert set(NEURON_PCI_IDS.values()) == set(CHIPS)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.30.2.0", (2, 30, 2)),
        ("2.24.7.0\n", (2, 24, 7)),
        ("2.30.2", (2, 30, 2)),
        ("2.x.6781.0", None),
        ("2.30", None),
        ("", None),
        (None, None),
        ("v2.30.2", None),
        ("2.-1.2", None),
        ("2..2.0", None),
    ],
)
def test_versions(text: str | None, version: tuple[int, ...] | None) -> None:
    """Three numbers or more; a development version is none."""
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("version", "checked"),
    [
        ((2, 22, 2), False),
        ((2, 23, 9), True),
        ((2, 24, 7), True),
        ((2, 30, 2), True),
        ((2, 31, 7), False),
        (None, False),
    ],
)
def test_drivers_that_were_checked(version: tuple[int, ...] | None, checked: bool) -> None:
    """Law 7: outside the tested table findings about hardware are capped."""
    assert is_checked(version) is checked
