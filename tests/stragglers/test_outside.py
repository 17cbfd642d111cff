"""A job without the step hook, by what its devices count and what else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli.jobs import pace_of
from neuron_observer.clock import ManualClock
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.stragglers.hangs import Phase
from neuron_observer.stragglers.outside import Counted, Outside
from neuron_observer.stragglers.ranks import Clocks
from neuron_observer.text import seconds_text
from tests.recordings import make_judge

if TYPE_CHECKING:
    from neuron_observer.model import Frame

LOOK = 4.0  # seconds
KEYS = ((0, 0), (0, 1))


class Node:
    """A job of two cores on a node whose counters a test moves."""

    def __init__(self) -> None:
        self.outside = Outside("driver")
        self.at = 1000.0
        self.now = Counted(dict.fromkeys(KEYS, 0.0), self.at, packets=0.0, written=0.0)

    def run(self, seconds: float, rate: float = 8.0, **rates: float) -> Phase:
        """Execute so often a second; what else moves, and by how much a second."""
        for _ in range(int(seconds / LOOK)):
            self.at += LOOK
            done = {key: count + rate * LOOK for key, count in self.now.done.items()}
            moved = {name: getattr(self.now, name) + by * LOOK for name, by in rates.items()}
            self.now = self.now._replace(done=done, read_at=self.at, **moved)
            self.outside.take(self.now, Clocks(self.at, self.at), compiling=False)
        return self.outside.hang.phase

    def quiet(self) -> float | None:
        """For how long no execution ended, as far as that is told."""
        return self.outside.quiet


ELSE = [{"packets": 5e5}, {"written": 5e8}, {"held": 1e6}, {"loads": 1.0}]


@pytest.mark.parametrize("moves", ELSE, ids=lambda one: next(iter(one)))
def test_who_executes_is_at_work_whatever_else_moves(moves: dict[str, float]) -> None:
    """Collectives are traffic; then it stands still, and that is a hang, within the minute."""
    node = Node()
    assert node.run(300, **moves) is Phase.TRAINING
    assert node.run(56, 0.0) is Phase.TRAINING
    assert node.run(12, 0.0) is Phase.STALLED


@pytest.mark.parametrize("moves", ELSE, ids=lambda one: next(iter(one)))
def test_who_only_sends_writes_or_loads_makes_a_pause(moves: dict[str, float]) -> None:
    """For as long as it does; the minute begins when that ends."""
    node = Node()
    node.run(300, packets=5e5)
    assert node.run(1200, 0.0, **moves) is Phase.PAUSE
    assert node.run(56, 0.0, packets=90.0) is Phase.PAUSE
    assert node.run(12, 0.0, packets=90.0) is Phase.STALLED
    assert node.run(12, packets=5e5) is Phase.TRAINING


def test_how_long_nothing_executed() -> None:
    """Told once it is longer than a sample; neither while it executes nor in a pause."""
    node = Node()
    node.run(300, packets=5e5)
    assert node.quiet() is None
    node.run(12, 0.0)
    assert node.quiet() is None
    node.run(8, 0.0)
    assert node.quiet() == 20
    node.run(60, 0.0, written=5e8)
    assert node.quiet() is None
    node.run(60, 0.0)
    node.run(4)
    assert node.quiet() is None


def test_models_that_are_loaded_before_anything_executes() -> None:
    """No step was seen: it prepares, and does not hang however long that takes."""
    node = Node()
    assert node.run(1200, 0.0, loads=1.0) is Phase.COMPILE
    assert node.run(1200, 0.0) is Phase.COMPILE


def _played(scenario: str, begin: float, seconds: float) -> Frame:
    """The last frame of a whole machine, of which its jobs are read and judged."""
    clock = ManualClock()
    host = simulate(load(scenario, instance="trn1.32xlarge", driver="2.30.2"), clock, begin=begin)
    reader = HostReader(host, clock, Options(wait_for_firmware=False))
    schedule = {"normal": 4.0, "slow": 20.0, "jobs": 4.0}
    loop = Loop(reader, schedule=schedule, judge=make_judge())
    found = None
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        found = loop.tick() or found
        clock.advance(4.0)
    loop.close()
    assert found is not None
    return found


def test_the_shipped_hang_is_seen() -> None:
    """Of a job that had sent a gigabyte a second and more until then."""
    frame = _played("job-hang", 20.0, 170.0)
    assert "hang-unknown" in {one.id for one in frame.findings}
    [job] = frame.snapshot.jobs
    assert job.pace
    assert job.pace.phase == "stalled"
    assert job.pace.period is None
    assert job.pace.quiet
    assert 60 < job.pace.quiet < 90
    assert f"no execution ended for {seconds_text(round(job.pace.quiet))}" in pace_of(job.pace)


def test_a_healthy_job_that_sends_is_in_training() -> None:
    """And nothing is told of it."""
    frame = _played("training", 60.0, 150.0)
    [job] = frame.snapshot.jobs
    assert job.pace
    assert job.pace.phase == "training"
    assert not {one.id for one in frame.findings} & {"hang-unknown", "job-slow", "straggler"}
    sent = [
        cell
        for batch in frame.snapshot.batches
        if (column := batch.layout.columns.get("efa.port.tx_packets"))
        for cell in batch.cells[column.start : column.start + len(column.places)]
    ]
    assert sent
    assert all(isinstance(cell, int) and cell > 1e6 for cell in sent)
