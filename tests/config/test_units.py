"""Durations, sizes and shares: one spelling, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.config import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("10s", 10.0), ("0.25s", 0.25), ("1.5h", 5400.0), ("5m", 300.0), ("0s", 0.0)],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    """Whole milliseconds, in any unit."""
    assert units.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [("8MB", 8_000_000), ("8MiB", 8 * 2**20), ("16KiB", 16_384), ("1.5kB", 1500), ("7B", 7)],
)
def test_a_size_is_bytes(text: str, number: int) -> None:
    """Powers of ten and of two are told apart."""
    assert units.size(text) == number


def test_a_share_is_a_ratio() -> None:
    """Per cent."""
    assert (units.share("5%"), units.share("0.1%"), units.share("100%")) == (0.05, 0.001, 1.0)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("10", "10s"),
        ("5min", "5m"),
        ("10S", "'s'"),
        ("10 s", "10s"),
        ("-1s", "10s"),
        ("1e3s", "10s"),
        ("1h30m", "10s"),
        ("0.0001s", "500ms"),
        ("", "10s"),
        ("s", "10s"),
        ("١٠s", "10s"),  # noqa: RUF001 - digits of another script are none
        ("10s\n", "10s"),
        ("inf", "10s"),
        ("9" * 16 + "s", "10s"),
    ],
)
def test_what_is_no_duration(text: str, remedy: str) -> None:
    """The remedy shows how it is written."""
    with pytest.raises(units.UnitError) as raised:
        units.duration(text)
    assert remedy in raised.value.remedy


@pytest.mark.parametrize("text", ["8", "8M", "8mb", "8Mb", "0.5B", "8 MB", "8MBB", "0x8MB"])
def test_what_is_no_size(text: str) -> None:
    """A unit that could be two things is none."""
    with pytest.raises(units.UnitError, match=r"not a size|no whole number"):
        units.size(text)


@pytest.mark.parametrize("text", ["5", "0.05", "5 %", "5%%", "five%", "%"])
def test_what_is_no_share(text: str) -> None:
    """A ratio is not taken for a percentage."""
    with pytest.raises(units.UnitError, match="percentage"):
        units.share(text)


@given(st.integers(0, 10**12))
def test_a_duration_comes_back(milliseconds: int) -> None:
    """What is written is read as the same."""
    seconds = milliseconds / 1000
    assert units.duration(units.duration_text(seconds)) == seconds


@given(st.integers(0, 10**14))
def test_a_size_comes_back(number: int) -> None:
    """To the byte."""
    assert units.size(units.size_text(number)) == number


@given(st.decimals(0, 100, places=4))
def test_a_share_comes_back(percent: object) -> None:
    """To a ten-thousandth of a percent."""
    ratio = units.share(f"{percent}%")
    assert units.share(units.share_text(ratio)) == ratio


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_a_unit_error(text: str) -> None:
    """Nothing else comes out."""
    for read in (units.duration, units.size, units.share):
        try:
            assert read(text) >= 0
        except units.UnitError as error:
            assert error.remedy  # noqa: PT017 - either outcome is right
