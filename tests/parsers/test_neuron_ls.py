"""Output of neuron-ls, as captured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.neuron_ls import parse
from neuron_observer.parsers.neuron_ls_listing import ListedDevice, NeuronListing, Outcome

CASES = Path(__file__).parents[1] / "cases"
EXPECTED: dict[str, Any] = {
    row["id"]: row["expect"] for row in json.loads((CASES / "B/index.json").read_text())
}
GIB = 1 << 30


def listing(name: str) -> NeuronListing:
    """The listing of a case file as it is, exit status 0."""
    return parse((CASES / "B" / name).read_text())


def test_b01_json() -> None:
    """`connected_to` null is a chip without links, NUMA node "-1" is unknown."""
    expect, found = EXPECTED["B01"], listing("B01-trn1.2xlarge-neuron-ls.json")
    assert found.outcome is Outcome.OK
    assert len(found.devices) == expect["devices"]
    device = found.devices[0]
    assert [list(device.core_ids or ())] == expect["core_ids"]
    assert device.memory_bytes == expect["memory_bytes"]
    assert device.numa is expect["numa"]
    assert list(device.neighbours or ()) == expect["links"]
    assert device.neighbours == ()
    assert device.processes == ()


def test_b03_table_of_sixteen() -> None:
    """Every link is mutual, and the PCI order is not the order of the indices."""
    expect, found = EXPECTED["B03"], listing("B03-trn1.32xlarge-neuron-ls-hyperpod.txt")
    assert found.outcome is Outcome.OK
    assert (len(found.devices), found.logical_cores) == (expect["devices"], expect["cores"])
    assert found.devices[0].bdf == expect["bdf0"]
    links = {device.index: set(device.neighbours or ()) for device in found.devices}
    mutual = all(index in links[other] for index in links for other in links[index])
    assert mutual is expect["links_mutual"]
    assert {len(others) for others in links.values()} == {expect["neighbours_each"]}
    assert {device.numa for device in found.devices} == {0, 1}
    assert found.instance_type == "trn1.32xlarge"
    by_address = sorted(found.devices, key=lambda device: device.bdf or "")
    assert [device.index for device in by_address[:3]] == [0, 12, 13]


def test_b05_logical_cores_in_three_forms() -> None:
    """Default, wide and elided JSON of one node: 64 logical cores, one pid, bad output."""
    expect = EXPECTED["B05a"]
    default = listing("B05-trn2n.48xlarge-lnc2-default.txt")
    wide = listing("B05-trn2n.48xlarge-lnc2-wide.txt")
    assert (default.lnc, wide.lnc) == (expect["lnc"], expect["lnc"])
    assert (len(default.devices), len(wide.devices)) == (expect["devices"], expect["devices"])
    assert default.logical_cores == expect["logical_cores"]
    assert default.physical_cores == expect["logical_cores"] * 2
    assert list(default.devices[15].core_ids or ()) == expect["core_ids_15"]
    assert {device.memory_bytes for device in default.devices} == {expect["memory_gb"] * GIB}
    pids = {process.pid for device in wide.devices for process in device.jobs}
    assert sorted(pids) == expect["pids_wide"]
    assert all(len(device.processes or ()) == 1 for device in wide.devices)
    assert wide.logical_cores is None  # no ids in this form, and its count may be either kind
    assert default.devices[0].bdf == "0000:cc:00.0"
    assert wide.devices[0].bdf == "cc:00.0"


def test_b05_elided_json_is_bad_output() -> None:
    """Nothing is guessed around "..."; not one device is listed."""
    found = listing("B05-trn2n.48xlarge-lnc2-json-elided.txt")
    assert found.outcome.value == EXPECTED["B05a"]["elided_json"]
    assert found.devices == ()


def test_b05_core_to_device_goes_through_the_ids() -> None:
    """Core 61 is the second core of device 15; a core beyond the list has no device."""
    found = listing("B05-trn2n.48xlarge-lnc2-default.txt")
    assert found.device_of_core(61) == (15, 1)
    assert found.device_of_core(64) is None


def test_b07_is_no_output_of_the_tool() -> None:
    """Facts that somebody wrote down list no device."""
    assert listing("B07-trn2.3xlarge-lnc1-vs-lnc2.txt").outcome is Outcome.BAD_OUTPUT


def test_b09_processes_and_chain() -> None:
    """Several processes a device, tools told from jobs, ends of a chain with one neighbour."""
    expect, found = EXPECTED["B09"], listing("B09-inf1.6xlarge-processes-and-topology.txt")
    assert (len(found.devices), found.logical_cores) == (expect["devices"], expect["cores"])
    links = {str(device.index): list(device.neighbours or ()) for device in found.devices}
    assert links == expect["links"]
    jobs = {str(device.index): [job.pid for job in device.jobs] for device in found.devices}
    assert jobs == expect["job_pids"]
    first = found.devices[0].processes or ()
    assert [process.pid for process in first if process.tool] == [23764, 23829]
    assert [process.runtime_version for process in first] == ["2.0.0", "2.0.0", None, None]


def test_b11_foreign_pid_without_a_command_column() -> None:
    """Columns are read by header: pid 19047 is found between address and CPUs."""
    expect, found = EXPECTED["B11"], listing("B11-inf2.xlarge-in-pod-foreign-pid.txt")
    assert len(found.devices) == expect["devices"]
    device = found.devices[0]
    assert [list(device.core_ids or ())] == expect["core_ids"]
    assert [process.pid for process in device.processes or ()] == expect["processes"]
    assert device.jobs[0].command is None
    assert device.jobs[0].runtime_version == "2.31.24"
    assert device.numa is None
    assert device.neighbours is None  # the column is missing


def test_b12_three_ways_to_list_nothing() -> None:
    """No device, wrong call and missing tool are told apart, and none is an empty listing."""
    lines = (CASES / "B/B12-no-device-outputs.txt").read_text().splitlines()
    stderr, stdout = (line for line in lines if not line.startswith("#"))
    calls = [
        parse("", status=1, stderr=stderr),
        parse(stdout + "\n", status=1),
        parse("", status=127, stderr="neuron-ls: command not found"),
    ]
    assert [call.outcome.value for call in calls] == EXPECTED["B12"]["outcomes"]
    assert calls[0].detail.startswith("Unable to read device information from the driver.")
    assert calls[1].detail == "unknown flag `badflag'"


def test_b13_nc_count_is_physical() -> None:
    """Four ids, eight counted: LNC 2, whether the report says so or not."""
    expect = EXPECTED["B13"]
    notes = (CASES / "B/B13-trn3pd98.3xlarge-lnc2-nc_count-physical.txt").read_text()
    text = "\n".join(line for line in notes.splitlines() if not line.startswith("#"))
    fields = dict(re.findall(r'"?(nc_count|neuroncore_ids|memory_size)"?: (\[[^]]*\]|\d+)', text))
    entry = {"neuron_device": 0, **{name: json.loads(value) for name, value in fields.items()}}
    for stated in ({}, {"logical_neuroncore_config": 2}):
        found = parse(json.dumps([entry | stated]))
        assert len(found.devices) == expect["devices"]
        assert found.lnc == expect["lnc"]
        assert found.logical_cores == expect["logical_cores"]
        assert found.physical_cores == expect["physical_cores"]
        assert found.devices[0].memory_bytes == expect["memory_bytes"]
        assert found.device_of_core(7) is None


def test_b14_older_columns() -> None:
    """Ids and processes are not in this output: unknown, not none."""
    expect, found = EXPECTED["B14"], listing("B14-trn1.2xlarge-older-table.txt")
    assert len(found.devices) == expect["devices"]
    assert found.logical_cores == expect["cores"]
    assert [device.bdf for device in found.devices] == expect["bdf"]
    assert found.devices[0] == ListedDevice(
        0, bdf="0000:00:1e.0", nc_count=2, memory_bytes=expect["memory_gb"] * GIB
    )


def test_columns_in_another_order_give_the_same_listing() -> None:
    """A table is read by its headers, so that columns may move."""
    text = (CASES / "B/B03-trn1.32xlarge-neuron-ls-hyperpod.txt").read_text()
    moved = "\n".join(_reversed_cells(line) for line in text.splitlines())
    assert parse(moved).devices == parse(text).devices


def _reversed_cells(line: str) -> str:
    for bar in "|+":
        if line.startswith(bar):
            return bar + bar.join(reversed(line.strip(bar).split(bar))) + bar
    return line


def test_banner_lines_before_table_and_json_are_passed_over() -> None:
    """Older versions print a banner first; a shell prompt may be copied along (case E31)."""
    banner = "Neuron tools 2.3\nThis is a banner of several lines.\n\n$ neuron-ls\n"
    table = (CASES / "B/B14-trn1.2xlarge-older-table.txt").read_text()
    document = (CASES / "B/B01-trn1.2xlarge-neuron-ls.json").read_text()
    assert parse(banner + table).devices == parse(table).devices
    assert parse(banner + document).devices == parse(document).devices


def test_a_command_with_bars_stays_whole() -> None:
    """Cells are cut at the border's crossings, not at every bar."""
    table = (CASES / "B/B09-inf1.6xlarge-processes-and-topology.txt").read_text()
    changed = table.replace("neuron-app01 infer --input", "neuron-app01 | tee |& --in")
    command = (parse(changed).devices[0].processes or ())[0].command
    assert command is not None
    assert command.startswith("neuron-app01 | tee |& --in")


