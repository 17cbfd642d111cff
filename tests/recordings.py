"""Recordings of simulated hosts, made by the real reader and loop on a clock moved by hand."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.checks.judging import judge_by
from neuron_observer.clock import ManualClock
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.recording import encoding
from neuron_observer.recording.tape import HostTape
from neuron_observer.recording.writer import RecordingFile, header_row
from neuron_observer.rules.loader import load as load_rules
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.tapped import tapped

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.checks.judging import Judge
    from neuron_observer.model import Batch, Frame
    from neuron_observer.sources.hostfs import HostFs

INSTANCE = "trn2.3xlarge"  # one device: all that a recording is about, at a sixteenth of the cost
rules = lru_cache(load_rules)


def make_judge(one_shot: bool = False) -> Judge:  # noqa: FBT002 - a port
    """The judge by the shipped rules."""
    return judge_by(rules(), one_shot=one_shot)


class Stand(NamedTuple):
    """A simulated host, its clock and what reads it."""

    loop: Loop
    clock: ManualClock
    judge: Judge

    def run(self, seconds: float) -> list[Frame]:
        """Tick for so long, at the daemon's own lanes; the frames."""
        end, frames = self.clock.monotonic() + seconds, []
        while self.clock.monotonic() < end:
            frame = self.loop.tick()
            frames += [frame] if frame else []
            self.clock.advance(self.loop.schedule.until_next(self.clock.monotonic()))
        return frames


def simulated(scenario: str, clock: ManualClock, begin: float | None = None) -> HostFs:
    """A host with one device that plays a scenario."""
    return simulate(load(scenario, instance=INSTANCE), clock, begin=begin)


def stand(host: HostFs, clock: ManualClock, **options: Any) -> Stand:
    """A loop over a host, as a daemon makes it."""
    judge = make_judge()
    reader = HostReader(host, clock, Options(wait_for_firmware=False, kernel_log=True, **options))
    return Stand(Loop(reader, judge=judge, explain=judge.explain), clock, judge)


def record(
    file: Path, scenario: str, seconds: float, *, begin: float | None = None, **more: Any
) -> list[Frame]:
    """Record a scenario into a file; the frames that were made meanwhile."""
    clock = ManualClock()
    with file.open("wb") as out:
        writing = RecordingFile(str(file), out)
        tape = HostTape(writing.take, **more)
        made = stand(tapped(simulated(scenario, clock, begin), tape), clock)
        head = header_row(made.loop.reader)
        writing.write(b"".join([encoding.packed([head]), *tape.base()]))
        frames = made.run(seconds)
        tape.flush()
        made.loop.close()
    return frames


def read_of(frame: Frame) -> dict[tuple[str, str, int | None], tuple[Any, ...]]:
    """All that was read in a frame, with the times; not what a program says of itself."""
    return {
        _name(one): (one.layout.columns, one.cells, one.read_at, one.seconds)
        for one in frame.snapshot.batches
        if one.collector not in ("own", "loop")
    }


def _name(batch: Batch) -> tuple[str, str, int | None]:
    return batch.collector, batch.lane, batch.device
