"""The README's picture: `python -m tests.tui.picture > docs/top.svg`; the same bytes every time."""

from __future__ import annotations

import sys

from neuron_observer.clock import ManualClock
from neuron_observer.observer import HostReader
from neuron_observer.oneshot import StillFeed
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.tui.layout import composed
from neuron_observer.tui.svg import svg
from tests.tui.hosts import NOT_JUDGED, WALL, view_of

SCENARIO = "healthy"
COLUMNS, LINES = 110, 34
SECONDS = 45  # enough for the whole course of a core


def picture() -> str:
    """What `neuron-observer top --simulate` shows after a while."""
    clock = ManualClock(WALL)
    host = simulate(load(SCENARIO), clock)
    reader = HostReader(host, clock, workers=lambda host, clock, _: DirectWorkers(host, clock))
    snapshots = [reader.poll()]
    for _ in range(SECONDS):
        clock.advance(1.0)
        snapshots.append(reader.poll(("fast", "normal")))
    clock.advance(1.0)
    snapshots.append(reader.poll())
    reader.close()
    view = view_of(StillFeed(snapshots, NOT_JUDGED), selected=5)
    return svg(composed(view, COLUMNS, LINES), COLUMNS, "neuron-observer top --simulate")


if __name__ == "__main__":
    sys.stdout.write(picture())
