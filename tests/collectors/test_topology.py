"""Devices, cores, driver, PCI functions, what is expected and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.collectors.identity import missing_indexes, neighbours
from neuron_observer.collectors.topology import read_topology
from neuron_observer.model import Driver
from neuron_observer.sources.faulty import FaultyFs
from tests.hosts import host_of, without

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from neuron_observer.sources.listing import ListingFs

VIRTUAL = "sys/devices/virtual/neuron_device"


@pytest.mark.parametrize(
    ("name", "devices", "cores", "version"),
    [
        ("trn2.48xlarge-2.30.2-busy", 16, 8, (2, 30, 2)),
        ("trn1.32xlarge-2.24.7-busy", 16, 2, (2, 24, 7)),
        ("inf2.48xlarge-2.30.2-worn", 12, 2, (2, 30, 2)),
        ("trn3.48xlarge-2.30.2-idle", 16, 8, (2, 30, 2)),
        ("trn2.3xlarge-2.30.2-busy", 1, 8, (2, 30, 2)),
    ],
)
def test_listings(
    name: str,
    devices: int,
    cores: int,
    version: tuple[int, ...],
    tree: Callable[[str], ListingFs],
) -> None:
    """Every listing has its devices, cores, functions and nothing odd."""
    found = read_topology(tree(name))
    assert [device.number for device in found.devices] == list(range(devices))
    assert {len(device.tree.cores) for device in found.devices} == {cores}
    assert found.version == version
    assert found.expected == devices == len(found.functions)
    assert all(function.bound for function in found.functions)
    assert missing_indexes(found) == ()
    assert found.problems == ()
    assert not any(device.tree.unknown for device in found.devices)


def test_a_gap_keeps_the_other_indexes(tree: Callable[[str], ListingFs]) -> None:
    """A missing neuron7 leaves a gap; neuron8 stays neuron8."""
    host = without(
        tree("trn1.32xlarge-2.24.7-busy"),
        f"{VIRTUAL}/neuron7",
        "sys/class/neuron_device/neuron7",
        "sys/bus/pci/drivers/neuron-driver/0000:40:1d.0",
    )
    found = read_topology(host)
    assert [device.number for device in found.devices] == [*range(7), *range(8, 16)]
    assert missing_indexes(found) == (7,)
    assert [f.address for f in found.functions if not f.bound] == ["0000:40:1d.0"]


def test_inf1_cannot_tell_which_is_missing() -> None:
    """On inf1 later devices shift down, so no index is named."""
    host = host_of(
        {
            "sys/devices/virtual/dmi/id/product_name": b"inf1.6xlarge\n",
            "sys/module/neuron/version": b"2.19.64.0\n",
            "sys/module/neuron/initstate": b"live\n",
            **{f"{VIRTUAL}/neuron{n}/core_count": b"4" for n in range(3)},
        }
    )
    found = read_topology(host)
    assert found.expected == 4
    assert missing_indexes(found) is None


def test_nothing_is_missing_while_the_driver_loads() -> None:
    """Devices appear one by one; until initstate is live nothing is judged or looked into."""
    host = host_of(
        {
            "sys/devices/virtual/dmi/id/product_name": b"trn2.48xlarge\n",
            "sys/module/neuron/version": b"2.24.7.0\n",
            "sys/module/neuron/initstate": b"coming\n",
            f"{VIRTUAL}/neuron0/core_count": b"8",
        }
    )
    found = read_topology(host)
    assert found.loading
    assert missing_indexes(found) is None
    assert found.devices[0].tree.found == {}


def test_devices_are_found_under_another_class() -> None:
    """A driver that moved its whole tree is still found, and that is told."""
    host = host_of({"sys/devices/virtual/neuron_v2/neuron0/core_count": b"8"})
    found = read_topology(host)
    assert [device.path for device in found.devices] == ["sys/devices/virtual/neuron_v2/neuron0"]
    assert found.problems == ("devices stand in devices/virtual/neuron_v2, a place not known",)


def test_no_neuron_here() -> None:
    """An ordinary machine has no driver, no device and no function."""
    host = host_of(
        {
            "sys/devices/pci0000:00/0000:00:03.0/vendor": b"0x1d0f\n",
            "sys/devices/pci0000:00/0000:00:03.0/device": b"0xec20\n",
        },
        {"sys/bus/pci/devices/0000:00:03.0": "../../../devices/pci0000:00/0000:00:03.0"},
    )
    found = read_topology(host)
    assert (found.driver.state, found.devices, found.functions) == ("absent", (), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12, 3, 4, 1", (12, 3, 4, 1)), ("", ()), (None, None), ("12, x", None), ("7", (7,))],
)
def test_neighbours(text: str | None, expected: tuple[int, ...] | None) -> None:
    """The driver prints decimals with comma and blank; an empty line means none."""
    assert neighbours(text) == expected


def test_container_shows_what_it_can_open() -> None:
    """E16: sysfs shows six devices of the host, /dev only the one that was passed in."""
    files = {f"{VIRTUAL}/neuron{n}/core_count": b"2" for n in range(6)}
    found = read_topology(host_of({**files, "dev/neuron0": b""}))
    assert [device.number for device in found.devices] == [0]
    assert found.hidden == (1, 2, 3, 4, 5)
    everything = read_topology(host_of({**files, "dev/neuron0": b""}), all_devices=True)
    assert len(everything.devices) == 6
    host = read_topology(host_of({**files, **{f"dev/neuron{n}": b"" for n in range(6)}}))
    assert (len(host.devices), host.hidden) == (6, ())
    bare = read_topology(host_of({**files, "dev/neuron0": b"", "proc/1/comm": b"systemd\n"}))
    assert (len(bare.devices), bare.hidden) == (6, ())
    assert "no /dev node for neuron1" in bare.problems[0]
    monitor = read_topology(host_of({**files, "dev/null": b""}))
    assert (len(monitor.devices), monitor.hidden) == (6, ())


def test_two_links_to_one_device_are_one_device() -> None:
    """What counts is the directory; of its names its own is taken, and the other is told."""
    real = "sys/devices/pci0000:00/0000:cc:00.0/neuron1"
    links = {f"sys/class/neuron_device/neuron{n}": f"../../../{real}" for n in (0, 1)}
    found = read_topology(host_of({f"{real}/core_count": b"8"}, links))
    assert [(device.number, device.path) for device in found.devices] == [(1, real)]
    assert any("more names than one" in problem for problem in found.problems)


def test_devices_of_several_folders_keep_the_indexes_of_their_links() -> None:
    """Below a PCI function each, all named neuron0: the class tells which is which."""
    folders = [f"sys/devices/pci0000:00/0000:c{n}:00.0/neuron0" for n in (0, 1)]
    files = {f"{folder}/core_count": b"8" for folder in folders}
    links = {
        f"sys/class/neuron_device/neuron{n}": f"../../../{folder}"
        for n, folder in enumerate(folders)
    }
    found = read_topology(host_of(files, links))
    assert [(device.number, device.path) for device in found.devices] == list(enumerate(folders))


def test_a_driver_of_another_name_is_not_absent() -> None:
    """Devices are there, so a driver is: which of two modules it is cannot be told."""
    host = host_of(
        {
            f"{VIRTUAL}/neuron0/core_count": b"8",
            "sys/module/neuronx/initstate": b"live\n",
            "sys/module/neuron_helper/initstate": b"live\n",
        }
    )
    found = read_topology(host)
    assert found.driver.state == "unknown"
    assert "neuron_helper, neuronx" in found.problems[0]


def test_a_renamed_module_is_found_beside_what_is_no_module() -> None:
    """Built-in parameters have a folder below /sys/module too, but no state."""
    host = host_of(
        {
            "sys/module/neuronx/initstate": b"live\n",
            "sys/module/neuronx/version": b"2.31.7.0\n",
            "sys/module/neuron_builtin/parameters/x": b"1\n",
        }
    )
    assert read_topology(host).driver == Driver("2.31.7.0", "live")


def test_a_node_that_goes_while_we_look_hides_nothing() -> None:
    """/dev/neuron0 is listed and then gone: its device stays, and nothing is raised."""

    class Going(FaultyFs):
        def lstat(self, path: str) -> os.stat_result:
            if path == "dev/neuron0":
                raise FileNotFoundError(path)
            return super().lstat(path)

    nodes = {f"dev/neuron{n}": b"" for n in (0, 1)}
    found = read_topology(Going(host_of({f"{VIRTUAL}/neuron1/core_count": b"8"} | nodes)))
    assert [device.number for device in found.devices] == [1]


def test_a_glance_tells_devices_and_driver_alone(tree: Callable[[str], ListingFs]) -> None:
    """It is taken every few seconds, and hundreds of files tell what nobody asks it for."""
    host = tree("trn2.48xlarge-2.30.2-busy")
    whole, glance = (read_topology(host, look_inside=inside) for inside in (True, False))
    assert len(whole.functions) == 16
    assert glance.functions == ()
    assert [(one.number, one.path) for one in glance.devices] == [
        (one.number, one.path) for one in whole.devices
    ]
    assert (glance.driver, glance.hidden) == (whole.driver, whole.hidden)
