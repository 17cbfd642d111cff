"""The field cases A, B and C, fed as they are: every verdict, place, code and action."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.triage import ACTIONS, MATCHER, line_problems, of_text, score, see
from neuron_observer.model import Action, Severity, Verdict
from neuron_observer.triage.report import Report, triage

CASES = Path(__file__).parents[1] / "cases"
ROWS: dict[str, dict[str, Any]] = {
    row["id"]: row
    for row in map(json.loads, (CASES / "C/C01-log-lines.jsonl").read_text().splitlines())
}
EXPECTED: dict[str, Any] = {
    row["id"]: row["expect"]
    for part in "ABC"
    for row in json.loads((CASES / part / "index.json").read_text())
}


def case(name: str) -> Path:
    """The file of a case."""
    return next((CASES / name[0]).glob(f"{name}*"))


def report(*names: str) -> Report:
    """The report on case files, as they are."""
    return triage([str(case(name)) for name in names], matcher=MATCHER)


def loud(of: Report) -> list[str]:
    """Findings that are more than an information."""
    return [finding.id for finding in of.findings if finding.severity is not Severity.INFO]


def test_precision_and_recall() -> None:
    """Every hardware fault is found, nothing else is blamed on hardware, noise never alarms."""
    result = score()
    assert result.recall == 1.0
    assert result.precision == 1.0
    assert result.alarms == 0
    assert result.wrong == []
    assert result.cases_wrong == []
    assert (result.lines, result.hardware) == (34, 7)


@pytest.mark.parametrize("name", ROWS)
def test_line(name: str) -> None:
    """A line is read as the case says, in every field."""
    row = ROWS[name]
    pair = ROWS.get(row.get("pair", ""))
    among = "\n".join(sorted((row["line"], pair["line"]))) if pair else None
    seen = see(row["line"], among)
    assert line_problems(row, seen) == []
    expected = EXPECTED[name]
    assert seen.verdict in expected["accept"]
    assert (seen.device, seen.core, seen.code) == tuple(
        expected[key] for key in ("device", "core", "code")
    )
    if seen.verdict == expected["verdict"]:
        assert seen.action in ACTIONS[expected["action"]]


@pytest.mark.parametrize("name", [name for name in ROWS if ROWS[name].get("kmsg_priority")])
def test_line_as_a_record_of_kmsg(name: str) -> None:
    """The same as a record of /dev/kmsg; who wrote it is said, and changes nothing else."""
    row = ROWS[name]
    found = of_text(f"{row['kmsg_priority']},339,5140900,-;{row['line']}\n")
    (fact,) = found.facts
    assert fact.pattern.verdict in row["accept"]
    assert (fact.device, fact.core) == (row["device"], row["core"])
    assert fact.by_kernel is (row["kmsg_priority"] < 8)
    told = [f for f in found.findings if "A process wrote the line" in f.message]
    assert bool(told) is (row["kmsg_priority"] >= 8 and row["verdict"] == "hw_fault")


def test_a_hang_of_all_has_one_cause() -> None:
    """C02: one critical finding on the node with the SRAM error, the others only waited for it."""
    found = report("C02")
    expected = EXPECTED["C02"]
    critical = [f for f in found.findings if f.severity is Severity.CRITICAL]
    assert [
        {"node": f.entity.node, "device": f.entity.device, "core": f.entity.core,
         "action": f.action.value} for f in critical
    ] == expected["faulty"]  # fmt: skip
    assert critical[0].evidence[0].fields["code"] == "SRAM_UNCORRECTABLE_ERROR"
    (victim,) = [f for f in found.findings if f.id == "collectives-hang"]
    assert (victim.entity.node, victim.severity) == ("node-a", Severity.INFO)
    assert victim.action is Action.NONE
    assert "node-b, device 2, core 1" in victim.message


def test_a_hang_of_all_with_each_log_written_out() -> None:
    """C02 with "(as node-a)" written out: three victims of one node, however they come."""
    lines = [line for line in case("C02").read_text().splitlines() if not line.startswith("#")]
    same = lines[2].split("runtime: ", 1)[1]
    spelled = [line.replace("(as node-a)", same) for line in lines]
    for text in ("\n".join(spelled), "\n".join(reversed(spelled))):
        found = of_text(text)
        victims = {f.entity.node for f in found.findings if f.id == "collectives-hang"}
        assert victims == set(EXPECTED["C02"]["victims"])
        assert [f.entity.node for f in found.findings if f.blames_hardware] == ["node-b"]
        assert loud(found) == ["sram-uncorrectable"]


def test_mixed_lines() -> None:
    """C05: both messages are found once, no hardware is blamed."""
    found = report("C05")
    assert sorted(loud(found)) == ["cc-devmem-reservation", "open-files"]
    texts = " ".join(fact.said for fact in found.facts)
    assert all(words in texts for words in EXPECTED["C05"]["found"])
    assert not any(finding.blames_hardware for finding in found.findings)


def test_an_info_dump_is_one_finding() -> None:
    """C06: some twenty lines at level ERROR are one finding about the program."""
    (finding,) = report("C06").findings
    expected = EXPECTED["C06"]
    assert (finding.entity.device, finding.entity.core) == (expected["device"], expected["core"])
    assert finding.action in ACTIONS[expected["action"]]
    assert {item.fields["code"] for item in finding.evidence} == {expected["code"]}
    assert not finding.blames_hardware
    assert finding.entity.kind == "job"


def test_a_core_that_is_not_given_back(tmp_path: Path) -> None:
    """C08: the error of a new pod and the listing of B11 together name the holder."""
    log = tmp_path / "pod.log"
    log.write_text(ROWS["C01-038"]["line"] + "\n")
    found = triage([str(log), str(case("B11"))], matcher=MATCHER)
    (finding,) = found.findings
    assert "ore held by pid 19047" in finding.message
    assert EXPECTED["C08"]["finding"] == "core held by pid 19047"
    assert not finding.blames_hardware
    assert finding.severity is Severity.WARNING


def test_the_holder_of_one_core_among_many() -> None:
    """E35: the holder of a core is found through the core ids of the listing, device by device."""
    table = case("B05-trn2n.48xlarge-lnc2-default").read_text().splitlines()
    header, rows = table[4:7], [line for line in table if line.startswith("| ") and "GB" in line]
    wide = [f"{line} {1000 + n} |" for n, line in enumerate(rows)]
    border = table[4] + "------+"
    text = [border, header[1] + " PID  |", header[2] + "      |", border, *wide, border]
    line = ROWS["C01-038"]["line"].replace("nc1-nc1", "nc6-nc6")
    (finding,) = of_text("\n".join([*text, line])).findings
    assert finding.message.endswith("Core held by pid 1001.")


@pytest.mark.parametrize("name", ["A01", "A02", "A03", "A07"])
def test_reports_of_neuron_monitor(name: str) -> None:
    """A: healthy or idle machines give no finding at all, in spite of large tallies of errors."""
    found = report(name)
    assert found.findings == ()
    assert found.verdict is Verdict.HEALTHY
    assert found.inputs[0].kinds == {"neuron-monitor"}


@pytest.mark.parametrize("name", ["B01", "B03", "B05-trn2n.48xlarge-lnc2-wide", "B09", "B14"])
def test_listings_without_a_finding(name: str) -> None:
    """B: a listing of a sound machine gives no finding, with one neighbour, gaps or NA in it."""
    found = report(name)
    assert found.findings == ()
    assert found.inputs[0].kinds == {"neuron-ls"}


def test_a_listing_that_is_cut() -> None:
    """B05: JSON with an ellipsis in it is bad output, and said to be; never "0 devices"."""
    found = report("B05-trn2n.48xlarge-lnc2-json")
    assert found.verdict is Verdict.UNKNOWN
    assert "output of neuron-ls, but no valid JSON" in found.inputs[0].notes[0]
    assert found.inputs[0].partial


def test_a_holder_of_another_namespace() -> None:
    """B11: the holder is named, as an information, and no hardware is blamed."""
    (finding,) = report("B11").findings
    assert "pid 19047" in finding.message
    assert finding.severity is Severity.INFO
    assert not finding.blames_hardware


def test_no_device_is_never_healthy() -> None:
    """B12: the tools' words for "no device" are a warning to look where that is so."""
    found = report("B12")
    assert loud(found) == ["no-device"]
    assert found.verdict is Verdict.DEGRADED
