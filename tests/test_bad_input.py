"""What a file can hold that is no value: a reason each, never a crash, a 0 or a wrong number."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from neuron_observer.model import Missing, Place, Value, Why
from neuron_observer.observer import HostReader
from neuron_observer.readings import find, reading
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.workers import DirectWorkers
from tests.hosts import DEVICE, changed, host_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.clock import ManualClock
    from neuron_observer.sources.listing import ListingFs

BAD = {
    "empty": b"",
    "blank line": b"\n",
    "nul": b"\0",
    "number and nul": b"12\0\n",
    "garbage": b"\x8f" * 4096,
    "long number": b"9" * 4096,
    "not UTF-8": b"\xff\xfe1\n",
    "unit": b"12 kB\n",
    "fraction": b"12.5\n",
    "negative": b"-1\n",
    "underscore": b"1_000\n",
    "plus": b"+5\n",
    "blanks": b" 5 \n",
    "two lines": b"5\n6\n",
    "beyond 64 bits": b"18446744073709551616\n",
    "beyond 63 bits": b"9223372036854775808\n",
    "wrapped": b"18446744073709543424\n",
    "dead": b"0xdeadbeef\n",
    "busy": b"busy\n",
    "init_error": b"init_error\n",
    "unreachable": b"device_unreachable\n",
    "hexadecimal": b"0x10\n",
}
COUNTS = (
    ("success/total", "core.execution.success", Place(0, 0)),
    ("device_mem/total", "core.hbm.used", Place(0, 0)),
    ("tensors/peak", "device.host_memory.tensors_peak", Place(0)),
    ("hw_error_event", "device.health.error_events", Place(0)),
    ("sram_ecc_uncorrected", "device.sram.ecc_uncorrected", Place(0)),
    ("healthcheck_heartbeat", "device.health.heartbeat", Place(0)),
)


@pytest.mark.parametrize("raw", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize(("leaf", "metric", "place"), COUNTS, ids=[c[0] for c in COUNTS])
def test_no_bad_content_gives_a_number(
    leaf: str,
    metric: str,
    place: Place,
    raw: bytes,
    tree: Callable[[str], ListingFs],
    clock: ManualClock,
) -> None:
    """A count that is not exactly a decimal that can be true is missing, with a reason."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    nodes = {path: raw for path in host.listing.passes[0].nodes if path.endswith(f"/{leaf}")}
    assert nodes
    whole = {p: n.content for p, n in host.listing.passes[0].nodes.items() if n.kind == "file"}
    links = {p: n.target for p, n in host.listing.passes[0].nodes.items() if n.kind == "link"}
    found = reading(HostReader(host_of(whole | nodes, links), clock).poll().batches, metric, place)
    assert isinstance(found, Missing), found
    assert found.why in (Why.FAILED, Why.NOT_YET)
    assert found.detail


@pytest.mark.parametrize(
    ("line", "why", "detail"),
    [
        (b"POWER_STATUS_INVALID,1788000000,0.00,0.00,0.00\n", Why.FAILED, "POWER_STATUS_INVALID"),
        (b"POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n", Why.NOT_YET, "POWER_STATUS_NO_DATA"),
        (b"POWER_STATUS_NO_DATA,1788000000,0.00,0.00,0.00\n", Why.FAILED, "POWER_STATUS_NO_DATA"),
        (b"POWER_STATUS_VALID,1787999000,1.00,2.00,1.50\n", Why.STALE, "no figures since"),
        (b"POWER_STATUS_VALID,1788009000,1.00,2.00,1.50\n", Why.STALE, "figures of the future"),
        (b"POWER_STATUS_VALID,1788000000,1.0,2.0\n", Why.FAILED, "not of the documented form"),
        (b"POWER_STATUS_VALID,1788000000,1.00,2.00,101.00\n", Why.FAILED, "not of the"),
        (b"\n", Why.FAILED, "empty"),
        (b"", Why.FAILED, "empty"),
    ],
)
def test_power_lines(
    line: bytes,
    why: Why,
    detail: str,
    tree: Callable[[str], ListingFs],
    clock: ManualClock,
) -> None:
    """INVALID, NO_DATA and stale lines give no figure; 0.00 in them is no power."""
    host = changed(tree("trn1.32xlarge-2.24.7-busy"), utilization=line)
    found = reading(HostReader(host, clock).poll().batches, "device.power.mean", Place(3))
    assert isinstance(found, Missing)
    assert found.why is why
    assert found.detail.startswith(detail)


