"""Heat: unsupported on every driver of today, degrees on trees that have a sensor."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.thermal import ThermalCollector
from neuron_observer.collectors.topology import read_topology
from neuron_observer.model import Batch, Cell, Missing, Place, Why
from neuron_observer.readings import columns, find
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.listing import ListingFs

if TYPE_CHECKING:
    from neuron_observer.sources.hostfs import HostFs

TREES = Path(__file__).parent.parent / "trees" / "machine"
DEVICE = "device.thermal.temperature"
SENSOR = "sensor.temperature"
NEURON0 = "devices/virtual/neuron_device/neuron0"


def listing(name: str) -> ListingFs:
    """One of the listings of this directory's data."""
    return ListingFs.open(str(TREES / f"{name}.tsv"))


def write_listing(folder: Path, *rows: tuple[str, str, str]) -> ListingFs:
    """A small listing made for one test."""
    file = folder / "tree.tsv"
    file.write_text("".join(f"{kind}\t{path}\t{json.dumps(text)}\n" for kind, path, text in rows))
    return ListingFs.open(str(file))


def read(host: HostFs, addresses: dict[int, str] | None = None) -> list[Batch]:
    """One poll of a host's sensors."""
    return ThermalCollector(host, ManualClock(), read_topology(host), addresses).poll(("slow",))


def cell(batches: list[Batch], metric: str, place: Place) -> Cell:
    """One cell, from the batch of its device."""
    own = [batch for batch in batches if batch.device == place.device]
    found = find(own, metric, place)
    assert found is not None
    return found[0].cells[found[1]]


def sensors(batches: list[Batch]) -> list[Place]:
    """Where a sensor has a row of its own."""
    return [place for _, place, _ in columns(batches, SENSOR)]


def test_a_tree_of_todays_drivers_is_unsupported_by_device(tmp_path: Path) -> None:
    """No file: each device says so; the kernel's power management is no sensor."""
    host = write_listing(
        tmp_path,
        ("0444", "module/neuron/initstate", "live\n"),
        ("0444", f"{NEURON0}/info/architecture/device_name", "Inferentia2\n"),
        ("0444", f"{NEURON0}/power/runtime_status", "unsupported\n"),
        ("0444", f"{NEURON0}/stats/power/utilization", "POWER_STATUS_VALID,9,0.00,0.00,0.00\n"),
        ("0444", "devices/virtual/neuron_device/neuron1/core_count", "2"),
        ("0444", "devices/virtual/thermal/cooling_device0/type", "Processor\n"),
        ("l", "class/thermal/cooling_device0", "../../devices/virtual/thermal/cooling_device0"),
    )
    batches = read(host)
    for device in (0, 1):
        missing = cell(batches, DEVICE, Place(device))
        assert missing == Missing(Why.UNSUPPORTED, "no driver file gives a temperature")
    assert sensors(batches) == []


def test_hwmon_below_the_only_function_is_the_devices_temperature() -> None:
    """61500 thousandths are 61.5 °C, and the row says which file said so."""
    batches = read(listing("heat-hwmon"))
    assert cell(batches, DEVICE, Place(0)) == 61.5
    (batch,) = (one for one in batches if one.device == 0)
    source = batch.layout.sources[batch.layout.rows[DEVICE, Place(0)]]
    assert source == "devices/pci0000:00/0000:cc:00.0/hwmon/hwmon1/temp1_input"


def test_sensors_of_the_host_have_their_labels_and_bounds() -> None:
    """An NVMe disk and a thermal zone; the device's hwmon is not listed twice."""
    batches = read(listing("heat-hwmon"))
    disk = Place(label="hwmon0/nvme/temp1/Composite")
    assert cell(batches, SENSOR, disk) == 35.85
    assert cell(batches, "sensor.temperature_maximum", disk) == 83.85
    assert cell(batches, "sensor.temperature_critical", disk) == 87.85
    assert cell(batches, SENSOR, Place(label="thermal_zone0/acpitz")) == 27.8
    assert len(sensors(batches)) == 2


def test_a_leaf_of_an_unseen_tree_is_read_and_a_limit_is_not_taken_for_one() -> None:
    """`temperature` 57 is 57 °C; `temperature_limit` is left alone and named."""
    host = listing("heat-leaves")
    collector = ThermalCollector(host, ManualClock(), read_topology(host))
    batches = collector.poll(("slow",))
    assert cell(batches, DEVICE, Place(0)) == 57.0
    assert cell(batches, "device.thermal.throttle", Place(0)) == "none"
    assert collector.unread == [f"sys/{NEURON0}/stats/hardware/temperature_limit"]


