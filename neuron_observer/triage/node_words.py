"""What a node told, in the words that it has itself; then the lines of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.checks import words
from neuron_observer.checks.verdict import Checked
from neuron_observer.model import State
from neuron_observer.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neuron_observer.model import Finding
    from neuron_observer.triage.facts import Fact
    from neuron_observer.triage.inputs import Input
    from neuron_observer.triage.nodes import Node

OVER = 6  # findings that are over
LINES = 12


def headline(node: Node) -> str:
    """One line, as `check` on the node begins."""
    return words.headline(_checked(node))


def lines(node: Node, inputs: Sequence[Input], width: int, *, said: str = "") -> Iterator[str]:
    """Everything that the node told, but for a headline that was said already."""
    checked = _checked(node)
    at, version = (node.about.get(name) for name in ("at", "version"))
    yield f"{inputs[node.source].short}: a bundle of {at}, by version {version}"
    if printable(first := headline(node)) != said:
        yield first
    yield ""
    yield from words.findings(checked.findings, width) or ["no finding stands"]
    if checked.shadow:
        yield from ("", "In shadow (shown, never counted)")
        yield from words.findings(checked.shadow, width)
    over = [one for one in node.findings if one.state is State.RESOLVED]
    if over:
        yield from ("", f"Over: {len(over)}")
        yield from (f"  {_over(one)}" for one in over[:OVER])
    yield from _quoted("Its log says so too", node.lines, inputs, width)
    yield from _quoted("In its log, and no finding of the node", node.beside, inputs, width)
    yield ""


def _checked(node: Node) -> Checked:
    stands = [one for one in node.findings if one.state is not State.RESOLVED]
    counted = tuple(one for one in stands if not one.shadow)
    shadow = tuple(one for one in stands if one.shadow)
    return Checked(node.verdict, node.reason, node.coverage, counted, shadow, ())


def _over(one: Finding) -> str:
    return f"{one.id}: {words.places([one])}: {printable(one.message)}"


def _quoted(
    title: str, facts: Sequence[Fact], inputs: Sequence[Input], width: int
) -> Iterator[str]:
    if not facts:
        return
    yield from ("", title)
    for fact in facts[:LINES]:
        times = f" x{fact.count}" if fact.count > 1 else ""
        line = f"  {inputs[fact.source].short}:{fact.line}{times}  {printable(fact.said)}"
        yield line if len(line) <= width else f"{line[: width - 3]}..."
    if len(facts) > LINES:
        yield f"  ... and {len(facts) - LINES} more kinds of line"
