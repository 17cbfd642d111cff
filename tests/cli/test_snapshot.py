"""`snapshot`: the contract of architecture §8."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.conftest import TREES, tree_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Result

SMALL = str(TREES / "trn2.3xlarge-2.30.2-busy.tsv")


def _readings(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from document["node"]["readings"].items()
    for device in document["devices"]:
        yield from device["readings"].items()
        for core in device["cores"]:
            yield from core["readings"].items()
    for other in document["others"]:
        yield from other["readings"].items()


def test_form(call: Callable[..., Result]) -> None:
    """Every reading is a value with its age or a missing one with its reason."""
    document = json.loads(call("snapshot", "--format", "json", "--host-root", SMALL).out)
    assert document["schema"] == "neuron-observer/snapshot/1"
    assert document["node"]["instance_type"] == "trn2.3xlarge"
    assert document["node"]["driver"] == {"version": "2.30.2.0", "state": "live"}
    [device] = document["devices"]
    assert (device["index"], device["name"], device["pci"]) == (0, "Trainium2", None)
    assert device["serial"] == device["key"] == "1af488531d73e1a4"
    assert device["neighbours"] == []
    assert [core["index"] for core in device["cores"]] == list(range(8))
    reasons = {"unsupported", "denied", "failed", "stale", "not_yet"}
    seen = 0
    for metric, reading in _readings(document):
        seen += 1
        if "missing" in reading:
            assert set(reading) == {"missing", "detail"}, metric
            assert reading["missing"] in reasons
            assert reading["detail"], metric
        else:
            assert set(reading) == {"value", "age"}, metric
            assert reading["age"] >= 0
    assert seen > 700


def test_sources_are_paths_below_sys(call: Callable[..., Result]) -> None:
    """With --sources a reading names its file, a part of a longer file after a #."""
    out = call("snapshot", "--format", "json", "--sources", "--host-root", SMALL).out
    document = json.loads(out)
    readings = document["devices"][0]["readings"]
    base = "devices/virtual/neuron_device/neuron0"
    assert readings["device.serial"]["source"] == f"{base}/info/serial_number"
    assert readings["device.power.epoch"]["source"] == f"{base}/stats/power/utilization#epoch"
    assert "source" not in readings["device.hbm.used"]


def test_integers_beyond_2_53_stay_exact(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A counter near 2⁶⁴ is printed to the last digit."""
    text = (TREES / "trn2.3xlarge-2.30.2-busy.tsv").read_text(encoding="utf-8")
    rows = [
        row
        if "neuron_core0/stats/other_info/flop_count/total" not in row
        else row.rpartition("\t")[0] + '\t"18446744073709551557\\n"'
        for row in text.splitlines()
    ]
    file = tmp_path / "big.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    out = call("snapshot", "--format", "json", "--host-root", str(file)).out
    core = json.loads(out)["devices"][0]["cores"][0]
    assert core["readings"]["core.flops"]["value"] == 18446744073709551557


def test_expensive_reads_can_be_left_out(call: Callable[..., Result]) -> None:
    """Without pe_cntrs no matrix-engine counter is in the snapshot."""
    out = call("snapshot", "--skip-expensive", "--host-root", SMALL).out
    assert "core.pe_array" not in out
    assert "core.pe_array.row_group0.matmul_cycles" in call("snapshot", "--host-root", SMALL).out


def test_text_names_places(call: Callable[..., Result]) -> None:
    """One line a reading: place, metric, value, and the file if asked for."""
    out = call(
        "snapshot", "--sources", "--host-root", str(tree_file("trn1.32xlarge-2.24.7-busy"))
    ).out
    lines = {tuple(line.split("\t")[:2]): line.split("\t")[2:] for line in out.splitlines()}
    assert lines["neuron3", "device.name"][0] == "Trainium1"
    assert lines["neuron3/core1", "core.arch"][0] == "NCv2"
    assert lines["node", "driver.version"] == ["2.24.7.0", "module/neuron/version"]
    assert lines["0000:10:1c.0", "pci.device_id"][0] == "0x7164"


def test_path_map_from_the_configuration(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A path map reads a metric from where the configuration says."""
    config = tmp_path / "config.yaml"
    config.write_text("path_map:\n  device.sram.ecc_corrected: stats/hardware/mem_ecc_corrected\n")
    out = call(
        "snapshot", "--sources", "--format", "json", "--config", str(config), "--host-root", SMALL
    ).out
    reading = json.loads(out)["devices"][0]["readings"]["device.sram.ecc_corrected"]
    assert reading["source"].endswith("neuron0/stats/hardware/mem_ecc_corrected")
