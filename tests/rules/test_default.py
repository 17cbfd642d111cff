"""The shipped rules: what they say is what the table of faults says, in words for a newcomer."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Severity
from neuron_observer.rules import rule as r
from neuron_observer.rules.conditions import PREDICATES
from neuron_observer.rules.loader import load
from neuron_observer.rules.patterns import load as load_patterns

if TYPE_CHECKING:
    from neuron_observer.rules.rule import Rule

HERE = Path(__file__).parent
# rows that are no rule of their own: another finding stands for them, or no byte shows them
# times that the table says in another way: a hold that its threshold holds already, or a window of
# a mean that is folded into hold and clear
TIMES = {
    "collector-stuck": (0, 30),  # a read that is late by its deadline has lasted so long
    "power-flat": (110, 120),  # three figures of a minute each
    "throttling-suspected": (70, 100),  # 38 s until a mean of 60 s is past 0.75, or back at 0.85
}
WITHOUT_RULE = {"hbm-repair-failed", "driver-incompatible", "driver-reload-pending"}


WITH_UNIT = {"bytes", "ratio", "percent", "seconds"}  # that the figures of a message are given
OF_A_METRIC = ("value", "than", "baseline")


@cache
def rules() -> dict[str, Rule]:
    """The shipped rules by id."""
    return {rule.id: rule for rule in load()}


@cache
def rows() -> dict[str, dict[str, Any]]:
    """The rows of the table by id."""
    table = yaml.safe_load((HERE / "faults.yaml").read_text("utf-8"))
    return {row["id"]: row for row in table["faults"]}


def test_every_fault_that_can_be_told_has_a_rule() -> None:
    """The table without the rows that say why not; nothing besides."""
    assert len(rules()) >= 45
    assert set(rules()) == set(rows()) - WITHOUT_RULE
    for id_ in WITHOUT_RULE:
        assert rows()[id_]["unknown"]


@pytest.mark.parametrize("id_", sorted(set(rows()) - WITHOUT_RULE))
def test_a_rule_says_what_the_table_says(id_: str) -> None:
    """Whom it is about, how bad, what to do, whom it blames, and how good the knowledge is."""
    rule, row = rules()[id_], rows()[id_]
    scope = {"efa": "port", "pci": "link"}.get(rule.scope, rule.scope)
    told = (scope, rule.severity.value, rule.action.value, rule.fact.grade)
    assert told == (row["entity"], row["severity"], row["action"], row["grade"])
    confirmed = rule.if_confirmed.value if rule.if_confirmed else None
    assert confirmed == row.get("if_confirmed")
    flags = (rule.blames_hardware, rule.shadow, rule.latched)
    assert flags == (row["blames_hardware"], row["shadow"], row.get("latched", False))
    assert bool(rule.again) == ("escalates" in row)
    assert [one for one in row.get("confirm_by", ()) if _plain(one) not in _plain(str(rule))] == []


def _plain(text: str) -> str:
    return text.replace("`", "")


@pytest.mark.parametrize("id_", sorted(set(rows()) - WITHOUT_RULE))
def test_times_are_those_of_the_table(id_: str) -> None:
    """Hold and clear; of a count or a line the time without another one is the clear time."""
    rule, row = rules()[id_], rows()[id_]
    hold, clear = TIMES.get(id_, (row["hold_s"], row["clear_s"]))
    leaves = list(r.asserted(rule.when))
    lasting = max((leaf.lasting for leaf in leaves if isinstance(leaf, r.Stuck)), default=0)
    assert rule.hold + lasting == hold
    within = max((getattr(leaf, "within", 0) for leaf in leaves), default=0)
    assert clear in (rule.clear, rule.clear + within) or rule.latched


@pytest.mark.parametrize("rule", load(), ids=lambda rule: rule.id)
def test_a_rule_is_told_in_words(rule: Rule) -> None:
    """Sentences that end, what else it could be, and a remedy for what is critical."""
    for text in (rule.meaning, rule.clears, *rule.steps, *rule.avoid):
        assert text[0].isupper() or text[0] == "`", text
        assert text[-1] in ".`", text
    assert rule.could_be
    assert len(rule.message) <= 120
    if rule.severity is Severity.CRITICAL:
        assert rule.confirm_by


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.id)
def test_a_message_has_each_unit_once(rule: Rule) -> None:
    """A figure whose metric has a unit that is written carries it; `seconds` always does."""
    units = {METRICS[metric].unit for metric in r.inputs(rule) if metric in METRICS}
    written = {"seconds"} if units.isdisjoint(WITH_UNIT) else {"seconds", *OF_A_METRIC}
    doubled = re.findall(r"\{(\w+)\} ?(?:%|s|B|[KMG]iB|bytes|seconds)(?!\w)", rule.message)
    assert written.isdisjoint(doubled)


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.id)
def test_no_message_claims_the_time_that_a_rule_waits(rule: Rule) -> None:
    """What must last is told while it is pending too; the engine says what is awaited."""
    claim = r"\bfor (?:more than|minutes|seconds|five|ten)|minutes without"
    assert not rule.hold or not re.search(claim, rule.message)


def test_a_slow_read_is_not_told_as_one_that_hangs() -> None:
    """Reads that each take seconds come back; only that not all have is known."""
    stuck = rules()["collector-stuck"]
    told = "the registers of device {device} have not been read to the end: {line}"
    assert stuck.message == told
    assert any("do come back" in other for other in stuck.could_be)


def test_program_findings_ask_nothing_of_the_machine() -> None:
    """What is about a program blames no hardware; who must fix it is told."""
    for rule in rules().values():
        if rule.program:
            assert not rule.blames_hardware
            assert rule.severity is not Severity.CRITICAL
        if rule.action.value == "fix_program":
            assert rule.program or rule.severity is Severity.INFO, rule.id


def test_the_shipped_rules_use_what_the_language_has() -> None:
    """Predicates that no shipped rule needs are few and known."""
    used = {type(leaf) for rule in rules().values() for leaf in r.leaves(rule.when)}
    idle = {name for name, form in PREDICATES.items() if form not in used}
    assert idle == {"rate_above", "collector_fails"}


def test_a_finding_of_a_line_and_of_a_rule_is_one_fault() -> None:
    """A pattern whose finding has a rule names that rule's page; the rule hears such lines."""
    heard = {name for rule in rules().values() for name in r.events(rule)}
    kernel = [row for row in load_patterns() if row.where in ("kernel", "host") and not row.quiet]
    unheard = {row.finding for row in kernel} & set(rules()) - heard - {
        row.finding for row in kernel if row.id in heard
    }
    assert unheard == {"efa-command-failed", "pcie-nonfatal"}  # they are counted, and better told