@pytest.mark.parametrize(
    ("stdout", "status", "outcome"),
    [
        ("", 0, Outcome.BAD_OUTPUT),
        ("\n", 0, Outcome.BAD_OUTPUT),
        ("[]", 0, Outcome.NO_DEVICE),
        ("{}", 0, Outcome.BAD_OUTPUT),
        ('[{"bdf": "cc:00.0"}]', 0, Outcome.BAD_OUTPUT),
        ("[1]", 0, Outcome.BAD_OUTPUT),
        ("[" * 100_000, 0, Outcome.BAD_OUTPUT),
        ("all is well", 0, Outcome.BAD_OUTPUT),
        ('[{"neuron_device": 0}]', 1, Outcome.USAGE_ERROR),
        ("", -9, Outcome.BAD_OUTPUT),
        ("", 126, Outcome.TOOL_MISSING),
        ("+---+\n| NEURON |\n| DEVICE |\n+---+\n+---+\n", 0, Outcome.BAD_OUTPUT),
        ("+---+\n| PID |\n+---+\n| 7 |\n", 0, Outcome.BAD_OUTPUT),
        ("+---+---+\n| NEURON | PID |\n+---+---+\n| 0 |\n", 0, Outcome.BAD_OUTPUT),
    ],
)
def test_nothing_usable_is_never_an_empty_node(stdout: str, status: int, outcome: Outcome) -> None:
    """The exit status comes first; what does not parse as a whole lists nothing."""
    found = parse(stdout, status=status)
    assert found.outcome is outcome
    assert found.devices == ()
    assert found.detail


