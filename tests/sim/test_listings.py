"""The simulated trees against the reference listings, path by path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.errors import InputError
from neuron_observer.sim.chips import DRIVERS, INSTANCES, choose
from neuron_observer.sim.fs import SimulatedFs
from neuron_observer.sim.job import Job
from neuron_observer.sim.play import play
from neuron_observer.sim.scenario import Scenario
from neuron_observer.sim.world import Clocks
from neuron_observer.sources.listing import Node, read_listing

TREES = Path(__file__).parent.parent / "trees"
LISTINGS = sorted(path.name for path in TREES.glob("*.tsv*"))
# What a host has besides the driver's tree. No listing shows it, so it is simulated but not
# compared: EFA adapters and their PCI functions, disks, everything outside /sys.
OUTSIDE = re.compile(
    r"(?!sys/)|sys/(class/infiniband|bus/pci/drivers/efa|block|devices/pci[^/]*/[^/]*/nvme)"
)
FORMS = (  # of each: paths, what is compared instead of each match
    (
        re.compile(r".*/(serial_number|server_id_\d|reservation_id)"),
        re.compile(r"[0-9a-f]{16}"),
        "S",
    ),
    (re.compile(r".*/srcversion"), re.compile(r"[0-9A-F]{23}"), "C"),
    (
        re.compile(r".*/connected_devices|.*/pci.*|.*/dmi/.*|.*/parameters/.*"),
        re.compile(r"$^"),
        "",
    ),
    (re.compile(r".*/power/utilization"), re.compile(r"\d{1,3}\.\d\d"), "P"),
    (re.compile(r".*"), re.compile(r"\d+"), "9"),
)


def simulated(instance: str, driver: str, *, busy: bool) -> SimulatedFs:
    """A host as its listing shows it: two minutes after its load, idle or with a job."""
    chosen, version = choose(instance, driver)
    jobs = (Job(at=1.0, devices=tuple(range(chosen.devices))),) if busy else ()
    world = play(Scenario("", chosen, version, jobs))
    world.clocks = Clocks(wall=1_788_000_000.0)
    world.advance(125.0)
    return SimulatedFs(world, ManualClock())


def nodes_of(host: SimulatedFs) -> dict[str, Node]:
    """What stands at each path, as a listing has it."""
    return {
        path: Node(leaf.kind, leaf.mode, leaf.render() if leaf.render else b"", target=leaf.target)
        for path, leaf in host.tree.leaves.items()
    }


def inside(nodes: dict[str, Node]) -> dict[str, Node]:
    """Without what no listing shows; an EFA's PCI function is told by its class."""
    adapters = {
        path.rpartition("/")[0].rpartition("/")[2]
        for path, node in nodes.items()
        if path.endswith("/class") and node.content == b"0x020000\n"
    }
    return {
        path: node
        for path, node in nodes.items()
        if not OUTSIDE.match(path) and not adapters.intersection(path.split("/"))
    }


def shape(path: str, node: Node) -> tuple[str, int, str]:
    """Kind, mode and form: numbers are alike, and exact where they are no measurement."""
    if node.kind == "link":
        return "link", 0, node.target
    text = node.content.decode()
    for paths, measured, instead in FORMS:
        if paths.fullmatch(path):
            text = measured.sub(instead, text)
            if instead != "P":
                break
    return node.kind, node.mode, text


def parts_of(name: str) -> tuple[str, str, str]:
    """Instance type, driver and state out of a listing's name."""
    instance, driver, state = name.split(".tsv", maxsplit=1)[0].rsplit("-", 2)
    return instance, driver, state


@pytest.mark.parametrize("name", LISTINGS)
def test_tree_is_that_of_the_listing(name: str) -> None:
    """The same paths, and at each the same kind, mode and form of content."""
    instance, driver, state = parts_of(name)
    listed = read_listing(str(TREES / name)).passes[0].nodes
    ours = inside(nodes_of(simulated(instance, driver, busy=state != "idle")))
    assert sorted(set(listed) - set(ours)) == []
    assert sorted(set(ours) - set(listed)) == []
    differing = [
        f"{path}: {shape(path, listed[path])} {shape(path, ours[path])}"
        for path in listed
        if shape(path, listed[path]) != shape(path, ours[path])
    ]
    assert differing == []


@pytest.mark.parametrize("name", [name for name in LISTINGS if "idle" in name])
def test_idle_memory_is_that_of_the_listing(name: str) -> None:
    """A fresh driver holds exactly this much, in the same steps: total, present and peak."""
    instance, driver, _ = parts_of(name)
    listed = read_listing(str(TREES / name)).passes[0].nodes
    ours = nodes_of(simulated(instance, driver, busy=False))
    memory = [path for path in listed if "/memory_usage/" in path]
    assert len(memory) == 16 * (24 + 8 * (3 + 3 + 33))
    assert [path for path in memory if listed[path].content != ours[path].content] == []


def test_what_is_outside_is_not_the_drivers() -> None:
    """What is left out of the comparison is no file of the driver, its class or its module."""
    host = simulated("trn2en.24xlarge", "2.30.2", busy=True)
    nodes = nodes_of(host)
    left_out = set(nodes) - set(inside(nodes))
    assert left_out
    assert not [path for path in left_out if "neuron" in path and not path.startswith("dev/")]


