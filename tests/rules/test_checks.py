from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import NODE, Driver, Event, Missing, Place, Run, State, Value, Why
from neuron_observer.rules import rule as r
from neuron_observer.rules.engine import Engine
from neuron_observer.rules.trend import slope
from tests.rules.scenes import C0, D0, WALL, device, rule, snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Cell, Snapshot
    from neuron_observer.rules.rule import Condition

LOST = Missing(Why.FAILED, "all ones")
POWER = "device.power.mean"


def seen(condition: Condition, *ticks: Snapshot, scope: str = "device") -> list[int]:
    """How many findings fire after each tick."""
    engine = Engine([rule(condition, scope=scope)])
    return [
        sum(one.state is State.FIRING and one.id == "fault" for one in engine(tick)[0])
        for tick in ticks
    ]


def of(metric: str, *cells: Cell, every: float = 1.0, place: Place = D0) -> list[Snapshot]:
    """A reading of one place, again and again."""
    return [snapshot(every * n, {metric: {place: cell}}) for n, cell in enumerate(cells)]


def test_above_has_two_thresholds() -> None:
    """It begins above one and ends at the lower one."""
    condition = r.Above(POWER, 90, clear_at=80)
    assert seen(condition, *of(POWER, 90, 91, 85, 81, 80, 85)) == [0, 1, 1, 1, 0, 0]


def test_below_has_two_thresholds() -> None:
    """The other way round."""
    condition = r.Below(POWER, 10, clear_at=20)
    assert seen(condition, *of(POWER, 10, 9, 15, 19, 20, 15)) == [0, 1, 1, 1, 0, 0]


def test_a_limit_may_be_another_metric() -> None:
    """Times a factor; once true the factor of `clear_at` counts; without it nothing is known."""
    condition = r.Below("host.memory.available", "host.memory.total", times=0.05, clear_at=0.08)
    totals: tuple[Cell, ...] = (100, 100, 100, 100, LOST)
    ticks = [
        snapshot(n, {"host.memory.available": {NODE: cell}, "host.memory.total": {NODE: total}})
        for n, (cell, total) in enumerate(zip((5, 4, 7, 8, 1), totals, strict=True))
    ]
    assert seen(condition, *ticks, scope="node") == [0, 1, 1, 0, 0]


def test_a_missing_reading_is_neither_above_nor_below() -> None:
    """It is unknown, so what fired stays and what did not does not begin."""
    assert seen(r.Above(POWER, 90), *of(POWER, LOST, 95, LOST, 50)) == [0, 1, 1, 0]


def test_words_are_compared_whole() -> None:
    """`hbm` is in `hbm,sram` and not in `hbmx`."""
    metric = "device.health.unhealthy_components"
    assert seen(r.Contains(metric, "hbm"), *of(metric, "", "hbm,sram", "hbmx")) == [0, 1, 0]
    state = r.OneOf("device.state", (2,))
    assert seen(state, *of("device.state", 1, 2, 0)) == [0, 1, 0]


def test_a_node_that_is_not_there_has_no_driver_state_file() -> None:
    """What the topology says counts: absent."""
    ticks = [snapshot(0.0, {}), snapshot(1.0, {}, driver=None, state="absent")]
    assert ticks[1].driver == Driver(None, "absent")
    assert seen(r.OneOf("driver.state", ("absent",)), *ticks, scope="node") == [0, 1]


def test_increased_counts_within_its_window_and_its_steps() -> None:
    """By so much, in so many reads, and no longer than the window."""
    metric = "core.reset_failures"
    edge = r.Increased(metric, by=2, within=3.0)
    assert seen(edge, *of(metric, 5, 6, 7, 7, 7, 7, place=C0), scope="core") == [0, 0, 1, 1, 0, 0]
    steps = r.Increased(metric, by=2, within=60.0, steps=2)
    assert seen(steps, *of(metric, 0, 9, 9, 10, place=C0), scope="core") == [0, 0, 0, 1]


def test_increased_stays_until_it_grew_by_little() -> None:
    """`clear_at` is its lower threshold."""
    metric = "core.reset_failures"
    edge = r.Increased(metric, by=4, within=3.0, clear_at=1)
    ticks = of(metric, 0, 4, 5, 7, 7, 7, 7, place=C0)
    assert seen(edge, *ticks, scope="core") == [0, 1, 1, 1, 1, 1, 0]


