"""`explain`: from an alarm to its remedy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from neuron_observer.checks.inventory import MEANINGS
from neuron_observer.checks.judging import look
from neuron_observer.cli.configured import config_of
from neuron_observer.cli.hosts import make_judge, rules_of
from neuron_observer.cli.judged import open_look
from neuron_observer.cli.options import host_options, rules_option
from neuron_observer.doctor import is_neuron_host
from neuron_observer.errors import UsageError
from neuron_observer.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from neuron_observer.checks.judging import Judge
    from neuron_observer.model import Finding
    from neuron_observer.observer import HostReader
    from neuron_observer.rules.pattern import Pattern
    from neuron_observer.rules.rule import Rule


@click.command()
@click.argument("fault")
@host_options
@rules_option
@click.option("--no-look", is_flag=True, help="Only the meaning: leave the host alone.")
def command(
    *,
    fault: str,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    no_look: bool,
) -> int:
    """Explain FAULT, the id of a finding: what it means, how sure it is, what to do.

    The host is looked at too (two reads 300 ms apart), for what shows it now.
    """
    rules = rules_of(config_of(config_file), extra)
    rule = next((rule for rule in rules if rule.id == fault), None)
    lines = list(_rule(rule) if rule else _other(fault, rules))
    if no_look:
        click.echo("\n".join(lines))
        return 0
    reader = open_look(host_root, config_file, all_devices=all_devices)
    click.echo(
        "\n".join([*lines, "", *_now(fault, reader, partial(make_judge, config_file, extra))])
    )
    return 0


def _rule(rule: Rule) -> Iterator[str]:
    from neuron_observer.rules.explain import meaning  # noqa: PLC0415 - with the rules
    from neuron_observer.runbooks import certainty, numbered, remedies  # noqa: PLC0415 - the same

    yield from meaning(rule)
    yield from ("", "How sure it is:", *(f"  {line}" for line in certainty(rule)))
    remedy = remedies()[rule.action.value]
    yield from ("", "Step by step:", *(f"  {line}" for line in numbered(rule, remedy)))
    avoid = (*rule.avoid, *remedy.avoid)
    if avoid:
        yield from ("", "What not to do:", *(f"  - {line}" for line in avoid))
    if rule.could_be:
        yield from ("", "What else it could be:", *(f"  - {line}" for line in rule.could_be))


def _other(fault: str, rules: Sequence[Rule]) -> Iterator[str]:
    """A finding that no rule makes: one told beside the rules, or a line of a log."""
    from neuron_observer.rules.explain import ACTIONS  # noqa: PLC0415 - with the rules
    from neuron_observer.rules.patterns import load as load_patterns  # noqa: PLC0415 - costs yaml

    if fault in MEANINGS:
        from neuron_observer.runbooks import told  # noqa: PLC0415 - with the rules

        yield from told(fault) or (fault, "", MEANINGS[fault])
        return
    patterns = load_patterns()
    rows = [row for row in patterns if fault in (row.id, row.finding)]
    if not rows:
        raise UsageError(f"{fault}: no such finding", remedy=_nearest(fault, rules, patterns))
    yield from (fault, "")
    for row in rows:
        yield from (row.meaning, f"What to do: {ACTIONS[row.action]}.")
    yield "It is told of lines of logs alone: neuron-observer triage LOG"


def _nearest(fault: str, rules: Sequence[Rule], patterns: Sequence[Pattern]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - rarely needed

    known = {rule.id for rule in rules} | set(MEANINGS)
    known |= {name for row in patterns for name in (row.id, row.finding) if name}
    near = get_close_matches(fault, sorted(known), 3, 0.4)
    more = "`neuron-observer rules list` shows all."
    return f"Did you mean {' or '.join(near)}? {more}" if near else more


def _now(fault: str, reader: HostReader, make: Callable[[], Judge]) -> Iterator[str]:
    """What shows it on the host."""
    from neuron_observer.rules.explain import now  # noqa: PLC0415 - with the rules
    from neuron_observer.stragglers.alerts import alert  # noqa: PLC0415 - the same
    from neuron_observer.stragglers.names import OF_JOBS  # noqa: PLC0415 - the same

    if not is_neuron_host(reader.topology):
        reader.close()
        yield "Now: nothing of Neuron is here: no device, no driver, no PCI function."
        return
    try:
        frame = look(reader, make).frame
    finally:
        reader.close()
    standing: list[Finding] = [one for one in frame.findings if one.id == fault]
    yield from now(standing)
    for one in standing:
        if one.id in OF_JOBS:
            yield from ("", *map(printable, alert(one).split("\n")))
    for gap in frame.health.coverage.not_covered:
        if gap.id == fault:
            yield f"Not covered here: {printable(gap.why)}"
