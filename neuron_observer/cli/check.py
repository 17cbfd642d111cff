"""`check`: may this host take work? For people, monitors and schedulers."""

from __future__ import annotations

import click

from neuron_observer.cli import asking
from neuron_observer.cli.options import (
    connect_options,
    direct_option,
    host_options,
    rules_option,
)

NPD_DEADLINE = 3.0  # seconds; Node Problem Detector ends a plugin after 5


@click.command()
@connect_options
@direct_option
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
    """Judge this host by two reads 300 ms apart, or by what this machine's daemon knows.

    The daemon is asked where it has a fresh frame of this host, unless --direct or an option that
    says how to read it is given; rules that need a longer look are decided by it only, and else
    listed as not covered. stdout is the answer, stderr is narration.
    """
    if devices and cores:
        raise click.UsageError("--devices and --cores: give one of them")
    wanted = _wanted(devices, cores)
    size = str(core_size) if core_size and cores else None
    query = {"fail_on": fail_on, "devices": devices, "cores": cores, "core_size": size}
    code = asking.judged(form, query, host_root)
    if code is not None:
        return code
    from neuron_observer.cli.judged import look_and_say  # noqa: PLC0415 - costs what a look costs

    return look_and_say(
        host_root,
        config_file,
        extra,
        form,
        all_devices=all_devices,
        as_json=form == "json",
        fail_on=fail_on,
        wanted=wanted,
        core_size=core_size,
        deadline=deadline or (NPD_DEADLINE if form == "npd" else None),
    )


def _wanted(devices: str | None, cores: str | None) -> tuple[str, tuple[int, ...]] | None:
    """What is asked for, read before anybody is asked: a wrong list costs nothing."""
    from neuron_observer.checks.numbers import listed  # noqa: PLC0415 - rarely needed

    if devices is not None:
        return "devices", listed(devices, "--devices")
    return None if cores is None else ("cores", listed(cores, "--cores"))
