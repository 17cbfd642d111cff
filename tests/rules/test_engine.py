from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Event,
    Missing,
    Place,
    Severity,
    State,
    Verdict,
    Why,
)
from neuron_observer.rules import rule as r
from neuron_observer.rules.engine import Engine
from neuron_observer.rules.findings import BEFORE_WATCHED
from neuron_observer.rules.occurrences import PLACES
from tests.rules.scenes import C0, D0, SERIAL, WALL, device, rule, snapshot

if TYPE_CHECKING:
    from neuron_observer.model import Cell, Finding, Health
    from neuron_observer.rules.rule import Rule

SRAM = "device.sram.ecc_uncorrected"
LOG = "host.kernel_log.read"
OF_SRAM = rule(r.Above(SRAM, 0), required=True)
HEARD = rule(
    r.AnyOf((r.Above(SRAM, 0), r.Matches("sram-uncorrectable", 3600.0))),
    witness=SRAM,
    if_confirmed=Action.REPLACE_INSTANCE,
)
FAILED = Missing(Why.FAILED, "unreadable")
LINE = Event(
    "hw-err-sram", D0, WALL, "NEURON_HW_ERR=…", {"finding": "sram-uncorrectable", "ours": 0}
)


def only(engine: Engine, *cells: Cell, first: float = 0.0, **other: object) -> Finding | None:
    """The finding of the rule after these readings of SRAM errors, 10 s apart."""
    findings: tuple[Finding, ...] = ()
    for number, cell in enumerate(cells):
        findings, _ = engine(snapshot(first + 10.0 * number, {SRAM: cell}, **other))  # type: ignore[arg-type]
    return next((one for one in findings if one.id == "fault"), None)


def judged(engine: Engine, at: float, **cells: Cell) -> Health:
    """The health after one reading."""
    return engine(snapshot(at, {SRAM: cells["sram"]}))[1]


def test_one_read_is_probable_and_two_confirm() -> None:
    """Hardware on two reads; the same read looked at twice is one."""
    engine = Engine([OF_SRAM])
    one = only(engine, 1)
    again, _ = engine(snapshot(5.0, {SRAM: 1}, read_at=0.0))
    two = only(engine, 1, first=10.0)
    assert one is not None
    assert two is not None
    assert [one.confidence, again[0].confidence, two.confidence] == [
        Confidence.PROBABLE,
        Confidence.PROBABLE,
        Confidence.CONFIRMED,
    ]


def test_a_finding_tells_who_what_and_since_when() -> None:
    """Entity with serial number, evidence with source and value, times, words."""
    found = only(Engine([OF_SRAM]), 0, 3, 3)
    assert found is not None
    assert (found.entity.kind, found.entity.device, found.entity.serial) == ("device", 0, SERIAL)
    evidence = found.evidence[0]
    assert (evidence.kind, evidence.trust, evidence.value) == ("register", "hardware", 3)
    assert evidence.at == WALL + 20
    assert (found.first_seen, found.last_seen) == (WALL + 10, WALL + 20)
    assert found.message == "device 0: 3"


def test_a_device_whose_serial_does_not_read_back_proves_nothing() -> None:
    """Registers beside an unreadable serial number stay probable."""
    engine = Engine([OF_SRAM])
    cells: dict[str, Cell | dict[Place, Cell]] = {SRAM: 1, "device.serial": FAILED}
    found = [engine(snapshot(at, cells))[0][0].confidence for at in (0.0, 10.0, 20.0)]
    assert found == [Confidence.PROBABLE] * 3


@pytest.mark.parametrize(
    ("trusted", "confidence"), [(False, Confidence.PROBABLE), (True, Confidence.CONFIRMED)]
)
def test_an_untested_driver_caps_hardware(trusted: bool, confidence: Confidence) -> None:
    """Unless the configuration trusts it."""
    engine = Engine([OF_SRAM], trust_untested_driver=trusted)
    found = only(engine, 1, 1, 1, driver="2.99.0.0")
    assert found is not None
    assert found.confidence is confidence


def test_health_needs_the_required_signal() -> None:
    """Healthy when read, unknown when it fails, healthy again when it is back."""
    engine = Engine([OF_SRAM])
    assert judged(engine, 0.0, sram=0).verdict is Verdict.HEALTHY
    lost = judged(engine, 10.0, sram=FAILED)
    assert (lost.verdict, lost.reason) == (
        Verdict.UNKNOWN,
        "fault cannot be decided: failed: unreadable",
    )
    assert (lost.coverage.decided, lost.coverage.required) == (0, 1)
    assert judged(engine, 20.0, sram=0).verdict is Verdict.HEALTHY