def test_of_several_sensors_the_hottest_is_the_devices() -> None:
    """One core at 58.25 (thousandths), one at 71.5 (a decimal): both told, 71.5 for the device."""
    batches = read(listing("heat-leaves"))
    assert cell(batches, DEVICE, Place(1)) == 71.5
    assert cell(batches, SENSOR, Place(1, 0, "neuron_core0/stats/temperature")) == 58.25
    assert isinstance(cell(batches, DEVICE, Place(2)), Missing)


def test_the_only_sensor_of_a_core_stays_the_cores(tmp_path: Path) -> None:
    """The device's temperature is then that core's, and the core's row is there too."""
    leaf = "neuron_core3/stats/temperature"
    batches = read(write_listing(tmp_path, ("0444", f"{NEURON0}/{leaf}", "66\n")))
    assert cell(batches, SENSOR, Place(0, 3, leaf)) == 66.0
    assert cell(batches, DEVICE, Place(0)) == 66.0


def test_a_failed_sensor_does_not_hide_the_others_and_all_failed_are_no_value() -> None:
    """EIO of one: the other speaks for the device; EIO of both: failed, not 0."""
    base = "sys/devices/virtual/neuron_device/neuron1"
    one = {f"{base}/neuron_core1/stats/temperature": Fault(error=errno.EIO)}
    assert cell(read(FaultyFs(listing("heat-leaves"), one)), DEVICE, Place(1)) == 58.25
    both = one | {f"{base}/neuron_core0/stats/temperature": Fault(error=errno.EIO)}
    missing = cell(read(FaultyFs(listing("heat-leaves"), both)), DEVICE, Place(1))
    assert isinstance(missing, Missing)
    assert missing.why is Why.FAILED


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("57\n", 57.0),
        ("57.5", 57.5),
        ("57250\n", 57.25),
        ("0\n", None),
        ("N/A\n", None),
        ("", None),
    ],
)
def test_units_are_told_by_size_and_zero_is_no_temperature(
    tmp_path: Path, text: str, degrees: float | None
) -> None:
    """Degrees or thousandths; anything else is failed."""
    batches = read(write_listing(tmp_path, ("0444", f"{NEURON0}/stats/therm0", text)))
    found = cell(batches, DEVICE, Place(0))
    if degrees is None:
        assert isinstance(found, Missing)
        assert found.why is Why.FAILED
    else:
        assert found == degrees


def two_devices_with_hwmon(folder: Path) -> ListingFs:
    """Two devices and two functions with a sensor each."""
    rows = []
    for number in (0, 1):
        pci = f"devices/pci0000:00/0000:0{number + 1}:00.0"
        rows += [
            ("0444", f"devices/virtual/neuron_device/neuron{number}/core_count", "8"),
            ("l", f"bus/pci/devices/0000:0{number + 1}:00.0", f"../../../{pci}"),
            ("0444", f"{pci}/vendor", "0x1d0f\n"),
            ("0444", f"{pci}/device", "0x7364\n"),
            ("0444", f"{pci}/hwmon/hwmon{number}/temp1_input", f"{50 + number}000\n"),
        ]
    return write_listing(folder, *rows)


def test_which_function_is_which_device_is_not_guessed(tmp_path: Path) -> None:
    """Two of each: the sensors go by PCI address and the devices say why they have none."""
    batches = read(two_devices_with_hwmon(tmp_path))
    missing = cell(batches, DEVICE, Place(0))
    assert isinstance(missing, Missing)
    assert "nothing tells which function" in missing.detail
    assert cell(batches, SENSOR, Place(label="0000:01:00.0/hwmon0/temp1")) == 50.0


def test_addresses_known_from_elsewhere_are_used(tmp_path: Path) -> None:
    """With the map of device to address each device has its own temperature."""
    batches = read(two_devices_with_hwmon(tmp_path), {0: "0000:02:00.0", 1: "0000:01:00.0"})
    assert cell(batches, DEVICE, Place(0)) == 51.0
    assert cell(batches, DEVICE, Place(1)) == 50.0
    assert sensors(batches) == []


def test_other_lanes_read_nothing() -> None:
    """Sensors of disks cost a command each: they are in the slow lane only."""
    host = listing("heat-hwmon")
    collector = ThermalCollector(host, ManualClock(), read_topology(host))
    assert collector.poll(("fast", "normal")) == []
    assert collector.kept == 0
