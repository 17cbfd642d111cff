"""The report as a document."""

from __future__ import annotations

import json

from benchmarks.triage import of_text
from neuron_observer.model import Verdict

LINES = """\
[1.0] neuron:npid_attach: neuron:npid_attach: pid=1, slot=0
2026-Jan-03 21:00:33.250000 13423:13499 ERROR TDRV:x [MLA 3][NC 1] DMA TX engine 0 is in an abort \
state
[2.0] neuron:new: something unheard of
[3.0] sysfs failed to read serial number from FWIO
"""


def test_document() -> None:
    """Findings with evidence, inputs, facts of every kind, and what is novel; plain JSON."""
    found = of_text(LINES)
    document = json.loads(json.dumps(found.document()))
    (finding,) = document["findings"]
    (evidence,) = finding["evidence"]
    assert evidence["source"] == "standard input"
    assert evidence["line"] == 2
    assert evidence["at"] == "2026-01-03T21:00:33.250Z"
    assert evidence["pids"] == "13423"
    assert (evidence["code"], evidence["count"], evidence["grade"]) == ("1203", 1, "document")
    assert finding["first_seen"] == finding["last_seen"] == "2026-01-03T21:00:33.250Z"
    assert finding["entity"]["kind"] == "core"
    by_id = {fact["pattern"]: fact for fact in document["facts"]}
    assert by_id["serial-read-failed"]["ours"] is True
    assert by_id["process-attached"]["class"] == "info"
    assert document["novel"]["lines"] == 1
    assert document["novel"]["examples"][0]["line"] == 3
    assert document["inputs"] == [
        {
            "name": "standard input",
            "kinds": ["kernel log", "runtime log"],
            "lines": 4,
            "bytes": len(LINES),
            "partial": False,
            "failed": False,
            "notes": [],
        }
    ]
    assert [gap["id"] for gap in document["coverage"]["not_covered"]] == ["hardware_registers"]


def test_verdicts() -> None:
    """Something wrong is degraded, known and fine is healthy, nothing known is unknown."""
    assert of_text(LINES).verdict is Verdict.DEGRADED
    assert of_text(LINES.splitlines()[0]).verdict is Verdict.HEALTHY
    assert of_text(LINES.splitlines()[2]).verdict is Verdict.UNKNOWN
    assert of_text("").verdict is Verdict.UNKNOWN


def test_lines_of_our_own_reads_are_no_evidence() -> None:
    """What our reads of counters cause never makes a finding, however often it comes."""
    line = "[3.0] sysfs failed to read ECC SRAM error from FWIO\n"
    found = of_text(line * 500)
    assert found.findings == ()
    assert [(fact.count, fact.pattern.ours) for fact in found.facts] == [(500, True)]