# instance type: devices, cores, files of driver 2.24.7 (trn3: 2.25.4), of 2.30.2,
# firmware-register files of both, pe_cntrs; the driver's tables, also counted in a written tree
COUNTS = {
    "inf1.xlarge": (1, 4, 432, 0, 0, 0, 0),
    "inf1.2xlarge": (1, 4, 432, 0, 0, 0, 0),
    "inf1.6xlarge": (4, 4, 1_728, 0, 0, 0, 0),
    "inf1.24xlarge": (16, 4, 6_912, 0, 0, 0, 0),
    "inf2.xlarge": (1, 2, 238, 243, 4, 8, 2),
    "inf2.8xlarge": (1, 2, 238, 243, 4, 8, 2),
    "trn1.2xlarge": (1, 2, 238, 243, 4, 8, 2),
    "inf2.24xlarge": (6, 2, 1_428, 1_458, 24, 48, 12),
    "inf2.48xlarge": (12, 2, 2_856, 2_916, 48, 96, 24),
    "trn1.32xlarge": (16, 2, 3_808, 3_888, 64, 128, 32),
    "trn1n.32xlarge": (16, 2, 3_808, 3_888, 64, 128, 32),
    "trn2.3xlarge": (1, 8, 844, 852, 4, 8, 8),
    "trn2.48xlarge": (16, 8, 13_504, 13_632, 64, 128, 128),
    "trn2u.48xlarge": (16, 8, 13_504, 13_632, 64, 128, 128),
    "trn3.48xlarge": (16, 8, 13_504, 13_632, 64, 128, 128),
    "trn3e.24xlarge": (4, 8, 3_376, 3_408, 16, 32, 32),
}
GENERIC = re.compile(r".*/neuron\d+/(power/|dev$|uevent$|subsystem$).*")
DEVICE = re.compile(r"sys/devices/virtual/neuron_device/neuron\d+/")


def exists(instance: str, driver: str) -> bool:
    """Whether a driver knows an instance type."""
    try:
        choose(instance, driver)
    except InputError:
        return False
    return True


PAIRS = [(i, d) for i in INSTANCES for d in DRIVERS if exists(i, d)]


@pytest.mark.parametrize(("instance", "driver"), PAIRS)
def test_counts_of_files(instance: str, driver: str) -> None:
    """As many files as the driver's tables make: all, of firmware registers, of pe_cntrs."""
    host = simulated(instance, driver, busy=False)
    chip = INSTANCES[instance].chip
    files = [p for p in host.tree.leaves if DEVICE.match(p) and not GENERIC.match(p)]
    expected = COUNTS.get(instance)
    if expected is None:  # types that only the newest driver names: by the counts per device
        devices, cores = INSTANCES[instance].devices, chip.cores
        expected = (
            devices,
            cores,
            0,
            devices * (44 + cores * 101),
            0,
            devices * 8,
            devices * cores,
        )
    devices, cores, old, new, old_registers, new_registers, cycles = expected
    if driver == "2.28":  # the old files, and on trn2 and trn3 four of health_status
        new, new_registers = old + (4 * devices if chip.dice == 2 else 0), old_registers
    total, registers = (old, old_registers) if driver == "2.24.7" else (new, new_registers)
    assert len(files) == total
    assert sum(host.tree.leaves[path].seconds is not None for path in files) == registers
    assert sum(path.endswith("/pe_cntrs") for path in files) == cycles
    assert devices * cores == sum(p.endswith("status/success/total") for p in files)


SMALLEST = {"Inf1": "inf1.xlarge", "Trn1": "trn1.2xlarge", "Trn2": "trn2.3xlarge"}


@pytest.mark.parametrize(
    ("instance", "driver"),
    [("inf1.6xlarge", "2.24.7"), ("trn1.32xlarge", "2.28"), ("trn2.48xlarge", "2.28")],
)
def test_trees_of_one_chip_and_driver_are_alike(instance: str, driver: str) -> None:
    """Every device of a large type shows what the one of the chip's smallest type shows."""
    smallest = SMALLEST[INSTANCES[instance].chip.instance_type]
    few = nodes_of(simulated(smallest, driver, busy=False))
    many = nodes_of(simulated(instance, driver, busy=False))
    base = "sys/devices/virtual/neuron_device/neuron0/"
    pattern = {p.removeprefix(base): few[p].mode for p in few if p.startswith(base)}
    for index in range(INSTANCES[instance].devices):
        own = base.replace("neuron0", f"neuron{index}")
        assert {p.removeprefix(own): many[p].mode for p in many if p.startswith(own)} == pattern


@pytest.mark.parametrize(
    ("driver", "mode"), [("2.24.7", 0o400), ("2.28", 0o444), ("2.30.2", 0o444)]
)
def test_modes_that_changed(driver: str, mode: int) -> None:
    """core_count and connected_devices are root's alone before 2.28."""
    leaves = simulated("trn1.2xlarge", driver, busy=False).tree.leaves
    for name in ("core_count", "connected_devices"):
        assert leaves[f"sys/devices/virtual/neuron_device/neuron0/{name}"].mode == mode


def test_pairs_that_do_not_exist_are_refused() -> None:
    """Each driver is simulated with the instance types that it knows."""
    assert not exists("inf1.xlarge", "2.28")
    assert not exists("trn3.48xlarge", "2.24.7")
    assert not exists("trn2en.24xlarge", "2.28")
    assert len(PAIRS) == 3 * 10 + 4 + 2 * 2 + 3
