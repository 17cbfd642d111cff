"""A frame comes out of its document as it went in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer import contract
from neuron_observer.client.batches import Batches
from neuron_observer.client.frames import finding, frame
from neuron_observer.derive import make_batch
from neuron_observer.errors import DaemonError
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Core,
    Coverage,
    Device,
    DeviceHealth,
    Driver,
    Entity,
    Event,
    Evidence,
    Finding,
    Frame,
    Gap,
    Health,
    Missing,
    PartHealth,
    Place,
    Run,
    Severity,
    Snapshot,
    State,
    Value,
    Verdict,
    Why,
)
from neuron_observer.observer import HostReader
from neuron_observer.readings import reading
from tests.daemon.daemons import faulty
from tests.hosts import overlay

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import ManualClock
    from neuron_observer.model import Batch
    from neuron_observer.sources.listing import ListingFs

WORDS = st.text(max_size=8)
# milliseconds are what a document keeps of a time
WALLS = st.none() | st.integers(0, 4_102_444_800_000).map(lambda number: number / 1000)
SCALARS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
CELLS = SCALARS | st.builds(Missing, st.sampled_from(Why), WORDS)
INDEXES = st.integers(0, 3)
ENTITIES = st.builds(
    Entity,
    st.sampled_from(["node", "device", "core", "link", "port", "job", "rank"]),
    device=st.none() | INDEXES,
    serial=st.none() | WORDS,
)
FIELDS = st.dictionaries(st.sampled_from(["ratio", "first_step"]), SCALARS, max_size=2)
EVIDENCE = st.builds(
    Evidence, st.just("counter"), st.just("hardware"), WORDS, SCALARS, at=WALLS, fields=FIELDS
)
FINDINGS = st.builds(
    Finding,
    id=WORDS,
    entity=ENTITIES,
    severity=st.sampled_from(Severity),
    confidence=st.sampled_from(Confidence),
    action=st.sampled_from(Action),
    message=WORDS,
    state=st.sampled_from(State),
    if_confirmed=st.none() | st.sampled_from(Action),
    confirm_by=st.tuples(WORDS),
    blames_hardware=st.booleans(),
    evidence=st.tuples(EVIDENCE),
    first_seen=WALLS,
    last_seen=WALLS,
    runbook=WORDS,
    shadow=st.booleans(),
    program=st.booleans(),
    impact=WORDS,
    note=WORDS,
)
GAPS = st.builds(Gap, WORDS, WORDS, st.none() | ENTITIES)
HEALTH = st.builds(
    Health,
    st.sampled_from(Verdict),
    WORDS,
    st.builds(
        Coverage,
        INDEXES,
        INDEXES,
        st.tuples(GAPS),
        st.tuples(st.builds(Gap, WORDS, WORDS, st.none())),
    ),
    st.tuples(st.builds(DeviceHealth, INDEXES, st.sampled_from(Verdict), WORDS)),
    st.tuples(st.builds(PartHealth, ENTITIES, st.sampled_from(Verdict), WORDS)),
)
DEVICES = tuple(
    Device(
        index,
        "Trainium2",
        None,
        f"serial {index}",
        f"serial {index}",
        neighbours=(0, 1) if index else None,
        cores=(Core(index, 0), Core(index, 1)),
    )
    for index in range(4)
)
PLACES = st.one_of(
    st.just(NODE),
    INDEXES.map(Place),
    st.tuples(INDEXES, st.integers(0, 1)).map(lambda pair: Place(*pair)),
    st.sampled_from([Place(label="port/1"), Place(2, label="die")]),
)
ROWS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.dictionaries(PLACES, CELLS))
EVENTS = st.builds(Event, WORDS, PLACES, WALLS.map(lambda wall: wall or 0.0), WORDS, FIELDS)

RUNS = st.builds(Run, WORDS, st.booleans(), st.just(0.5), WORDS)


def batch(rows: dict[str, dict[Place, Any]], read_at: float) -> Batch:
    """Rows that were read together."""
    return make_batch("x", {name: list(cells.items()) for name, cells in rows.items()}, read_at)


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    """Any frame of a host of four devices."""
    monotonic = draw(st.floats(1000, 1e7))
    ages = st.floats(-1, 900)
    snapshot = Snapshot(
        draw(WALLS) or 0.0,
        monotonic,
        draw(WORDS),
        draw(st.none() | WORDS),
        Driver(draw(st.none() | WORDS), "live"),
        DEVICES,
        tuple(batch(rows, monotonic - draw(ages)) for rows in draw(st.lists(ROWS, max_size=3))),
        tuple(draw(st.lists(EVENTS, max_size=2))),
        tuple(
            draw(st.lists(st.builds(Run, WORDS, st.booleans(), st.just(0.5), WORDS), max_size=2))
        ),
    )
    return Frame(snapshot, tuple(draw(st.lists(FINDINGS, max_size=2))), draw(HEALTH))


def documented(of: Frame) -> dict[str, Any]:
    """Its document, as a client gets it."""
    found: dict[str, Any] = json.loads(json.dumps(contract.snapshot_document(of)))
    return found


@settings(max_examples=40)
@given(frames(), st.floats(0, 1e7))
def test_there_and_back(made: Frame, monotonic: float) -> None:
    """Frame → document → frame → document: nothing is lost on whatever clock it stands."""
    document = documented(made)
    rebuilt = frame(document, monotonic)
    assert documented(rebuilt) == document
    assert rebuilt.findings == made.findings
    assert rebuilt.health == made.health
    assert rebuilt.snapshot.events == made.snapshot.events


def test_a_real_frame() -> None:
    """Of a simulated host with findings, jobs and events: with its sources too."""
    daemon = faulty()
    for query in ("", "?sources=true"):
        document = daemon.get(f"/api/v1/snapshot{query}")
        told = document.pop("frame")
        rebuilt = frame(document, 5000.0)
        again = contract.snapshot_document(rebuilt, sources=bool(query))
        assert json.loads(json.dumps(again)) == document
        assert told["age"] == 0.0


def test_jobs(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """Ranks, processes, pods, cores and what the map rests on."""
    for name in ("proc/pods", "proc/vllm", "proc/torchrun"):
        reader = HostReader(overlay(tree("trn2.3xlarge-2.30.2-busy"), tree(name)), clock)
        snapshot = reader.poll(("slow", "jobs"))
        made = Frame(snapshot, (), Health(Verdict.UNKNOWN, ""))
        rebuilt = frame(documented(made), 1.0).snapshot
        assert rebuilt.job_scan == snapshot.job_scan
        # a document keeps milliseconds of when a job began
        assert [job._replace(started=None) for job in rebuilt.jobs] == [
            job._replace(started=None) for job in snapshot.jobs
        ]
        assert len(snapshot.jobs) > 0


ROW: dict[str, dict[Place, Any]] = {
    "a": {Place(0): 1, Place(0, 0): 2},
    "b": {Place(0): 3},
    "c": {Place(1): 4},
}


def poll(batches: Batches, *parts: tuple[dict[str, dict[Place, Any]], float]) -> Snapshot:
    """What is made of a document of batches of some ages."""
    made = tuple(batch(rows, 100.0 - age) for rows, age in parts)
    driver = Driver(None, "live")
    snapshot = Snapshot(0.0, 100.0, "/", None, driver, DEVICES, made)
    return frame(
        documented(Frame(snapshot, (), Health(Verdict.UNKNOWN, ""))), 50.0, batches
    ).snapshot


def test_what_is_read_together_stays_together() -> None:
    """The same layouts from poll to poll, so that a history can follow them."""
    batches = Batches()
    first, second = poll(batches, (ROW, 0.5)), poll(batches, (ROW, 0.25))
    assert [one.layout for one in first.batches] == [one.layout for one in second.batches]
    assert all(a.layout is b.layout for a, b in zip(first.batches, second.batches, strict=True))
    assert {one.read_at for one in second.batches} == {49.75}
    assert reading(second.batches, "b", Place(0)) == Value(3, 49.75)


def test_a_group_is_split_when_ages_differ() -> None:
    """What looked like one batch by chance becomes two, each with its own time; never one again."""
    batches = Batches()
    more = {"d": {Place(0): 7}}
    together = poll(batches, (ROW, 0.5), (more, 0.5))
    apart = poll(batches, (ROW, 0.5), (more, 0.75))
    again = poll(batches, (ROW, 0.5), (more, 0.5))
    assert len(together.batches) == 2  # one a device
    assert len(apart.batches) == len(again.batches) == 3
    assert reading(apart.batches, "d", Place(0)) == Value(7, 49.25)
    assert reading(apart.batches, "a", Place(0)) == Value(1, 49.5)


def test_what_is_missing_stays_with_its_group() -> None:
    """A value that cannot be read for a while makes no other layout."""
    batches = Batches()
    first = poll(batches, (ROW, 0.5))
    gone: dict[str, dict[Place, Any]] = {**ROW, "b": {Place(0): Missing(Why.FAILED, "x")}}
    second = poll(batches, (gone, 0.25))
    assert [one.layout for one in first.batches] == [one.layout for one in second.batches]
    assert reading(second.batches, "b", Place(0)) == Missing(Why.FAILED, "x")


@pytest.mark.parametrize("name", ["node", "devices", "others", "findings", "health", "runs"])
@pytest.mark.parametrize("value", [None, 7, "x", [7], {"x": 1}])
def test_a_document_that_is_none(name: str, value: object) -> None:
    """An error of the daemon's in one line, whatever stands there."""
    document = {**faulty().get("/api/v1/snapshot"), name: value}
    with pytest.raises(DaemonError, match="cannot be understood"):
        frame(document, 0.0)


@settings(max_examples=40)
@given(FINDINGS)
def test_a_finding(made: Finding) -> None:
    """Alone, as the stream tells it."""
    assert finding(json.loads(json.dumps(contract.finding(made)))) == made
