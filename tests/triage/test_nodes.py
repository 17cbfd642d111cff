"""Bundles handed to triage: the node's own findings, its log's lines, what is damaged."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.bundle.archive import Member, pack
from neuron_observer.bundle.contents import Contents, folder
from neuron_observer.contract import FINDINGS_SCHEMA, finding
from neuron_observer.model import (
    Action,
    Confidence,
    Entity,
    Evidence,
    Finding,
    Severity,
    State,
    Verdict,
)
from neuron_observer.triage.report import Report, triage
from neuron_observer.triage.words import headline, text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AT = 1_788_000_000.0
SRAM = Finding(
    "sram-uncorrectable",
    Entity("device", device=0, serial="11b2488e04750d9d"),
    Severity.CRITICAL,
    Confidence.CONFIRMED,
    Action.REPLACE_INSTANCE,
    "SRAM of device 0 returned wrong data",
    blames_hardware=True,
    first_seen=AT,
    last_seen=AT,
)
OVER = SRAM._replace(id="efa-port-down", state=State.RESOLVED, entity=Entity("port", port="x/1"))
LINE = (
    "3,3,35226860791,-;NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0 hostname=h nd-id={}"
    " nc-id=0 serial-num=11b2488e04750d9d action=TERMINATE_INSTANCE\n"
)


def document(verdict: str, *findings: Finding) -> dict[str, Any]:
    """A node's findings document."""
    return {
        "schema": FINDINGS_SCHEMA,
        "verdict": verdict,
        "reason": f"it is {verdict}",
        "coverage": {
            "decided": 41,
            "required": 42,
            "missing": [{"id": "m", "why": "denied", "entity": None}],
            "not_covered": [],
        },
        "findings": [finding(one) for one in findings],
    }


def bundle_of(findings: Any, log: str = "") -> bytes:
    """A bundle with some findings and a log."""
    contents = Contents()
    contents.document("findings.json", "what was found", findings)
    contents.document("snapshot.json", "readings", {"x": [1] * 2000})
    if log:
        contents.add("kernel.log", "lines", log.encode())
    about = {"verdict": "x", "reason": "y", "source": {"by": "look"}, "redaction": {"level": "ids"}}
    members = contents.members(about, AT)
    return pack(folder(members, AT), members, AT)


UNWELL = bundle_of(document("unhealthy", SRAM, OVER), "x\n" + LINE.format(0) + LINE.format(5))
WELL = bundle_of(document("healthy"))


def read(tmp_path: Path, *bundles: bytes, **others: str) -> Report:
    """The report on some bundles and other files."""
    names = []
    for number, data in enumerate(bundles):
        (tmp_path / f"b{number}.tar.gz").write_bytes(data)
        names.append(str(tmp_path / f"b{number}.tar.gz"))
    for name, content in others.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        names.append(str(tmp_path / name))
    return triage(names)


def test_the_nodes_findings_with_lines_of_its_log(tmp_path: Path) -> None:
    """A line of another device is no evidence of it, and makes no finding of its own."""
    report = read(tmp_path, UNWELL)
    assert report.verdict is Verdict.UNHEALTHY
    told, over = report.findings
    assert told._replace(evidence=()) == SRAM
    assert over._replace(evidence=()) == OVER
    (line,) = told.evidence
    assert (line.line, line.kind, line.trust) == (2, "kernel_line", "hearsay")
    assert line.source.endswith("b0.tar.gz:kernel.log")
    assert (report.coverage.decided, report.coverage.required) == (41, 42)
    assert [gap.id for gap in report.coverage.missing] == ["m"]
    shown = report.document()
    assert shown["nodes"][0]["verdict"] == "unhealthy"
    assert shown["nodes"][0]["at"] == "2026-08-29T10:40:00.000Z"
    assert [one["kinds"] for one in shown["inputs"]] == [["bundle", "gzip"], ["kernel log"]]


