"""Other rules while the observer runs: what stands goes on as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import NODE, Confidence, Event, Missing, Severity, State, Why
from neuron_observer.rules import rule as r
from neuron_observer.rules.engine import Engine
from tests.rules.scenes import D0, WALL, device, rule, snapshot

if TYPE_CHECKING:
    from neuron_observer.model import Finding

SRAM = "device.sram.ecc_uncorrected"
CE = "device.hbm.ecc_corrected"
LOG = "host.kernel_log.read"
LINE = Event("hw-err-sram", D0, WALL, "a line", {"finding": "sram-uncorrectable", "ours": 0})
RULES = (
    rule(r.Above(SRAM, 0), required=True),
    rule(r.Above(SRAM, 1), id="held", hold=25.0, clear=25.0, severity=Severity.WARNING),
    rule(r.Above(SRAM, 2), id="latched", latched=True),
    rule(r.Increased(CE, by=2, within=60.0), id="grew", clear=15.0),
    rule(r.RateAbove(CE, than=1.0, per=10.0, window=30.0), id="fast", needs="window"),
    rule(r.Matches("sram-uncorrectable", 50.0), id="heard", clear=15.0, witness=SRAM),
    rule(
        r.Above(SRAM, 3),
        id="again",
        again=r.Again(3600.0, rule(r.Above(SRAM, 0)).action, Severity.CRITICAL),
        severity=Severity.WARNING,
    ),
)
FAILED = Missing(Why.FAILED, "unreadable")
# of one tick: SRAM errors, growth of corrected ones, whether a line came, whether all is read anew
TICK = st.tuples(
    st.sampled_from([0, 0, 1, 2, 3, 4, FAILED]),
    st.sampled_from([0, 0, 1, 3]),
    st.booleans(),
    st.booleans(),
)


def elsewhere(rules: tuple[r.Rule, ...]) -> tuple[r.Rule, ...]:
    """The same rules, read again from a file in which lines have moved."""
    return tuple(one._replace(file="again.yaml", line=one.line + 7) for one in rules)


def looked_at_now(finding: Finding) -> Finding:
    """Without what a look at the same thing makes younger: an engine left alone looks seldom."""
    evidence = tuple(one._replace(at=None, fields={}) for one in finding.evidence)
    return finding._replace(evidence=evidence, last_seen=None)


@settings(max_examples=40)
@given(st.lists(TICK, min_size=1, max_size=14))
def test_the_same_rules_read_anew_change_nothing(
    ticks: list[tuple[int | Missing, int, bool, bool]],
) -> None:
    """Findings, evidence, states, times and health are those of an engine that was left alone."""
    left, renewed = Engine(RULES), Engine(RULES)
    corrected, trusted = 5, False
    for number, (errors, growth, line, anew) in enumerate(ticks):
        if anew:
            trusted = not trusted  # on a driver that was tested it makes no difference
            renewed = renewed.successor(elsewhere(RULES), trust_untested_driver=trusted)
        corrected += growth
        events = (LINE._replace(at=WALL + 10 * number),) if line else ()
        now = snapshot(10.0 * number, {SRAM: errors, CE: corrected, LOG: {NODE: 1}}, events=events)
        found, health = renewed(now)
        expected, expected_health = left(now)
        assert list(map(looked_at_now, found)) == list(map(looked_at_now, expected))
        assert health == expected_health
        assert renewed.memory().counters == left.memory().counters
        assert renewed.memory().resolved == left.memory().resolved
        assert renewed.memory().findings.keys() == left.memory().findings.keys()


def test_a_changed_rule_keeps_the_life_of_its_finding() -> None:
    """Since when, how sure, acknowledged by its state; the words are the new ones."""
    engine = Engine([rule(r.Above(SRAM, 0), clear=30.0)])
    engine(snapshot(0.0, {SRAM: 2}))
    (before,), _ = engine(snapshot(10.0, {SRAM: 2}))
    changed = rule(r.Above(SRAM, 1), clear=30.0, severity=Severity.WARNING, message="now {value}")
    engine = engine.successor([changed], trust_untested_driver=False)
    (after,), _ = engine(snapshot(20.0, {SRAM: 2}))
    assert (before.state, after.state) == (State.FIRING, State.FIRING)
    assert (after.first_seen, after.last_seen) == (WALL, WALL + 20)
    assert (after.severity, after.message) == (Severity.WARNING, "now 2")
    assert after.confidence is Confidence.CONFIRMED


def test_a_changed_threshold_ends_a_finding_in_its_time() -> None:
    """It is false by the new rule: it recovers, and is resolved once it was so for long enough."""
    engine = Engine([rule(r.Above(SRAM, 0), clear=15.0)])
    engine(snapshot(0.0, {SRAM: 2}))
    changed = rule(r.Above(SRAM, 5), clear=15.0)
    engine = engine.successor([changed], trust_untested_driver=False)
    states = [engine(snapshot(at, {SRAM: 2}))[0] for at in (10.0, 20.0, 30.0, 40.0)]
    assert [[one.state for one in found] for found in states] == [
        [State.RECOVERING],
        [State.RECOVERING],
        [State.RESOLVED],
        [],
    ]


def test_a_pending_finding_waits_no_longer_than_it_must() -> None:
    """Rules that are read anew again and again do not put an alarm off."""
    held = rule(r.Above(SRAM, 0), hold=25.0)
    engine = Engine([held])
    states = []
    for number in range(4):
        (found,), _ = engine(snapshot(10.0 * number, {SRAM: 1}))
        states.append(found.state)
        longer = held._replace(meaning=f"read {number} times")
        engine = engine.successor([longer], trust_untested_driver=False)
    assert states == [State.PENDING] * 3 + [State.FIRING]


def test_a_rule_that_is_no_more_finds_nothing() -> None:
    """And comes back with a finding of its own, not with the old one."""
    fault, other = rule(r.Above(SRAM, 0)), rule(r.Above(SRAM, 9), id="other")
    engine = Engine([fault])
    engine(snapshot(0.0, {SRAM: 1}))
    engine = engine.successor([other], trust_untested_driver=False)
    assert engine(snapshot(10.0, {SRAM: 1}))[0] == ()
    engine = engine.successor([fault, other], trust_untested_driver=False)
    (found,), _ = engine(snapshot(20.0, {SRAM: 1}))
    assert found.first_seen == WALL + 20


def test_a_new_rule_judges_at_once() -> None:
    """With the next snapshot, not with the next change of what it reads."""
    engine = Engine([rule(r.Above(SRAM, 9), id="other")])
    engine(snapshot(0.0, {SRAM: 1}))
    engine = engine.successor([rule(r.Above(SRAM, 0))], trust_untested_driver=False)
    (found,), _ = engine(snapshot(10.0, {SRAM: 1}, read_at=0.0))
    assert found.id == "fault"


def test_a_finding_that_only_a_line_told_goes_on() -> None:
    """Its place came from an event; it stands until its window ends, by the changed rule too."""
    heard = rule(r.Matches("sram-uncorrectable", 60.0))
    engine = Engine([heard])
    engine(snapshot(0.0, {SRAM: 0, LOG: {NODE: 1}}, events=(LINE,)))
    changed = heard._replace(message="heard")
    engine = engine.successor([changed], trust_untested_driver=False)
    (found,), _ = engine(snapshot(10.0, {SRAM: 0, LOG: {NODE: 1}}))
    assert (found.message, found.state, found.first_seen) == ("heard", State.FIRING, WALL)
    (ended,), _ = engine(snapshot(70.0, {SRAM: 0, LOG: {NODE: 1}}))
    assert ended.state is State.RESOLVED


@pytest.mark.parametrize("trusted", [False, True])
def test_trust_in_a_driver_changes_while_it_runs(trusted: bool) -> None:
    """With the next snapshot, of findings that stand."""
    engine = Engine([RULES[0]], trust_untested_driver=not trusted)
    for at in (0.0, 10.0):
        engine(snapshot(at, {SRAM: 1}, driver="2.99.0.0"))
    engine = engine.successor([RULES[0]], trust_untested_driver=trusted)
    (found,), _ = engine(snapshot(20.0, {SRAM: 1}, driver="2.99.0.0"))
    assert found.confidence is (Confidence.CONFIRMED if trusted else Confidence.PROBABLE)


def test_another_chip_after_a_reload_is_another_chip() -> None:
    """The serial numbers that were known stay known: the finding ends with its chip."""
    engine = Engine([RULES[0]])
    engine(snapshot(0.0, {SRAM: 1}))
    engine = engine.successor(elsewhere(RULES[:1]), trust_untested_driver=False)
    other = device(0, "00000000000000b1")
    found, _ = engine(snapshot(10.0, {SRAM: 0}, devices=(other,)))
    assert [(one.state, "the device left" in one.message) for one in found] == [
        (State.RESOLVED, True)
    ]
