"""`status`: how this host is, in a few lines."""

from __future__ import annotations

from functools import partial

import click

from neuron_observer.cli.hosts import make_judge
from neuron_observer.cli.judged import look_and_check, open_look, say
from neuron_observer.cli.options import host_options, rules_option


@click.command()
@host_options
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    form: str,
) -> int:
    """Show the verdict, why, how many devices are well, and what the verdict rests on.

    Two reads 300 ms apart; the exit code is that of `check`.
    """
    reader = open_look(host_root, config_file, all_devices=all_devices)
    checked = look_and_check(reader, partial(make_judge, config_file, extra))
    from neuron_observer.checks.verdict import exit_code  # noqa: PLC0415 - after the look
    from neuron_observer.checks.words import status  # noqa: PLC0415 - the same

    code = exit_code(checked.verdict, "warning")
    say(checked, form, code, status)
    return code
