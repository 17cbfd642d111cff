"""Heartbeat files: every byte of version 1, and whatever else may stand in such a file."""

from __future__ import annotations

import os
from math import isnan, nan
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer import hook
from neuron_observer.parsers import heartbeat as parse
from tests.heartbeats import BOOT, Record, file_of

STEP = Record(3, 10.0, 10.5, 0.2, 0.01, 0.05, 4096.0, 12)


def test_every_field_of_the_header() -> None:
    """All that a busy rank tells, by name."""
    raw = file_of(
        [STEP],
        rank=5,
        local=1,
        restarts=2,
        flags=31,
        source=2,
        entered=9,
        completed=8,
        inside_since=10.25,
        code=77,
        step_began=10.1,
        input_since=10.2,
        phase_since=3.5,
        pauses=4,
        role="stage-1",
        replica="dp-0",
        run="llm",
    )
    head = parse.head(raw)
    assert isinstance(head, parse.Head)
    assert (head.pid, head.uid, head.ticks, head.boot) == (4242, 1000, 5000, BOOT.hex())
    assert (head.rank, head.world_size, head.local_rank, head.restarts) == (5, 8, 1, 2)
    assert (head.phase, head.source, head.steps) == ("training", "event", 4)
    flags = (head.loader, head.collectives, head.tokens, head.async_handles, head.compiled)
    assert flags == (True,) * 5
    assert (head.at, head.wall, head.entered, head.completed) == (100.0, 1.79e9, 9, 8)
    assert (head.inside_since, head.operation, head.operation_code) == (10.25, "all_reduce", 77)
    assert (head.step_began, head.input_since, head.phase_since) == (10.1, 10.2, 3.5)
    assert (head.pauses, head.role, head.replica, head.run) == (4, "stage-1", "dp-0", "llm")


def test_what_is_not_known_is_none() -> None:
    """-1, 0 and empty text are nobody's rank, no world and no label."""
    head = parse.head(file_of(rank=-1, world=0, local=-1, restarts=-1, flags=0))
    assert isinstance(head, parse.Head)
    known = (head.rank, head.world_size, head.local_rank, head.restarts, head.role, head.run)
    assert known == (None,) * 6
    assert (head.inside_since, head.input_since, head.operation_code) == (None, None, None)
    assert (head.loader, head.collectives, head.async_handles) == (False,) * 3


def test_steps_are_those_that_the_ring_holds() -> None:
    """The last 256 in order; what was read before is not read again."""
    raw = file_of([Record(k, float(k), k + 0.5) for k in range(600)])
    head = parse.head(raw)
    assert isinstance(head, parse.Head)
    assert [step.number for step in parse.steps(raw, head)] == list(range(344, 600))
    assert [step.number for step in parse.steps(raw, head, 598)] == [598, 599]
    assert parse.steps(raw, head, 600) == []


def test_steps_of_which_the_device_told_are_found_by_their_source() -> None:
    """Between two numbers, of those that the ring still holds."""
    raw = file_of(
        [Record(k, float(k), k + 0.5, 0.2, source=2 * (k % 10 == 0)) for k in range(300)], source=2
    )
    head = parse.head(raw)
    assert isinstance(head, parse.Head)
    assert [step.number for step in parse.told(raw, head, 270, 290)] == [270, 280]
    assert [step.number for step in parse.told(raw, head, 0, 61)] == [50, 60]
    assert [step.number for step in parse.told(raw, head, 281, 900)] == [290]
    assert parse.told(raw, head, 290, 290) == []


def test_a_step_says_what_it_says() -> None:
    """Times, counts, flags; NaN stays NaN."""
    raw = file_of([STEP, Record(4, 11.0, 12.0, flags=6, source=0)])
    head = parse.head(raw)
    assert isinstance(head, parse.Head)
    one, other = parse.steps(raw, head, 3)
    assert one[:8] == (3, 10.0, 10.5, 0.2, 0.01, 0.05, 4096.0, 12)
    assert (one.pause, one.async_handles, one.source) == (False, False, "blocking")
    assert isnan(other.collectives)
    assert isnan(other.tokens)
    assert (other.compiled, other.pause, other.async_handles, other.source) == (
        False,
        True,
        True,
        "none",
    )


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "cut off: 0 bytes"),
        (file_of()[:500], "cut off: 500 of 17408 bytes"),
        (file_of()[:-1], "cut off: 17407 of 17408 bytes"),
        (b"\x7fELF" + bytes(17404), "no heartbeat file"),
        (file_of(version=2), "heartbeat of version 2, this reads 1"),
        (file_of(generation=3), "torn: it was being written"),
        (file_of(at=nan), "the time of its last write is no number"),
        (file_of(pid=0), "pid 0, phase 2, source 1: not what version 1 has"),
    ],
)
def test_what_is_no_heartbeat_says_why(raw: bytes, why: str) -> None:
    """A reason in words instead of a value."""
    assert parse.head(raw) == why


