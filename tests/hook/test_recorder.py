"""Whatever happens in whatever order, a reader sees what was true at one instant."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from math import isfinite
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer import hook
from tests.hook.reading import SIZE, Heartbeat, heartbeat

ACTS = ("collective", "failed", "cut", "async", "data", "tokens", "pause", "eval", "step", "gone")


def _act(recorder: hook.Recorder, act: str) -> None:
    mark = hook.stamp("all_reduce", "4 8")
    if act == "collective":
        recorder.leave(recorder.enter(mark))
    elif act == "failed":
        recorder.enter(mark)
        recorder.abandon()
    elif act == "cut":  # a signal, between two writes
        recorder.open()
        recorder.words[2] = recorder.generation + 1
    elif act == "async":
        recorder.uncertain()
    elif act == "data":
        recorder.given(recorder.ask())
    elif act == "tokens":
        recorder.add_tokens(8)
    elif act == "pause":
        recorder.turn(hook.CHECKPOINT)
        recorder.resume()
    elif act == "eval":
        recorder.pause(hook.EVALUATION)
    elif act == "gone" and recorder.file is not None and recorder.renewals < 4:
        Path(recorder.file.path).unlink(missing_ok=True)
        recorder._check()
    else:
        recorder.finish()


def _holds(seen: Heartbeat) -> None:
    assert seen.completed <= seen.entered
    assert seen.steps == 0 or seen.records[-1].number == seen.steps - 1
    for step in seen.records:
        assert step.begin <= step.end
        assert (step.source == hook.BLOCKING) == isfinite(step.collectives)
        assert step.source == hook.NONE or not step.flags & hook.IN_ASYNC
        assert step.source == hook.NONE or 0 <= step.shortest <= step.collectives
    numbers = [step.number for step in seen.records]
    assert numbers == list(range(max(seen.steps - 256, 0), seen.steps))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(ACTS), max_size=30))
def test_any_sequence_leaves_a_consistent_file(acts: list[str]) -> None:
    """Steps, collectives that fail, signals between two writes, a file that is removed."""
    folder = tempfile.mkdtemp()
    recorder = hook.Recorder(folder=folder)
    steps = collectives = 0
    try:
        recorder.open()
        for act in acts:
            _act(recorder, act)
            steps += act == "step"
            collectives += act in {"collective", "failed"}
        assert recorder.file is not None
        recorder.turn(hook.CHECKPOINT)  # whatever was cut short is whole after the next write
        seen = heartbeat(bytes(recorder.file.map))
        assert seen.generation % 2 == 0
        assert (seen.steps, seen.entered) == (steps, collectives)
        _holds(seen)
    finally:
        recorder.close(ended=True)
        shutil.rmtree(folder)


WRITER = """
import sys
from neuron_observer import hook
recorder = hook.Recorder(folder=sys.argv[1])
for number in range(20_000):
    recorder.leave(recorder.enter(hook.stamp("all_reduce", "4 8")))
    recorder.add_tokens(number)  # every number of a step is the step's own
    recorder.finish()
recorder.close(ended=False)
"""


def _read(fd: int) -> Heartbeat | None:
    """As the daemon does: the bytes between two equal, even generations."""
    raw = os.pread(fd, SIZE, 0)
    again = os.pread(fd, 24, 0)
    even = raw[16] % 2 == 0 and raw[:8] == b"NOBSRANK"
    return heartbeat(raw) if even and raw[16:24] == again[16:24] else None


def test_a_reader_beside_the_writer_sees_whole_records_only(tmp_path: Path) -> None:
    """20,000 steps are written as fast as can be while another process reads them."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)]) as writer:
        while not (files := list(tmp_path.glob("rank-*.hb"))):
            assert writer.poll() is None
        fd = os.open(files[0], os.O_RDONLY)
        whole = last = 0
        ended = False
        while not ended:
            ended = writer.poll() is not None
            seen = _read(fd)
            if seen is None:
                continue
            whole += 1
            _holds(seen)
            assert seen.entered - seen.completed == (seen.since > 0)
            assert all(step.tokens == step.number for step in seen.records)
            assert seen.steps >= last
            last = seen.steps
        os.close(fd)
    assert whole > 10
    assert last == 20_000