def test_what_the_chip_does_not_have_is_not_covered_once() -> None:
    """It leaves the denominator and is listed once, not for each device."""
    engine = Engine([OF_SRAM])
    never = Missing(Why.UNSUPPORTED, "no such file")
    two = (device(0), device(1, "00000000000000b1"))
    cells: dict[str, Cell | dict[Place, Cell]] = {SRAM: {D0: never, Place(1): never}}
    _, health = engine(snapshot(0.0, cells, devices=two))
    assert (health.coverage.required, health.coverage.missing) == (0, ())
    assert [(gap.id, gap.why) for gap in health.coverage.not_covered] == [("fault", "no such file")]


def test_denied_is_missing_only_where_it_was_read_before() -> None:
    """What this user never could read leaves the denominator; newly denied makes unknown."""
    denied = Missing(Why.DENIED, "EACCES")
    never, newly = Engine([OF_SRAM]), Engine([OF_SRAM])
    assert not judged(never, 0.0, sram=denied).coverage.missing
    judged(newly, 0.0, sram=0)
    assert judged(newly, 10.0, sram=denied).verdict is Verdict.UNKNOWN


def test_a_late_reading_is_missing_after_three_periods() -> None:
    """30 s of grace for what is stale."""
    engine = Engine([OF_SRAM])
    stale = Missing(Why.STALE, "no answer")
    judged(engine, 0.0, sram=0)
    verdicts = [judged(engine, at, sram=stale).verdict for at in (10.0, 20.0, 41.0)]
    assert verdicts == [Verdict.HEALTHY, Verdict.HEALTHY, Verdict.UNKNOWN]


def test_a_line_alone_is_probable_and_degrades() -> None:
    """With what to do once confirmed."""
    engine = Engine([HEARD])
    engine(snapshot(0.0, {SRAM: 0, LOG: {NODE: 0}}))
    findings, health = engine(snapshot(1.0, {SRAM: 0, LOG: {NODE: 1}}, events=(LINE,)))
    assert findings[0].confidence is Confidence.PROBABLE
    assert findings[0].if_confirmed is Action.REPLACE_INSTANCE
    assert findings[0].evidence[0].trust == "hearsay"
    assert health.verdict is Verdict.DEGRADED


def test_a_counter_that_stands_still_for_a_minute_contradicts_a_line() -> None:
    """And then the line no longer degrades."""
    engine = Engine([HEARD])
    cells: dict[str, Cell | dict[Place, Cell]] = {SRAM: 0, LOG: {NODE: 1}}
    engine(snapshot(0.0, cells, events=(LINE,)))
    judged_at = [engine(snapshot(at, cells)) for at in (10.0, 50.0, 61.0)]
    confidences = [findings[0].confidence for findings, _ in judged_at]
    assert confidences == [Confidence.PROBABLE, Confidence.PROBABLE, Confidence.CONTRADICTED]
    assert judged_at[1][1].verdict is Verdict.DEGRADED
    assert judged_at[2][1].verdict is not Verdict.DEGRADED


def test_a_counter_that_was_not_read_contradicts_nothing() -> None:
    """Nor does one that is not live."""
    engine = Engine([HEARD])
    cells: dict[str, Cell | dict[Place, Cell]] = {SRAM: FAILED, LOG: {NODE: 1}}
    engine(snapshot(0.0, cells, events=(LINE,)))
    findings, _ = engine(snapshot(100.0, cells))
    assert findings[0].confidence is Confidence.PROBABLE


def test_a_tool_that_nobody_runs_leaves_no_hole() -> None:
    """A report of neuron-monitor adds hearsay; without one the registers decide."""
    reported = "device.reported.sram_ecc_uncorrected"
    either = rule(r.AnyOf((r.Above(SRAM, 0), r.Above(reported, 0))), required=True)
    late = Missing(Why.STALE, "no report")
    silent = (snapshot(0.0, {SRAM: 0}), snapshot(0.0, {SRAM: 0, reported: late}))
    for tick in silent:
        assert Engine([either])(tick)[1].verdict is Verdict.HEALTHY
    findings, _ = Engine([either])(snapshot(0.0, {SRAM: 0, reported: 1}))
    assert [one.evidence[0].kind for one in findings] == ["monitor"]