def test_a_counter_of_the_runtime_is_not_covered_on_an_older_driver() -> None:
    """Until it moves when the process ends: then it is a finding."""
    metric = "core.execution.dma_abort"
    engine = Engine([rule(r.Increased(metric), scope="core", chips=("Trainium2",))])
    told = []
    for at, value in enumerate((0, 0, 3)):
        tick = snapshot(float(at), {metric: {C0: value}}, driver="2.24.7.0")
        findings, health = engine(tick)
        told.append((len(findings), [gap.id for gap in health.coverage.not_covered]))
    assert told[1] == (0, ["fault"])
    assert told[2][0] == 1


def test_a_rate_is_unknown_until_a_window_was_watched() -> None:
    """But true as soon as that is certain."""
    metric = "core.reset_failures"
    rate = r.RateAbove(metric, than=1.0, window=4.0)
    engine = Engine([rule(rate, scope="core")])
    covered = []
    for at in range(5):
        _, health = engine(snapshot(float(at), {metric: {C0: 0, Place(0, 1): 0}}))
        covered.append(not health.coverage.not_covered)
    assert covered == [False, False, False, False, True]
    assert seen(rate, *of(metric, 0, 5, 5, 5, 5, 5, place=C0), scope="core") == [0, 1, 1, 1, 1, 0]


def test_stuck_is_read_and_unchanged() -> None:
    """Not merely not read; a change begins anew."""
    metric = "device.health.heartbeat"
    assert seen(r.Stuck(metric, 3.0), *of(metric, 7, 7, 7, 7, 8, 8, 8)) == [0, 0, 0, 1, 0, 0, 0]
    unread = [snapshot(float(at), {metric: 7}, read_at=0.0) for at in range(9)]
    assert seen(r.Stuck(metric, 3.0), *unread) == [0] * 9


def test_a_time_in_which_nobody_read_is_no_time() -> None:
    """A process that was stopped has not seen a heartbeat stand still."""
    metric = "device.health.heartbeat"
    ticks = of(metric, 1, 2, 3, 4, 5, 6)
    ticks += [snapshot(5.0 + 700.0 + n, {metric: 6}) for n in range(3)]
    assert seen(r.Stuck(metric, 600.0), *ticks) == [0] * 9


def test_absent_for_wants_its_reason_and_its_words() -> None:
    """And what was read once and is in no batch any more has failed."""
    absent = r.AbsentFor("device.serial", lasting=2.0, saying="ones")
    other = Missing(Why.FAILED, "busy")
    ticks = of("device.serial", LOST, LOST, LOST, other, "a0")
    assert seen(absent, *ticks) == [0, 0, 1, 1, 0]
    gone = r.AbsentFor("efa.port.state", lasting=2.0)
    port = Place(label="rdmap0s31/1")
    ticks = [snapshot(0.0, {"efa.port.state": {port: 4}})]
    ticks += [snapshot(float(at), {}) for at in (1, 2, 3, 4)]
    assert seen(gone, *ticks, scope="node") == [0, 0, 0, 1, 1]


def test_an_error_on_two_reads_is_confirmed_and_a_late_answer_is_not() -> None:
    """What a file says instead of a value is evidence; silence is only probable."""
    for why, confidence in ((Why.FAILED, "confirmed"), (Why.STALE, "probable")):
        engine = Engine([rule(r.AbsentFor("device.serial"))])
        lost = Missing(why, "x")
        found = [engine(tick)[0] for tick in of("device.serial", "a0", lost, lost)]
        assert [one.confidence.value for one in found[-1]] == [confidence]


def powers(*values: float) -> Snapshot:
    """Devices and their power."""
    devices = tuple(device(n, f"{n + 1:016x}") for n in range(len(values)))
    cells: dict[Place, Cell] = {Place(n): value for n, value in enumerate(values)}
    return snapshot(0.0, {POWER: cells}, devices=devices)


def test_one_differs_from_its_peers_by_what_matters() -> None:
    """The odd one alone; not by less than `least`, not among too few."""
    odd = r.DiffersFromPeers(POWER, least=5.0)
    assert seen(odd, powers(50, 51, 49, 50, 52, 80)) == [1]
    assert seen(odd, powers(50, 50, 50, 50, 50, 54)) == [0]
    assert seen(odd, powers(50, 51, 80)) == [0]
    low = r.DiffersFromPeers(POWER, least_share=0.25, side="low")
    assert seen(low, powers(50, 51, 49, 50, 52, 80)) == [0]
    assert seen(low, powers(50, 51, 49, 50, 52, 30)) == [1]


