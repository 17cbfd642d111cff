"""`devices`: golden tables, footnotes, remarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TREES, tree_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.mark.parametrize(
    "name",
    ["trn2.3xlarge-2.30.2-busy", "trn1.32xlarge-2.24.7-busy", "inf2.48xlarge-2.30.2-worn"],
)
def test_table(name: str, call: Callable[..., Result]) -> None:
    """The whole output, as reviewed; tests/golden/README.md tells how to renew it."""
    found = call("devices", "--host-root", str(tree_file(name)))
    assert found.code == 0
    assert found.out == (GOLDEN / f"devices-{name}.txt").read_text(encoding="utf-8")


def test_every_dash_is_explained(call: Callable[..., Result]) -> None:
    """Each dash in the table carries a letter that a line below it explains."""
    out = call("devices", "--host-root", str(tree_file("trn2.48xlarge-2.24.7-idle"))).out
    table, _, notes = out.partition("\n\n")
    letters = {word for word in table.split() if word.startswith("—")}
    assert letters
    assert all(len(letter) == 2 for letter in letters)
    explained = {line.split()[0] for line in notes.splitlines() if line.startswith("—")}
    assert letters == explained


def test_host_without_neuron(tmp_path: Path, call: Callable[..., Result]) -> None:
    """An ordinary machine is said to be one."""
    found = call("devices", "--host-root", str(tmp_path))
    assert found.code == 0
    assert "no Neuron device, driver or PCI function here" in found.out


def test_json_has_exact_numbers(call: Callable[..., Result]) -> None:
    """The devices of the snapshot contract, without the cores' readings."""
    found = call(
        "devices", "--format", "json", "--host-root", str(TREES / "trn2.3xlarge-2.30.2-busy.tsv")
    )
    [device] = json.loads(found.out)["devices"]
    assert device["name"] == "Trainium2"
    assert device["cores"] == list(range(8))
    assert device["readings"]["device.hbm.capacity"]["value"] == 96 * 2**30


def test_missing_device_is_named(tmp_path: Path, call: Callable[..., Result]) -> None:
    """E25: 15 of 16, the missing index and the PCI function without a driver."""
    rows = []
    import gzip  # noqa: PLC0415 - only here

    with gzip.open(tree_file("trn1.32xlarge-2.24.7-busy"), "rt", encoding="utf-8") as listing:
        gone = ("neuron_device/neuron7\t", "neuron_device/neuron7/", "neuron-driver/0000:40:1d.0")
        rows = [row for row in listing if not any(part in row for part in gone)]
    file = tmp_path / "fifteen.tsv"
    file.write_text("".join(rows), encoding="utf-8")
    out = call("devices", "--host-root", str(file)).out
    assert "15 of 16 devices" in out
    assert "MISSING: neuron7; PCI function not bound: 0000:40:1d.0" in out
    indexes = [line.split()[0] for line in out.splitlines() if " Trainium1 " in line[:18]]
    assert indexes == [str(n) for n in range(16) if n != 7]


def test_container_is_told(tmp_path: Path, call: Callable[..., Result]) -> None:
    """E16: of six devices in sysfs one can be opened here; the five are named."""
    for number in range(6):
        folder = tmp_path / f"sys/devices/virtual/neuron_device/neuron{number}/neuron_core0"
        folder.mkdir(parents=True)
        (folder.parent / "core_count").write_text("2")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/neuron0").touch()
    out = call("devices", "--host-root", str(tmp_path)).out
    assert "this container can open 1 of 6 devices" in out
    assert "neuron1, neuron2, neuron3, neuron4, neuron5" in out
    everything = call("devices", "--all-devices", "--host-root", str(tmp_path)).out
    assert "this container" not in everything
    assert "6 devices" in everything


def test_no_such_root(call: Callable[..., Result]) -> None:
    """A wrong root is an error with a remedy, not an empty table."""
    with pytest.raises(Exception, match="no such directory or file"):
        call("devices", "--host-root", "/no/such/place")


@pytest.mark.parametrize(("beat", "shown"), [("0", "—"), ("7", "ok")])
def test_a_health_cache_that_was_never_filled_is_not_ok(
    beat: str, shown: str, tmp_path: Path, call: Callable[..., Result]
) -> None:
    """It starts as zeros, which name no fault; heartbeat 0 may mean that nobody ever asked."""
    name = "trn2.3xlarge-2.30.2-busy"
    rows = tree_file(name).read_text(encoding="utf-8").splitlines()
    leaf = "healthcheck_heartbeat"
    changed = [
        f'{row.rpartition(chr(9))[0]}\t"{beat}\\n"' if f"/{leaf}\t" in row else row for row in rows
    ]
    file = tmp_path / "host.tsv"
    file.write_text("\n".join(changed) + "\n", encoding="utf-8")
    line = call("devices", "--host-root", str(file)).out.splitlines()[2]
    assert line.split()[-1].startswith(shown)
