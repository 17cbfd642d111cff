"""`--monitor` and `--kernel-log` as users meet them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import InputError
from tests.conftest import TREES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

SMALL = TREES / "trn2.3xlarge-2.30.2-busy.tsv"
CASES = Path(__file__).parents[1] / "cases"
FAULT = "3,812,950500000,-;NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR nd-id=0 nc-id=1 action=X\x1b[31m"


@pytest.fixture
def capture(tmp_path: Path) -> str:
    """A capture with a kernel line and a report in it."""
    report = json.dumps(json.loads(next((CASES / "A").glob("A07-*")).read_text()))
    rows = [
        SMALL.read_text(encoding="utf-8").rstrip("\n"),
        f"#kernel {json.dumps([0.1, FAULT])}",
        f"#kernel {json.dumps([0.1, '6,813,951000000,-;neuron:ndl_new: never seen'])}",
        f"#monitor {json.dumps([0.1, report])}",
    ]
    file = tmp_path / "host.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(file)


def test_events_in_the_document(call: Callable[..., Result], capture: str) -> None:
    """A kernel line with its meaning; the core is the one it names."""
    out = call("snapshot", "--format", "json", "--kernel-log", "--host-root", capture).out
    document = json.loads(out)
    fault, novel = document["events"]
    assert (fault["kind"], fault["device"], fault["core"]) == ("hw-err-sram", 0, 1)
    assert fault["fields"]["verdict"] == "hw_fault"
    assert fault["fields"]["action"] == "replace_instance"
    assert (novel["kind"], novel["fields"]["severity"]) == ("novel", "info")
    readings = document["node"]["readings"]
    assert readings["host.kernel_log.novel"]["value"] == 1
    assert "node.monitor.state" not in readings


def test_events_in_text(call: Callable[..., Result], capture: str) -> None:
    """One line an event, and nothing in it that could move a cursor."""
    out = call("snapshot", "--kernel-log", "--host-root", capture).out
    [line] = [row for row in out.splitlines() if row.startswith("# hw-err-sram")]
    assert line.startswith("# hw-err-sram [critical, replace_instance] neuron0/core1: NEURON_HW")
    assert "\x1b" not in out


def test_a_capture_gives_its_reports(call: Callable[..., Result], capture: str) -> None:
    """Logical cores and runtimes are others; ECC as reported stands beside the registers."""
    out = call(
        "snapshot", "--format", "json", "--sources", "--monitor", "child", "--host-root", capture
    ).out
    document = json.loads(out)
    others = {other["label"]: other["readings"] for other in document["others"]}
    core = others["lnc2/core1"]["logical_core.utilization"]
    assert core["value"] == pytest.approx(0.4202)
    assert core["source"].startswith("neuron-monitor neuroncore_counters")
    assert others["pid268911"]["runtime.tag"]["value"] == "my_app_1"
    device = document["devices"][0]["readings"]
    assert device["device.reported.mem_ecc_corrected"]["value"] == 0
    assert device["device.hbm.ecc_uncorrected"]["source"].endswith("mem_ecc_uncorrected")


def test_off_is_the_default(call: Callable[..., Result], capture: str) -> None:
    """No report is read; lines of the kernel log are judged and not shown."""
    out = call("snapshot", "--host-root", capture).out
    assert "node.monitor" not in out
    shown = [line for line in out.splitlines() if line.startswith("# ")]
    assert all(line.startswith(("# verdict ", "# finding ")) for line in shown)


def test_a_child_is_of_this_machine_only(call: Callable[..., Result], tmp_path: Path) -> None:
    """No program of another root is ever started."""
    with pytest.raises(InputError, match="--monitor child cannot be had"):
        call("snapshot", "--monitor", "child", "--host-root", str(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        call("doctor", "--monitor", "nothing-here", "--host-root", str(tmp_path))


def test_doctor_on_the_monitor(call: Callable[..., Result], capture: str) -> None:
    """Off: what it would give and cost. On: whether it works."""
    off = call("doctor", "--host-root", capture).out
    assert "monitor.mode is off" in off
    assert "one of 16 slots" in off
    assert "kernel log: 2 lines in this file" in off
    on = call("doctor", "--monitor", "child", "--host-root", capture)
    assert on.code == 0
    assert "monitor: mode child: busy; 1 reports, 0 other lines" in on.out


def test_doctor_on_a_monitor_that_says_nothing(
    call: Callable[..., Result], capture: str, tmp_path: Path
) -> None:
    """A file that does not grow is a problem, with what to do; old reports do not count."""
    file = tmp_path / "reports.ndjson"
    file.write_text(next((CASES / "A").glob("A01-*")).read_text())
    found = call("doctor", "--monitor", str(file), "--host-root", capture)
    assert found.code == 1
    assert "mode file: waiting; 0 reports" in found.out
    assert "A file must grow" in found.out
    assert found.err == (
        "neuron-monitor: no report came\n"
        f"  Of {file} only what is written from now on counts: reports carry no time.\n"
        f"  `--monitor pipe < {file}` takes those that are in it.\n"
    )
