from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.errors import ConfigError
from neuron_observer.model import Action, Severity
from neuron_observer.rules import rule as r
from neuron_observer.rules.loader import SHIPPED, load

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.rules.rule import Rule

GOOD = """\
rules:
  - id: a-fault
    scope: device
    when: {above: {metric: device.sram.ecc_uncorrected, than: 0}}
    severity: critical
    action: reboot
    message: "{value} on {device}"
    meaning: it means something
    clears: nothing
    fact: {grade: source, source: "driver 2.30.2"}
"""
WHEN = "{above: {metric: device.sram.ecc_uncorrected, than: 0}}"


def loaded(folder: Path, text: str) -> Rule:
    """The one rule of a text."""
    file = folder / "rules.yaml"
    file.write_text(text)
    (rule,) = load([file])
    return rule


def test_the_shipped_rules_load() -> None:
    """Ids are unique, each has its words, and none rests on a guess without being in shadow."""
    rules = load()
    assert len({rule.id for rule in rules}) == len(rules) >= 8
    for rule in rules:
        assert rule.meaning
        assert rule.clears
        assert rule.runbook == f"docs/runbooks/{rule.id}.md"
        assert rule.shadow or rule.fact.grade != "inferred"


def test_a_rule_is_read_whole(tmp_path: Path) -> None:
    """Durations, combinations, escalation, versions; what is left out has its default."""
    text = GOOD.replace(
        WHEN,
        "{all: [{increased: {metric: core.reset_failures, within: 2 h}},"
        " {not: {anywhere: {matches: {finding: driver_reloaded, within: 90}}}}]}\n"
        "    given: {one_of: {metric: driver.state, values: [live]}}\n"
        "    hold: 10 s\n    clear: 1.5 min\n    again: {within: 30 d, action: replace_instance}\n"
        "    chips: Trainium2\n    since: 2.28.0",
    )
    rule = loaded(tmp_path, text)
    assert rule.when == r.AllOf(
        (
            r.Increased("core.reset_failures", within=7200.0),
            r.Not(r.Anywhere(r.Matches("driver_reloaded", 90.0))),
        )
    )
    assert rule.given == r.OneOf("driver.state", ("live",))
    assert (rule.hold, rule.clear, rule.needs) == (10.0, 90.0, "window")
    assert rule.again == r.Again(30 * 86400.0, Action.REPLACE_INSTANCE)
    assert (rule.chips, rule.since, rule.until) == (("Trainium2",), (2, 28, 0), None)
    assert (rule.required, rule.shadow, rule.line) == (False, False, 2)


def test_what_a_condition_needs_is_found(tmp_path: Path) -> None:
    """One read, two reads, a stretch of time."""
    assert loaded(tmp_path, GOOD).needs == "instant"
    edge = GOOD.replace(WHEN, "{increased: {metric: core.reset_failures}}")
    assert loaded(tmp_path, edge).needs == "pair"


def test_an_inferred_fact_is_in_shadow(tmp_path: Path) -> None:
    """Without being asked."""
    assert loaded(tmp_path, GOOD.replace("grade: source", "grade: inferred")).shadow


def test_users_change_keys_or_add_rules(tmp_path: Path) -> None:
    """A block with a known id changes what it has; `enabled: false` takes the rule away."""
    shipped, own = tmp_path / "shipped.yaml", tmp_path / "rules.d"
    own.mkdir()
    shipped.write_text(GOOD)
    (own / "a.yaml").write_text("rules:\n  - {id: a-fault, severity: warning, hold: 1 min}\n")
    (own / "b.yaml").write_text(GOOD.replace("a-fault", "b-fault"))
    first, second = load([shipped], extra=[own])
    assert (first.severity, first.hold, first.action) == (Severity.WARNING, 60.0, Action.REBOOT)
    assert second.id == "b-fault"
    (own / "a.yaml").write_text("rules:\n  - {id: a-fault, enabled: false}\n")
    assert [rule.id for rule in load([shipped], extra=[own])] == ["b-fault"]


def test_an_error_in_a_users_block_names_the_users_file(tmp_path: Path) -> None:
    """Not the shipped one whose other keys it takes."""
    shipped, own = tmp_path / "shipped.yaml", tmp_path / "own.yaml"
    shipped.write_text(GOOD)
    own.write_text("rules:\n  - id: a-fault\n    severity: bad\n")
    with pytest.raises(ConfigError, match=re.escape(f"{own}:3: a-fault: severity")):
        load([shipped], extra=[own])


