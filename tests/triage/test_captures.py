"""A capture's lines are read where they stand; its files are somebody else's business."""

from __future__ import annotations

import gzip
import io
import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.triage import MATCHER
from neuron_observer.model import Verdict
from neuron_observer.triage.captures import kept_lines
from neuron_observer.triage.inputs import Input
from neuron_observer.triage.report import triage

if TYPE_CHECKING:
    from pathlib import Path

HEADER = '#capture {"schema": "neuron-observer/capture/1", "at": "2026-11-30T10:00:00.000Z"}'
FILES = ["#at 0.000", "#read [0.1, 0.00001]", '0444\tmodule/neuron/version\t"2.30.2.0\\n"']
FAULT = (
    "3,812,950500000,-;NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR hostname=host nd-id=3 nc-id=1 "
    "serial-num=0123456789abcdef action=TERMINATE_INSTANCE"
)
REPORT = {
    "neuron_runtime_data": [],
    "system_data": {
        "neuron_hw_counters": {
            "period": 5.0,
            "neuron_devices": [{"neuron_device_index": 2, "mem_ecc_uncorrected": 1}],
            "error": "",
        }
    },
}


def row(word: str, text: str) -> str:
    """A line as a capture keeps it."""
    return f"#{word} {json.dumps([12.5, text])}"


def write(path: Path, rows: list[str]) -> str:
    """A capture of these rows; packed where its name says so."""
    data = ("\n".join(rows) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_lines_of_a_capture_have_their_numbers(tmp_path: Path) -> None:
    """The kernel line and the report are found, with the line at which each stands in the file."""
    rows = [HEADER, *FILES, row("kernel", FAULT), FILES[1], row("monitor", json.dumps(REPORT))]
    for name in ("host.tsv", "host.tsv.gz"):
        found = triage([write(tmp_path / name, rows)], matcher=MATCHER)
        where = {fact.pattern.id: (fact.line, fact.device) for fact in found.facts}
        assert where["hw-err-sram"] == (5, 3)
        assert where["monitor-mem-uncorrected"] == (7, 2)
        assert found.verdict is Verdict.DEGRADED
        [source] = found.inputs
        assert "capture" in source.kinds
        assert source.lines == 7
        [note] = source.notes
        assert "1 lines of the kernel log and 1 of neuron-monitor" in note
        assert f"neuron-observer devices --host-root {tmp_path / name}" in note


def test_a_fault_in_a_file_of_the_tree_is_no_line_of_a_log(tmp_path: Path) -> None:
    """What stands in a register's row is not searched: its meaning is not a log's."""
    tree = '0444\tdevices/virtual/neuron_device/neuron0/x\t"NEURON_HW_ERR=DMA_ERROR nd_id=7"'
    found = triage(
        [write(tmp_path / "t.tsv", [HEADER, tree, row("kernel", "6,1,2,-;usb 1-1: new")])],
        matcher=MATCHER,
    )
    assert found.facts == ()
    assert found.verdict is Verdict.UNKNOWN
    assert not found.inputs[0].failed


def test_a_capture_without_lines_is_said_to_have_none(tmp_path: Path) -> None:
    """Nothing to read here, and the command that does read it."""
    found = triage([write(tmp_path / "t.tsv", [HEADER, *FILES])], matcher=MATCHER)
    assert found.inputs[0].failed
    assert "without a line of a log" in found.inputs[0].notes[0]


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    """A row that is no JSON costs itself, and the input counts as not whole."""
    rows = [HEADER, *FILES, "#kernel [1, ", row("kernel", FAULT)]
    found = triage([write(tmp_path / "t.tsv", rows)], matcher=MATCHER)
    assert found.inputs[0].partial
    assert [fact.line for fact in found.facts] == [6]


def test_a_capture_on_standard_input(tmp_path: Path) -> None:
    """A pipe has no name to repeat."""
    data = "\n".join([HEADER, *FILES, row("kernel", FAULT)]).encode()
    found = triage(["-"], streams={"-": io.BytesIO(data)}, matcher=MATCHER)
    assert "--host-root FILE" in found.inputs[0].notes[0]
    assert [fact.line for fact in found.facts] == [5]


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 50))
def test_line_numbers_stay_however_it_is_cut(rows: list[bytes], size: int) -> None:
    """As many lines come out as went in, whatever the rows hold and where the chunks end."""
    data = b"\n".join(rows)
    chunks = iter([data[at : at + size] for at in range(0, len(data), size)])
    out = b"".join(kept_lines(Input("x"), chunks))
    assert out.count(b"\n") == data.count(b"\n")