def test_a_trend_is_no_step() -> None:
    """A climb in many moves is one, the same amount at once is none."""
    trend = r.Trend(POWER, than=30.0, window=100.0, per=100.0)
    climbing = [snapshot(5.0 * n, {POWER: 2.0 * n}) for n in range(22)]
    stepping = [snapshot(5.0 * n, {POWER: 40.0 * (n > 10)}) for n in range(22)]
    falling = r.Trend(POWER, than=-30.0, window=100.0, per=100.0)
    assert seen(trend, *climbing)[-1] == 1
    assert seen(trend, *stepping)[-1] == 0
    assert seen(falling, *climbing)[-1] == 0


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(-5, 50)), min_size=8, max_size=25),
    st.floats(-3, 3),
    st.booleans(),
)
@settings(max_examples=150)
def test_a_bound_changes_no_answer(
    moves: list[tuple[int, int]], least: float, counts: bool
) -> None:
    """Whether a slope is past its limit is the same with the short cut (whole numbers: exact)."""
    at, value = 0, 100
    values: list[Value] = []
    for seconds, step in moves:
        at, value = at + seconds, value + step
        values.append(Value(value, float(at)))
    whole = slope(values, 1.0, counts=counts)
    short = slope(values, 1.0, counts=counts, least=least)
    assert whole is not None
    assert short is not None
    assert whole[1:] == short[1:]
    if least >= 0:
        assert (whole.per_second > least) == (short.per_second > least)
    else:
        assert (whole.per_second < least) == (short.per_second < least)


class Past:
    """A history that has climbed all the while."""

    def values(self, _metric: str, _place: Place, seconds: float) -> Sequence[Value]:
        """One value each 5 s."""
        return [Value(2 * n, 1000.0 - seconds + 5.0 * n) for n in range(int(seconds / 5))]


def test_a_trend_begins_with_the_history() -> None:
    """What others kept needs not be watched again."""
    engine = Engine([rule(r.Trend(POWER, than=30.0, window=100.0, per=100.0))])
    findings, _ = engine(snapshot(1000.0, {POWER: 40}), Past())
    assert [one.id for one in findings] == ["fault"]


def test_a_missing_device_is_named() -> None:
    """By the instance type or because it was there; not while the driver loads."""
    counts: dict[str, Cell | dict[Place, Cell]] = {
        "node.devices": {NODE: 1},
        "node.devices_expected": {NODE: 2},
        "node.devices_hidden": {NODE: 0},
    }
    engine = Engine([rule(r.MissingDevice())])
    loading, _ = engine(snapshot(0.0, counts, state="coming"))
    findings, _ = engine(snapshot(1.0, counts))
    assert loading == ()
    assert [(one.entity.device, one.entity.kind) for one in findings] == [(1, "device")]
    unknown = dict(counts)
    unknown["node.devices_expected"] = {NODE: Missing(Why.UNSUPPORTED, "type not known")}
    _, health = Engine([rule(r.MissingDevice())])(snapshot(0.0, unknown))
    assert [gap.id for gap in health.coverage.not_covered] == ["fault"]


def test_a_collector_that_fails_is_told_after_a_while() -> None:
    """And not one that failed once."""
    broken = Run("sysfs", ok=False, seconds=0.1, error="ValueError: x")
    ticks = [snapshot(float(n), {})._replace(runs=(broken,)) for n in range(4)]
    fine = snapshot(4.0, {})._replace(runs=(broken._replace(ok=True, error=""),))
    assert seen(r.CollectorFails(3.0), *ticks, fine, scope="node") == [0, 0, 0, 1, 0]


def test_a_clock_that_jumps_is_told_for_a_while() -> None:
    """Forward or back, by more than drift."""
    jumps = (0.0, 0.0, -3600.0, -3600.0, -3600.0)
    ticks = [snapshot(float(n), {}, jump=jump) for n, jump in enumerate(jumps)]
    assert seen(r.ClockJumped(by=5, within=2.0), *ticks, scope="node") == [0, 0, 1, 1, 0]
    drift = [snapshot(float(n), {}, jump=0.1 * n) for n in range(5)]
    assert seen(r.ClockJumped(by=5), *drift, scope="node") == [0] * 5