def test_our_own_lines_are_no_evidence() -> None:
    """A line that our own read caused makes nothing."""
    engine = Engine([HEARD])
    ours = LINE._replace(fields={**LINE.fields, "ours": 1})
    findings, _ = engine(snapshot(0.0, {SRAM: 0, LOG: {NODE: 1}}, events=(ours,)))
    assert findings == ()


def test_a_line_that_names_no_device_is_about_the_node() -> None:
    """And a forged one of a device that does not exist too; nobody is blamed."""
    for place in (NODE, Place(77)):
        engine = Engine([HEARD])
        events = (LINE._replace(place=place),)
        findings, _ = engine(snapshot(0.0, {SRAM: 0, LOG: {NODE: 1}}, events=events))
        assert [one.entity.kind for one in findings] == ["node"]


def test_thousands_of_forged_lines_are_bounded() -> None:
    """They make no more findings than there are devices, and the node."""
    engine = Engine([HEARD])
    events = tuple(LINE._replace(place=Place(number)) for number in range(5000))
    findings, health = engine(snapshot(0.0, {SRAM: 0, LOG: {NODE: 1}}, events=events))
    assert len(findings) == 2
    assert health.verdict is Verdict.DEGRADED


def test_labels_that_somebody_makes_up_are_bounded() -> None:
    """Beyond so many places of one kind of line, the rest is the node's."""
    heard = rule(r.Matches("sram-uncorrectable", 3600.0), scope="pci")
    engine = Engine([heard])
    findings: tuple[Finding, ...] = ()
    for tick in range(20):
        places = [Place(label=f"0000:{tick:02x}:{number:02x}.0") for number in range(100)]
        events = tuple(LINE._replace(place=place) for place in places)
        findings, _ = engine(snapshot(float(tick), {LOG: {NODE: tick}}, events=events))
    assert len(findings) == PLACES + 1


def test_shadow_is_shown_and_not_counted() -> None:
    """Evaluated, in the findings, no part of health."""
    engine = Engine([rule(r.Above(SRAM, 0), shadow=True), rule(r.Above(SRAM, 9), id="other")])
    findings, health = engine(snapshot(0.0, {SRAM: 1}))
    assert [one.shadow for one in findings] == [True]
    assert health.verdict is not Verdict.DEGRADED


