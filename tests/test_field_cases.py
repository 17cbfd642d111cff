"""Inputs that people met in practice, fed as they are (tests/cases/README.md has their sources)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.collectors.topology import read_topology
from neuron_observer.model import Missing, Place, Value, Why
from neuron_observer.observer import HostReader
from neuron_observer.readings import columns, reading
from tests.hosts import DEVICE, host_of

if TYPE_CHECKING:
    from neuron_observer.clock import ManualClock

CASES = Path(__file__).parent / "cases" / "F"
POWER = f"{DEVICE}/stats/power/utilization"


def _paths(line: str) -> list[str]:
    """`a/{b,c}` → a/b, a/c, as the case's own notes say its braces are meant."""
    match = re.search(r"\{([^}]*)\}", line)
    if not match:
        return [line]
    return [line[: match.start()] + one + line[match.end() :] for one in match.group(1).split(",")]


def _inf2_tree() -> dict[str, bytes]:
    """The real tree of an inf2.xlarge: one device, two cores, contents that the form allows."""
    text = (CASES / "F01-inf2.xlarge-sysfs-tree.txt").read_text(encoding="utf-8")
    files: dict[str, bytes] = {POWER: b"POWER_STATUS_VALID,1788000000,0.32,3.04,1.57\n"}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        for path in _paths(line.replace("neuronN/", f"{DEVICE}/")):
            for core in ("0", "1"):
                files[path.replace("neuron_coreN", f"neuron_core{core}")] = b"0\n"
    power = [p.strip() for p in text.splitlines() if p.startswith("/sys/devices") and "power/" in p]
    files |= {path.removeprefix("/"): b"0\n" for path in power if "stats/" not in path}
    files[f"{DEVICE}/info/architecture/device_name"] = b"Inferentia2\n"
    return files


def test_f01_a_real_tree_of_inf2(clock: ManualClock) -> None:
    """One device, two cores, all listed files known; the kernel's power/* is no power reading."""
    host = host_of(_inf2_tree())
    topology = read_topology(host)
    [device] = topology.devices
    assert device.tree.cores == {0, 1}
    assert device.tree.unknown == []
    batches = HostReader(host, clock).poll().batches
    sources = {source for batch in batches for source in batch.layout.sources}
    assert not any("/power/runtime" in source for source in sources)
    mean = reading(batches, "device.power.mean", Place(0))
    assert isinstance(mean, Value)
    assert mean.value == 1.57
    heat = [cell for _, _, cell in columns(batches, "device.thermal.temperature")]
    assert all(isinstance(cell, Missing) and cell.why is Why.UNSUPPORTED for cell in heat)


def _power_lines() -> list[str]:
    text = (CASES / "F03-power-utilization-series.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("POWER_STATUS")]


def test_f03_a_line_stays_for_a_minute(clock: ManualClock) -> None:
    """The same line once a second for a minute is fresh; its figures are percent, not watts."""
    lines = _power_lines()
    clock.step_wall(1_787_754_541.0 - clock.wall())
    for line in lines:
        host = host_of({POWER: line.encode() + b"\n"})
        found = reading(HostReader(host, clock).poll().batches, "device.power.maximum", Place(0))
        assert isinstance(found, Value), found
        assert found.value == float(line.split(",")[3])
        clock.advance(10.0)
    assert len(lines) == 8


def test_f03_an_idle_chip_of_zeros_is_sound(clock: ManualClock) -> None:
    """0.00 on healthy hardware is a value."""
    clock.step_wall(1_789_180_870.0 - clock.wall())
    host = host_of({POWER: b"POWER_STATUS_VALID,1789180860,0.00,0.00,0.00\n"})
    found = reading(HostReader(host, clock).poll().batches, "device.power.mean", Place(0))
    assert isinstance(found, Value)
    assert found.value == 0.0


def test_f09_a_container_with_one_of_six(clock: ManualClock) -> None:
    """E16: two cores may be used here, not twelve; the index stays the host's."""
    text = (CASES / "F09-container-sees-all-devices-in-sysfs.txt").read_text(encoding="utf-8")
    assert "neuron0 ... neuron5" in text
    assert re.search(r"ls /dev/neuron\*\s+-> /dev/neuron0 ", text)
    base = "sys/devices/virtual/neuron_device"
    files = {f"{base}/neuron{n}/neuron_core{c}/info/x": b"" for n in range(6) for c in range(2)}
    links = {
        f"sys/class/neuron_device/neuron{n}": f"../../devices/virtual/neuron_device/neuron{n}"
        for n in range(6)
    }
    snapshot = HostReader(host_of({**files, "dev/neuron0": b""}, links), clock).poll()
    assert [(device.index, len(device.cores)) for device in snapshot.devices] == [(0, 2)]
    hidden = reading(snapshot.batches, "node.devices_hidden", Place())
    assert isinstance(hidden, Value)
    assert hidden.value == 5


@pytest.mark.parametrize("counter", ["inference_count", "flop_count", "nc_time_in_use"])
def test_f04_counters_that_stay_zero(counter: str, clock: ManualClock) -> None:
    """On hardware these stood at 0 after 88,154 executions: zero is read, no rate is claimed."""
    host = host_of(
        {
            f"{DEVICE}/neuron_core0/stats/other_info/{counter}/total": b"0\n",
            "sys/module/neuron/version": b"2.26.5.0\n",
            "sys/module/neuron/initstate": b"live\n",
        }
    )
    reader = HostReader(host, clock)
    reader.poll(derived=False)
    clock.advance(1.0)
    batches = reader.poll().batches
    rates = ("core.utilization", "core.inference_rate", "core.flop_rate")
    for rate in rates:
        for _, _, cell in columns(batches, rate):
            assert isinstance(cell, Missing)
            assert cell.why is Why.UNSUPPORTED
