"""The text of a finding: what it means, what shows it, what clears it, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.contract import instant
from neuron_observer.model import Action
from neuron_observer.text import DASH, printable, seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.model import Entity, Evidence, Finding
    from neuron_observer.rules.rule import Rule

ACTIONS = {
    Action.NONE: "nothing",
    Action.WATCH: "watch it",
    Action.FIX_PROGRAM: "look at the program, not at the machine",
    Action.UPDATE_SOFTWARE: "update the driver or the software",
    Action.RESTART_JOB: "start the job again",
    Action.LOOK_AT_OTHER_WORKERS: "look at the other workers: the cause may be there",
    Action.RESET_DEVICE: "reset the device, and look again",
    Action.RELOAD_DRIVER: "reload the driver (modprobe -r neuron; modprobe neuron) or reboot",
    Action.REBOOT: "reboot",
    Action.REPLACE_INSTANCE: "replace the instance (terminate, or stop and start)",
}


def explain(rule: Rule, findings: Iterable[Finding] = ()) -> str:
    """A rule in plain text, with the findings of it that stand now."""
    return "\n".join([*meaning(rule), "", *now(findings)]).rstrip() + "\n"


def meaning(rule: Rule) -> Iterator[str]:
    """What a rule means, what to do, and what clears it."""
    yield from (f"{rule.id} ({rule.severity.value})", "", rule.meaning, "", *_remedy(rule))


def now(findings: Iterable[Finding]) -> Iterator[str]:
    """The findings that stand now, with what shows them."""
    standing = list(findings)
    yield "Now:" if standing else "Now: no such finding."
    for finding in standing:
        yield from _finding(finding)


def _remedy(rule: Rule) -> Iterator[str]:
    yield f"What to do: {ACTIONS[rule.action]}."
    if rule.if_confirmed and rule.if_confirmed is not rule.action:
        yield f"Once confirmed: {ACTIONS[rule.if_confirmed]}."
    if rule.confirm_by:
        yield "Confirmed by: " + "; ".join(rule.confirm_by) + "."
    if rule.again:
        within = seconds_text(rule.again.within)
        yield f"The same once more within {within}: {ACTIONS[rule.again.action]}."
    yield f"What clears it: {rule.clears}"
    if rule.latched:
        yield "It does not clear by itself on the same chip."
    if rule.shadow:
        yield "In shadow: it rests on what was inferred, so it is shown and never counted."
    if rule.program:
        yield "It is about a program, so it is no part of the node's health."
    yield f"Known from: {rule.fact.source} ({rule.fact.grade})"
    yield f"Runbook: {_runbook(rule)}"


def _runbook(rule: Rule) -> str:
    """Where the page is; docs/runbooks is no part of what is installed, what writes it is."""
    if rule.runbook and rule.runbook != f"docs/runbooks/{rule.id}.md":
        return rule.runbook
    own = "" if rule.runbook else f" --rules {rule.file}"
    return f"neuron-observer rules runbooks{own} DIR writes it"


def _finding(finding: Finding) -> Iterator[str]:
    since = instant(finding.first_seen) or DASH
    yield (
        f"- {entity_text(finding.entity)}: {printable(finding.message)}"
        f" ({finding.state.value}, {finding.confidence.value}, since {since})"
    )
    if finding.impact:
        yield f"    hits {printable(finding.impact)}"
    for one in finding.evidence:
        yield f"    {_evidence(one)}"


def entity_text(entity: Entity) -> str:
    """`device 3 core 1`, `port rdmap16s25/1`, `rank 5 of job llm`, `the node`."""
    if entity.kind in ("job", "rank") and entity.job:
        rank = "" if entity.rank is None else f"rank {entity.rank} of "
        return f"{rank}job {entity.job}"
    if entity.port:
        return f"{entity.kind} {entity.port}"
    if entity.device is None:
        return "the node"
    core = "" if entity.core is None else f" core {entity.core}"
    return f"device {entity.device}{core}"


def _evidence(one: Evidence) -> str:
    value = DASH if one.value is None else printable(str(one.value))
    before = "" if one.previous is None else f" (before: {one.previous})"
    return f"{one.kind}, {one.trust}: {one.source} = {value}{before} at {instant(one.at) or DASH}"
