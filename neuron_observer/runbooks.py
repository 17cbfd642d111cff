"""The pages made from the rules: docs/rules.md, and docs/runbooks with one page a finding."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import InputError
from neuron_observer.rules import describe
from neuron_observer.rules import rule as r
from neuron_observer.rules.explain import ACTIONS
from neuron_observer.rules.nodes import compose, plain
from neuron_observer.rules.rule import EVENTS
from neuron_observer.rules.trust import trust
from neuron_observer.text import seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from neuron_observer.rules.pattern import Pattern
    from neuron_observer.rules.rule import Rule

REMEDIES = Path(__file__).parent / "rules" / "remedies.yaml"
BY_HAND = Path(__file__).parent / "rules" / "pages"  # of findings that no rule makes
_MADE = "Made from the rules by `neuron-observer rules {verb}`; do not edit."
_KEPT = "Kept in `neuron_observer/rules/pages`, written by `neuron-observer rules runbooks DIR`."
_HARD = (
    "What the hardware or the kernel itself says is evidence: `probable` at the first read,"
    " `confirmed` at the second."
)
_SOFT = (
    "Lines of a log, and counters in pages that a program writes, are hearsay: any program that may"
    " open the device can write them. Alone they are never more than `probable`."
)
_SHADOW = (
    "It is in shadow: it rests on what was inferred and was not seen on hardware. It is shown and"
    " never counted."
)
_PROGRAM = (
    "It is about a program, or this machine is the victim of another: it is no part of the node's"
    " health."
)
_SURE = (r.MissingDevice, r.ClockJumped, r.CollectorFails)


class Remedy(NamedTuple):
    """An action in commands, and what to leave alone."""

    steps: tuple[str, ...]
    avoid: tuple[str, ...]


def remedies() -> dict[str, Remedy]:
    """The remedy of each action."""
    found = plain(compose(REMEDIES))
    return {
        action: Remedy(tuple(told["steps"]), tuple(told.get("avoid", ())))
        for action, told in found.items()
    }


def overview(rules: Sequence[Rule]) -> str:
    """The page docs/rules.md."""
    by_file: dict[str, list[Rule]] = {}
    for rule in rules:
        by_file.setdefault(PurePosixPath(rule.file).stem, []).append(rule)
    lines = [
        *("# Rules", "", _MADE.format(verb="list --format markdown"), ""),
        f"{len(rules)} rules; [rules-format.md](rules-format.md) tells how they are written.",
    ]
    for name, those in sorted(by_file.items()):
        lines += ["", f"## {name.capitalize()}", ""]
        lines += [
            "| finding | of | severity | what to do | what it means |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(rule) for rule in sorted(those, key=lambda rule: rule.id)]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    cells = (
        f"[{rule.id}](runbooks/{rule.id}.md)",
        rule.scope,
        rule.severity.value + (", in shadow" if rule.shadow else ""),
        ACTIONS[rule.action],
        rule.meaning,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(rule: Rule, patterns: Sequence[Pattern], remedy: Remedy) -> str:
    """The runbook of one finding."""
    parts: tuple[tuple[str, Iterable[str]], ...] = (
        ("What it means", (rule.meaning,)),
        ("How it is seen", _seen(rule, patterns)),
        ("How sure it is, and why", _listed(certainty(rule))),
        ("What clears it", (rule.clears,)),
        ("What to do", numbered(rule, remedy)),
        ("What not to do", _listed((*rule.avoid, *remedy.avoid))),
        ("What else it could be", _listed(rule.could_be)),
        ("Where this is known from", (f"{rule.fact.source} ({rule.fact.grade}).",)),
    )
    lines = [f"# {rule.id}", "", _MADE.format(verb="runbooks DIR"), ""]
    lines += [f"**{rule.severity.value}**, of a {rule.scope}. {_headline(rule)}", ""]
    for head, body in parts:
        text = list(body)
        lines += [f"## {head}", "", *text, ""] if text else []
    return "\n".join(lines).rstrip() + "\n"


def _headline(rule: Rule) -> str:
    said = f"What to do: {ACTIONS[rule.action]}."
    if rule.if_confirmed and rule.if_confirmed is not rule.action:
        said += f" Once confirmed: {ACTIONS[rule.if_confirmed]}."
    if rule.again:
        days = rule.again.within / 86400
        said += f" The same once more within {days:g} days: {ACTIONS[rule.again.action]}."
    return said


def _seen(rule: Rule, patterns: Iterable[Pattern]) -> Iterator[str]:
    yield from _nested(rule.when)
    if rule.hold:
        yield from ("", f"It must last for {seconds_text(rule.hold)}.")
    if rule.given is not None:
        yield from ("", "The rule applies only where:", "", *_nested(rule.given))
    origins = {m: told for m in sorted(r.inputs(rule)) if (told := describe.origin(m))}
    if origins:
        yield from ("", "Where these files say something:", "")
        yield from (f"- {describe.path(metric)}: {told}" for metric, told in origins.items())
    lines = [row for row in patterns if row.match and {row.id, row.finding} & _awaited(rule)]
    if lines:
        yield from ("", "Lines of the kernel log that count (as regular expressions):", "", "```")
        yield from (expression for row in lines for expression in row.match)
        yield "```"


def _nested(condition: r.Condition) -> Iterator[str]:
    yield from (f"{'  ' * line.depth}- {line.text}" for line in describe.condition(condition))


def _awaited(rule: Rule) -> set[str]:
    """Names of lines that make the condition true."""
    leaves = [leaf for leaf in r.asserted(rule.when) if isinstance(leaf, r.Matches)]
    return {leaf.finding for leaf in leaves} - set(EVENTS)


def certainty(rule: Rule) -> Iterator[str]:
    """How sure a finding of a rule can be, and why."""
    leaves = list(r.asserted(rule.when))
    worth = {trust(metric) for leaf in leaves for metric in r.metrics_of(leaf)}
    ours = any(isinstance(leaf, r.Matches) and leaf.finding in EVENTS for leaf in leaves)
    if ours or "hardware" in worth or any(isinstance(leaf, _SURE) for leaf in leaves):
        yield _HARD
    if "hearsay" in worth or _awaited(rule):
        yield _SOFT
    if rule.witness:
        witness = describe.path(rule.witness)
        yield f"A line is `contradicted` if {witness} could be read and stood still for 60 s."
    if rule.confirm_by:
        yield "What would confirm it: " + "; ".join(rule.confirm_by) + "."
    yield from (text for flag, text in ((rule.shadow, _SHADOW), (rule.program, _PROGRAM)) if flag)
    if not rule.blames_hardware:
        yield "It does not blame the hardware of this machine."


def numbered(rule: Rule, remedy: Remedy) -> Iterator[str]:
    """What to do step by step: the rule's own steps, then those of its action."""
    own = (step.replace("{device}", "N") for step in rule.steps)
    general = (step.replace("{id}", rule.id) for step in remedy.steps)
    yield from (f"{number}. {step}" for number, step in enumerate((*own, *general), 1))


