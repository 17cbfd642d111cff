"""`doctor`: exit codes and what it says."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.conftest import TREES, tree_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result


def _changed(tmp_path: Path, replace: dict[str, str]) -> str:
    text = (TREES / "trn2.3xlarge-2.30.2-busy.tsv").read_text(encoding="utf-8")
    rows = []
    for row in text.splitlines():
        path = "" if row.startswith("#") else row.split("\t")[1]
        new = next((to for end, to in replace.items() if path.endswith(end)), None)
        rows.append(row if new is None else f"{row.rpartition(chr(9))[0]}\t{json.dumps(new)}")
    file = tmp_path / "changed.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(file)


def test_a_sound_host(call: Callable[..., Result]) -> None:
    """Nothing wrong: exit code 0, and what the chip or driver lacks is listed with its remedy."""
    found = call("doctor", "--host-root", str(tree_file("trn1.32xlarge-2.24.7-busy")))
    assert found.code == 0
    assert "no problem found" in found.out
    assert "needs driver 2.30.2 or later, this is 2.24.7" in found.out
    assert "Update aws-neuronx-dkms to 2.30.2 or later" in found.out
    assert "execution counters move only when a process exits" in found.out
    assert "monitor.mode is off" in found.out


def test_nothing_of_neuron(tmp_path: Path, call: Callable[..., Result]) -> None:
    """On an ordinary machine the exit code is 2; what looking cost is told."""
    found = call("doctor", "--host-root", str(tmp_path))
    assert found.code == 2
    assert "Nothing of Neuron is here" in found.out
    assert re.search(r"observer: \d of \d collectors succeeded; longest: \w+ \d+ ms", found.out)
    assert re.search(r"observer: cpu user \d[\w. ]*; .*resident memory [\d.]+ [MG]iB", found.out)


def test_a_device_that_fell_off_the_bus(tmp_path: Path, call: Callable[..., Result]) -> None:
    """All ones are named as such, and are a problem."""
    file = _changed(
        tmp_path, {"/serial_number": "f" * 16 + "\n", "/sram_ecc_uncorrected": "65535\n"}
    )
    found = call("doctor", "--host-root", file)
    assert found.code == 1
    assert "fell off the bus (all-ones reads): neuron0" in found.out


def test_bad_contents_are_listed(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A file that holds no number is a problem that names its metric and reason."""
    found = call("doctor", "--host-root", _changed(tmp_path, {"/hw_error_event": "12 kB\n"}))
    assert found.code == 1
    assert "device.health.error_events at 1 places: no number" in found.out


def test_init_error(tmp_path: Path, call: Callable[..., Result]) -> None:
    """The class attribute's cheap check of the whole node is a problem."""
    found = call("doctor", "--host-root", _changed(tmp_path, {"/hbm_7200_capable": "init_error\n"}))
    assert found.code == 1
    assert "init_error: a counted device failed or is missing" in found.out


def test_an_unknown_driver_is_read_and_said_to_be_so(
    tmp_path: Path, call: Callable[..., Result]
) -> None:
    """A later driver is no problem, but what it says is taken with care."""
    found = call("doctor", "--host-root", _changed(tmp_path, {"/version": "2.31.7.0\n"}))
    assert found.code == 0
    assert "not one whose files were checked (up to 2.30.2)" in found.out


def test_a_loading_driver(tmp_path: Path, call: Callable[..., Result]) -> None:
    """While it probes, nothing is missing yet, and that is the problem to wait for."""
    found = call("doctor", "--host-root", _changed(tmp_path, {"/initstate": "coming\n"}))
    assert found.code == 1
    assert "Wait: it probes its devices" in found.out


def test_json(call: Callable[..., Result]) -> None:
    """The same as data: notes with their remedies, missing signals by reason."""
    found = call(
        "doctor", "--format", "json", "--host-root", str(TREES / "trn2.3xlarge-2.30.2-busy.tsv")
    )
    document = json.loads(found.out)
    assert document["schema"] == "neuron-observer/doctor/1"
    assert document["neuron_host"] is True
    assert document["problems"] == 0
    assert {"topic", "problem", "text", "remedy"} == set(document["notes"][0])
    whys = {gap["why"] for gap in document["missing"]}
    assert whys <= {"unsupported", "stale", "not_yet", "denied", "failed"}