def test_what_the_reader_saw_of_the_node_is_true_of_each_device() -> None:
    """A reload concerns all of them, for as long as it is remembered."""
    reload = Event("driver_reloaded", NODE, WALL + 1.0, "driver …")
    matches = r.Matches("driver_reloaded", within=5.0)
    ticks = [snapshot(0.0, {}), snapshot(1.0, {}, events=(reload,))]
    ticks += [snapshot(3.0, {}), snapshot(6.0, {})]
    assert seen(matches, *ticks) == [0, 1, 1, 0]


def test_anywhere_looks_at_the_whole_node() -> None:
    """A core's rule may ask for what happened at another core."""
    metric = "core.reset_failures"
    condition = r.AllOf((r.Increased(metric), r.Not(r.Anywhere(r.Increased("core.flops")))))
    other = Place(0, 1)
    ticks = [
        snapshot(0.0, {metric: {C0: 0, other: 0}, "core.flops": {C0: 0, other: 0}}),
        snapshot(1.0, {metric: {C0: 1, other: 0}, "core.flops": {C0: 0, other: 0}}),
        snapshot(2.0, {metric: {C0: 1, other: 0}, "core.flops": {C0: 0, other: 1}}),
    ]
    assert seen(condition, *ticks, scope="core") == [0, 1, 0]


def test_a_rule_that_does_not_apply_is_not_covered() -> None:
    """`given` tells where it does."""
    given_ports = r.Above("node.pci_functions", 0)
    absent = rule(r.OneOf("driver.state", ("absent",)), scope="node", given=given_ports)
    for functions, firing in ((0, 0), (4, 1)):
        tick = snapshot(0.0, {"node.pci_functions": {NODE: functions}}, driver=None, state="absent")
        findings, health = Engine([absent])(tick)
        assert len(findings) == firing
        assert bool(health.coverage.not_covered) is not bool(firing)


@pytest.mark.parametrize(("driver", "covered"), [("2.24.7.0", False), ("2.30.2.0", True)])
def test_a_rule_for_some_drivers_is_not_covered_elsewhere(driver: str, covered: bool) -> None:
    """And says which."""
    since = rule(r.Above(POWER, 9), since=(2, 28, 0))
    _, health = Engine([since])(snapshot(0.0, {POWER: 1}, driver=driver))
    assert bool(health.coverage.not_covered) is not covered
    if not covered:
        assert "from driver 2.28.0" in health.coverage.not_covered[0].why


@settings(max_examples=40)
@given(st.lists(st.integers(0, 1000), min_size=8, max_size=24), st.integers(-50, 50))
def test_the_slope_is_that_of_what_is_added(noise: list[int], climb: int) -> None:
    """Adding a line adds its slope; a counter never falls."""
    flat = [Value(value, float(n)) for n, value in enumerate(noise)]
    tilted = [Value(value + climb * n, float(n)) for n, value in enumerate(noise)]
    span = len(noise) - 1.0
    one, other = slope(flat, span, counts=False), slope(tilted, span, counts=False)
    counter = slope(flat, span, counts=True)
    assert one is not None
    assert other is not None
    assert counter is not None
    assert other.per_second == pytest.approx(one.per_second + climb)
    assert counter.per_second >= 0


def test_none_of_is_true_of_any_other_word_that_was_read() -> None:
    """And shows what was read; what is missing is no other word."""
    condition = r.NoneOf("device.state", (0, 1))
    assert seen(condition, *of("device.state", 1, 2, 0, LOST)) == [0, 1, 0, 0]


def test_rises_that_are_too_close_count_once() -> None:
    """Four rises, but only two of them so many seconds apart."""
    metric = "device.hbm.ecc_corrected"
    cells = (0, 5, 10, 15, 20)
    far = r.Increased(metric, by=10, within=600.0, steps=4, apart=50.0)
    assert seen(far, *of(metric, *cells, every=60.0))[-1] == 1
    assert seen(far, *of(metric, *cells, every=40.0))[-1] == 0
    assert seen(far._replace(apart=0.0), *of(metric, *cells, every=40.0))[-1] == 1


def _line(kind: str, at: float, place: Place = D0) -> Event:
    return Event(kind, place, WALL + at, kind, {"finding": kind})


def _lines(*kinds: str, gap: float = 5.0) -> list[Snapshot]:
    """A tick each `gap` seconds; a name is a line that came with it."""
    return [
        snapshot(
            gap * n,
            {"host.kernel_log.read": {NODE: n}},
            events=(_line(kind, gap * n),) if kind else (),
        )
        for n, kind in enumerate(kinds)
    ]


