"""What a host has against what its instance type should have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks.inventory import Item, take
from neuron_observer.clock import ManualClock
from neuron_observer.model import JobScan
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load as load_scenario
from tests.checks.looks import DEVICE, reader_of
from tests.hosts import changed, host_of, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sources.listing import ListingFs

TRN1 = "trn1.32xlarge-2.24.7-busy"
SMALL = "trn2.3xlarge-2.30.2-busy"


def inventory(host: ListingFs) -> dict[str, Item]:
    """By topic."""
    reader = reader_of(host)
    items = take(reader.topology, reader.poll(("fast", "normal", "slow", "firmware", "jobs")))
    reader.close()
    return {item.topic: item for item in items}


def test_all_there(tree: Callable[[str], ListingFs]) -> None:
    """Devices, cores, functions and driver as they must be."""
    found = inventory(tree(TRN1))
    assert found["devices"] == Item("devices", True, "16 of 16 (trn1.32xlarge)")
    assert found["cores"] == Item("cores", True, "32 physical, 2 a device")
    assert found["pci"] == Item("pci", True, "16 of 16 functions, 16 bound")
    assert found["driver"].text == "2.24.7.0 live; does not go with runtimes from 2.32 on"


def test_e25_a_device_is_missing(tree: Callable[[str], ListingFs]) -> None:
    """E25: 15 of 16 by the table of the type; the index and the function are named."""
    gone = (
        "sys/devices/virtual/neuron_device/neuron7",
        "sys/bus/pci/drivers/neuron-driver/0000:40:1d.0",
    )
    found = inventory(without(tree(TRN1), *gone))
    assert found["devices"] == Item("devices", False, "15 of 16 (trn1.32xlarge); missing: neuron7")
    assert found["pci"].right is False
    assert "not bound to the driver: 0000:40:1d.0" in found["pci"].text


def test_a_core_is_missing(tree: Callable[[str], ListingFs]) -> None:
    """Which device, and how many it has."""
    found = inventory(without(tree(SMALL), DEVICE.format(0) + "neuron_core3"))
    assert found["cores"] == Item("cores", False, "7 physical, 7 a device; neuron0 has 7 of 8")


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (b"2.26.5.0\n", "from 2.32 on"),
        (b"2.28.1.0\n", ""),
        (b"2.29.0.0\n", "before 2.33"),
        (b"3.1.0.0\n", "not one whose files were checked"),
    ],
)
def test_runtimes_that_do_not_go_with_it(
    version: bytes, told: str, tree: Callable[[str], ListingFs]
) -> None:
    """The release notes' combinations; an unknown driver is said to be one."""
    text = inventory(changed(tree(SMALL), version=version))["driver"].text
    assert told in text
    assert ("runtimes" in text) is (version != b"2.28.1.0\n")


def test_no_driver_on_a_neuron_host() -> None:
    """Wrong where the type has devices, unknown elsewhere."""
    product = "sys/devices/virtual/dmi/id/product_name"
    found = inventory(host_of({product: b"trn1.32xlarge\n"}))
    assert found["driver"] == Item("driver", False, "not loaded")
    assert found["devices"].right is False
    assert inventory(host_of({product: b"m5.large\n"}))["driver"].right is None


def test_a_type_that_nobody_knows() -> None:
    """How many devices belong there cannot be told, of a type without a name either."""
    found = inventory(host_of({"proc/uptime": b"1 1\n"}))
    text = "0; how many there should be is not known (unknown instance type)"
    assert found["devices"] == Item("devices", None, text)


@pytest.mark.parametrize(("denied", "told"), [(1, "1 process "), (2, "2 processes ")])
def test_processes_that_may_not_be_looked_into(
    tree: Callable[[str], ListingFs], denied: int, told: str
) -> None:
    """As many as there are, in the right number."""
    reader = reader_of(tree(SMALL))
    snapshot = reader.poll(("jobs",))
    scan = JobScan(processes=9, holders=1, denied=denied, pending=0)
    items = take(reader.topology, snapshot._replace(job_scan=scan))
    reader.close()
    (found,) = [item for item in items if item.topic == "leftovers"]
    assert f"descriptors of {told}may not be listed" in found.text


def test_place_in_an_ultraserver() -> None:
    """Told where it can be read, on types that may be part of one."""
    clock = ManualClock()
    host = simulate(load_scenario("healthy", instance="trn2u.48xlarge", driver="2.30.2"), clock)
    reader = HostReader(host, clock, Options(thorough=False))
    items = take(reader.topology, reader.poll(("slow", "normal")))
    reader.close()
    (found,) = [item for item in items if item.topic == "ultraserver"]
    assert "mode" in found.text