BROKEN = [
    ("severity: critical", "severty: critical", "5: a-fault: a rule: unknown key 'severty'; did"),
    ("    clears: nothing\n", "", "2: a-fault: the key 'clears' is missing"),
    ("severity: critical", "severity: bad", "5: a-fault: severity: 'bad' is none of"),
    ("device.sram.ecc_uncorrected", "device.sram.ecc_uncorected", "did you mean 'device.sram.ecc"),
    ("than: 0", "than: many", "above.than: unknown metric 'many'"),
    ("than: 0", "more: 0", "above: unknown key 'more'"),
    (", than: 0", "", "above: the key 'than' is missing"),
    ("{above:", "{abov:", "unknown predicate 'abov'; did you mean 'above'?"),
    ("than: 0", "than: 5, clear_at: 9", "when: clear_at 9 is above 5"),
    ("{value}", "{worth}", "message: {worth} is none of"),
    ("{value}", "{value", "message: is no template"),
    ("action: reboot", "action: watch", "a critical finding asks for more than watch"),
    ("    clears", "    hold: soon\n    clears", "hold: 'soon' is no duration"),
    ("    clears", "    needs: instant\n    hold: 5 s\n    clears", "needs: instant is too little"),
    ("    clears", "    since: 2.30.2\n    until: 2.28.0\n    clears", "until: is before since"),
    ("    clears", "    since: new\n    clears", "since: 'new' is no driver version"),
    ("    clears", "    chips: [Trainium9]\n    clears", "chips: 'Trainium9' is none of"),
    ("    clears", "    latched: true\n    clear: 5 s\n    clears", "clear: a latched finding"),
    ("    clears", "    witness: host.load.1m\n    clears", "witness: host.load.1m is no counter"),
    ("    clears", "    action: none\n    clears", "the key 'action' stands twice"),
    ("grade: source", "grade: hearsay", "fact.grade: 'hearsay' is none of"),
    (
        "scope: device",
        "scope: port",
        "device.sram.ecc_uncorrected is of each device, not of a port",
    ),
    ("id: a-fault", "id: A fault", "lower case words joined by hyphens"),
    ("device.sram.ecc_uncorrected", "core.reset_failures", "use increased or rate_above"),
    (WHEN, "{increased: {metric: host.load.1m}}", "host.load.1m is no counter"),
    (
        WHEN,
        "{increased: {metric: core.reset_failures, ended_by: hbm-scrub-failed}}",
        "ended by what the reader sees",
    ),
    (
        f"{WHEN}\n",
        "{increased: {metric: core.reset_failures, within: 5 s}}\n    hold: 9 s\n",
        "hold 9 s is never reached",
    ),
    (WHEN, "{matches: {finding: sram-uncorectable}}", "did you mean 'sram-uncorrectable'?"),
    (WHEN, "{all: [{missing_device: {}}]}", "all needs two conditions or more"),
    (WHEN, "{missing_device: {}, clock_jumped: {}}", "one predicate, this one has 2"),
    (WHEN, "{differs_from_peers: {metric: core.utilization}}", "needs least or least_share"),
    (WHEN, "[1]", "a condition must be a mapping"),
    (
        f"{WHEN}\n",
        "{matches: {finding: sram-uncorrectable}}\n    blames_hardware: true\n",
        "if_confirmed: is missing: hearsay alone blames the hardware",
    ),
    ("grade: source", "grade: inferred", "shadow: a rule that rests on an inferred fact"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN, ids=[m for _, _, m in BROKEN])
def test_a_broken_rule_names_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    """File, line, rule and key."""
    text = GOOD.replace(old, new)
    if "inferred" in new:
        text += "    shadow: false\n"
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        loaded(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "rules.yaml"))


def test_an_id_may_stand_once(tmp_path: Path) -> None:
    """And the error tells where the first one is."""
    second = GOOD.partition("\n")[2]
    with pytest.raises(ConfigError, match=r":11: a-fault: this id is taken, at .*:2$"):
        loaded(tmp_path, GOOD + second)


def test_a_bomb_is_refused_before_it_goes_off(tmp_path: Path) -> None:
    """No aliases, no abyss, no novels."""
    for text, message in (
        ("a: &a [1]\nrules: [*a, *a]\n", "an alias"),
        ("rules: " + "[" * 40 + "]" * 40, "deeper than 16 levels"),
        ("#" * (1 << 20) + "\n" + GOOD, "longer than"),
        ("rules: [\n", "is no YAML"),
    ):
        with pytest.raises(ConfigError, match=message):
            loaded(tmp_path, text)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Not there, or no text."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load([tmp_path / "none.yaml"])
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigError):
        load([tmp_path / "bytes.yaml"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_cut_of_a_shipped_file_loads_or_is_an_error(
    tmp_path: Path, data: st.DataObject
) -> None:
    """Never anything but a ConfigError."""
    text = (SHIPPED / "memory.yaml").read_text("utf-8")
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(begin + 200, len(text))))
    file = tmp_path / "cut.yaml"
    file.write_text(text[:begin] + text[end:], "utf-8")
    rules: tuple[Rule, ...] = ()
    with suppress(ConfigError):
        rules = load([file])
    assert all(rule.meaning and rule.action for rule in rules)


def test_a_rule_of_ones_own_has_no_page(tmp_path: Path) -> None:
    """docs/runbooks has none of it; one that changes a shipped rule keeps that rule's."""
    file = tmp_path / "own.yaml"
    file.write_text(GOOD + "  - id: hbm-unrepairable\n    hold: 3 s\n")
    pages = {rule.id: rule.runbook for rule in load(extra=[file])}
    assert pages["a-fault"] == ""
    assert pages["hbm-unrepairable"] == "docs/runbooks/hbm-unrepairable.md"


def test_what_is_no_yaml_says_where_and_what_to_do(tmp_path: Path) -> None:
    """The line is one that the file has, the remedy the one of a configuration."""
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, "rules: [a\n\n")
    assert caught.value.line == 1
    assert caught.value.remedy == (
        "Look at the indentation, at colons and brackets; put a text that has them in quotes."
    )


@pytest.mark.parametrize("value", ["5", "1.5", "yes", "2026-12-01", "~"])
def test_a_message_is_a_text(tmp_path: Path, value: str) -> None:
    """What YAML takes for something else is most likely a slip; in quotes it is meant so."""
    wrong = GOOD.replace('message: "{value} on {device}"', f"message: {value}")
    with pytest.raises(ConfigError, match=f"a-fault: message: {value} is no text") as caught:
        loaded(tmp_path, wrong)
    assert caught.value.remedy == "If it is meant so, quote it."
    assert loaded(tmp_path, wrong.replace(value, f"'{value}'", 1)).message == value
    steps = GOOD + f"    steps: [do this, {value}]\n"
    with pytest.raises(ConfigError, match=f"steps: {value} is no text"):
        loaded(tmp_path, steps)
