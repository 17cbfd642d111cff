"""`bundle`: all that is known of this node's faults, in one archive for somebody else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuron_observer.bundle.names import LEVELS
from neuron_observer.cli import asking
from neuron_observer.cli.options import (
    connect_options,
    direct_option,
    host_options,
    is_of_this_machine,
    rules_option,
)
from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from neuron_observer.bundle.names import Level
    from neuron_observer.bundling import Asked, Bundled
    from neuron_observer.bundling.narrow import Narrow
    from neuron_observer.client import Client

LEAST, MOST = 100_000, 60_000_000  # bytes of a bundle
_PATIENCE = 20.0  # seconds that a daemon may take: a snapshot of a large machine is long


@click.command()
@connect_options
@direct_option
@host_options
@rules_option
@click.option("--out", "-o", metavar="FILE", help="Where to write; by default a new name here.")
@click.option("--finding", metavar="ID", help="Only what has to do with this finding.")
@click.option("--job", metavar="ID", help="Only what has to do with this job.")
@click.option(
    "--since", metavar="WHEN", help="History from then on: 15m, 2h, or 2026-11-30T10:00:00Z."
)
@click.option(
    "--redact",
    "level",
    type=click.Choice(list(LEVELS)),
    default="ids",
    show_default=True,
    help="ids: names of hosts, users, jobs and programs, addresses and ids become others, the same"
    " everywhere; all: serial numbers too; none: nothing. Secrets are masked always.",
)
@click.option(
    "--names", metavar="FILE", help="Write there what stands for what; keep it, do not send it."
)
@click.option(
    "--max-bytes", default="32MB", show_default=True, metavar="SIZE", help="The most it may be."
)
@click.option(
    "--state", metavar="DIR", help="Where a daemon keeps its state, if not as configured."
)
@click.option(
    "--dump",
    is_flag=True,
    help="Have the daemon's flight recorder write what it holds first (root).",
)
@click.option("--log", metavar="FILE", help="Our own log, if it is not in the journal.")
@click.option("--neuron-monitor", "monitor", metavar="FILE", help="Output of neuron-monitor.")
@click.option("--neuron-ls", metavar="FILE", help="Output of neuron-ls.")
def command(  # noqa: PLR0913 - one an option
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    out: str | None,
    finding: str | None,
    job: str | None,
    since: str | None,
    level: Level,
    names: str | None,
    max_bytes: str,
    state: str | None,
    dump: bool,
    log: str | None,
    monitor: str | None,
    neuron_ls: str | None,
) -> None:
    """Write what this node knows of its faults into one archive, for AWS Support or for us.

    Findings, events, counters, the kernel log's lines, a capture, recordings, versions, topology,
    configuration: from the daemon where one answers, from what it keeps, and from a look of one's
    own. `neuron-observer triage FILE` gives the same findings on another machine. Works without a
    daemon and without root, and says what is missing then. Prints the name of the file.
    """
    from neuron_observer.bundle.archive import write  # noqa: PLC0415 - with the rest
    from neuron_observer.bundling import Asked, bundle  # noqa: PLC0415 - costs yaml and more
    from neuron_observer.cli.capture import refuse_host_files  # noqa: PLC0415 - the same
    from neuron_observer.cli.configured import sources_of  # noqa: PLC0415 - the same
    from neuron_observer.clock import SystemClock  # noqa: PLC0415 - the same

    for file in (out, names):
        refuse_host_files(host_root, file)
    clock = SystemClock()
    client = asking.named(patience=_PATIENCE)
    remote = client is not None and client.address.scheme != "unix"
    machine = is_of_this_machine(host_root) and Path(host_root).resolve() == Path("/")
    asked = Asked(
        host_root,
        config_file,
        sources_of(config_file or os.devnull),
        clock,
        client=client or _own(host_root),
        remote=remote,
        machine=machine and not remote,
        all_devices=all_devices,
        rules=extra,
        state=state,
        narrow=_narrow(finding, job, since, clock.wall()),
        level=level,
        most=_size(max_bytes),
        monitor=monitor,
        neuron_ls=neuron_ls,
        log=log,
        dump=dump,
    )
    made = bundle(asked, lambda line: click.echo(line, err=True))
    path = Path(out or f"{made.name}.tar.gz")
    write(path, made.data)
    if names is not None:
        _write_names(Path(names), made)
    _say(path, made, asked)


def _own(host_root: str) -> Client | None:
    """This machine's daemon, where it reads the host that is asked about."""
    client = asking.here()
    if client is None or not is_of_this_machine(host_root):
        return None
    if Path(host_root).resolve() != Path("/"):
        return None
    client.patience = _PATIENCE
    return client


def _narrow(finding: str | None, job: str | None, since: str | None, now: float) -> Narrow:
    from neuron_observer.bundling.narrow import Narrow  # noqa: PLC0415 - with the rest
    from neuron_observer.daemon.asked import read_instant  # noqa: PLC0415 - the same

    if since is None:
        return Narrow(finding, job)
    instant = read_instant(since)
    if instant is None:
        raise UsageError(f"--since {since}: no time", remedy="Write 15m, 2h, or RFC 3339.")
    ago = instant.ago
    return Narrow(finding, job, instant.wall if ago is None else now - ago)


def _size(text: str) -> int:
    from neuron_observer.config.units import UnitError, size  # noqa: PLC0415 - with the rest

    try:
        most = size(text)
    except UnitError as error:
        raise UsageError(f"--max-bytes: {error.message}", remedy=error.remedy) from None
    if not LEAST <= most <= MOST:
        raise UsageError(
            f"--max-bytes {text}: from {LEAST // 1000}kB to {MOST // 1_000_000}MB",
            remedy="What is too much is left out, the least important first.",
        )
    return most


def _write_names(path: Path, made: Bundled) -> None:
    from neuron_observer.bundle.archive import write  # noqa: PLC0415 - with the rest
    from neuron_observer.bundle.redaction import json_text  # noqa: PLC0415 - the same

    write(path, f"{json_text(made.redactor.names.table())}\n".encode("utf-8", "backslashreplace"))


def _say(path: Path, made: Bundled, asked: Asked) -> None:
    size = len(made.data) / 1e6
    click.echo(f"{path}: {size:.1f} MB, redacted: {asked.level}", err=True)
    for gone in made.contents.left_out:
        click.echo(f"  not in it: {gone.what}: {gone.why}", err=True)
    click.echo(str(path))