@pytest.mark.parametrize(
    "record",
    [
        STEP._replace(end=9.0),
        STEP._replace(begin=nan),
        STEP._replace(end=float("inf")),
        STEP._replace(source=9),
        STEP._replace(number=3 + 256),
    ],
)
def test_a_record_that_cannot_be_is_left_out(record: Record) -> None:
    """Time that runs backwards, no time at all, another step in the slot."""
    raw = file_of([record], steps=4)
    head = parse.head(raw)
    assert isinstance(head, parse.Head)
    assert parse.steps(raw, head, 3) == []


def test_more_time_in_collectives_than_in_the_step_is_not_known() -> None:
    """Overlapping handles add up to more than the step: no busy time follows from that."""
    raw = file_of([STEP._replace(collectives=0.9, input=-1.0)])
    head = parse.head(raw)
    assert isinstance(head, parse.Head)
    (step,) = parse.steps(raw, head, 3)
    assert isnan(step.collectives)
    assert isnan(step.input)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 17_407))
def test_any_bytes_give_a_value_or_a_reason(noise: bytes, at: int) -> None:
    """Noise over a sound file, and noise alone: never an exception, never control characters."""
    sound = file_of([Record(k, float(k), k + 0.5, 0.1) for k in range(5)], role="a\x1b[2J")
    for raw in (noise, (sound[:at] + noise + sound[at + len(noise) :])[: parse.SIZE]):
        head = parse.head(raw)
        if isinstance(head, str):
            assert head.isprintable()
            continue
        for text in (head.operation, head.role, head.replica, head.run):
            assert text is None or text.isprintable()
        for step in (*parse.steps(raw, head), *parse.told(raw, head, 0, head.steps)):
            assert step.end >= step.begin
            assert isnan(step.collectives) or step.collectives >= 0


def test_what_the_hook_writes_is_what_is_read(tmp_path: Path) -> None:
    """The real writer, by hand: identity, phases, collectives, steps, the standing wait."""
    recorder = hook.Recorder(role="stage-1", replica="dp-0", folder=str(tmp_path))
    mark = hook.stamp("all_reduce", "float32[4]")
    try:
        for tokens in range(3):
            recorder.given(recorder.ask())
            recorder.leave(recorder.enter(mark))
            recorder.add_tokens(100.0 + tokens)
            recorder.finish()
        recorder.turn(hook.CHECKPOINT)
        recorder.resume()
        recorder.finish()
        recorder.enter(mark)
        (file,) = tmp_path.iterdir()
        raw = file.read_bytes()
    finally:
        recorder.close(ended=True)
    head = parse.head(raw)
    assert isinstance(head, parse.Head)
    assert file.name == f"rank-{head.pid}-{head.ticks}.hb"
    assert (head.pid, head.uid) == (os.getpid(), os.geteuid())
    assert head.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    assert (head.role, head.replica, head.phase) == ("stage-1", "dp-0", "training")
    assert (head.steps, head.entered, head.completed, head.pauses) == (4, 4, 3, 1)
    assert (head.operation, head.operation_code) == (
        "all_reduce",
        hook.fnv1a(b"all_reduce float32[4]"),
    )
    assert head.inside_since is not None
    assert head.tokens
    steps = parse.steps(raw, head)
    assert [step.number for step in steps] == [0, 1, 2, 3]
    assert [step.tokens for step in steps[:3]] == [100.0, 101.0, 102.0]
    assert [step.calls for step in steps] == [1, 1, 1, 0]
    assert [step.pause for step in steps] == [False, False, False, True]
    for step in steps[:3]:
        assert (step.source, step.async_handles) == ("blocking", False)
        assert 0 <= step.shortest <= step.collectives <= step.end - step.begin
        assert 0 <= step.input <= step.end - step.begin
    assert isnan(steps[3].collectives)  # nobody saw one in it
    assert not list(tmp_path.iterdir())  # one that ends well takes its file along