# Lines of the kernel log that may mean harm and that no rule hears, and why.
UNHEARD = {
    "efa-command-failed": "the adapter counts them",
    "oom-invoked": "part of the report that oom-killed hears",
    "segfault": "of any program: whether it used a device the line does not say",
    "pcie-nonfatal": "the function counts them; each error prints several lines",
    "task-blocked": "of any process and disk; a read of ours that hangs is collector-stuck",
    "nfs-silent": "a file server's trouble, which the job's own log tells",
    "dma-bad-call": "a program's request that was refused; the program gets the error",
    "device-in-use": "a program's request that was refused; the program gets the error",
    "core-lock": "processes that waited for one another; the program gets the error",
    "power-read-failed": "one a minute for all devices; device-not-answering reads the registers",
}


def test_every_line_that_may_mean_harm_is_heard() -> None:
    """A line of the kernel log that is not quiet leads to a rule, or it is told why not."""
    heard = {name for rule in rules().values() for name in r.events(rule)}
    unheard = {
        row.id
        for row in load_patterns()
        if row.where in ("kernel", "host") and not row.quiet and not {row.id, row.finding} & heard
    }
    assert unheard == set(UNHEARD)


def test_no_rule_names_a_driver_file_without_its_version() -> None:
    """A fact of the driver's source says of which version."""
    for rule in rules().values():
        if re.search(r"neuron_\w+\.[ch]", rule.fact.source):
            assert re.search(r"\d\.\d+\.\d+|driver \d", rule.fact.source), rule.id


def test_lines_lead_to_the_page_of_their_finding() -> None:
    """A pattern whose finding has a rule leads to its runbook, any other to none."""
    for row in load_patterns():
        assert row.runbook == (rules()[row.finding].runbook if row.finding in rules() else "")
