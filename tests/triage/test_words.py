"""The report in words: what an engineer sees first, and that nothing can break the terminal."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.triage import MATCHER, of_text
from neuron_observer.text import printable
from neuron_observer.triage.report import triage
from neuron_observer.triage.words import headline, text
from tests.triage.test_cases import CASES

SRAM = "NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR nd-id={} nc-id=0 serial-num=00{} action=X"
REPAIRABLE = (
    "Uncorrectable HBM memory error is detected. Execution results may be invalid. Please reload "
    "the neuron driver or reboot"
)
KNOWN = "[1.0] neuron:npid_attach: neuron:npid_attach: pid=1, slot=0"


@pytest.mark.parametrize(
    ("line", "first"),
    [
        (
            SRAM.format(3, 3),
            "CALL AWS: REPLACE THE INSTANCE - SRAM uncorrectable: device 3, core 0",
        ),
        (
            REPAIRABLE,
            "RELOAD THE DRIVER OR REBOOT - HBM repairable (probable)",
        ),
        ("execution timeout (30000 ms) on nd1:nc0", "RESET THE DEVICE, THEN TRY AGAIN - compute"),
        ("RX, connection closed by remote peer", "LOOK AT THE OTHER WORKERS - peer gone"),
        ("Failed to discover neuron devices", "COMPARE WITH THE HOST AND OTHER NODES - no device"),
        ("OFI plugin initNet() failed", "COMPARE WITH THE HOST AND OTHER NODES - EFA missing"),
        ("Too many open files", "FIX THE PROGRAM - open files (probable, hardware not blamed)"),
        ("failed programming the engine", "UPDATE THE SOFTWARE - driver old"),
        (KNOWN, "NO FAULT IN WHAT WAS HANDED OVER"),
        ("a line of a job", "CANNOT TELL: nothing here that is known of Neuron devices"),
        ("", "CANNOT TELL: not everything could be read"),
    ],
)
def test_headline(line: str, first: str) -> None:
    """One line says what to do, what it is, where, how sure, and whether the program is meant."""
    assert headline(of_text(line)).startswith(first)


@pytest.mark.parametrize("case", ["C01-041", "C01-048", "C01-052"])
def test_what_a_program_is_not_given(case: str) -> None:
    """One node is told of: the remedy is about its host, not about workers that it has not."""
    rows = map(json.loads, (CASES / "C/C01-log-lines.jsonl").read_text().splitlines())
    (line,) = (row["line"] for row in rows if row["id"] == case)
    told = text(of_text(line))
    assert told.startswith("COMPARE WITH THE HOST AND OTHER NODES - ")
    assert "`neuron-observer doctor`" in " ".join(told.split())
    assert "all workers" not in told


def test_many_places_are_summed_up() -> None:
    """The same fault of many devices is told once, with the first places."""
    found = of_text("\n".join(SRAM.format(n, n) for n in range(9)))
    assert headline(found).endswith("device 3, core 0 and 5 more (probable)")
    assert text(found).count("What to do") == 1


def test_a_healthy_log_proves_nothing() -> None:
    """A log without a fault is told not to be a proof."""
    told = text(of_text(KNOWN))
    assert "does not prove sound hardware" in told
    assert "Verdict: healthy (exit code 0)" in told


def test_an_excused_line_is_explained() -> None:
    """A time-out beside its retry is listed as harmless, with the reason."""
    retry = "Failed to copy memory during a NeuronCore reset: nd 0, size 5. Retrying the copy."
    told = text(of_text(f"neuron:x: DMA completion timeout for UDMA_ENG_33 q0\n{retry}"))
    assert "Harmless here" in told


@settings(deadline=None, max_examples=30)
@given(st.binary(max_size=200), st.integers(40, 120))
def test_any_text_can_be_printed(data: bytes, width: int) -> None:
    """Whatever stands in a log, lines fit and hold nothing that moves a cursor."""
    line = b"NEURON_HW_ERR=DMA_ERROR nd-id=1 " + data.replace(b"\n", b"")
    found = triage(["-"], streams={"-": io.BytesIO(line)}, matcher=MATCHER)
    for row in text(found, width=width, explain=True).split("\n"):
        assert row == printable(row)


@given(st.text())
def test_printable(line: str) -> None:
    """Only characters that print are left, and none is dropped."""
    assert len(printable(line)) == len(line)
    assert printable(line).isprintable()
