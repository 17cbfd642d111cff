"""`simulate`: a simulated host written to a directory and moved, for tools that read files."""

from __future__ import annotations

import signal
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from neuron_observer.clock import SystemClock
from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from neuron_observer.sim.scenario import Scenario
    from neuron_observer.sim.writer import DirectoryWriter


@click.command()
@click.argument("scenario", default="healthy")
@click.option("--root", metavar="DIR", help="Directory to write: empty, new or a simulation.")
@click.option("--instance", metavar="TYPE", help="Instance type; wins over the scenario's.")
@click.option("--driver", metavar="VERSION", help="Driver: 2.24.7, 2.28 or 2.30.2.")
@click.option(
    "--speed",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0.01, 1000),
    help="Simulated seconds a second.",
)
@click.option(
    "--every",
    default=0.2,
    show_default=True,
    type=click.FloatRange(0.05, 60),
    help="Seconds between two rounds of writing.",
)
@click.option("--seconds", type=click.FloatRange(0), help="End after so many seconds.")
@click.option("--list", "listing", is_flag=True, help="Name the scenarios that come with us.")
@click.option("--faults", is_flag=True, help="Name the kinds of fault and their parameters.")
def command(  # noqa: PLR0913 - one an option
    *,
    scenario: str,
    root: str | None,
    instance: str | None,
    driver: str | None,
    speed: float,
    every: float,
    seconds: float | None,
    listing: bool,
    faults: bool,
) -> None:
    """Write a simulated host to a directory, and keep it moving until Ctrl-C or SIGTERM.

    Every verb reads it with --host-root DIR. SCENARIO is a name of --list or a YAML file.
    """
    if listing:
        _list()
        return
    if faults:
        from neuron_observer.sim.faults.table import fault_table  # noqa: PLC0415 - costs yaml

        click.echo(fault_table(), nl=False)
        return
    if root is None:
        raise UsageError(
            "where to write is not said",
            remedy="Add --root DIR; to read a simulation without files: VERB --simulate SCENARIO.",
        )
    from neuron_observer.sim.scenario import load  # noqa: PLC0415 - costs yaml

    _write(load(scenario, instance=instance, driver=driver), root, speed, (every, seconds))


def _write(told: Scenario, root: str, speed: float, timing: tuple[float, float | None]) -> None:
    """Fill the directory, say so, and keep it moving."""
    from neuron_observer.sim.play import simulate  # noqa: PLC0415 - costs yaml
    from neuron_observer.sim.writer import DirectoryWriter  # noqa: PLC0415 - the same

    clock = SystemClock()
    writer = DirectoryWriter(simulate(told, clock, speed=speed), root)
    with _signals() as stopped, closing(writer):
        writer.write()
        click.echo(
            f"{root}: {writer.files} files of {told.instance.name}, driver"
            f" {told.driver.version}; Ctrl-C ends it",
            err=True,
        )
        for kind in sorted({fault.kind.name for fault in told.faults if not fault.kind.in_files}):
            click.echo(f"{kind}: files cannot show it; --simulate of a verb does", err=True)
        _move(writer, clock, timing, stopped)


def _list() -> None:
    from neuron_observer.sim.scenario import shipped  # noqa: PLC0415 - costs yaml

    known = shipped()
    width = max(map(len, known))
    for name, description in known.items():
        click.echo(f"{name:<{width}}  {description}")


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM, as numbers in a list instead of an end in the middle of a file."""
    stopped: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _move(
    writer: DirectoryWriter,
    clock: SystemClock,
    timing: tuple[float, float | None],
    stopped: list[int],
) -> None:
    """Round after round, until the time is over or a signal comes."""
    every, seconds = timing
    begin = clock.monotonic()
    rounds = 1
    while not stopped and (seconds is None or rounds * every <= seconds):
        _wait(clock, begin + rounds * every, stopped)
        writer.write()
        rounds = (
            max(rounds, int((clock.monotonic() - begin) / every)) + 1
        )  # what is late is left out


def _wait(clock: SystemClock, due: float, stopped: list[int]) -> None:
    """Sleep in short pieces: a signal handler does not cut a sleep short."""
    while not stopped and (left := due - clock.monotonic()) > 0:
        clock.wait(min(left, 0.1))
