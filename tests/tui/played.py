"""Scenarios played to the real reader and judged, for screens that show faults and jobs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.cli.hosts import make_judge
from neuron_observer.clock import ManualClock
from neuron_observer.history import History
from neuron_observer.model import Frame, JobPace, RankPace
from neuron_observer.observer import ALL_LANES, HostReader
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.workers import DirectWorkers
from tests.tui.hosts import WALL, FeedAtHand, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.model import Event, Job, Place, Rank, Value
    from neuron_observer.tui.view import View


class Played(NamedTuple):
    """What came of a scenario."""

    frame: Frame
    history: History
    happened: Sequence[Event]
    explain: Callable[[str], str]


class PlayedFeed(FeedAtHand):
    """A feed of what was played; its frame can be changed by a test."""

    def __init__(self, of: Played) -> None:
        super().__init__(of.frame)
        self._of = of

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """As it was read."""
        return self._of.history.values(metric, place, seconds)

    def events(self, seconds: float) -> Sequence[Event]:
        """Those of the last seconds before the frame."""
        since = self._of.frame.snapshot.at - seconds
        return [one for one in self._of.happened if one.at >= since]

    def explain(self, finding_id: str) -> str:
        """By the rules."""
        return self._of.explain(finding_id)


@cache
def played(scenario: str, seconds: int, step: int, instance: str | None = None) -> Played:
    """A scenario for some seconds, all lanes read every `step` seconds."""
    clock = ManualClock(WALL)
    host = simulate(load(scenario, instance=instance), clock)
    reader = HostReader(host, clock, workers=lambda host, clock, _: DirectWorkers(host, clock))
    judge, history = make_judge(one_shot=False), History()
    happened: list[Event] = []
    frames = []
    for _ in range(seconds // step + 1):
        snapshot = reader.poll(ALL_LANES)
        happened += snapshot.events
        history.add(snapshot)
        frames.append(Frame(snapshot, *judge(snapshot, history)))
        clock.advance(float(step))
    reader.close()
    return Played(frames[-1], history, happened, judge.explain)


def feed_of(scenario: str, seconds: int, step: int, instance: str | None = None) -> PlayedFeed:
    """A fresh feed of what was played once."""
    return PlayedFeed(played(scenario, seconds, step, instance))


def faulty() -> View:
    """A trn2.48xlarge at the end of several faults; its job is paced by a hook, one rank slow."""
    feed = feed_of("bad-day", 180, 9)
    snapshot = played("bad-day", 180, 9).frame.snapshot
    paced = tuple(_paced(job) for job in snapshot.jobs)
    feed.frame = played("bad-day", 180, 9).frame._replace(snapshot=snapshot._replace(jobs=paced))
    return view_of(feed)


def _paced(job: Job) -> Job:
    """As a hook would tell it: rank 0 takes longer than the others, who wait for it."""
    ranks = tuple(_rank(rank, number) for number, rank in enumerate(job.ranks))
    pace = JobPace("training", source="hook", period=1.2, ratio=1.31, heard=len(ranks), slowest=0)
    return job._replace(ranks=ranks, pace=pace)


def _rank(rank: Rank, number: int) -> Rank:
    busy = 1.5 if number == 0 else 1.1 + number * 0.004
    pace = RankPace(
        "training", 812, 0.4, 1.57, busy, 1.55 - busy, 0.02, source="blocking", behind=0
    )
    if number == 0:
        pace = pace._replace(straggler="warning", kind="chip", ratio=1.34)
    return rank._replace(pace=pace)