@pytest.mark.parametrize(
    ("names", "cells", "expected"),
    [
        ("CONNECTED DEVICES", "NA", ListedDevice(0, neighbours=())),
        ("CONNECTED DEVICES", "", ListedDevice(0, neighbours=())),
        ("CONNECTED DEVICES", "1, x", ListedDevice(0)),
        ("NEURON CORE-IDS", "0-1", ListedDevice(0)),
        ("NEURON MEMORY", "96 GB", ListedDevice(0, memory_bytes=96 * GIB)),
        ("NEURON MEMORY", "144 GiB", ListedDevice(0, memory_bytes=144 * GIB)),
        ("NEURON MEMORY", "much", ListedDevice(0)),
        ("NUMA NODE", "-1", ListedDevice(0)),
        ("NUMA NODE", "1", ListedDevice(0, numa=1)),
        ("PCI BDF", "cc:00.0", ListedDevice(0, bdf="cc:00.0")),
        ("PCI BDF", "NA", ListedDevice(0)),
        ("PID PID", "NA", ListedDevice(0)),
    ],
)
def test_a_cell_gives_its_value_or_none(names: str, cells: str, expected: ListedDevice) -> None:
    """What is no value of its column is unknown; NA in a list of links is a device without."""
    upper, lower = names.split()
    border = "+--------+-----------+\n"
    table = (
        f"{border}| NEURON | {upper:9} |\n| DEVICE | {lower:9} |\n{border}"
        f"| 0      | {cells:9} |\n{border}"
    )
    assert parse(table).devices == (expected,)


def test_core_ids_may_be_a_list_of_ranges() -> None:
    """And a range that no device can have is none."""
    table = (CASES / "B/B11-inf2.xlarge-in-pod-foreign-pid.txt").read_text()
    assert parse(table.replace("| 0-1      |", "| 0,2-4    |")).devices[0].core_ids == (0, 2, 3, 4)
    assert parse(table.replace("| 0-1      |", "| 0-99999  |")).devices[0].core_ids is None


def test_unknown_keys_and_columns_are_told_not_fatal() -> None:
    """A later version may add both."""
    found = parse('[{"neuron_device": 3, "nc_count": 2, "temperature": 1}]')
    assert (found.outcome, found.unknown) == (Outcome.OK, ("temperature",))
    border = "+--------+-------+\n"
    table = f"{border}| NEURON | FAN   |\n| DEVICE | SPEED |\n{border}| 0      | 3     |\n{border}"
    assert (parse(table).devices[0].index, parse(table).unknown) == (0, ("FAN SPEED",))


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"neuron_device": st.integers(0, 20) | json_values},
            optional={
                "connected_to": json_values,
                "neuroncore_ids": json_values,
                "neuron_processes": json_values
                | st.lists(st.fixed_dictionaries({"pid": json_values})),
                "nc_count": json_values,
                "numa_node": json_values,
                "bdf": json_values,
            },
        ),
        max_size=4,
    )
)
def test_no_json_makes_it_raise(document: list[Any]) -> None:
    """Fields of any type give a value or None, and all text can be printed."""
    found = parse(json.dumps(document))
    str(found).encode()
    assert (found.outcome is Outcome.OK) == bool(found.devices)


@given(
    st.text(st.sampled_from("+-|\n 0123456789NEURODVICPAMSG$[]{},.:\x00é")), st.integers(-20, 200)
)
def test_no_output_makes_it_raise(stdout: str, status: int) -> None:
    """Half a table, a torn border, any status: an outcome, never a traceback."""
    found = parse(stdout, status=status)
    assert found.devices == () or found.outcome is Outcome.OK
