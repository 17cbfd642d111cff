"""Reports of the Neuron tools inside whatever else was pasted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.triage import of_text
from neuron_observer.model import Severity

if TYPE_CHECKING:
    from neuron_observer.triage.report import Report

CASES = Path(__file__).parents[1] / "cases"
A01 = next((CASES / "A").glob("A01*")).read_text().splitlines()
A02 = next((CASES / "A").glob("A02*")).read_text()
B01 = next((CASES / "B").glob("B01*")).read_text()
B03 = next((CASES / "B").glob("B03*")).read_text()
B11 = next((CASES / "B").glob("B11*")).read_text()
HANG = "(FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device 0 NC 0, model 0"


def rows(found: Report) -> list[tuple[str, int]]:
    """What was seen, and how often."""
    return [(fact.pattern.id, fact.count) for fact in found.facts]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_everything_in_one_paste(newline: str) -> None:
    """Lines, tables, JSON lines and JSON documents in one text are all read."""
    text = "\n".join(["some words", B03, HANG, *A01, "more words", B01, "", A02, HANG, B11])
    found = of_text(text.replace("\n", newline))
    assert found.inputs[0].kinds == {"neuron-ls", "neuron-monitor", "runtime log"}
    seen = dict(rows(found))
    assert seen["cc-hang"] == 2
    assert seen["monitor-healthy"] == 4
    assert seen["listing-read"] == 3
    assert seen["listing-held-unseen"] == 1


def test_the_line_of_a_report() -> None:
    """Evidence from a report carries the line at which the report begins."""
    found = of_text(f"a\nb\n{B11}")
    (fact,) = [f for f in found.facts if f.pattern.id == "listing-read"]
    first = f"a\nb\n{B11}".splitlines()[fact.line - 1]
    assert first.startswith("instance-type")


def changed(**changes: Any) -> str:
    """The first report of A01 with other values in some groups."""
    report = json.loads(A01[0])
    stats = report["neuron_runtime_data"][0]["report"]["execution_stats"]
    for name, value in changes.items():
        group = "error_summary" if name in stats["error_summary"] else "execution_summary"
        if name in stats[group]:
            stats[group][name] = value
        else:
            counters = report["system_data"]["neuron_hw_counters"]["neuron_devices"][0]
            assert name in counters
            counters[name] = value
    return json.dumps(report)


@pytest.mark.parametrize(
    ("changes", "finding", "severity"),
    [
        ({"sram_ecc_uncorrected": 1}, "sram-uncorrectable", Severity.CRITICAL),
        ({"mem_ecc_uncorrected": 2}, "hbm-uncorrectable", Severity.CRITICAL),
        ({"hardware": 1}, "hw-error", Severity.WARNING),
        ({"timed_out": 1}, "compute-hang", Severity.WARNING),
        ({"completed_with_err": 1}, "completed-with-error", Severity.WARNING),
        ({"completed_with_num_err": 1}, "numerical-error", Severity.INFO),
    ],
)
def test_what_a_report_counts(changes: dict[str, int], finding: str, severity: Severity) -> None:
    """Counts of faults in a report are findings; they are hearsay like any text."""
    found = of_text(changed(**changes))
    assert [(f.id, f.severity) for f in found.findings] == [(finding, severity)]
    assert found.findings[0].evidence[0].kind == "monitor"
    assert found.findings[0].evidence[0].trust == "hearsay"


@pytest.mark.parametrize("changes", [{"generic": 10**9}, {"mem_ecc_corrected": 7}])
def test_what_a_report_counts_without_a_fault(changes: dict[str, int]) -> None:
    """Tallies of overflow, and corrected errors, are no finding."""
    assert of_text(changed(**changes)).findings == ()


def test_a_device_that_is_not_listed() -> None:
    """A number missing in the list between others is a suspect, with that number."""
    lines = [line for line in B03.splitlines() if not line.startswith("| 7 ")]
    (finding,) = of_text("\n".join(lines)).findings
    assert (finding.id, finding.entity.device) == ("device-lost", 7)
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("text", [A01[0][:2000], A02[:5000], B01[:100]])
def test_a_report_that_is_cut(text: str) -> None:
    """A cut report gives nothing, and is said to be cut."""
    found = of_text(text)
    assert found.findings == ()
    assert found.inputs[0].partial
