"""A verdict does not hang on how a line is dressed: spelling, prefix, width, language, wrapping."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.triage import MATCHER, QUIET, of_text
from neuron_observer.model import Severity
from neuron_observer.triage.report import Report, triage

CASES = Path(__file__).parents[1] / "cases"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (CASES / "C/C01-log-lines.jsonl").read_text().splitlines()
]

PREFIXES = (
    "",
    "[12345.678901] ",
    "<3>[12345.678901] ",
    "kern  :err   : [12345.678901] ",
    "[Mon Nov 30 10:00:00 2026] ",
    "[lun. nov. 30 10:00:00 2026] ",
    "[Mo Nov 30 10:00:00 2026] ",
    "[Пн ноя 30 10:00:00 2026] ",
    "[月 11月 30 10:00:00 2026] ",
    "Nov 30 10:00:00 trn1-worker-7 kernel: ",
    "30 nov. 10:00:00 trn1-worker-7 kernel: ",
    "2026-11-30T10:00:00.123456+00:00 trn1-worker-7 kernel: ",
    "2026-11-30T10:00:00,123456+00:00 ",
    "3,339,5140900,-;",
    "trn1-worker-7: ",
    "[1,5]<stderr>: ",
    "12: ",
    "[rank12]: ",
    "\x1b[31m",
    "2026-11-30T10:00:00.123456789Z stderr F ",
)


def facts(report: Report) -> list[tuple[object, ...]]:
    """What was understood, without where it stood."""
    return [(f.pattern.id, f.device, f.core, f.code) for f in report.facts]


def verdicts(report: Report) -> list[tuple[object, ...]]:
    """Findings, without the node."""
    return [
        (f.id, f.severity, f.action, f.entity.device, f.entity.core, f.blames_hardware)
        for f in report.findings
    ]


@settings(deadline=None, max_examples=150)
@given(row=st.sampled_from(ROWS), prefix=st.sampled_from(PREFIXES), cr=st.sampled_from(["", "\r"]))
def test_prefixes(row: dict[str, Any], prefix: str, cr: str) -> None:
    """A prefix of any log, in any language, changes neither fact nor verdict."""
    plain, dressed = of_text(row["line"]), of_text(f"{prefix}{row['line']}{cr}\n")
    assert facts(dressed) == facts(plain)
    assert verdicts(dressed) == verdicts(plain)


@settings(deadline=None, max_examples=60)
@given(row=st.sampled_from(ROWS), wrapper=st.sampled_from(["journal", "docker", "bytes"]))
def test_json_lines(row: dict[str, Any], wrapper: str) -> None:
    """A line inside a journal's or a container's JSON means what it means by itself."""
    line = row["line"]
    entry: dict[str, Any] = {
        "journal": {"MESSAGE": line, "_HOSTNAME": "trn1-7", "PRIORITY": "3"},
        "docker": {"log": line + "\n", "stream": "stderr", "time": "2026-11-30T10:00:00Z"},
        "bytes": {"MESSAGE": list(line.encode() + b"\xff"), "_HOSTNAME": "trn1-7"},
    }[wrapper]
    dressed = of_text(json.dumps(entry) + "\n")
    plain = of_text(line)
    assert facts(dressed) == facts(plain)
    assert verdicts(dressed) == verdicts(plain)


SPELLINGS = (
    "nd{d}: reset request 4242 failed",
    "nd{d:02}: reset request 4242 failed",
    "[ND {d}] HBM repair failed. No uncorrectable ecc errors detected.",
    "[ND {d}][NC {c}] Uncorrectable memory error is detected, metadata: 0x16. Please terminate",
    "DMA completion timeout on nd{d:02} for UDMA_ENG_33 q0 desc count 1",
    "DMA completion timeout on nd{d} for UDMA_ENG_3 q12 desc count 100000",
    "[MLA {d}][NC {c}] DMA TX engine 0 is in an abort state",
    "[MLA {d:02}][NC {c:02}] DMA TX engine 11 is in an abort state",
    "execution timeout (30000 ms) on Neuron Device {d} NC {c}, model x.neff, waiting",
    "execution timeout (5 ms) on [ND {d}][NC {c}], model x.neff, waiting",
    "execution timeout (600000 ms) on nd{d}:nc{c} model x.neff, waiting",
    "execution timeout (600000 ms) on nd{d} nc{c} model x.neff, waiting",
    "NEURON_HW_ERR=DMA_ERROR nd-id={d} nc-id={c} action=TERMINATE_INSTANCE",
    "NEURON_HW_ERR=DMA_ERROR action=X device={d} core={c}",
)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(SPELLINGS), st.integers(0, 63), st.integers(0, 7))
def test_spellings_and_widths(form: str, device: int, core: int) -> None:
    """Device and core are read in any spelling and any width of number."""
    found = of_text(form.format(d=device, c=core))
    (finding,) = found.findings
    assert finding.severity is not Severity.INFO
    assert finding.entity.device == device
    assert finding.entity.core == (core if "{c" in form else None)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from([row for row in ROWS if row["verdict"] in QUIET]), max_size=10),
    st.lists(st.text(max_size=80), max_size=10),
)
def test_noise_never_alarms(rows: list[dict[str, Any]], texts: list[str]) -> None:
    """Benign and informative lines in any order and company never give a warning."""
    lines = [row["line"] for row in rows if row["id"] != "C01-009"]
    data = "\n".join([*lines, *texts]).encode("utf-8", "surrogatepass")
    found = of_text(data)
    assert not [f for f in found.findings if f.severity is not Severity.INFO]


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=500))
def test_random_text_has_no_verdict(text: str) -> None:
    """Random text gives no finding and raises nothing."""
    assert of_text(text.encode("utf-8", "surrogatepass")).findings == ()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from([row["line"] for row in ROWS]), min_size=1, max_size=8),
    st.integers(0, 200),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gzip"]),
)
def test_encodings(lines: list[str], noise: int, encoding: str) -> None:
    """Compression and encoding change nothing."""
    text = "\n".join([*["a line of a job"] * noise, *lines]) + "\n"
    data = gzip.compress(text.encode()) if encoding == "gzip" else text.encode(encoding)
    dressed = triage(["-"], streams={"-": io.BytesIO(data)}, matcher=MATCHER)
    plain = of_text(text)
    assert facts(dressed) == facts(plain)
    assert verdicts(dressed) == verdicts(plain)
    assert dressed.inputs[0].lines == plain.inputs[0].lines == len(lines) + noise
