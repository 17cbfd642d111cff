"""`capture`: what this host shows, in one file that can play the host again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from neuron_observer.catalogue.chips import parse_version
from neuron_observer.cli.options import open_host
from neuron_observer.clock import SystemClock
from neuron_observer.collectors.plan import reads_can_block
from neuron_observer.collectors.topology import read_topology
from neuron_observer.contract import instant
from neuron_observer.observer import choose_workers
from neuron_observer.recording import Capture, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.clock import Clock


@click.command()
@click.option("--host-root", default="/", show_default=True, metavar="DIR|FILE")
@click.option("--output", "-o", metavar="FILE", help="Where to write; .gz packs, - is stdout.")
@click.option("--seconds", default=0.0, type=click.FloatRange(0, 86_400), show_default=True)
@click.option("--every", default=1.0, type=click.FloatRange(0.1, 3_600), show_default=True)
def command(*, host_root: str, output: str | None, seconds: float, every: float) -> None:
    """Write every readable file of the driver, with mode, bytes and read time or error.

    Host names, instance and network ids in lines of text are replaced; no environment variable is
    read. Serial numbers of chips stay: without them a fault cannot be followed. The file works as
    --host-root of every other verb.
    """
    clock = SystemClock()
    host = open_host(host_root)
    topology = read_topology(host, look_inside=False)
    blocking = reads_can_block(parse_version(topology.driver.version))
    workers = choose_workers(host, clock, blocking)
    capture = Capture(host, clock, workers)
    rows = _passes(capture, clock, seconds, every)
    stamp = (instant(clock.wall()) or "").replace(":", "").partition(".")[0]
    name = output or f"neuron-capture-{stamp}Z.tsv.gz"
    try:
        if name == "-":
            for row in rows:
                click.echo(row)
        else:
            write_rows(name, rows)
    finally:
        workers.close()
    unreadable = f", {capture.unreadable} not readable" if capture.unreadable else ""
    click.echo(f"{name}: {capture.files} files read{unreadable}", err=True)


def _passes(capture: Capture, clock: Clock, seconds: float, every: float) -> Iterator[str]:
    yield capture.header()
    begin = clock.monotonic()
    yield from capture.one_pass()
    number = 1
    while (due := number * every) <= seconds:
        clock.wait(begin + due - clock.monotonic())
        yield from capture.one_pass()
        number += 1
