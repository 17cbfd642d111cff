"""The host that a verb is asked about; its root and the clock enter here and only here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.configured import config_of, rule_paths
from neuron_observer.cli.options import simulation_asked
from neuron_observer.cli.roots import JOB_MAPPING, enough_descriptors, open_root
from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.collectors.firmware import PERIOD
from neuron_observer.errors import UsageError
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from neuron_observer.checks.judging import Judge
    from neuron_observer.cli.options import Simulated
    from neuron_observer.clock import Clock
    from neuron_observer.collectors.kmsg import Cursor
    from neuron_observer.collectors.own import LastReload
    from neuron_observer.config import Config
    from neuron_observer.live import MonitorFeed
    from neuron_observer.rules.rule import Rule
    from neuron_observer.sources.hostfs import HostFs

ONE_SHOT_DEADLINE = 10.0  # seconds; nobody waits a minute to hear that a device does not answer
REPORT_WAIT = 11.0  # seconds; two of neuron-monitor's own periods, and a start


def _simulated_host(asked: Simulated) -> HostFs:
    from neuron_observer.sim.play import simulate  # noqa: PLC0415 - costs yaml
    from neuron_observer.sim.scenario import WARMEST, load  # noqa: PLC0415 - the same

    name, begin = asked.scenario, None
    stem, at, seconds = name.rpartition("@")
    if at and seconds.replace(".", "", 1).isdecimal():
        name, begin = stem, float(seconds)
        if begin > WARMEST:
            raise UsageError(
                f"--simulate {asked.scenario}: begins more than a day into it",
                remedy=f"NAME@SECONDS takes at most {WARMEST:.0f}.",
            )
    scenario = load(name, instance=asked.instance, driver=asked.driver)
    return simulate(scenario, SystemClock(), begin=begin)


def wait_for_report(reader: HostReader) -> None:
    """A one-shot waits for one report of a full period, and says so if none comes."""
    monitor = reader.live.monitor if reader.live else None
    if monitor is None or monitor.wait(REPORT_WAIT):
        return
    click.echo("neuron-monitor: no report came", err=True)
    mode, path, _ = monitor.feed
    if mode == "file" and os.path.isfile(path):  # noqa: PTH113 - text of an option
        click.echo(
            f"  Of {path} only what is written from now on counts: reports carry no time.\n"
            f"  `--monitor pipe < {path}` takes those that are in it.",
            err=True,
        )


def open_host(root: str) -> HostFs:
    """A directory as it is, a file as a capture or listing; a simulation where one is asked for."""
    asked = simulation_asked()
    if asked:
        return _simulated_host(asked)
    return open_root(root)


def open_reader(  # noqa: PLR0913 - one an option
    host_root: str,
    configured: str | Config | None,
    *,
    all_devices: bool = False,
    thorough: bool = True,
    only: Collection[str] | None = None,
    kernel_log: bool = False,
    kernel_cursor: Cursor | None = None,
    monitor: MonitorFeed | None = None,
    whole: bool = False,
    lasting: bool = False,
    one_shot: bool = False,
    deadline: float | None = None,
    kubelet: bool = False,
    reload: LastReload | None = None,
    jobs: bool = True,
    host: HostFs | None = None,
    heartbeats: str | None = None,
) -> HostReader:
    """A reader of the host that the options name, or of one that they named before.

    A lasting one keeps descriptors, waits for no firmware and lives in the machine's own time;
    `configured`: a file, or what was read of it; `whole`: of a recording, from its first pass;
    `one_shot`: what hardware said may be read a second time at once; `deadline`: seconds that
    firmware may take; `heartbeats`: the folder of a job that has one of its own.
    """
    host = host or open_host(host_root)
    options = Options(
        thorough=thorough,
        all_devices=all_devices,
        only=only,
        machine=only is None,
        jobs=jobs and only is None,
        job_mapping=os.environ.get(JOB_MAPPING),
        keep=lasting and enough_descriptors(),
        wait_for_firmware=not lasting,
        firmware_deadline=deadline or (None if lasting else ONE_SHOT_DEADLINE),
        firmware_period=0.0 if one_shot else PERIOD,
        kubelet=kubelet,
        kernel_log=kernel_log,
        kernel_cursor=kernel_cursor,
        monitor=monitor,
        reload=reload,
    )
    config = config_of(configured)
    if config is not None:
        options = options._replace(
            path_map=config.path_map,
            all_devices=all_devices or config.all_devices,
            kubelet=kubelet or config.kubelet,
            heartbeats=config.jobs.heartbeats,
            firmware_period=config.lanes.firmware if lasting else options.firmware_period,
        )
    if heartbeats is not None:
        options = options._replace(heartbeats=heartbeats)
    return HostReader(host, SystemClock() if lasting else clock_of(host, whole=whole), options)


def make_judge(
    configured: str | Config | None = None, extra: Sequence[str] = (), *, one_shot: bool = True
) -> Judge:
    """The judge by the shipped rules and a user's own ones; `one_shot`: of two reads."""
    from neuron_observer.checks.judging import judge_by  # noqa: PLC0415 - costs yaml

    config = config_of(configured)
    trusted = config is not None and config.trust_untested_driver
    return judge_by(rules_of(config, extra), one_shot=one_shot, trust_untested_driver=trusted)


def rules_of(config: Config | None, extra: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The shipped rules, those of the configuration, and those of a call."""
    from neuron_observer.checks.judging import load_rules  # noqa: PLC0415 - costs yaml

    return load_rules(rule_paths(config, extra))


def clock_of(host: HostFs, *, whole: bool = False) -> Clock:
    """The machine's clock; of a recording that of its last two looks, which never waits."""
    if isinstance(host, DirectoryFs):
        return SystemClock()
    from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only for files

    if not isinstance(host, ListingFs):
        return SystemClock()  # a simulation goes with it
    passes, recorded_at = host.listing.passes, host.listing.recorded_at
    while not whole and host.number < host.listing.eve:
        host.advance()
    wall = SystemClock().wall() if recorded_at is None else recorded_at + passes[host.number].at
    return ManualClock(wall)