def test_lines_that_a_finding_names_itself(tmp_path: Path) -> None:
    """A rule may rest on a line of another kind: then the node's own evidence tells which."""
    said = Evidence("kernel_line", "hearsay", "/dev/kmsg", "neuron:ndmar_eng_abort: nd0: DMA abort")
    other = SRAM._replace(id="reset-loop", evidence=(said,))
    report = read(tmp_path, bundle_of(document("degraded", other), "x\nx\n" + LINE.format(0)))
    assert len(report.findings[0].evidence) == 1
    named = said._replace(value="NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR")
    other = other._replace(evidence=(named,))
    report = read(tmp_path, bundle_of(document("degraded", other), "x\nx\n" + LINE.format(0)))
    assert [one.line for one in report.findings[0].evidence] == [None, 3]


def test_in_words(tmp_path: Path) -> None:
    """As check says it on the node; then its log, by line numbers."""
    report = read(tmp_path, UNWELL)
    shown = text(report)
    assert headline(report) == "UNHEALTHY: it is unhealthy"
    assert shown.count("UNHEALTHY: it is unhealthy") == 1
    assert "What to do: replace the instance" in shown
    assert "Over: 1\n  efa-port-down: port x/1" in shown
    its_log, _, beside = shown.partition("In its log, and no finding of the node")
    assert "b0.tar.gz:kernel.log:2  NEURON_HW_ERR" in its_log
    assert "b0.tar.gz:kernel.log:3  NEURON_HW_ERR" in beside
    assert shown.rstrip().endswith("Verdict: unhealthy (exit code 2)")


def test_a_healthy_node(tmp_path: Path) -> None:
    """It has read its registers: that is more than a log without a fault."""
    report = read(tmp_path, WELL)
    assert report.verdict is Verdict.HEALTHY
    assert headline(report) == "HEALTHY: it is healthy"
    assert "A log without a fault" not in text(report)


def test_several_nodes_and_logs(tmp_path: Path) -> None:
    """Each finding says whose it is; the worst counts; logs beside them are read as ever."""
    report = read(tmp_path, WELL, UNWELL, joblog=LINE.format(3))
    assert report.verdict is Verdict.UNHEALTHY
    nodes = [one.entity.node for one in report.findings if one.confidence is Confidence.CONFIRMED]
    assert set(nodes) == {"b1.tar.gz"}
    assert [(one.id, one.entity.device) for one in report.logged] == [("sram-uncorrectable", 3)]
    only_log = read(tmp_path, WELL, joblog=LINE.format(3))
    assert only_log.verdict is Verdict.DEGRADED
    assert headline(only_log).startswith("CALL AWS: REPLACE THE INSTANCE")


def test_from_a_pipe() -> None:
    """As everything else is read."""
    report = triage(["-"], streams={"-": io.BytesIO(UNWELL)})
    assert report.findings[0].id == "sram-uncorrectable"
    assert report.inputs[1].name == "standard input:kernel.log"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_cut_short(tmp_path: Path, share: float) -> None:
    """What is whole counts, what is missing is said; without the findings nothing can be told."""
    plain = gzip.decompress(UNWELL)
    report = read(tmp_path, gzip.compress(plain[: int(len(plain) * share)]))
    (source, *_) = report.inputs
    assert source.failed or source.partial
    assert any("ends early" in note for note in source.notes)
    if source.failed:
        assert report.verdict is Verdict.UNKNOWN
        assert "is a bundle that cannot be used" in source.notes[-1]
    else:
        assert report.findings[0].id == "sram-uncorrectable"


def test_the_compressed_file_cut_short(tmp_path: Path) -> None:
    """The same; a healthy node of which a part is missing is not healthy for certain."""
    report = read(tmp_path, WELL[:-40])
    assert report.verdict is Verdict.UNKNOWN
    assert any("ends early" in note for note in report.inputs[0].notes)


