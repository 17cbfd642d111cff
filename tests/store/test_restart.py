"""What outlives the observer, and what must not: restarts, reboots, reloads, other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
from neuron_observer.rules.memory import Word
from tests.rules.scenes import C0, D0, rule
from tests.store.nodes import INSTANCE, Node, chip, host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from neuron_observer.model import Cell

SRAM = "device.sram.ecc_uncorrected"
HANGS = "core.execution.timeout"
LOG = "host.kernel_log.read"
NOT_YET = Missing(Why.NOT_YET, "not read yet")
OF_SRAM = rule(r.Above(SRAM, 0), clear=30.0, required=True)
GROWN = rule(r.Increased(HANGS, within=300.0), id="grown", scope="core")
HEARD = rule(r.Matches("sram-uncorrectable", 3600.0), id="heard")
OTHER_BOOT = "99999999-2222-3333-4444-555555555555"
ME = Word("root (uid 0)", 1.0, "known")


def hangs(count: int) -> dict[str, Cell | dict[Place, Cell]]:
    """Readings of one core's counter of time-outs."""
    return {HANGS: {C0: count}}


def line(at: float) -> Event:
    """A line of the kernel log."""
    return Event("hw-err-sram", D0, at, "NEURON_HW_ERR=…", {"finding": "sram-uncorrectable"})


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node with a level, an edge and a line to find."""
    one = Node(tmp_path / "state", [OF_SRAM, GROWN, HEARD])
    yield one
    one.kill()


def test_a_standing_fault_is_the_same_after_a_kill(node: Node) -> None:
    """Same first_seen, same confidence, one row; nobody is told of a new one (E09)."""
    node.look(cells={SRAM: 3})
    node.look(cells={SRAM: 3})
    before = node.one()
    node.again()
    node.look(cells={SRAM: 3})
    after = node.one()
    assert before.confidence is Confidence.CONFIRMED
    assert (after.first_seen, after.confidence) == (before.first_seen, before.confidence)
    node.again()
    assert len(node.store.load().findings) == 1
    assert node.store.past
    assert node.store.past.ended() == []


def test_until_the_first_read_the_old_finding_stands(node: Node) -> None:
    """Never healthy between start and the first full check (E09), with the words of before."""
    node.look(cells={SRAM: 3})
    node.look(cells={SRAM: 3})
    before = node.one()
    node.again()
    node.devices = (chip(serial=None),)
    node.look(cells={SRAM: NOT_YET})
    assert node.health.verdict is Verdict.UNHEALTHY
    assert (node.one().message, node.one().evidence) == (before.message, before.evidence)


def test_a_fault_that_cleared_while_nobody_watched_is_resolved(node: Node) -> None:
    """After its clear time, with the time of both changes (E08)."""
    node.look(cells={SRAM: 3})
    begun = node.one().first_seen
    node.again()
    node.look(cells={SRAM: 0})
    assert node.one().state is State.RECOVERING
    node.look(31.0, {SRAM: 0})
    assert node.one().state is State.RESOLVED
    node.look(cells={SRAM: 0})
    assert node.findings == ()
    node.again()
    assert node.store.past
    ((ended, told),) = node.store.past.ended()
    assert told.first_seen == begun
    assert ended == node.clock.wall() - 5.0 - 10.0


def test_what_grew_while_nobody_watched_is_an_edge(node: Node) -> None:
    """Against the stored value; what had not moved is no news."""
    node.look(cells=hangs(5))
    node.look(60.0, hangs(5))
    node.again()
    node.look(cells=hangs(5))
    assert not [one for one in node.findings if one.id == "grown"]
    node.again()
    node.look(cells=hangs(7))
    assert node.one("grown").evidence[0].previous == 5


def test_an_edge_stands_for_its_window_and_is_judged_once(node: Node) -> None:
    """A restart within the window changes nothing; after it the finding is over, once for all."""
    node.look(cells=hangs(5))
    node.look(cells=hangs(6))
    begun = node.one("grown").first_seen
    node.again()
    for _ in range(3):
        node.look(cells=hangs(6))
        assert (node.one("grown").state, node.one("grown").first_seen) == (State.FIRING, begun)
    node.again()
    node.look(cells=hangs(6))
    assert node.one("grown").state is State.FIRING
    node.look(300.0, hangs(6))
    assert node.one("grown").state is State.RESOLVED
    node.again()
    node.look(cells=hangs(6))
    node.look(cells=hangs(6))
    assert node.findings == ()


@pytest.mark.parametrize(("count", "previous"), [(2, 0), (7, 0), (0, None)])
def test_after_a_reboot_counters_began_at_0(node: Node, count: int, previous: int | None) -> None:
    """What they show then has come since; also if it is more than before."""
    node.look(cells=hangs(5))
    node.flush()
    node.host = host(boot=OTHER_BOOT)
    node.again()
    node.look(cells=hangs(count))
    grown = [one.evidence[0].previous for one in node.findings if one.id == "grown"]
    assert grown == ([] if previous is None else [previous])


@pytest.mark.parametrize(("count", "found"), [(0, False), (2, True)])
def test_a_counter_that_was_cleared_while_nobody_watched(
    node: Node, count: int, *, found: bool
) -> None:
    """A write to its file set it to 0, in the same boot: what it shows since is an increase."""
    node.look(cells=hangs(5))
    node.look(60.0, hangs(5))
    node.again()
    node.look(cells=hangs(count))
    grown = [one for one in node.findings if one.id == "grown"]
    assert bool(grown) == found
    assert [one.evidence[0].value for one in grown] == [count] * found
    node.again(400.0)
    node.look(cells=hangs(count))
    node.look(cells=hangs(count))
    assert [one for one in node.findings if one.id == "grown"] == []


def test_a_count_that_nobody_can_clear_keeps_its_value(node: Node) -> None:
    """An ECC count after a reboot is no edge: it stood at the same before."""
    grown = rule(r.Increased("device.hbm.ecc_corrected", by=20), id="grown", scope="device")
    node.rules = (grown,)
    node.again()
    cells: dict[str, Cell | dict[Place, Cell]] = {"device.hbm.ecc_corrected": 100}
    node.look(cells=cells)
    node.look(60.0, cells)
    node.host = host(boot=OTHER_BOOT)
    node.again()
    node.look(cells=cells)
    assert node.findings == ()


def test_a_line_is_judged_once(node: Node) -> None:
    """It stands for its hour, over a restart, and is over after it: no old fault as a new one."""
    node.look(1.0, {LOG: {NODE: 1}}, line(node.clock.wall()))
    begun = node.one("heard").first_seen
    node.again()
    node.look(10.0, {LOG: {NODE: 0}})
    assert (node.one("heard").state, node.one("heard").first_seen) == (State.FIRING, begun)
    node.look(3600.0, {LOG: {NODE: 0}})
    assert node.one("heard").state is State.RESOLVED
    node.again()
    node.look(cells={LOG: {NODE: 0}})
    assert node.findings == ()


def test_a_line_of_an_earlier_boot_is_over(node: Node) -> None:
    """The reboot may have been the remedy; hearsay of before it counts no more."""
    node.look(1.0, {LOG: {NODE: 1}}, line(node.clock.wall()))
    node.flush()
    node.host = host(boot=OTHER_BOOT)
    node.again()
    node.look(10.0, {LOG: {NODE: 0}})
    assert node.one("heard").state is State.RESOLVED


def test_a_line_that_told_no_device_is_found_again(node: Node) -> None:
    """Its finding stands at a place that only the line makes."""
    nowhere = line(node.clock.wall())._replace(place=NODE)
    node.look(1.0, {LOG: {NODE: 1}}, nowhere)
    assert node.one("heard").entity.device is None
    node.again()
    node.look(10.0, {LOG: {NODE: 0}})
    assert node.one("heard").state is State.FIRING


def test_another_instance_begins_anew(node: Node, tmp_path: Path) -> None:
    """An image baked with our state: nothing of it is believed, all of it is kept aside."""
    node.look(cells={SRAM: 3})
    node.flush()
    node.host = host(instance="i-0fedcba9876543210")
    node.again()
    node.look(cells={SRAM: 0})
    assert [one.id for one in node.findings] == ["state-set-aside"]
    assert node.health.verdict is Verdict.HEALTHY
    assert (tmp_path / "state" / f"state.db.of-{INSTANCE}.1").exists()
    node.look(2.0, {SRAM: 0})
    node.flush()
    assert node.events() == ["store_set_aside"]


def test_a_chip_that_is_no_longer_here_takes_its_findings_with_it(node: Node) -> None:
    """Stop and start on another machine: the same instance, other chips."""
    node.look(cells={SRAM: 3})
    node.host = host(boot=OTHER_BOOT)
    node.again()
    node.devices = (chip(serial="00000000000000b1"),)
    node.look(cells={SRAM: 0})
    assert node.one().state is State.RESOLVED
    assert node.one().message.endswith("the device left: another chip is in its place")
    node.look(cells={SRAM: 0})
    assert node.findings == ()
    node.again()
    assert node.store.load().findings == {}


def test_a_chip_is_taken_for_the_one_before_until_its_serial_number_tells(node: Node) -> None:
    """The old finding stands; another number ends it as one of a device that left."""
    node.look(cells={SRAM: 3})
    node.again()
    node.devices = (chip(serial=None),)
    node.look(cells={SRAM: NOT_YET})
    assert node.one().state is State.FIRING
    node.devices = (chip(serial="00000000000000b1"),)
    node.look(cells={SRAM: 0})
    assert node.one().state is State.RESOLVED
    assert "the device left" in node.one().message


def test_a_serial_number_that_appears_later_keeps_what_was_known(node: Node) -> None:
    """Kept by instance and index until it is read; then under the serial number."""
    node.devices = (chip(serial=None),)
    node.look(cells={SRAM: 3, **hangs(5)})
    begun = node.one().first_seen
    node.again()
    node.devices = (chip(),)
    node.look(cells={SRAM: 3, **hangs(6)})
    assert node.one().first_seen == begun
    assert node.one("grown").evidence[0].previous == 5
    node.again()
    assert {mark.key for mark in node.store.load().findings} == {chip().key}
    assert node.store.past
    assert node.store.past.ended() == []


def test_set_healthy_is_a_baseline_for_good(node: Node) -> None:
    """Counts and lines of before are settled; one more is found, with the baseline as its past."""
    node.look(1.0, {SRAM: 3, LOG: {NODE: 1}}, line(node.clock.wall()))
    assert {one.id for one in node.findings} == {"fault", "heard"}
    assert node.judge.set_healthy(0, ME._replace(at=node.clock.wall()))
    node.look(1.0, {SRAM: 3, LOG: {NODE: 1}})
    assert {one.state for one in node.findings} == {State.RESOLVED}
    node.look(2.0, {SRAM: 3, LOG: {NODE: 1}})
    assert node.findings == ()
    node.again()
    node.look(cells={SRAM: 3, LOG: {NODE: 0}})
    assert node.findings == ()
    node.look(cells={SRAM: 4, LOG: {NODE: 0}})
    assert node.one().evidence[0].previous == 3


def test_a_fault_that_comes_back_is_known_over_restarts(node: Node) -> None:
    """Resolved, restarted, there again: the remedy of the second time."""
    again = r.Again(86_400.0, Action.REPLACE_INSTANCE, Severity.CRITICAL)
    node.rules = (rule(r.Above(SRAM, 0), severity=Severity.WARNING, again=again),)
    node.again()
    node.look(cells={SRAM: 1})
    node.look(cells={SRAM: 0})
    assert node.one().state is State.RESOLVED
    node.look(cells={SRAM: 0})
    node.again()
    node.look(cells={SRAM: 1})
    assert node.one().action is Action.REPLACE_INSTANCE


def test_a_latched_fault_outlives_a_reboot(node: Node) -> None:
    """What needs a replacement does not clear by itself (E08)."""
    node.rules = (rule(r.Above(SRAM, 0), latched=True),)
    node.again()
    node.look(cells={SRAM: 1})
    node.look(cells={SRAM: 1})
    node.host = host(boot=OTHER_BOOT)
    node.again()
    for _ in range(3):
        node.look(3600.0, {SRAM: 0})
        assert node.one().state is State.FIRING


def test_a_rule_that_is_no_more_leaves_no_finding(node: Node) -> None:
    """Its finding is over, and stands in the history."""
    node.look(cells={SRAM: 3})
    node.rules = (GROWN,)
    node.again()
    node.look(cells={SRAM: 3})
    node.look(2.0, {SRAM: 3})
    assert node.findings == ()


def test_what_must_be_missing_for_a_while_stands_until_it_is_there(node: Node) -> None:
    """The minute that must pass begins anew; the finding does not. A reading ends it at once."""
    gone = Missing(Why.FAILED, "unreadable")
    node.rules = (rule(r.AbsentFor(SRAM, 60.0), clear=30.0),)
    node.again()
    for _ in range(8):
        node.look(cells={SRAM: gone})
    begun = node.one().first_seen
    node.again()
    for _ in range(8):
        node.look(cells={SRAM: gone})
        assert (node.one().state, node.one().first_seen) == (State.FIRING, begun)
    node.again()
    node.look(cells={SRAM: 0})
    assert node.one().state is State.RECOVERING
