"""What `run` does, put together: the check, the job, who watches it, the report."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from neuron_observer.checks.forms import said
from neuron_observer.cli import asking
from neuron_observer.cli.hosts import make_judge, open_host, open_reader
from neuron_observer.cli.job import lines
from neuron_observer.cli.judged import look_and_check, open_look
from neuron_observer.clock import SystemClock
from neuron_observer.collectors.heartbeats import PERIOD
from neuron_observer.errors import DaemonError
from neuron_observer.launch import foreground, outcome
from neuron_observer.launch.deaths import watching_deaths
from neuron_observer.launch.environment import hooked
from neuron_observer.launch.watching import SCHEDULE, Watch, by_daemon, by_loop, kernel_lines
from neuron_observer.loop import Loop
from neuron_observer.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from neuron_observer.checks.judging import Judge
    from neuron_observer.client.feed import ConnectedFeed
    from neuron_observer.clock import Clock
    from neuron_observer.feed import Feed
    from neuron_observer.launch.environment import Told
    from neuron_observer.launch.outcome import Checked, Outcome
    from neuron_observer.sources.hostfs import HostFs

FRESH = 10.0  # seconds that a daemon's frame may be old, for the daemon to watch


class Host(NamedTuple):
    """The host, as options name it."""

    root: str
    config_file: str | None
    all_devices: bool
    rules: tuple[str, ...]


class Asked(NamedTuple):
    """The job that is to run."""

    command: tuple[str, ...]
    environment: dict[str, str]


class Observer(NamedTuple):
    """Who watches, and how."""

    name: str
    watching: Callable[[Watch], AbstractContextManager[Callable[[], Feed | None]]]


def say(text: str) -> None:
    """On standard error: standard output is the job's. Nobody there to read it harms no job."""
    with suppress(OSError):
        for line in text.splitlines():
            click.echo(f"neuron-observer: {printable(line)}", err=True)


def check(host: Host) -> Checked:
    """How the node is, told by this machine's daemon where there is one, else by two reads."""
    told = asking.answered("findings", {}, host.root)
    if told and told.code is not None:
        return outcome.Checked(told.code, _compact(told.out))
    reader = open_look(host.root, host.config_file, all_devices=host.all_devices)
    found = look_and_check(reader, partial(make_judge, host.config_file, host.rules))
    code, text, _ = said(found, "findings")
    if not found.devices:
        return outcome.Checked(code, f"no Neuron device here: {found.reason}")
    return outcome.Checked(code, _compact(text))


def _compact(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())


def run_and_report(
    host: Host, asked: Asked, checked: Checked | None, file: str | None, *, quiet: bool
) -> int:
    """Run the job, say and write what came of it; its exit code, or a shell's if it has none."""
    tell = (lambda _: None) if quiet else say
    with outcome.report_file(file) as report:
        if checked:
            tell(checked.text)
        try:
            ended = run(host, asked, checked, tell)
        except foreground.NotStartedError as error:
            say(error.message)
            return error.code
        if report and (problem := outcome.write(ended, report)):
            say(f"{file}: the report is not whole: {problem}")
    tell("\n".join(_lines(ended)))
    return ended.exit.code


def _lines(of: Outcome) -> list[str]:
    found = [outcome.headline(of)]
    for one in of.jobs:
        found += lines(one)
    return [*found, *outcome.course(of), *(f"note: {note}" for note in outcome.notes(of))]


def run(host: Host, asked: Asked, checked: Checked | None, tell: Callable[[str], None]) -> Outcome:
    """Run the job and watch it until it ends."""
    clock = SystemClock()
    with hooked(asked.environment) as told:
        observer = _observer(host, told, tell, clock)
        with foreground.signals_caught() as signals:
            began, begin = clock.wall(), clock.monotonic()
            job = foreground.start(asked.command, told.environment, signals, clock)
            watch = Watch(job.pid, tell, job.asked_to_end)
            watched = watching_deaths(told.folder, job.pid, clock, tell, job.asked_to_end)
            with watched as deaths, observer.watching(watch) as feed:
                exit_ = job.wait()
                ended, seconds = clock.wall(), clock.monotonic() - begin
        kernel = kernel_lines(feed(), began, clock.monotonic() - begin)
        hooked_ranks = max(watch.hooked, deaths.followed)
        reports = tuple(watch.reports())
    return outcome.Outcome(
        command=asked.command,
        began=began,
        ended=ended,
        seconds=seconds,
        exit=exit_,
        checked=checked,
        watched_by=observer.name,
        watched=watch.frames > 0,
        hooked_ranks=hooked_ranks,
        jobs=reports,
        deaths=tuple(deaths.found),
        kernel=tuple(kernel),
    )


def _observer(host: Host, told: Told, tell: Callable[[str], None], clock: Clock) -> Observer:
    """This machine's daemon where it sees what the job writes, else a loop of our own."""
    feed = None if told.private else _daemon(host, clock)
    if feed is not None:
        return Observer("daemon", lambda watch: by_daemon(feed, watch.note, tell, clock))
    judge = make_judge(host.config_file, host.rules, one_shot=False)
    make = partial(_make_loop, host, open_host(host.root), judge, told.folder)
    return Observer("run", lambda watch: by_loop(make, watch.note, tell))


def _daemon(host: Host, clock: Clock) -> ConnectedFeed | None:
    """A feed of this machine's daemon, if it reads this very host, and does so now."""
    client = asking.here()
    if client is None:
        return None
    from neuron_observer.client.feed import ConnectedFeed  # noqa: PLC0415 - where there is one

    feed = ConnectedFeed(client, clock)
    try:
        snapshot = feed.poll().snapshot
    except DaemonError:
        return None
    same = snapshot.host_root in (host.root, os.path.realpath(host.root))
    return feed if same and clock.monotonic() - snapshot.monotonic < FRESH else None


def _make_loop(host: Host, opened: HostFs, judge: Judge, heartbeats: str) -> Loop:
    reader = open_reader(
        host.root,
        host.config_file,
        all_devices=host.all_devices,
        host=opened,
        lasting=True,
        kernel_log=True,
        heartbeats=heartbeats,
    )
    if reader.ranks:
        reader.ranks.heartbeats.idle_period = PERIOD
    return Loop(reader, schedule=SCHEDULE, judge=judge, explain=judge.explain)
