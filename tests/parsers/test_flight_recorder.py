"""Dumps of PyTorch's flight recorder: real ones, and what else may stand in such a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.parsers.flight_recorder import MOST_ENTRIES, Group, groups

DUMPS = Path(__file__).parent / "flight_recorder"


def dump(rank: int) -> bytes:
    """What torch wrote."""
    return (DUMPS / f"rank{rank}.json").read_bytes()


@pytest.mark.parametrize(("rank", "enqueued"), [(0, 8), (1, 7), (2, 8)])
def test_who_did_not_come_to_the_eighth_collective(rank: int, enqueued: int) -> None:
    """Three ranks with gloo, rank 1 stays away: all completed seven."""
    assert groups(dump(rank)) == {"0": Group(enqueued, 7, "gloo:all_reduce [[4]] ['Float']")}


def test_a_dump_that_was_shortened_says_the_same() -> None:
    """The hook writes the last entries where all are too long."""
    document = json.loads(dump(0))
    document["entries"] = document["entries"][-1:]
    assert groups(json.dumps(document).encode()) == groups(dump(0))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "no pg_status"),
        (b"{}", "no pg_status"),
        (dump(0)[:-60], "cut off"),
        (b'{"pg_status": {}}', "without a process group"),
        (b'{"pg_status": {"0": 3, "1": {"last_enqueued_collective": "x"}}}', "without a process"),
        (b'{"pg_status":' + b"[" * 100_000, "cut off"),
        (b'{"pg_status":' + b'{"a":' * 20_000, "cut off"),
        (b'{"pg_status": {"0": {"last_enqueued_collective": ' + b"9" * 5000 + b"}}}", "cut off"),
    ],
)
def test_what_is_no_dump_says_why(raw: bytes, why: str) -> None:
    """Cut off, empty, of another program, or made to hurt."""
    found = groups(raw)
    assert isinstance(found, str)
    assert why in found


def test_many_entries_are_not_all_read() -> None:
    """A group whose last entry lies too far back has no operation, and its counts all the same."""
    document = json.loads(dump(0))
    entry = document["entries"][0]
    other = {**entry, "process_group": ["1", "dp"]}
    document["entries"] = [other, *[entry] * (MOST_ENTRIES + 1)]
    document["pg_status"]["1"] = {
        "last_completed_collective": "-1",
        "last_enqueued_collective": 4,
        "last_started_collective": "-1",
    }
    found = groups(json.dumps(document).encode())
    assert isinstance(found, dict)
    assert found["1"] == Group(4, 0, "")


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 3900))
def test_any_bytes_give_groups_or_a_reason(noise: bytes, at: int) -> None:
    """Noise within a real dump."""
    found = groups(dump(0)[:at] + noise + dump(0)[at:])
    if isinstance(found, str):
        assert found
    else:
        assert all(group.operation.isprintable() for group in found.values())
