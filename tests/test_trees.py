"""Every listing reads completely and exactly, at its own paths and at paths nobody has seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from neuron_observer.model import Missing, Place, Why
from neuron_observer.observer import HostReader, Options
from neuron_observer.readings import reading
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass
from tests.conftest import TREES

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import ManualClock
    from neuron_observer.model import Cell, Snapshot

NAMES = sorted(path.name.split(".tsv")[0] for path in TREES.glob("*.tsv*"))
DRIVER = Options(machine=False)  # the listings hold no /proc

# files that carry no reading, by the issue's own list
EXCEPTIONS = re.compile(
    r".*/(?:present|notify_delay|uevent|dev)|devices/virtual/neuron_device/neuron\d+/power/\w+"
)
_FIGURE = re.compile(r"-?\d+(?:\.\d+)?")


def _cells(snapshot: Snapshot) -> dict[str, Cell]:
    """Source (path below /sys, with its part) → cell."""
    return {
        source: cell
        for batch in snapshot.batches
        for source, cell in zip(batch.layout.sources, batch.cells, strict=True)
        if source
    }


def _text(host: ListingFs, path: str) -> str:
    return host.read(f"sys/{path}").decode()


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _part(text: str, part: str) -> str:
    """The figure of one part, cut from a file by the documented form, not by our parser."""
    if text.startswith("POWER_STATUS"):
        names = ["status", "epoch", "minimum", "maximum", "mean"]
        return text.strip().split(",")[names.index(part)]
    rows = [row.split(",") for row in text.split("\n") if row]
    line, column = part.split(".")
    row = next(row for row in rows[1:] if row[0] == line)
    return row[rows[0].index(column)]


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_a_reading(
    name: str, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Each regular file of a listing is the source of a reading or a named exception."""
    host = tree(name)
    snapshot = HostReader(host, clock, DRIVER).poll()
    read = {source.partition("#")[0] for source in _cells(snapshot)}
    files = {
        path.removeprefix("sys/")
        for path, node in host.listing.passes[0].nodes.items()
        if node.kind == "file"
    }
    left_out = {path for path in files - read if not EXCEPTIONS.fullmatch(path)}
    assert left_out == set()
    assert not read - files


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_exact(
    name: str, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Each reading is the number or the text that its file holds, to the last digit."""
    host = tree(name)
    cells = _cells(HostReader(host, clock, DRIVER).poll())
    for source, cell in cells.items():
        path, _, part = source.partition("#")
        text = _text(host, path)
        expected = _part(text, part) if part else text.strip()
        assert not isinstance(cell, Missing), f"{source}: {cell}"
        if isinstance(cell, str):
            assert cell == expected, source
        else:
            assert _FIGURE.fullmatch(expected), source
            assert cell == _number(expected), source
            assert type(cell) is type(_number(expected)), source


def _moved(host: ListingFs) -> ListingFs:
    """The same host with every node of the driver at an invented path."""
    nodes: dict[str, Node] = {}
    for path, node in host.listing.passes[0].nodes.items():
        new = path
        if "/virtual/neuron_device/neuron" in path:
            new = path.replace("/stats/status/", "/v2/exec/outcome/")
            new = new.replace("/stats/hardware/health_status/", "/telemetry/firmware/")
            new = new.replace("/stats/hardware/", "/telemetry/ecc/")
            new = new.replace("/stats/memory_usage/", "/mem/")
            new = new.replace("/stats/other_info/", "/v2/misc/")
            new = new.replace("/stats/tensor_engine/", "/v2/engines/pe/")
            new = new.replace("/stats/power/", "/telemetry/watts/")
            new = new.replace("/info/architecture/", "/identity/")
            new = new.replace("/info/", "/identity/")
            new = re.sub(r"(neuron\d+)/neuron_core", r"\1/cores/neuron_core", new)
        new = new.replace("sys/class/neuron_device/node_", "sys/class/neuron_device/pod/node_")
        nodes[new] = node
    return ListingFs(Listing({}, [Pass(nodes=nodes)]), "moved")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("thorough", [True, False])
def test_moved_nodes_still_read(
    name: str, thorough: bool, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """With its nodes at invented paths a listing gives the same readings."""
    host = tree(name)
    known = HostReader(host, clock, DRIVER).poll()
    found = HostReader(_moved(host), clock, Options(thorough=thorough, machine=False)).poll()
    skip = {"topology", "derive"}

    def values(snapshot: Snapshot) -> dict[tuple[str, Place], Cell]:
        return {
            key: batch.cells[row]
            for batch in snapshot.batches
            if batch.collector not in skip
            for key, row in batch.layout.rows.items()
        }

    expected = values(known)
    for key in [key for key in expected if key[0].startswith("device.firmware.read")]:
        expected.pop(key)
    got = {key: cell for key, cell in values(found).items() if key in expected}
    assert got == expected


@pytest.mark.parametrize("known_path_stays", [True, False])
def test_an_ambiguous_leaf_is_unsupported(
    known_path_stays: bool, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Two files that could be a metric give none of them, and say which they are."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    base = "sys/devices/virtual/neuron_device/neuron0"
    nodes = dict(host.listing.passes[0].nodes)
    leaf = nodes[f"{base}/stats/hardware/mem_ecc_uncorrected"]
    if not known_path_stays:
        del nodes[f"{base}/stats/hardware/mem_ecc_uncorrected"]
        nodes[f"{base}/b/mem_ecc_uncorrected"] = leaf
    nodes[f"{base}/a/mem_ecc_uncorrected"] = Node("file", 0o644, b"7\n")
    nodes[f"{base}/neuron_core3/x/success/total"] = Node("file", 0o644, b"1\n")
    two = ListingFs(Listing({}, [Pass(nodes=nodes)]), "two")
    batches = HostReader(two, clock).poll().batches
    ecc = reading(batches, "device.hbm.ecc_uncorrected", Place(0))
    success = reading(batches, "core.execution.success", Place(0, 3))
    for missing in (ecc, success):
        assert isinstance(missing, Missing)
        assert missing.why is Why.UNSUPPORTED
        assert "ambiguous: 2 files" in missing.detail
    assert not isinstance(reading(batches, "core.execution.success", Place(0, 2)), Missing)


def test_path_map_decides_what_is_ambiguous(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """A path map from the configuration overrides discovery."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    base = "sys/devices/virtual/neuron_device/neuron0"
    nodes = dict(host.listing.passes[0].nodes)
    nodes[f"{base}/a/mem_ecc_uncorrected"] = Node("file", 0o644, b"7\n")
    two = ListingFs(Listing({}, [Pass(nodes=nodes)]), "two")
    options = Options(path_map={"device.hbm.ecc_uncorrected": "a/mem_ecc_uncorrected"})
    batches = HostReader(two, clock, options).poll().batches
    ecc = reading(batches, "device.hbm.ecc_uncorrected", Place(0))
    assert not isinstance(ecc, Missing)
    assert ecc.value == 7