def test_power_grows_stale_without_a_change(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The line stays byte for byte the same; two minutes later its figures are stale."""
    reader = HostReader(tree("trn1.32xlarge-2.24.7-busy"), clock)
    assert isinstance(reading(reader.poll().batches, "device.power.mean", Place(0)), Value)
    clock.advance(120.0)
    found = reading(reader.poll().batches, "device.power.mean", Place(0))
    assert isinstance(found, Missing)
    assert found.why is Why.STALE


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (b"die,util_bips,counter\n0,5000,7\n1,unavailable\n", (5000, "unavailable")),
        (b"die,util_bips,counter\n0,read_error\n1,10,2\n", ("read_error", 10)),
        (b"die,util_bips,counter\n0,bogus(65535),65535\n1,10000,2\n", ("all ones", 10000)),
        (b"die,util_bips,counter\n0,bogus(48879),57005\n1,1,2\n", ("0xdeadbeef", 1)),
        (b"die,util_bips,counter\n0,bogus(10001),3\n1,1,2\n", ("bogus(10001)", 1)),
        (b"die,util_bips,counter\n0,1,2,3\n1,1,2\n", ("not of the documented form", 1)),
        (b"die,util_bips,counter\n1,1,2\n", ("this part is not in the file", 1)),
        (b"", ("this part is not in the file", "this part is not in the file")),
    ],
)
def test_rows_of_uneven_width(
    text: bytes,
    cells: tuple[int | str, int | str],
    tree: Callable[[str], ListingFs],
    clock: ManualClock,
) -> None:
    """Each die has its own form; a bad row costs only its die."""
    host = changed(tree("trn2.3xlarge-2.30.2-busy"), utilization_raw=text)
    batches = HostReader(host, clock).poll().batches
    for die, expected in enumerate(cells):
        found = reading(batches, f"device.power.die{die}.utilization", Place(0))
        if isinstance(expected, int):
            assert isinstance(found, Value)
            assert found.value == expected
        else:
            assert isinstance(found, Missing)
            assert found.detail.startswith(expected)


def test_health_files(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """device_unreachable is no component; all ten names with heartbeat 255 are all ones."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    dead = changed(host, unhealthy_components=b"device_unreachable\n")
    found = reading(HostReader(dead, clock).poll().batches, *_components)
    assert isinstance(found, Missing)
    assert found.detail.startswith("device_unreachable")
    names = (
        b"hbm,firmware_service_api,firmware_service_processor,sram,link_intraserver,link_host,"
        b"link_efa,link_interserver,link_switch,axi_fabric\n"
    )
    ones = changed(host, unhealthy_components=names, healthcheck_heartbeat=b"255\n")
    found = reading(HostReader(ones, clock).poll().batches, *_components)
    assert found == Missing(Why.FAILED, "all ones: the device fell off the bus")
    bad = changed(host, unhealthy_components=names, healthcheck_heartbeat=b"17\n")
    value = reading(HostReader(bad, clock).poll().batches, *_components)
    assert isinstance(value, Value)
    assert value.value == names.decode().strip()


_components = ("device.health.unhealthy_components", Place(0))


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b"busy\n", Why.NOT_YET), (b"init_error\n", Why.FAILED), (b"", Why.NOT_YET)],
)
def test_class_attributes(
    raw: bytes, why: Why, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Busy will pass, init_error tells of a missing device."""
    host = changed(tree("trn2.3xlarge-2.30.2-busy"), current_perf_profile=raw)
    found = reading(HostReader(host, clock).poll().batches, "node.performance_profile", Place())
    assert isinstance(found, Missing)
    assert found.why is why


def test_hbm_above_the_chip_is_no_reading(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """An allocation counter that wrapped, or was cleared while memory was held, is refused."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    whole = {p: n.content for p, n in host.listing.passes[0].nodes.items() if n.kind == "file"}
    wrapped = f"{DEVICE}/neuron_core0/stats/memory_usage/device_mem/total"
    whole[wrapped] = b"%d\n" % (97 * 2**30)
    batches = HostReader(host_of(whole), clock).poll().batches
    found = reading(batches, "core.hbm.used", Place(0, 0))
    assert isinstance(found, Missing)
    assert "above the largest possible value" in found.detail
    assert isinstance(reading(batches, "device.hbm.used", Place(0)), Missing)
    assert isinstance(reading(batches, "core.hbm.used", Place(0, 1)), Value)


def _real(tmp_path: Path) -> Path:
    device = tmp_path / DEVICE
    (device / "stats/hardware").mkdir(parents=True)
    (device / "info").mkdir()
    (device / "info/serial_number").write_text("1af488531d73e1a4\n")
    return device


def _poll(tmp_path: Path, clock: ManualClock) -> list[tuple[str, object]]:
    host = DirectoryFs(str(tmp_path))
    reader = HostReader(host, clock, workers=lambda h, c, _: DirectWorkers(h, c))
    snapshot = reader.poll()
    reader.close()
    assert all(run.ok for run in snapshot.runs)
    found = find(snapshot.batches, "device.sram.ecc_uncorrected", Place(0))
    assert found
    return [("sram", found[0].cells[found[1]])]


def test_a_directory_where_a_file_should_be(tmp_path: Path, clock: ManualClock) -> None:
    """It is missing, and said why."""
    (_real(tmp_path) / "stats/hardware/sram_ecc_uncorrected").mkdir()
    [(_, cell)] = _poll(tmp_path, clock)
    assert isinstance(cell, Missing)


def test_a_link_loop_where_a_file_should_be(tmp_path: Path, clock: ManualClock) -> None:
    """A link is not followed, a loop ends nothing."""
    leaf = _real(tmp_path) / "stats/hardware/sram_ecc_uncorrected"
    leaf.symlink_to("sram_ecc_uncorrected")
    (leaf.parent / "again").symlink_to("..")
    [(_, cell)] = _poll(tmp_path, clock)
    assert cell == Missing(Why.FAILED, "a link where a file should be")


def test_a_pipe_where_a_file_should_be(tmp_path: Path, clock: ManualClock) -> None:
    """Opening it does not wait for a writer."""
    os.mkfifo(_real(tmp_path) / "stats/hardware/sram_ecc_uncorrected")
    [(_, cell)] = _poll(tmp_path, clock)
    assert isinstance(cell, Missing)


def test_a_class_link_that_loops(tmp_path: Path, clock: ManualClock) -> None:
    """A class whose device links lead nowhere gives no device and no exception."""
    folder = tmp_path / "sys/class/neuron_device"
    folder.mkdir(parents=True)
    (folder / "neuron0").symlink_to("neuron1")
    (folder / "neuron1").symlink_to("neuron0")
    reader = HostReader(DirectoryFs(str(tmp_path)), clock)
    snapshot = reader.poll()
    reader.close()
    assert all(run.ok for run in snapshot.runs)
