"""Lists of numbers: what is read, and what is said of a wrong one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.checks.numbers import listed
from neuron_observer.errors import UsageError
from neuron_observer.jobs.ownership import ranges


@given(st.sets(st.integers(0, 200), min_size=1))
def test_a_list_reads_back(numbers: set[int]) -> None:
    """What is written as ranges is read as the same numbers."""
    assert listed(ranges(sorted(numbers)), "--devices") == tuple(sorted(numbers))


@pytest.mark.parametrize("text", ["", "a", "3-1x", "1,,2", "-1", "1.5", "5000,x"])
def test_no_list(text: str) -> None:
    """Anything else is a usage error that says how to write it."""
    with pytest.raises(UsageError, match="no list of numbers") as error:
        listed(text, "--devices")
    assert "0,3-5" in error.value.remedy
    assert error.value.exit_code == 64


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("4096", "no node has so many; the highest number is 4095"),
        ("0-4096", "no node has so many; the highest number is 4095"),
        ("0,99999999", "no node has so many; the highest number is 4095"),
        ("7-4", "7-4 goes down; a range goes from the lower number to the higher"),
        ("0,10-9", "10-9 goes down; a range goes from the lower number to the higher"),
        ("9000-5", "9000-5 goes down; a range goes from the lower number to the higher"),
    ],
)
def test_a_list_that_cannot_be_meant(text: str, why: str) -> None:
    """It is a list of numbers: what is wrong with them is said."""
    with pytest.raises(UsageError) as error:
        listed(text, "--cores")
    assert error.value.message == f"--cores {text}: {why}"


def test_the_highest_number() -> None:
    """The counterpart: it is read."""
    assert listed("4095", "--cores") == (4095,)