def _listed(items: Iterable[str]) -> Iterator[str]:
    for item in items:
        end = "" if item[-1] in ".!?" else "."
        yield f"- {item[0].upper()}{item[1:]}{end}"


def pages(rules: Iterable[Rule], patterns: Sequence[Pattern]) -> dict[str, str]:
    """File name → page, of all findings."""
    every = remedies()
    made = {f"{rule.id}.md": page(rule, patterns, every[rule.action.value]) for rule in rules}
    kept = {file.name: _marked(file.read_text("utf-8")) for file in BY_HAND.glob("*.md")}
    return {**kept, **made}


def _marked(text: str) -> str:
    """A page that is written by hand, with the word where that is done."""
    title, _, rest = text.partition("\n\n")
    return f"{title}\n\n{_KEPT}\n\n{rest}"


def told(finding_id: str) -> tuple[str, ...]:
    """The page of a finding that no rule makes, for a terminal; nothing where there is none."""
    file = BY_HAND / f"{finding_id}.md"
    if "/" in finding_id or not file.is_file():
        return ()
    lines = file.read_text("utf-8").replace("**", "").rstrip().splitlines()
    return tuple(_plain_heading(line) for line in lines)


def _plain_heading(line: str) -> str:
    if line.startswith("## "):
        return f"{line[3:]}:"
    return line.removeprefix("# ")


def write(folder: Path, contents: dict[str, str]) -> None:
    """Write the pages into a folder; those of findings that are no more are left to their owner."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{error.filename or folder}: {error.strerror}",
            remedy="Name a folder that you may write to.",
        ) from None
