"""What `top` shows, opened: a daemon's frames, a loop of its own, or what was read once."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from neuron_observer.cli import asking
from neuron_observer.cli.hosts import make_judge, open_reader
from neuron_observer.cli.options import simulation_asked
from neuron_observer.clock import SystemClock
from neuron_observer.errors import DaemonError
from neuron_observer.oneshot import NOT_JUDGED, StillFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.checks.judging import Judge
    from neuron_observer.client import Client
    from neuron_observer.client.feed import ConnectedFeed
    from neuron_observer.clock import Clock
    from neuron_observer.feed import Feed
    from neuron_observer.loop import Loop
    from neuron_observer.replay import ReplayFeed
    from neuron_observer.sources.hostfs import HostFs

_TOLD = "neuron-observer: told by this machine's daemon; --direct reads without it"
FRESH = 3.0  # seconds; this machine's daemon is not asked where its frame is older


class Host(NamedTuple):
    """The host that the options name, or a recording of one."""

    root: str
    config_file: str | None
    all_devices: bool
    replay: Replay | None = None

    @property
    def is_recording(self) -> bool:
        """Whether it is a file."""
        return os.path.isfile(self.root) and not simulation_asked()  # noqa: PTH113 - as in options


class Replay(NamedTuple):
    """A recording and how it is played."""

    file: str
    speed: float = 1.0  # recorded seconds a second; 0: as fast as it goes
    seek: float | None = None  # seconds since its beginning


class Shown(NamedTuple):
    """A feed, the clock that its frames stand on, and what is begun when the first is painted."""

    feed: Feed
    clock: Clock
    begin: Callable[[], None] = lambda: None


@contextmanager
def moving(host: Host) -> Iterator[Shown]:
    """Frames for a screen, from the first one on: that one is there at once."""
    if host.replay is not None:
        with _played(host, host.replay) as feed:
            yield Shown(feed, FrameClock(feed), feed.start)
        return
    client = asking.named()
    connected = first_of(client) if client else of_own_daemon(host)
    if connected is not None:
        with closing(connected):
            yield Shown(connected, SystemClock(), connected.start)
    elif host.is_recording:
        yield still(host)
    else:
        with _early(host) as shown:
            yield shown


@contextmanager
def going(host: Host) -> Iterator[Shown]:
    """The same for who can wait for a first frame that is judged: it goes on by itself."""
    if host.replay is not None:
        with _played(host, host.replay) as feed:
            feed.start()
            yield Shown(feed, FrameClock(feed))
        return
    client = asking.named()
    connected = first_of(client) if client else of_own_daemon(host)
    if connected is not None:
        with closing(connected):
            _tell(client)
            connected.start()
            yield Shown(connected, SystemClock())
    elif host.is_recording:
        yield still(host)
    else:
        from neuron_observer.loop import running  # noqa: PLC0415 - where it runs

        with running(_loop(host)) as feed:
            yield Shown(feed, SystemClock())


@contextmanager
def once(host: Host) -> Iterator[Shown]:
    """One frame and what rates need; of a recording the one asked for, or the last."""
    if host.replay is not None:
        with _played(host, host.replay) as feed:
            if host.replay.seek is None:
                feed.seek(feed.span)
            yield Shown(feed, FrameClock(feed))
        return
    from neuron_observer.client.feed import PERIOD  # noqa: PLC0415 - where asked

    client = asking.named()
    connected = first_of(client) if client else of_own_daemon(host)
    if connected is None:
        yield still(host)
        return
    clock = SystemClock()
    with closing(connected):
        _tell(client)
        clock.wait(PERIOD)  # a rate needs two
        connected.look()
        yield Shown(connected, clock)


@contextmanager
def _played(host: Host, replay: Replay) -> Iterator[ReplayFeed]:
    """A recording at its first frame, or where it is to begin."""
    from neuron_observer.recording.reader import opened  # noqa: PLC0415 - where asked
    from neuron_observer.replay import ReplayFeed  # noqa: PLC0415 - the same

    def make(one_shot: bool) -> Judge:  # noqa: FBT001 - as it is called
        return make_judge(host.config_file, one_shot=one_shot)

    feed = ReplayFeed(opened(replay.file), make, SystemClock(), speed=replay.speed)
    try:
        if replay.seek is not None:
            feed.seek(replay.seek)
        yield feed
    finally:
        feed.close()


class FrameClock:
    """Now is when the last frame was made: of a recording nothing else is known."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def monotonic(self) -> float:
        """Of the recorded host."""
        frame = self._feed.latest()
        return frame.snapshot.monotonic if frame else 0.0

    def wall(self) -> float:
        """The same."""
        frame = self._feed.latest()
        return frame.snapshot.at if frame else 0.0

    def wait(self, seconds: float) -> None:
        """Nobody can: who plays sets the pace."""