def repacked(data: bytes, change: Mapping[str, bytes | None]) -> bytes:
    """A bundle with members changed, taken out or added."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        top = tar.getnames()[0].partition("/")[0]
        found = {}
        for one in tar.getmembers():
            file = tar.extractfile(one)
            found[one.name.partition("/")[2]] = file.read() if file else b""
    members = [Member(k, v) for k, v in {**found, **change}.items() if v is not None]
    return pack(top, members, AT)


def test_altered_members_are_told(tmp_path: Path) -> None:
    """Whatever somebody changed, added or took away."""
    changed = repacked(
        UNWELL, {"kernel.log": b"nothing\n", "extra.txt": b"x", "snapshot.json": None}
    )
    notes = read(tmp_path, changed).inputs[0].notes
    assert "member kernel.log was altered or is damaged: it is not what the manifest says" in notes
    assert "member snapshot.json is missing" in notes
    assert "member extra.txt is in no manifest: somebody added it" in notes


def manifest(members: Any) -> bytes:
    """A manifest."""
    return json.dumps({"schema": "neuron-observer/bundle/1", "members": members}).encode()


WRONG: dict[str, tuple[dict[str, bytes | None], str]] = {
    "no findings": ({"findings.json": None}, "it holds no findings.json"),
    "no manifest": ({"manifest.json": None}, "it holds no manifest.json"),
    "too long": ({"findings.json": b" " * (9 << 20)}, "findings.json has 9437184 bytes"),
    "no json": ({"findings.json": b"{"}, "findings.json is no JSON"),
    "deep": ({"findings.json": b"[" * 100_000}, "findings.json is no JSON"),
    "later": (
        {"findings.json": b'{"schema": "neuron-observer/findings/2"}'},
        "not of the form neuron-observer/findings/1",
    ),
    "a list": ({"manifest.json": b"[]"}, "not of the form neuron-observer/bundle/1"),
    "odd members": ({"manifest.json": manifest([3])}, "manifest.json cannot be understood"),
    "odd verdict": (
        {"findings.json": json.dumps(document("healthy") | {"verdict": "fine"}).encode()},
        "findings.json cannot be understood",
    ),
    "odd finding": (
        {"findings.json": json.dumps(document("healthy") | {"findings": [{"id": 1}]}).encode()},
        "findings.json cannot be understood: KeyError",
    ),
    "odd time": (
        {
            "findings.json": json.dumps(
                document("healthy") | {"findings": [finding(SRAM) | {"first_seen": "soon"}]}
            ).encode()
        },
        "findings.json cannot be understood",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_understood_is_told(case: str, tmp_path: Path) -> None:
    """Never a traceback, never a finding."""
    change, why = WRONG[case]
    report = read(tmp_path, repacked(UNWELL, change))
    (source,) = report.inputs
    assert source.failed
    assert why in source.notes[-1]
    assert report.verdict is Verdict.UNKNOWN
    assert report.findings == ()


def test_any_other_archive_is_none_of_ours(tmp_path: Path) -> None:
    """Logs are to be handed over unpacked, as before."""
    report = read(tmp_path, pack("logs", [Member("x", b"1")], AT))
    assert "is a tar archive; unpack it and hand over the logs in it" in report.inputs[0].notes


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.just("\x1b[2J\x9b"),
    st.builds(list),  # a fresh one each time: the next value may be put into it
    st.builds(dict),
)


def _spots(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    found = [above] if above else []
    if isinstance(value, dict):
        found += [spot for key, one in value.items() for spot in _spots(one, (*above, key))]
    elif isinstance(value, list):
        found += [spot for key, one in enumerate(value) for spot in _spots(one, (*above, key))]
    return found


SAID = SRAM._replace(
    evidence=(Evidence("register", "hardware", "x/y", 3, 0, AT, fields={"pattern": "p"}),),
    confirm_by=("look",),
    note="n",
)
WHOLE = document("unhealthy", SAID, OVER)
SPOTS = _spots(WHOLE)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(SPOTS), ODD), min_size=1, max_size=3))
def test_odd_values_anywhere(odd: list[tuple[tuple[Any, ...], Any]]) -> None:
    """Refused, or told without anything that a terminal would take for a command."""
    changed = json.loads(json.dumps(WHOLE))
    for spot, value in odd:
        with suppress(LookupError, TypeError):  # what stood there may be gone by then
            at = changed
            for key in spot[:-1]:
                at = at[key]
            at[spot[-1]] = value
    report = triage(["-"], streams={"-": io.BytesIO(bundle_of(changed, LINE.format(0)))})
    shown = text(report)
    assert json.dumps(report.document())
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    assert report.inputs[0].failed or report.nodes
