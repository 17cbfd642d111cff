"""Options that stand alike at every verb; the host root and the clock enter here and only here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import click

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.errors import InputError
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from neuron_observer.clock import Clock
    from neuron_observer.live import MonitorFeed
    from neuron_observer.sources.hostfs import HostFs

ONE_SHOT_DEADLINE = 10.0  # seconds; nobody waits a minute to hear that a device does not answer
REPORT_WAIT = 11.0  # seconds; two of neuron-monitor's own periods, and a start

Function = TypeVar("Function", bound="Callable[..., object]")


def host_options(function: Function) -> Function:
    """`--host-root`, `--config` and `--all-devices`."""
    for option in (
        click.option(
            "--all-devices",
            is_flag=True,
            help="Show devices too that have no /dev node in this container.",
        ),
        click.option(
            "--config",
            "config_file",
            metavar="FILE",
            envvar="NEURON_OBSERVER_CONFIG",
            help="Configuration (YAML).",
        ),
        click.option(
            "--host-root",
            default="/",
            show_default=True,
            metavar="DIR|FILE",
            envvar="NEURON_OBSERVER_HOST_ROOT",
            help="Root of the host: a directory that holds sys/ and proc/, or a capture.",
        ),
    ):
        function = option(function)
    return function


def monitor_option(function: Function) -> Function:
    """`--monitor`."""
    return click.option(
        "--monitor",
        default="off",
        show_default=True,
        metavar="off|pipe|FILE|child",
        help="Where reports of neuron-monitor come from: standard input, a file or FIFO that it is"
        " written to, or a child of ours (it attaches to the devices; of a capture: those in it).",
    )(function)


def monitor_feed(monitor: str, host_root: str) -> MonitorFeed | None:
    """What `--monitor` names; a child runs on this machine, so only this machine may be read."""
    if monitor == "off":
        return None
    from neuron_observer.live import MonitorFeed  # noqa: PLC0415 - costs yaml

    if monitor == "pipe":
        return MonitorFeed("pipe")
    if monitor == "child":
        if os.path.isdir(host_root) and os.path.realpath(host_root) != "/":  # noqa: PTH112 - as below
            raise InputError(
                f"--monitor child cannot be had for {host_root}",
                remedy="A child reports on this machine: leave --host-root out, or name a FILE.",
            )
        return MonitorFeed("child")
    if not os.path.exists(monitor):  # noqa: PTH110 - as below
        raise InputError(
            f"{monitor}: no such file", remedy="--monitor takes off, pipe, child or a FILE."
        )
    return MonitorFeed("file", monitor)


def wait_for_report(reader: HostReader) -> None:
    """A one-shot waits for one report of a full period, and says so if none comes."""
    monitor = reader.live.monitor if reader.live else None
    if monitor is not None and not monitor.wait(REPORT_WAIT):
        click.echo("neuron-monitor: no report came", err=True)


def open_host(root: str) -> HostFs:
    """A directory as it is, a file as a capture or listing."""
    if os.path.isdir(root):  # noqa: PTH112 - pathlib is a tenth of what starting costs
        _refuse_one_level_down(root)
        return DirectoryFs(root)
    if os.path.isfile(root):  # noqa: PTH113 - the same
        from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only for files

        return ListingFs.open(root)
    raise InputError(
        f"{root}: no such directory or file",
        remedy="--host-root takes the directory that holds sys/, or a file made by `capture`.",
    )


def _refuse_one_level_down(root: str) -> None:
    """A directory that is itself a /sys is an easy mistake, and would look like an empty host."""
    inside = {"sys", "class", "devices"}.intersection(os.listdir(root))  # noqa: PTH208 - see below
    if {"class", "devices"} <= inside and "sys" not in inside:
        raise InputError(
            f"{root}: holds class/ and devices/, so it plays the part of /sys itself",
            remedy="--host-root takes the directory above it, the one that holds sys/.",
        )


def open_reader(  # noqa: PLR0913 - one an option
    host_root: str,
    config_file: str | None,
    *,
    all_devices: bool = False,
    thorough: bool = True,
    only: Collection[str] | None = None,
    kernel_log: bool = False,
    monitor: MonitorFeed | None = None,
    lasting: bool = False,
) -> HostReader:
    """A reader of the host that the options name.

    A lasting one keeps descriptors, waits for no firmware and lives in the machine's own time.
    """
    host = open_host(host_root)
    options = Options(
        thorough=thorough,
        all_devices=all_devices,
        only=only,
        machine=only is None,
        keep=lasting,
        firmware_deadline=None if lasting else ONE_SHOT_DEADLINE,
        wait_for_firmware=not lasting,
        kernel_log=kernel_log,
        monitor=monitor,
    )
    if config_file is not None:
        from neuron_observer.config import load  # noqa: PLC0415 - costs yaml

        config = load(config_file)
        options = options._replace(
            path_map=config.path_map, all_devices=all_devices or config.all_devices
        )
    return HostReader(host, SystemClock() if lasting else clock_of(host), options)


def clock_of(host: HostFs) -> Clock:
    """The machine's clock; of a recording the clock of its last two passes, which never waits."""
    if isinstance(host, DirectoryFs):
        return SystemClock()
    from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only for files

    wall = SystemClock().wall()
    if isinstance(host, ListingFs):
        passes, recorded_at = host.listing.passes, host.listing.recorded_at
        while host.number + 2 < len(passes):
            host.advance()
        wall = wall if recorded_at is None else recorded_at + passes[host.number].at
    return ManualClock(wall)
