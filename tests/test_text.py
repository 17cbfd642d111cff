"""Values as people read them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.model import Cell, Missing, Why
from neuron_observer.text import (
    DASH,
    Footnotes,
    bytes_text,
    cell_text,
    count_text,
    ratio_text,
    seconds_text,
    table,
)

STEPS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (96 * 2**30, "96 GiB"),
        (2**50, "1 PiB"),
        (2**63, "8192 PiB"),
        (-1536, "-1.5 KiB"),
        (2**20 - 1, "1.0 MiB"),
    ],
)
def test_bytes(number: int, text: str) -> None:
    """Binary units, a fraction only where there is one, never 1024 of a unit."""
    assert bytes_text(number) == text


def test_a_number_of_things() -> None:
    """One of it is no plural."""
    told = [count_text(number, "process", "processes") for number in (0, 1, 2)]
    assert told == ["0 processes", "1 process", "2 processes"]


@given(st.integers(0, 2**60))
def test_bytes_are_within_a_twentieth_of_the_unit(number: int) -> None:
    """The text is the number to one decimal of its unit."""
    figure, unit = bytes_text(number).split()
    assert abs(float(figure) * STEPS[unit] - number) <= 0.05 * STEPS[unit] + 1
    assert float(figure) < 1024 or unit == "PiB"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.834, "83 %"),
        (0.1, "10 %"),
        (0.012, "1.2 %"),
        (1.6e-12, "0.0 %"),
    ],
)
def test_ratios(number: float, text: str) -> None:
    """Percent, with a decimal where it is small and not nothing."""
    assert ratio_text(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0001, "0.1 ms"),
        (0.25, "250 ms"),
        (0.9996, "1 s"),
        (1, "1 s"),
        (2.5, "2.5 s"),
        (59.4, "59.4 s"),
        (59.97, "1 min"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (3599.7, "1 h"),
        (3600, "1 h"),
        (7200, "2 h"),
        (7260, "2 h 1 min"),
        (0, "0 ms"),
    ],
)
def test_seconds(number: float, text: str) -> None:
    """Milliseconds, seconds, minutes, hours; rounding never gives 60 s or 1e+03 ms."""
    assert seconds_text(number) == text


@given(st.floats(0, 1e7))
def test_seconds_have_no_exponent(number: float) -> None:
    """People do not read exponents, and 60 seconds are a minute."""
    if number == 0 or number >= 1e-6:
        text = seconds_text(number)
        assert "e+" not in text
        assert not re.search(r"\b60 (?:s|min)\b", text)


@pytest.mark.parametrize(
    ("cell", "unit", "text"),
    [
        (Missing(Why.UNSUPPORTED, "no sensor"), "bytes", DASH),
        (Missing(Why.FAILED), "", DASH),
        ("Trainium2", "", "Trainium2"),
        ("", "", "none"),
        (0, "errors", "0 errors"),
        (88154, "executions", "88,154 executions"),
        (2**63 + 1, "", "9,223,372,036,854,775,809"),
        (1536, "bytes", "1.5 KiB"),
        (0.5, "ratio", "50 %"),
        (1.57, "percent", "1.57 %"),
        (0.25, "seconds", "250 ms"),
        (2.5, "loads", "2.5 loads"),
    ],
)
def test_cells(cell: Cell, unit: str, text: str) -> None:
    """A missing cell is a dash, never 0; integers are exact."""
    assert cell_text(cell, unit) == text


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """Two blanks between columns, numbers to the right, no blanks at the end of a line."""
    assert table(["Device", "Util"], [["0", "9 %"], ["15", "100 %"]], [False, True]) == (
        "Device   Util\n0         9 %\n15      100 %"
    )


def test_a_table_without_rows_is_its_heading() -> None:
    """No devices still say what would stand there."""
    assert table(["Device", "Util"], []) == "Device  Util"


def test_a_reason_has_one_letter() -> None:
    """Cells that are missing for one reason share a mark and a line."""
    notes = Footnotes()
    old, denied = Missing(Why.UNSUPPORTED, "driver 2.24.7"), Missing(Why.DENIED)
    assert [notes.mark(cell) for cell in (old, denied, old)] == ["—a", "—b", "—a"]
    assert notes.lines() == ["—a  unsupported: driver 2.24.7", "—b  denied"]


def test_letters_never_run_out() -> None:
    """A thousand reasons have a thousand marks of letters only."""
    notes = Footnotes()
    marks = [notes.mark(Missing(Why.FAILED, str(number))) for number in range(1000)]
    assert len(set(marks)) == 1000
    assert all(re.fullmatch(f"{DASH}[a-z]+", mark) for mark in marks)
    assert (marks[25], marks[26], marks[701], marks[702]) == ("—z", "—aa", "—zz", "—aaa")
