"""The README's picture: `python -m tests.tui.picture > docs/top.svg`; the same bytes every time."""

from __future__ import annotations

import sys

from neuron_observer.cli.hosts import make_judge
from neuron_observer.clock import ManualClock
from neuron_observer.history import History
from neuron_observer.observer import ALL_LANES, HostReader
from neuron_observer.oneshot import StillFeed
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.tui.layout import composed
from neuron_observer.tui.svg import svg
from tests.tui.hosts import WALL, view_of

SCENARIO = "component"
COLUMNS, LINES = 110, 40
SECONDS = 45  # enough for the whole course of a core


def picture() -> str:
    """What `neuron-observer top --simulate component` shows after a while."""
    clock = ManualClock(WALL)
    host = simulate(load(SCENARIO), clock)
    reader = HostReader(host, clock, workers=lambda host, clock, _: DirectWorkers(host, clock))
    judge, history = make_judge(one_shot=False), History()
    snapshots = [reader.poll()]
    findings, health = judge(snapshots[0], history)
    for second in range(1, SECONDS + 2):
        clock.advance(1.0)
        snapshots.append(reader.poll(("fast", "normal") if second % 10 else ALL_LANES))
        history.add(snapshots[-1])
        findings, health = judge(snapshots[-1], history)
    reader.close()
    view = view_of(StillFeed(snapshots, health, findings), selected=0)
    return svg(
        composed(view, COLUMNS, LINES), COLUMNS, f"neuron-observer top --simulate {SCENARIO}"
    )


if __name__ == "__main__":
    sys.stdout.write(picture())
