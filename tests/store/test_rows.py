"""Findings, events and what is kept: as columns and back, nothing lost."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import (
    Action,
    Confidence,
    Entity,
    Event,
    Evidence,
    Finding,
    Place,
    Severity,
    State,
)
from neuron_observer.rules.lifecycle import Life
from neuron_observer.rules.memory import Kept, Mark, Word
from neuron_observer.store import rows

numbers = st.integers(-(2**53), 2**53)
times = st.floats(0, 4e9)
texts = st.text(max_size=12)
scalars = st.one_of(numbers, st.floats(allow_nan=False, allow_infinity=False), texts)
places = st.builds(Place, st.none() | st.integers(0, 63), st.none() | st.integers(0, 7), texts)
words = st.builds(Word, texts, times, texts)
evidence = st.builds(
    Evidence,
    st.sampled_from(["register", "kernel_line"]),
    st.sampled_from(["hardware", "hearsay"]),
    texts,
    st.none() | scalars,
    st.none() | scalars,
    st.none() | times,
    fields=st.dictionaries(texts, scalars, max_size=2),
)
findings = st.builds(
    Finding,
    texts,
    st.builds(Entity, st.just("core"), device=st.integers(0, 63), serial=st.none() | texts),
    st.sampled_from(Severity),
    st.sampled_from(Confidence),
    st.sampled_from(Action),
    texts,
    st.sampled_from(State),
    st.none() | st.sampled_from(Action),
    st.lists(texts, max_size=2).map(tuple),
    evidence=st.lists(evidence, max_size=2).map(tuple),
    first_seen=st.none() | times,
    last_seen=st.none() | times,
    note=texts,
)
lives = st.builds(Life, st.sampled_from(State), st.none(), times, times, st.booleans())
kept = st.builds(
    Kept,
    lives,
    st.booleans(),
    st.booleans(),
    st.none() | times,
    st.none() | words,
    st.none() | findings,
)
events = st.builds(Event, texts, places, times, texts, st.dictionaries(texts, scalars, max_size=3))


@settings(max_examples=60)
@given(findings)
def test_a_finding_comes_back(finding: Finding) -> None:
    """All its fields, with their types."""
    assert rows.finding_of(rows.finding_text(finding)) == finding


@settings(max_examples=60)
@given(kept)
def test_what_is_kept_comes_back(one: Kept) -> None:
    """Life, words and the finding as it was told."""
    assert rows.kept_of(one.life.first_seen, rows.kept_columns(one)) == one


@settings(max_examples=60)
@given(events)
def test_an_event_comes_back(event: Event) -> None:
    """With its place and its fields."""
    assert rows.event_of(rows.event_columns(event, {})) == event


def test_a_long_message_is_cut() -> None:
    """A line of the kernel log may have 8 KiB."""
    event = Event("line", Place(), 1.0, "x" * 8192)
    assert len(rows.event_of(rows.event_columns(event, {})).message) == rows.MOST_TEXT


def test_a_field_of_a_later_version_is_left_out() -> None:
    """A later version adds fields within a schema number."""
    finding = Finding(
        *("id", Entity("node"), Severity.INFO, Confidence.PROBABLE, Action.NONE, "message")
    )
    later = json.loads(rows.finding_text(finding)) | {"colour": "red"}
    later["entity"] |= {"rack": 7}
    assert rows.finding_of(json.dumps(later)) == finding


def test_the_mark_of_a_finding_goes_by_the_serial_number() -> None:
    """By the key of the index where there is none, and by nothing on the node."""
    core = Entity("core", device=3, core=1, serial="abc")
    finding = Finding("id", core, Severity.INFO, Confidence.PROBABLE, Action.NONE, "message")
    assert rows.mark_of(finding, {3: "other"}) == Mark("id", "abc", Place(None, 1))
    nameless = finding._replace(entity=core._replace(serial=None))
    assert rows.mark_of(nameless, {3: "i-1/3"}).key == "i-1/3"
    assert rows.mark_of(finding._replace(entity=Entity("node")), {}).key == ""