def test_hold_and_clear_are_kept_by_the_timer() -> None:
    """A rule whose readings do not change is looked at when its time has come."""
    engine = Engine([rule(r.Above(SRAM, 0), hold=5.0, clear=5.0)])
    shown = []
    for at, cell in ((0.0, 1), (4.0, 1), (5.0, 1), (6.0, 0), (10.0, 0), (11.0, 0), (12.0, 0)):
        findings, _ = engine(snapshot(at, {SRAM: cell}, read_at=at // 6 * 6))
        shown.append(findings[0].state if findings else None)
    pending, firing, recovering = State.PENDING, State.FIRING, State.RECOVERING
    assert shown == [pending, pending, firing, recovering, recovering, State.RESOLVED, None]


def test_a_message_claims_no_time_that_has_not_passed() -> None:
    """While it is pending it says what is awaited; a single look says that it cannot tell."""
    held = rule(r.Above(SRAM, 0), hold=300.0)
    engine, plain = Engine([held]), "device 0: 1"
    told = [engine(snapshot(at, {SRAM: 1}))[0][0].message for at in (0.0, 299.0, 300.0)]
    assert told == [*[f"{plain}; it counts once it has lasted 5 min"] * 2, plain]
    (once,), _ = Engine([held], one_shot=True)(snapshot(0.0, {SRAM: 1}))
    assert once.message == f"{plain}; a fault only if it lasts 5 min, which one look cannot tell"
    (at_once,), _ = Engine([OF_SRAM], one_shot=True)(snapshot(0.0, {SRAM: 1}))
    assert at_once.message == plain


GROWS = "core.execution.hbm_repairable_uncorrected"


@pytest.mark.parametrize("restarted", [False, True])
def test_growth_ends_with_what_remedies_it(*, restarted: bool) -> None:
    """What grew before counts no more, also for a run that was told of it; later growth does."""
    remedied = rule(r.Increased(GROWS, within=3600.0, ended_by="driver_reloaded"), scope="core")
    engine = Engine([remedied])
    reloaded = Event("driver_reloaded", NODE, WALL + 20.0, "seen to go and come back")

    def found(at: float, count: int, *events: Event) -> State | None:
        return next(
            (
                one.state
                for one in engine(snapshot(at, {GROWS: {C0: count}}, events=events))[0]
                if one.id == "fault"
            ),
            None,
        )

    assert [found(0.0, 0), found(10.0, 1)] == [None, State.FIRING]
    if restarted:
        engine = Engine([remedied], memory=engine.memory())
    assert found(19.0, 1) is State.FIRING
    assert found(20.0, 0, reloaded) is State.RESOLVED
    assert found(30.0, 0) is None
    assert found(40.0, 1) is State.FIRING


def seen_to(findings: tuple[Finding, ...]) -> tuple[State, float | None]:
    """State of the only finding, and seconds of the last time that it was seen."""
    (found,) = findings
    return found.state, None if found.last_seen is None else found.last_seen - WALL


def test_what_is_over_says_when_it_was_seen_last() -> None:
    """Also where nothing that it reads changed meanwhile, so that it was not looked at anew."""
    engine = Engine([rule(r.Above(SRAM, 0), clear=5.0)])
    for at in (0.0, 1.0, 30.0, 60.0):
        assert seen_to(engine(snapshot(at, {SRAM: 1}, read_at=at // 30))[0]) == (State.FIRING, at)
    assert seen_to(engine(snapshot(61.0, {SRAM: 0}))[0]) == (State.RECOVERING, 60.0)
    assert seen_to(engine(snapshot(70.0, {SRAM: 0}))[0]) == (State.RESOLVED, 60.0)


def test_what_somebody_or_a_new_chip_ends_says_when_it_was_seen_last() -> None:
    """The last look before; and so does what a later run and changed rules go on from."""
    for change in ("settled", "left", "again", "other rules"):
        held = rule(r.Above(SRAM, 0), latched=True)
        engine = Engine([held])
        for at in (0.0, 1.0, 50.0):
            engine(snapshot(at, {SRAM: 1}, read_at=min(at, 1.0)))
        devices = (device(0, "00000000000000ff" if change == "left" else SERIAL),)
        if change == "settled":
            engine.set_healthy(0)
        elif change == "again":
            engine = Engine([held], memory=engine.memory())
        elif change == "other rules":
            other = held._replace(message="other words")
            engine = engine.successor([other], trust_untested_driver=True)
        found, _ = engine(snapshot(51.0, {SRAM: 0}, devices=devices))
        assert seen_to(tuple(one for one in found if one.id == "fault"))[1] == 50.0, change


def test_a_latched_finding_needs_two_reads_to_stay() -> None:
    """One odd read is no fault for ever; a confirmed one is."""
    latched = rule(r.Above(SRAM, 0), latched=True)
    once, twice = Engine([latched]), Engine([latched])
    gone, stays = only(once, 1, 0, 0), only(twice, 1, 1, 0, 0)
    assert gone is None
    assert stays is not None
    assert stays.state is State.FIRING


def test_another_chip_ends_what_was_found_of_the_one_before() -> None:
    """By serial number, not by index."""
    engine = Engine([OF_SRAM])
    only(engine, 1, 1)
    other = (device(0, "00000000000000ff"),)
    findings, _ = engine(snapshot(20.0, {SRAM: 0}, devices=other))
    assert [(one.state, one.entity.device) for one in findings] == [(State.RESOLVED, 0)]
    assert "device left" in findings[0].message
    assert engine(snapshot(30.0, {SRAM: 0}, devices=other))[0] == ()


def test_a_serial_number_that_appears_changes_nothing() -> None:
    """Known by its index first, by its serial number then: one finding."""
    engine = Engine([OF_SRAM])
    engine(snapshot(0.0, {SRAM: 1}, devices=(device(0, None),)))
    findings, _ = engine(snapshot(10.0, {SRAM: 1}))
    assert [(one.first_seen, one.entity.serial) for one in findings] == [(WALL, SERIAL)]


def test_the_same_fault_after_its_repair_asks_for_more() -> None:
    """Escalated by what was resolved before, on the same chip."""
    again = r.Again(1000.0, Action.REPLACE_INSTANCE)
    engine = Engine([rule(r.Above(SRAM, 0), again=again)])
    first = only(engine, 1, 1, 0)
    second = only(engine, 0, 1, first=30.0)
    assert first is not None
    assert second is not None
    assert [first.action, second.action] == [Action.REBOOT, Action.REPLACE_INSTANCE]


def test_memory_goes_on_where_an_earlier_run_ended() -> None:
    """A finding, what was resolved, a baseline and the counters."""
    growing = rule(r.Increased("core.reset_failures"), id="grown", scope="core")
    first = Engine([OF_SRAM, growing])
    cells: dict[str, Cell | dict[Place, Cell]] = {SRAM: 1, "core.reset_failures": {C0: 4}}
    first(snapshot(0.0, cells))
    first(snapshot(10.0, cells))
    second = Engine([OF_SRAM, growing], memory=first.memory())
    cells["core.reset_failures"] = {C0: 5}
    findings, _ = second(snapshot(0.0, cells, jump=100.0))
    found = {one.id: one for one in findings}
    assert found["fault"].first_seen == WALL
    assert found["fault"].confidence is Confidence.CONFIRMED
    assert found["grown"].message == "device 0: 5"


def test_set_healthy_is_a_baseline() -> None:
    """The count as it stands is no finding any more; one more is."""
    engine = Engine([OF_SRAM])
    only(engine, 2, 2)
    engine.set_healthy(0)
    ended = only(engine, 2, first=20.0)
    assert ended is not None
    assert (ended.state, ended.message) == (
        State.RESOLVED,
        "device 0: 2; settled: the device was declared healthy",
    )
    assert only(engine, 2, first=30.0) is None
    found = only(engine, 3, first=30.0)
    assert found is not None
    assert found.evidence[0].previous == 2


def test_counters_that_were_not_zero_at_first_sight_are_one_information() -> None:
    """Before we watched: no fault of now."""
    engine = Engine([rule(r.Increased("core.reset_failures"), scope="core")])
    cells: dict[str, Cell | dict[Place, Cell]] = {"core.reset_failures": {C0: 7, Place(0, 1): 2}}
    findings, _ = engine(snapshot(0.0, cells))
    assert [(one.id, one.severity) for one in findings] == [(BEFORE_WATCHED, Severity.INFO)]
    assert len(findings[0].evidence) == 2


def test_only_what_changed_is_looked_at() -> None:
    """A tick with the same readings evaluates nothing, nor one that is within the limit still."""
    engine = Engine([OF_SRAM, rule(r.Below("host.memory.free", 1), id="memory", scope="node")])
    cells: dict[str, Cell | dict[Place, Cell]] = {SRAM: 0, "host.memory.free": {NODE: 5}}
    engine(snapshot(0.0, cells))
    engine(snapshot(1.0, cells))
    assert engine.evaluated == 0
    engine(snapshot(2.0, cells | {"host.memory.free": {NODE: 6}}))
    assert engine.evaluated == 0
    engine(snapshot(3.0, cells | {"host.memory.free": {NODE: 0}}))
    assert engine.evaluated == 1


def test_a_one_shot_does_not_cover_windows_and_waits_for_no_hold() -> None:
    """Without a hold time to wait for, what is seen is probable."""
    rules: list[Rule] = [
        rule(r.Stuck(SRAM, 60.0), id="window"),
        rule(r.Above(SRAM, 0), hold=60.0),
    ]
    engine = Engine(rules, one_shot=True)
    engine(snapshot(0.0, {SRAM: 1}))
    findings, health = engine(snapshot(0.3, {SRAM: 1}))
    assert [(one.id, one.confidence) for one in findings] == [("fault", Confidence.PROBABLE)]
    assert [gap.id for gap in health.coverage.not_covered] == ["window"]


def test_explain_leads_from_the_finding_to_the_remedy() -> None:
    """Meaning, action, what clears it, and what shows it now."""
    engine = Engine([OF_SRAM])
    only(engine, 1, 1)
    text = engine.explain("fault")
    for part in ("a fault", "What to do: reboot.", "What clears it: nothing", f"{SRAM} = 1"):
        assert part in text
    assert engine.explain("unknown") == ""


@settings(max_examples=40)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 60))
def test_an_increase_is_never_more_than_what_happened(values: list[int], by: int) -> None:
    """Over any resets: what a counter showed after each fall, and what it grew by else."""
    growing = rule(r.Increased("core.reset_failures", by=by, within=1e6), scope="core")
    engine = Engine([growing])
    grown, before = 0, values[0]
    for at, value in enumerate(values):
        findings, _ = engine(snapshot(float(at), {"core.reset_failures": {C0: value}}))
        grown += value - before if value >= before else value
        before = value
        firing = any(one.id == "fault" for one in findings)
        assert firing == (grown >= by)


def test_lateness_is_counted_anew_after_a_reading() -> None:
    """A short lateness long ago leaves none of its seconds to the next one."""
    engine = Engine([OF_SRAM])
    stale = Missing(Why.STALE, "no answer")
    for at, cell in ((0.0, 0), (10.0, stale), (20.0, 0)):
        judged(engine, at, sram=cell)
    assert judged(engine, 90.0, sram=stale).verdict is Verdict.HEALTHY