def _tell(named: Client | None) -> None:
    """People hear who answers where they named nobody."""
    if named is None:
        click.echo(_TOLD, err=True)


def first_of(client: Client) -> ConnectedFeed:
    """A feed of a daemon that answers; `DaemonError` where it does not."""
    from neuron_observer.client.feed import ConnectedFeed  # noqa: PLC0415 - where asked

    feed = ConnectedFeed(client, SystemClock())
    feed.poll()
    return feed


def of_own_daemon(host: Host) -> ConnectedFeed | None:
    """This machine's daemon where it shows what a look of one's own would: this host, now."""
    client = asking.here()
    if client is None:
        return None
    try:
        feed = first_of(client)
    except DaemonError:
        return None
    frame = feed.latest()
    if frame is None or frame.snapshot.host_root not in (host.root, os.path.realpath(host.root)):
        return None
    return feed if SystemClock().monotonic() - frame.snapshot.monotonic < FRESH else None


@contextmanager
def closing(feed: ConnectedFeed) -> Iterator[None]:
    """Close it in the end."""
    try:
        yield
    finally:
        feed.close()


def still(host: Host) -> Shown:
    """Two reads, judged, and the reader is done."""
    from neuron_observer.checks.judging import look  # noqa: PLC0415 - not before it is needed

    reader = open_reader(
        host.root,
        host.config_file,
        all_devices=host.all_devices,
        thorough=False,
        kernel_log=True,
        one_shot=True,
    )
    try:
        frame, reads, judge = look(reader, partial(make_judge, host.config_file))
    finally:
        reader.close()
    feed = StillFeed(reads, frame.health, frame.findings, judge.explain)
    return Shown(feed, reader.clock)


def _loop(host: Host, opened: HostFs | None = None) -> Loop:
    from neuron_observer.loop import Loop  # noqa: PLC0415 - not before the first frame

    judge = make_judge(host.config_file, one_shot=False)
    reader = open_reader(
        host.root,
        host.config_file,
        all_devices=host.all_devices,
        thorough=False,
        lasting=True,
        kernel_log=True,
        host=opened,
    )
    return Loop(reader, judge=judge, explain=judge.explain)


@contextmanager
def _early(host: Host) -> Iterator[Shown]:
    """A loop whose first frame is a glance at what the screen shows."""
    from neuron_observer.early import EarlyFeed  # noqa: PLC0415 - not for one frame
    from neuron_observer.tui.glance import METRICS  # noqa: PLC0415 - the same

    glance = open_reader(
        host.root,
        host.config_file,
        all_devices=host.all_devices,
        thorough=False,
        only=METRICS,
    )
    first = StillFeed((glance.poll(("fast", "normal", "slow")),), NOT_JUDGED)
    glance.close()
    # the host is named by options that only the main thread knows
    feed = EarlyFeed(first, partial(_loop, host, glance.host))
    try:
        yield Shown(feed, glance.clock, feed.start)
    finally:
        feed.close()
        if feed.error is not None:
            raise feed.error
