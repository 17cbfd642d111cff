"""`rules`: what is judged (`list`), and whether it judges as it must (`test`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuron_observer.cli.options import rules_option
from neuron_observer.errors import ExitCode
from neuron_observer.text import printable, seconds_text, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.checks.play import Result
    from neuron_observer.rules.rule import Rule

HEADS = ("RULE", "OF", "SEVERITY", "ACTION", "NEEDS", "HOLD", "CLEAR", "")


@click.group()
def command() -> None:
    """The rules: list them, or play what a host's bytes do against them."""


def _load(extra: Sequence[str]) -> tuple[Rule, ...]:
    from neuron_observer.checks.judging import load_rules  # noqa: PLC0415 - costs the reader

    return load_rules(extra)


@command.command("list")
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
def list_rules(*, extra: tuple[str, ...], form: str) -> None:
    """List every rule: what it is about, how bad, what to do."""
    rules = sorted(_load(extra), key=lambda rule: rule.id)
    if form == "json":
        click.echo(json.dumps([_document(rule) for rule in rules], indent=1))
    elif form == "markdown":
        from neuron_observer.runbooks import overview  # noqa: PLC0415 - with the rules

        click.echo(overview(rules), nl=False)
    else:
        click.echo(table(HEADS, [_row(rule) for rule in rules]))


def _row(rule: Rule) -> tuple[str, ...]:
    flags = [word for word in ("required", "latched", "shadow", "program") if getattr(rule, word)]
    return (
        rule.id,
        rule.scope,
        rule.severity.value,
        rule.action.value,
        rule.needs,
        seconds_text(rule.hold) if rule.hold else "0",
        seconds_text(rule.clear) if rule.clear else "0",
        ", ".join(flags),
    )


def _document(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "scope": rule.scope,
        "severity": rule.severity.value,
        "action": rule.action.value,
        "if_confirmed": rule.if_confirmed.value if rule.if_confirmed else None,
        "confirm_by": list(rule.confirm_by),
        "blames_hardware": rule.blames_hardware,
        "needs": rule.needs,
        "hold": rule.hold,
        "clear": rule.clear,
        "required": rule.required,
        "latched": rule.latched,
        "shadow": rule.shadow,
        "program": rule.program,
        "meaning": rule.meaning,
        "clears": rule.clears,
        "fact": {"grade": rule.fact.grade, "source": rule.fact.source},
        "runbook": rule.runbook,
        "file": rule.file,
        "line": rule.line,
    }


@command.command()
@rules_option
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
def runbooks(*, extra: tuple[str, ...], folder: Path) -> None:
    """Write the runbook of each finding into a folder."""
    from neuron_observer.rules.patterns import load as load_patterns  # noqa: PLC0415 - costs yaml
    from neuron_observer.runbooks import pages, write  # noqa: PLC0415 - with the rules

    written = pages(_load(extra), load_patterns())
    write(folder, written)
    click.echo(f"{len(written)} runbooks in {folder}", err=True)


@command.command("test")
@rules_option
@click.option(
    "--trees",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where listings are that a timeline names; also tests/trees of the folders above it.",
)
@click.option("--only", default="", metavar="NAME", help="Only timelines of this name.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="FILE…"
)
@click.pass_context
def test(
    ctx: click.Context,
    *,
    extra: tuple[str, ...],
    trees: tuple[Path, ...],
    only: str,
    files: tuple[Path, ...],
) -> None:
    """Play timelines (YAML), or judge captures and recordings.

    Ends with 2 if a timeline is not as it must be.
    """
    rules = _load(extra)
    failed = played = 0
    for file in files:
        if file.suffix not in (".yaml", ".yml"):
            _judge(file, rules)
            continue
        for result in _play(file, trees, rules, only):
            played += 1
            failed += bool(result.problems)
            click.echo(_told(result))
    if played:
        click.echo(f"{played - failed} of {played} timelines are as they must be", err=True)
    ctx.exit(ExitCode.CRITICAL if failed else ExitCode.OK)


def _play(file: Path, trees: Sequence[Path], rules: Sequence[Rule], only: str) -> list[Result]:
    from neuron_observer.checks.play import play  # noqa: PLC0415 - costs the reader
    from neuron_observer.checks.timeline import read_timelines  # noqa: PLC0415 - costs yaml

    above = [folder / "trees" for folder in file.resolve().parents]
    found = read_timelines(file, (*trees, *above))
    return [play(one, rules) for one in found if only in ("", one.name)]


def _told(result: Result) -> str:
    timeline = result.timeline
    head = f"{'FAIL' if result.problems else 'ok  '} {timeline.fault}: {timeline.name}"
    return "\n".join((head, *(f"     {printable(problem)}" for problem in result.problems)))


def _judge(file: Path, rules: Sequence[Rule]) -> None:
    """What the rules say of a capture or recording: nothing is expected of it."""
    from neuron_observer.checks.play import judge_capture  # noqa: PLC0415 - costs the reader
    from neuron_observer.checks.recorded import recorded  # noqa: PLC0415 - the same
    from neuron_observer.recording.encoding import SUFFIX  # noqa: PLC0415 - the same
    from neuron_observer.rules.explain import entity_text  # noqa: PLC0415 - with the rules
    from neuron_observer.sources.listing import read_listing  # noqa: PLC0415 - the same

    if file.name.endswith(SUFFIX):
        *_, (_, findings, health) = recorded(str(file), rules)
    else:
        findings, health = judge_capture(read_listing(str(file)), rules)
    click.echo(f"{file}: {health.verdict.value}: {printable(health.reason)}")
    for one in findings:
        shadow = ", shadow" if one.shadow else ""
        click.echo(
            f"  {one.id} ({one.severity.value}, {one.confidence.value}{shadow})"
            f" {entity_text(one.entity)}: {printable(one.message)}"
        )
