"""`record`: what is read of a host, tick by tick, in a file that can be replayed."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.capture import refuse_host_files
from neuron_observer.cli.hosts import open_host, open_reader
from neuron_observer.cli.options import (
    connect_options,
    host_options,
    monitor_feed,
    monitor_option,
)
from neuron_observer.clock import SystemClock
from neuron_observer.contract import instant
from neuron_observer.errors import UsageError
from neuron_observer.text import bytes_text, seconds_text

if TYPE_CHECKING:
    from neuron_observer.model import Frame
    from neuron_observer.observer import HostReader
    from neuron_observer.recording.tape import HostTape
    from neuron_observer.recording.writer import RecordingFile


@click.command()
@connect_options
@host_options
@monitor_option
@click.option("--output", "-o", metavar="FILE", help="Where to write: a gzip file.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    help="End after so many; else with Ctrl-C or SIGTERM.",
)
@click.option("--no-kernel-log", is_flag=True, help="Leave the kernel log out.")
@click.option("--no-jobs", is_flag=True, help="Leave the processes that hold devices out.")
@click.option(
    "--scrub",
    is_flag=True,
    help="Replace host names, instance and network ids and addresses in lines and command lines.",
)
@click.option(
    "--dump",
    is_flag=True,
    help="Have the daemon write what its flight recorder holds; nothing is recorded here.",
)
@click.option("--reason", default="asked for", metavar="TEXT", help="Of --dump: why.")
def command(  # noqa: PLR0913 - one an option
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    monitor: str,
    output: str | None,
    force: bool,
    seconds: float | None,
    no_kernel_log: bool,
    no_jobs: bool,
    scrub: bool,
    dump: bool,
    reason: str,
) -> None:
    """Record what a daemon would read of this host: bytes as they change, lines, errors, times.

    `replay`, `triage`, `top --replay` and --host-root of every verb read the file; a file that was
    cut is read up to there. Of environments variables of launchers only are held, of command lines
    what looks like a secret is masked; docs/recording.md tells what else is.
    """
    if dump:
        from neuron_observer.cli.saying import say  # noqa: PLC0415 - only here

        say(verb="dump", reason=reason)
        return
    from neuron_observer.recording import encoding  # noqa: PLC0415 - help needs none
    from neuron_observer.recording.scrub import Scrubber  # noqa: PLC0415 - the same
    from neuron_observer.recording.tape import HostTape  # noqa: PLC0415 - the same
    from neuron_observer.recording.writer import (  # noqa: PLC0415 - the same
        header_row,
        recording_file,
    )
    from neuron_observer.sources.tapped import Tapped, tapped  # noqa: PLC0415 - the same

    refuse_host_files(host_root, output)
    host = open_host(host_root)
    name = output or f"neuron-recording-{_stamp()}.nobs.gz"
    with recording_file(name, force=force) as file:
        tape = HostTape(file.take, scrub=Scrubber(host) if scrub else str)
        heard = tapped(host, tape)
        if not isinstance(heard, Tapped):
            raise UsageError(
                f"{host_root}: is a recording itself",
                remedy="Copy the file; `replay` plays it.",
            )
        reader = open_reader(
            host_root,
            config_file,
            all_devices=all_devices,
            kernel_log=not no_kernel_log,
            monitor=monitor_feed(monitor, host_root),
            lasting=True,
            jobs=not no_jobs,
            host=heard,
        )
        file.write(b"".join([encoding.packed([header_row(reader)]), *tape.base()]))
        _record(file, tape, reader, seconds)
    lasted = seconds_text(file.span)
    click.echo(f"{name}: {lasted}, {file.ticks} ticks, {bytes_text(file.bytes)}", err=True)


def _stamp() -> str:
    return (instant(SystemClock().wall()) or "").replace(":", "").partition(".")[0] + "Z"


def _record(file: RecordingFile, tape: HostTape, reader: HostReader, seconds: float | None) -> None:
    """Until the time is over, a signal comes, or nothing more can be written."""
    from neuron_observer.loop import Loop  # noqa: PLC0415 - help needs none

    loop = Loop(reader)
    begin = reader.clock.monotonic()

    def note(frame: Frame) -> None:
        over = seconds is not None and frame.snapshot.monotonic - begin >= seconds
        if over or file.error is not None:
            loop.stop()

    loop.subscribe(note)
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: loop.stop()) for number in numbers]
    try:
        loop.run()
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        tape.flush()
        loop.close()