def test_a_line_may_be_ended_by_another() -> None:
    """Until the next one; one of another device ends nothing."""
    condition = r.Matches("failed", ended_by="completed")
    told = seen(condition, *_lines("", "failed", "", "completed", "", "failed"))
    assert told == [0, 1, 1, 0, 0, 1]
    other = snapshot(20.0, {}, events=(_line("completed", 20.0, Place(1)),))
    assert seen(condition, *_lines("", "failed"), other)[-1] == 1


def test_a_line_beside_makes_another_harmless() -> None:
    """Within a second before or after; later it is another matter."""
    condition = r.Matches("timeout", excused_by="retried")
    assert seen(condition, *_lines("", "timeout", "retried", gap=0.5))[-1] == 0
    assert seen(condition, *_lines("", "retried", "timeout", gap=0.5))[-1] == 0
    assert seen(condition, *_lines("", "timeout", "retried", gap=3.0))[-1] == 1


def test_unless_is_not_stopped_by_what_cannot_be_had() -> None:
    """A counter that is not there does not stand in the way; `not` of it is unknown."""
    gone = r.Increased("core.model_loads", within=60.0)
    high = r.Above(POWER, 90)
    ticks = of(POWER, 95, 95, 95)
    assert seen(r.AllOf((high, r.Unless(gone))), *ticks)[-1] == 1
    assert seen(r.AllOf((high, r.Not(gone))), *ticks)[-1] == 0


def test_what_is_asked_anywhere_is_looked_at_once() -> None:
    """Two cores ask whether any core failed: both hear it, of the device that it was."""
    metric = "core.reset_failures"
    condition = r.Anywhere(r.Increased(metric))
    ticks = [
        snapshot(float(n), {metric: {C0: 0, Place(0, 1): cell}}) for n, cell in enumerate((0, 0, 1))
    ]
    assert seen(condition, *ticks, scope="core") == [0, 0, 2]


def test_unknown_in_between_restarts_what_must_last() -> None:
    """Two seconds true, one unknown, two true: never three in a row."""
    engine = Engine([rule(r.Above(POWER, 90), hold=3.0)])
    told = [
        [one.state for one in engine(tick)[0]] for tick in of(POWER, 95, 95, 95, LOST, 95, 95, 95)
    ]
    assert State.FIRING not in {state for states in told for state in states}
    assert told[-1] == [State.PENDING]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 99), min_size=9, max_size=20), st.integers(-9, 9))
def test_a_trend_that_is_told_without_its_median_is_none(noise: list[int], than: int) -> None:
    """The shortcut says what the median says."""
    leaf = r.Trend(POWER, than=float(than), window=10.0, per=1.0, rises=1)
    told = seen(leaf, *(snapshot(float(n), {POWER: float(v)}) for n, v in enumerate(noise)))[-1]
    kept = [Value(v, float(n)) for n, v in enumerate(noise)][-11:]
    found = slope([*kept, kept[-1]], 10.0, counts=False)
    assert found is not None
    moves = found.rises if than >= 0 else found.falls
    steep = found.per_second > than if than >= 0 else found.per_second < than
    assert told == int(steep and moves >= 1)


@pytest.mark.parametrize(("pause", "told"), [(2, 1), (3, 0)])
def test_a_trend_over_a_time_that_nobody_watched(pause: int, told: int) -> None:
    """Values before a pause say how it went before; with a quarter of the window in it nothing."""
    leaf = r.Trend(POWER, than=1.0, window=10.0, per=1.0, rises=1)
    times = [*range(8), 7 + pause]
    ticks = [snapshot(float(n), {POWER: 2.0 * min(n, 7)}) for n in times]
    assert seen(leaf, *ticks)[-1] == told


def test_who_stands_out_among_others_is_looked_at_when_only_they_move() -> None:
    """Its own reading stays; its peers leave it, and come back."""
    leaf = r.DiffersFromPeers(POWER, least=5.0)
    far, near = powers(50, 50, 50, 50, 50, 80), powers(80, 80, 80, 80, 80, 80)
    ticks = [
        one._replace(monotonic=float(n), at=float(n)) for n, one in enumerate((near, far, near))
    ]
    assert seen(leaf, *ticks) == [0, 1, 0]
