"""`run`: check the node, run a job in the foreground, watch it, and report at its end."""

from __future__ import annotations

import os

import click

from neuron_observer.cli.options import direct_option, host_options, rules_option

ALLOWED = {"degraded": 1, "unknown": 3}  # verdict → exit code of the check


@click.command(context_settings={"allow_interspersed_args": False})
@direct_option
@host_options
@rules_option
@click.option("--no-check", is_flag=True, help="Start the job without looking at the node first.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(sorted(ALLOWED)),
    help="Start the job on such a node too; may be given again. A machine without Neuron devices"
    " is unknown.",
)
@click.option("--report", "file", metavar="FILE", help="Write the report as JSON as well.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what keeps the job from starting.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
def command(  # noqa: PLR0913 - one an option
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    no_check: bool,
    allow: tuple[str, ...],
    file: str | None,
    quiet: bool,
    command: tuple[str, ...],
) -> int:
    """Run a job, e.g. `run -- torchrun --nproc-per-node 32 train.py`, and watch it.

    First the node is checked: where it is not healthy the exit code is that of `check` and nothing
    is started. The job has terminal, signals and standard streams as under a shell, and its exit
    code is ours (128 and its number for a signal, 127 not found, 126 not executable). Its ranks
    write heartbeats if neuron-observer is installed beside torch. What goes wrong is said on
    standard error as it happens, and at the end there is a report. Nothing ever ends the job.
    """
    environment = dict(os.environ)  # the job's: nothing that is set in here is for it
    from neuron_observer.cli import running  # noqa: PLC0415 - help needs none of it

    host = running.Host(host_root, config_file, all_devices, extra)
    codes = (0, *(ALLOWED[word] for word in allow))
    checked = None if no_check else running.check(host)
    if checked and checked.code not in codes:
        running.say(checked.text)
        word = next((word for word, code in ALLOWED.items() if code == checked.code), None)
        remedy = f"--allow {word}" if word else "--no-check"
        running.say(f"the job was not started; {remedy} starts it all the same")
        return checked.code
    job = running.Asked(command, environment)
    return running.run_and_report(host, job, checked, file, quiet=quiet)
