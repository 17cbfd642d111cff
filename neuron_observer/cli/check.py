"""`check`: may this host take work? For people, monitors and schedulers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from neuron_observer.checks import scope as scopes
from neuron_observer.cli.hosts import make_judge
from neuron_observer.cli.judged import look_and_check, open_look, say
from neuron_observer.cli.options import host_options, rules_option

if TYPE_CHECKING:
    from neuron_observer.checks.verdict import Checked

NPD_DEADLINE = 3.0  # seconds; Node Problem Detector ends a plugin after 5


@click.command()
@host_options
@rules_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "nagios", "npd", "slurm"]),
    default="text",
    help="text and nagios end with 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN; npd with 0, 1, 2"
    " unknown; slurm prints a reason and ends with 1 where the node must not take work.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["warning", "critical"]),
    help="From which verdict on the exit code tells it; critical: what is certain and critical"
    " alone. Default: warning, for slurm critical.",
)
@click.option("--devices", metavar="LIST", help="Only these devices, e.g. 0,3-5.")
@click.option(
    "--cores",
    metavar="LIST",
    help="Only the devices of these logical cores, e.g. 0-7 as in NEURON_RT_VISIBLE_CORES.",
)
@click.option(
    "--core-size",
    type=click.IntRange(1, 2),
    envvar=["NEURON_RT_VIRTUAL_CORE_SIZE", "NEURON_LOGICAL_NC_CONFIG"],
    help="Physical cores in a logical one; default: what the chip has.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0.1, max=60),
    help="Seconds that firmware may take to answer. Default: 10, for npd 3.",
)
def command(  # noqa: PLR0913 - one an option
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    form: str,
    fail_on: str | None,
    devices: str | None,
    cores: str | None,
    core_size: int | None,
    deadline: float | None,
) -> int:
    """Judge this host by two reads 300 ms apart.

    Rules that need a longer look are listed as not covered; `findings --watch` and the daemon
    decide them. stdout is the answer, stderr is narration.
    """
    if devices and cores:
        raise click.UsageError("--devices and --cores: give one of them")
    wanted = _wanted(devices, cores)
    deadline = deadline or (NPD_DEADLINE if form == "npd" else None)
    reader = open_look(host_root, config_file, all_devices=all_devices, deadline=deadline)
    make = partial(make_judge, config_file, extra)
    checked = look_and_check(reader, make, wanted, core_size)
    return _answer(checked, form, fail_on)


def _wanted(devices: str | None, cores: str | None) -> tuple[str, tuple[int, ...]] | None:
    """What is asked for, read before the host is: a wrong list costs nothing."""
    if devices is not None:
        return "devices", scopes.listed(devices, "--devices")
    return None if cores is None else ("cores", scopes.listed(cores, "--cores"))


def _answer(checked: Checked, form: str, fail_on: str | None) -> int:
    from neuron_observer.checks import plugins  # noqa: PLC0415 - after the look
    from neuron_observer.checks.verdict import exit_code  # noqa: PLC0415 - the same
    from neuron_observer.checks.words import report  # noqa: PLC0415 - the same

    code = exit_code(checked.verdict, fail_on or ("critical" if form == "slurm" else "warning"))
    if form in ("json", "text"):
        say(checked, form, code, report)
    elif form == "nagios":
        click.echo(plugins.nagios(checked))
    elif form == "npd":
        click.echo(plugins.npd(checked))
        return plugins.npd_code(code)
    else:
        code = plugins.slurm_code(code)
        if code or checked.verdict.value != "healthy":  # HealthCheckProgram must be silent
            click.echo(plugins.slurm(checked), err=not code)
    return code
