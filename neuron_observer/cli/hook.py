"""`hook`: have a job tell of its steps. Says how, tries the folder, or writes the file to copy."""

from __future__ import annotations

import os
from pathlib import Path

import click

from neuron_observer import hook
from neuron_observer.errors import ExitCode, InputError
from neuron_observer.text import printable

USAGE = """\
A job tells of its steps, waits and phases once it is asked to; the daemon then names slow ranks.

Where this package is installed in the job's environment, set one variable:
  NEURON_OBSERVER_HOOK=1 torchrun … train.py
or write one line into the script, after `import torch`:
  import neuron_observer.hook as observer; observer.install()
Elsewhere copy one file beside the script, and import neuron_observer_hook instead:
  neuron-observer hook --write DIR
Will it work here? neuron-observer hook --check
What it gives with DDP, FSDP, torch.compile and others: docs/hook.md"""


@click.command()
@click.option(
    "--write",
    "target",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Copy the hook into DIR, as neuron_observer_hook.py: it needs nothing else.",
)
@click.option("--check", is_flag=True, help="Try whether a job of yours could write its file.")
@click.option(
    "--folder",
    metavar="DIR",
    help=f"The heartbeat folder to try; by default $NEURON_OBSERVER_HOOK_DIR, else {hook.FOLDER}.",
)
def command(*, target: Path | None, check: bool, folder: str | None) -> int:
    """Have a training job tell of its steps: how to switch it on, and whether it works here.

    With --check the exit code is 0 if a job of this user could write its file, else 2.
    """
    if target is not None:
        try:
            click.echo(f"wrote {printable(hook.write_copy(str(target)))}")
        except OSError as error:
            raise InputError(
                f"{target}: {error.strerror}", remedy="Name a folder that you may write to."
            ) from error
        return 0
    if check:
        return _check(folder)
    click.echo(USAGE)
    return 0


def _check(folder: str | None) -> int:
    where = folder or os.environ.get("NEURON_OBSERVER_HOOK_DIR") or hook.FOLDER
    try:
        hook.check(where)
    except OSError as error:
        click.echo(f"no: {printable(where)}: {error.strerror or error}")
        click.echo(f"  {_remedy(where)}")
        return ExitCode.CRITICAL
    click.echo(f"yes: a job of this user can write into {printable(where)}")
    if not Path(where).stat().st_mode & 0o001:  # nobody else may look into it
        click.echo("  but only those of its group can look into it: is the daemon among them?")
    return 0


def _remedy(where: str) -> str:
    if where == hook.FOLDER:
        return (
            "`neuron-observer install-service` makes it (mode 1777); or set"
            " NEURON_OBSERVER_HOOK_DIR for the job and jobs.heartbeats for the daemon."
        )
    return "Make it: mkdir DIR && chmod 1777 DIR, on a disk with room for 20 KB a rank."
