"""Whatever happens in whatever order, a reader sees what was true at one instant."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer import hook
from tests.hook.reading import SIZE, Heartbeat, heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = hook.stamp("all_reduce", "4 8")


def _fail(recorder: hook.Recorder) -> None:
    recorder.enter(MARK)
    recorder.abandon()


def _cut(recorder: hook.Recorder) -> None:
    """A signal, between two writes."""
    recorder.words[2] = recorder.generation + 1


def _pause(recorder: hook.Recorder) -> None:
    recorder.turn(hook.CHECKPOINT)
    recorder.resume()


def _remove(recorder: hook.Recorder) -> None:
    if recorder.file is not None and recorder.renewals < 4:
        Path(recorder.file.path).unlink(missing_ok=True)
        recorder._check()


ACTS: dict[str, Callable[[hook.Recorder], object]] = {
    "collective": lambda recorder: recorder.leave(recorder.enter(MARK)),
    "failed": _fail,
    "cut": _cut,
    "async": hook.Recorder.uncertain,
    "data": lambda recorder: recorder.given(recorder.ask()),
    "tokens": lambda recorder: recorder.add_tokens(8),
    "pause": _pause,
    "eval": lambda recorder: recorder.pause(hook.EVALUATION),
    "step": hook.Recorder.finish,
    "gone": _remove,
}


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
@given(st.lists(st.sampled_from(sorted(ACTS)), max_size=30))
def test_any_sequence_leaves_a_consistent_file(acts: list[str]) -> None:
    """Steps, collectives that fail, signals between two writes, a file that is removed."""
    folder = tempfile.mkdtemp()
    recorder = hook.Recorder(folder=folder)
    steps = collectives = 0
    try:
        recorder.open()
        for act in acts:
            ACTS[act](recorder)
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
import os, sys
from neuron_observer import hook
recorder = hook.Recorder(folder=sys.argv[1])
for number in range(1_000_000):  # some seconds, if nobody ends it before
    if number % 100 == 0 and os.path.exists(sys.argv[1] + "/enough"):
        break
    recorder.leave(recorder.enter(hook.stamp("all_reduce", "4 8")))
    recorder.add_tokens(number)  # every number of a step is the step's own
    recorder.finish()
print(recorder.steps)
recorder.close(ended=False)
"""


def _read(fd: int) -> Heartbeat | None:
    """As the daemon does: the bytes between two equal, even generations."""
    raw = os.pread(fd, SIZE, 0)
    again = os.pread(fd, 24, 0)
    even = raw[16] % 2 == 0 and raw[:8] == b"NOBSRANK"
    return heartbeat(raw) if even and raw[16:24] == again[16:24] else None


def test_a_reader_beside_the_writer_sees_whole_records_only(tmp_path: Path) -> None:
    """Steps are written as fast as can be while another process reads them."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        while not (files := list(tmp_path.glob("rank-*.hb"))):
            assert writer.poll() is None
        fd = os.open(files[0], os.O_RDONLY)
        whole = last = 0
        while whole < 200:
            seen = _read(fd)
            if seen is None:
                continue
            whole += 1
            _holds(seen)
            assert seen.entered - seen.completed in {0, 1}
            assert seen.entered == 0 or seen.since > 0  # the time is written first
            assert all(step.tokens == step.number for step in seen.records)
            assert seen.steps >= last
            last = seen.steps
        (tmp_path / "enough").touch()
        assert writer.stdout is not None
        steps = int(writer.stdout.read())
    at_rest = _read(fd)
    os.close(fd)
    assert at_rest is not None
    assert at_rest.steps == steps >= last
