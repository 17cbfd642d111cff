"""A frame comes out of its columns as it went in, and what was not read again is the same batch."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer import contract
from neuron_observer.client.columns import Columns
from neuron_observer.daemon.columns import columns
from neuron_observer.daemon.standing import Aged, Standing
from neuron_observer.errors import DaemonError
from neuron_observer.model import Place, Value
from neuron_observer.readings import reading
from tests.client.test_frames import frames
from tests.daemon.daemons import Simulated, faulty

if TYPE_CHECKING:
    from neuron_observer.model import Frame

METRIC = "core.inferences"


def told(standing: Standing, frame: Frame | None, layouts: str | None = None) -> dict[str, Any]:
    """The document of a frame, as a client gets it."""
    assert frame
    document = columns(standing, Aged(frame, 0.0, 3.0), {"layouts": layouts})
    found: dict[str, Any] = json.loads(json.dumps(document))
    return found


@pytest.fixture(name="standing")
def made_standing() -> Standing:
    """Of a daemon; what it stands on is not asked."""
    return faulty().answers._standing


def in_full(frame: Frame) -> dict[str, Any]:
    """Everything of a frame, with numbers as JSON has them."""
    found: dict[str, Any] = json.loads(json.dumps(contract.snapshot_document(frame)))
    return found


@settings(max_examples=40)
@given(frames())
def test_there_and_back(made: Frame) -> None:
    """Frame → columns → frame: the snapshot documents of both are the same."""
    rebuilt = Columns().frame(told(faulty().answers._standing, made), made.snapshot.monotonic)
    assert in_full(rebuilt) == in_full(made)
    assert rebuilt.findings == made.findings


@settings(max_examples=20)
@given(st.lists(frames(), min_size=2, max_size=4))
def test_layouts_are_told_once(made: list[Frame]) -> None:
    """Whatever comes after what: only layouts that the client does not have are told."""
    standing, client = faulty().answers._standing, Columns()
    for frame in made:
        for again in range(2):
            document = told(standing, frame, client.id)
            assert not again or document["layouts"] is None
            rebuilt = client.frame(document, frame.snapshot.monotonic)
            assert in_full(rebuilt) == in_full(frame)


def test_what_was_not_read_again_is_the_same_batch() -> None:
    """From poll to poll of a real loop; what was read again has its new time."""
    made, client = Simulated(), Columns()
    ask = partial(told, made.answers._standing)
    before = client.frame(ask(made.loop.feed.latest()), 100.0)
    made.go(0.25)  # the fast lane only
    after = client.frame(ask(made.loop.feed.latest(), client.id), 100.25)
    kept = [a is b for a, b in zip(before.snapshot.batches, after.snapshot.batches, strict=True)]
    assert any(kept)
    assert not all(kept)
    made.go(0.75)
    last = client.frame(ask(made.loop.feed.latest(), client.id), 101.0)
    found = reading(last.snapshot.batches, METRIC, Place(0, 0))
    assert isinstance(found, Value)
    assert 100.25 < found.read_time <= 101.0
    assert last.snapshot.devices is before.snapshot.devices
    made.close()


@pytest.mark.parametrize("name", ["devices", "batches", "layouts", "driver", "health", "runs"])
@pytest.mark.parametrize("value", [7, "x", [7], {"x": 1}, [{"x": [[1]]}]])
def test_a_document_that_is_none(standing: Standing, name: str, value: object) -> None:
    """An error of the daemon's in one line, whatever stands there."""
    frame = standing.feed.latest()
    document = {**told(standing, frame), name: value}
    with pytest.raises(DaemonError, match="cannot be understood"):
        Columns().frame(document, 0.0)


@pytest.mark.parametrize("cell", [None, True, {}, [], ["failed"], ["what", ""]])
def test_a_cell_that_is_none(standing: Standing, cell: object) -> None:
    """Nothing is made up of it."""
    frame = standing.feed.latest()
    document = told(standing, frame)
    document["batches"][0]["cells"][0] = cell
    with pytest.raises(DaemonError, match="cannot be understood"):
        Columns().frame(document, 0.0)


def test_layouts_that_nobody_told(standing: Standing) -> None:
    """They are asked for, not guessed."""
    frame = standing.feed.latest()
    known = told(standing, frame)["layouts_id"]
    with pytest.raises(DaemonError, match="layouts that nobody told"):
        Columns().frame(told(standing, frame, known), 0.0)
