"""`capture`: what this host shows, in one file that can play the host again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuron_observer.catalogue.chips import parse_version
from neuron_observer.cli.hosts import open_host
from neuron_observer.cli.options import simulation_options
from neuron_observer.clock import SystemClock
from neuron_observer.collectors.plan import reads_can_block
from neuron_observer.collectors.topology import read_topology
from neuron_observer.contract import instant
from neuron_observer.errors import InputError, UsageError
from neuron_observer.recording.capture import Capture, write_rows
from neuron_observer.sources.choice import choose_workers
from neuron_observer.sources.hostfs import DirectoryFs, LoggingHost
from neuron_observer.sources.kernel import open_kernel_log
from neuron_observer.sources.lines import FileLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.clock import Clock
    from neuron_observer.sources.lines import LineSource
_MOST_LINES = 50_000  # of one log in one pass


@click.command()
@simulation_options
@click.option(
    "--host-root",
    default="/",
    show_default=True,
    metavar="DIR|FILE",
    envvar="NEURON_OBSERVER_HOST_ROOT",
)
@click.option("--output", "-o", metavar="FILE", help="Where to write; .gz packs, - is stdout.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--monitor", metavar="FILE", help="Lines of neuron-monitor to put in as well.")
@click.option("--no-kernel-log", is_flag=True, help="Leave the kernel log out.")
@click.option(
    "--jobs",
    is_flag=True,
    help="Processes that hold devices too: command lines without secrets, variables of launchers.",
)
@click.option("--seconds", default=0.0, type=click.FloatRange(0, 86_400), show_default=True)
@click.option("--every", default=1.0, type=click.FloatRange(0.1, 3_600), show_default=True)
def command(  # noqa: PLR0913 - one an option
    *,
    host_root: str,
    output: str | None,
    force: bool,
    monitor: str | None,
    no_kernel_log: bool,
    jobs: bool,
    seconds: float,
    every: float,
) -> None:
    """Write every readable file of the driver, with mode, bytes and read time or error.

    Host names, instance and network ids in lines of text are replaced; no environment variable is
    read but, with --jobs, those of launchers. Serial numbers of chips stay: without them a fault
    cannot be followed. The file works as --host-root of every other verb.
    """
    refuse_host_files(host_root, output)
    clock = SystemClock()
    host = open_host(host_root)
    topology = read_topology(host, look_inside=False)
    blocking = reads_can_block(parse_version(topology.driver.version))
    workers = choose_workers(host, clock, blocking)
    capture = Capture(host, clock, workers, jobs=jobs)
    sources: list[tuple[str, LineSource]] = []
    if isinstance(host, LoggingHost) and not no_kernel_log:
        sources.append(("kernel", host.kernel_log()))
    elif isinstance(host, DirectoryFs) and not no_kernel_log:
        sources += _kernel_log(host_root)
    if monitor:
        sources.append(("monitor", _monitor(monitor)))
    rows = _passes(capture, clock, sources, (seconds, every))
    stamp = (instant(clock.wall()) or "").replace(":", "").partition(".")[0]
    name = output or f"neuron-capture-{stamp}Z.tsv.gz"
    try:
        if name == "-":
            for row in rows:
                click.echo(row)
        else:
            write_rows(name, rows, force=force)
    finally:
        workers.close()
        for _, source in sources:
            source.close()
    unreadable = f", {capture.unreadable} not readable" if capture.unreadable else ""
    click.echo(f"{name}: {capture.files} files read{unreadable}", err=True)


def refuse_host_files(host_root: str, output: str | None) -> None:
    """A write to a counter clears it and one to `reset` resets the chip: also by mistake."""
    where = Path(output or ".").resolve()
    for root in ("/", host_root):
        if any(where.is_relative_to(Path(root, name).resolve()) for name in ("sys", "proc")):
            raise UsageError(
                f"{output}: nothing is written below {root.rstrip('/')}/sys or /proc",
                remedy="-o takes the name of a file that may be made.",
            )


def _kernel_log(root: str) -> list[tuple[str, LineSource]]:
    try:
        return [("kernel", open_kernel_log(root))]
    except OSError as error:
        click.echo(f"kernel log left out: {error.strerror}", err=True)
        return []


def _monitor(file: str) -> LineSource:
    if not Path(file).is_file():
        raise InputError(f"{file}: no such file", remedy="neuron-monitor > FILE makes one.")
    return FileLines(file)


def _passes(
    capture: Capture,
    clock: Clock,
    sources: list[tuple[str, LineSource]],
    timing: tuple[float, float],
) -> Iterator[str]:
    """The header, then pass after pass with the lines that came since the one before."""
    seconds, every = timing
    yield capture.header()
    begin = clock.monotonic()
    number = 0
    while True:
        yield from capture.one_pass()
        for word, source in sources:
            lines = (line.decode("utf-8", "replace") for line in source.poll(_MOST_LINES))
            yield from capture.text_rows(word, lines)
        number += 1
        if (due := number * every) > seconds:
            return
        clock.wait(begin + due - clock.monotonic())
