"""What is not looked at would have said the same: the engine against one that looks at more.

The reference judges by the same predicates, and looks at each rule of which any reading has moved,
whether or not that can change what the rule says. Findings, their evidence and times, health and
memory are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuron_observer.checks.play
from neuron_observer.checks.play import Play
from neuron_observer.checks.timeline import read_timelines
from neuron_observer.model import NODE, Event, Missing, Place, Severity, Why
from neuron_observer.rules import rule as r
from neuron_observer.rules.engine import Engine
from neuron_observer.rules.loader import load
from tests.rules.scenes import C0, D0, WALL, device, rule, snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Cell, Finding, Health, Snapshot
    from neuron_observer.rules.rule import Condition
    from neuron_observer.rules.scene import History

HERE = Path(__file__).parent
FILES = sorted((HERE / "timelines").glob("*.yaml"))
POWER, SRAM, RESETS = "device.power.mean", "device.sram.ecc_uncorrected", "core.reset_failures"
BEAT, PARTS, LOG = (
    "device.health.heartbeat",
    "device.health.unhealthy_components",
    "host.kernel_log.read",
)
FREE, ALL = "host.memory.available", "host.memory.total"
C1 = Place(0, 1)
GRACE = Missing(Why.STALE, "no answer")
CELLS: dict[tuple[str, Place], st.SearchStrategy[Cell]] = {
    (POWER, D0): st.integers(0, 100) | st.just(Missing(Why.FAILED, "EIO")),
    (POWER, Place(1)): st.integers(0, 100),
    (SRAM, D0): st.sampled_from([0, 0, 1]),
    (BEAT, D0): st.sampled_from([1, 2, GRACE]),
    (PARTS, D0): st.sampled_from(["", "hbm", "sram,hbm", Missing(Why.DENIED, "EACCES")]),
    (RESETS, C0): st.integers(0, 3),
    (RESETS, C1): st.integers(0, 3) | st.just(GRACE),
    (FREE, NODE): st.integers(0, 9),
    (ALL, NODE): st.sampled_from([10, 100]),
    (LOG, NODE): st.integers(0, 2) | st.just(Missing(Why.DENIED, "EPERM")),
}
HEARD = r.Matches("sram-uncorrectable", within=20.0)
CONDITIONS: tuple[tuple[r.RuleScope, Condition], ...] = (
    ("device", r.Above(POWER, 60, clear_at=40)),
    ("node", r.Below(FREE, ALL, times=0.3, clear_at=0.5)),
    ("device", r.AnyOf((r.Above(SRAM, 0), HEARD))),
    ("device", r.Contains(PARTS, "hbm")),
    ("device", r.AllOf((r.NoneOf(PARTS, ("",)), r.Unless(r.Increased(RESETS, within=9.0))))),
    ("core", r.Increased(RESETS, by=2, within=12.0, clear_at=1)),
    ("core", r.RateAbove(RESETS, than=0.3, window=6.0)),
    ("core", r.AllOf((r.Above(POWER, 20), r.Not(r.Anywhere(r.Above(SRAM, 0)))))),
    ("device", r.Stuck(BEAT, 8.0)),
    ("device", r.AbsentFor(BEAT, 4.0)),
    ("node", r.AbsentFor(RESETS, 0.0, (Why.STALE,))),
    ("device", r.DiffersFromPeers(POWER, least=10.0, peers=1)),
    ("node", r.ClockJumped(by=5, within=15.0)),
    ("device", r.AllOf((HEARD, r.OneOf(SRAM, (0,))))),
)
TREND: tuple[tuple[r.RuleScope, Condition], ...] = (
    ("device", r.Trend(POWER, than=6.0, window=24.0, per=3.0, rises=2)),
    ("device", r.Trend(POWER, than=-4.0, window=30.0, per=3.0, rises=1)),
    ("device", r.Not(r.Trend(POWER, than=0.0, window=24.0, per=1.0))),
    ("core", r.AllOf((r.Trend(POWER, than=3.0, window=24.0, per=3.0), r.Above(POWER, 50)))),
    ("core", r.Trend(RESETS, than=0.5, window=24.0, per=3.0, rises=1)),
)
TIMES = ((0.0, 0.0), (2.0, 0.0), (0.0, 3.0), (2.5, 6.0))
LINE: dict[str, int | float | str] = {"finding": "sram-uncorrectable", "ours": 0}


class Attentive(Engine):
    """Looks at everything of which a reading has moved."""

    def __call__(
        self, snapshot: Snapshot, history: History | None = None
    ) -> tuple[tuple[Finding, ...], Health]:
        """Judge."""
        self._roster.concerned = self._roster.readers  # type: ignore[method-assign]
        return super().__call__(snapshot, history)


def rules(
    conditions: Sequence[tuple[r.RuleScope, Condition]],
    times: Sequence[tuple[float, float]] = TIMES,
) -> list[r.Rule]:
    """Each condition with several times to hold and to clear."""
    return [
        rule(
            when,
            id=f"rule-{number}-{hold:g}-{clear:g}",
            scope=scope,
            hold=hold,
            clear=clear,
            severity=Severity.WARNING,
            required=number % 2 == 0,
            latched=number % 5 == 2,
            witness=SRAM if number == 2 else None,
            given=r.Above(ALL, 10) if number % 3 == 1 and clear else None,
        )
        for number, (scope, when) in enumerate(conditions)
        for hold, clear in times
    ]


# seconds since the one before, what moved, whether a line came
Tick: TypeAlias = "tuple[float, dict[tuple[str, Place], Cell], bool]"
moves = st.fixed_dictionaries({}, optional=CELLS)
pauses = st.sampled_from([0.25, 1.0, 1.0, 1.5, 4.0, 30.0])
ticks = st.lists(st.tuples(pauses, moves, st.booleans()), min_size=4, max_size=40)


def told(
    history: Sequence[Tick],
) -> list[Snapshot]:
    """Snapshots of readings of which a few move at a time."""
    cells: dict[tuple[str, Place], Cell] = dict.fromkeys(CELLS, 1)
    cells |= {(PARTS, D0): "", (ALL, NODE): 100, (FREE, NODE): 90}
    now, found = 100.0, []
    for pause, moved, heard in history:
        now += pause
        cells |= moved
        by_metric: dict[str, Cell | dict[Place, Cell]] = {}
        for (metric, place), cell in cells.items():
            by_metric.setdefault(metric, {})[place] = cell  # type: ignore[index]
        line = Event("hw-err-sram", D0, WALL + now, "NEURON_HW_ERR=…", LINE)
        both = (device(), device(1, "00000000000000a1"))
        events = (line,) if heard and pause > 1 else ()
        found.append(snapshot(now, by_metric, devices=both, events=events))
    return found


def alike(lazy: Engine, other: Engine, snapshots: Sequence[Snapshot]) -> int:
    """How many looks the lazy one saved; both say the same, at the same times, in that order."""
    saved = 0
    for one in snapshots:
        assert lazy(one) == other(one)
        saved += other.evaluated - lazy.evaluated
    assert lazy.memory() == other.memory()
    return saved


@settings(max_examples=15, deadline=None)
@given(ticks)
def test_looking_at_all_that_moved_says_the_same(
    history: list[Tick],
) -> None:
    """Findings, health, coverage and memory, over random histories."""
    every = rules(CONDITIONS)
    assert alike(Engine(every), Attentive(every), told(history)) >= 0


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.25, 0.5, 1.0, 1.3, 9.0]), st.integers(0, 12), st.integers(0, 60)
        ),
        min_size=20,
        max_size=50,
    )
)
def test_a_trend_loses_nothing_by_looking_rarely(history: list[tuple[float, int, int]]) -> None:
    """Values that wander, rise for a while and jump, read at uneven times."""
    level, readings = 0, list[Tick]()
    for pause, step, noise in history:
        level += step
        readings.append((pause, {(POWER, D0): level + noise % 7, (POWER, Place(1)): noise}, False))
    every = rules(TREND, TIMES[::3])
    assert alike(Engine(every), Attentive(every), told(readings)) >= 0


def test_a_trend_within_its_limit_is_not_looked_at() -> None:
    """Between two values that are kept, a lower one changes nothing."""
    trend = [rule(r.Trend(POWER, than=30.0, window=240.0, per=240.0))]
    lazy, other = Engine(trend), Attentive(trend)
    readings: list[Tick] = [(1.0, {(POWER, D0): n % 5}, False) for n in range(400)]
    saved = alike(lazy, other, told(readings))
    assert saved > 250


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file.stem, marks=() if number % 60 == 20 else (pytest.mark.long,))
        for number, file in enumerate(FILES)
    ],
)
def test_timelines_are_judged_alike(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped rules over bytes, looked at as rarely and as often as can be."""
    shipped = load()
    for timeline in read_timelines(file, (HERE.parent / "trees",)):
        lazy = Play(timeline, shipped).ticks()
        monkeypatch.setattr(neuron_observer.checks.play, "Engine", Attentive)
        other = Play(timeline, shipped).ticks()
        monkeypatch.undo()
        assert all(one == two for one, two in zip(lazy, other, strict=True)), timeline.name
