"""A feed that begins with a glance: hand-over, end, and a loop that cannot be made."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.early import EarlyFeed
from neuron_observer.errors import InputError
from neuron_observer.loop import Loop
from neuron_observer.model import NODE, Health, Verdict
from neuron_observer.observer import HostReader
from neuron_observer.oneshot import StillFeed
from neuron_observer.sources.workers import DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import Clock
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.listing import ListingFs

LONG = 20.0  # seconds that a thread may take on a busy machine


def reader(host: HostFs, clock: Clock) -> HostReader:
    """A reader without threads."""
    return HostReader(host, clock, workers=lambda host, clock, _: DirectWorkers(host, clock))


def glance_of(host: ListingFs) -> StillFeed:
    """A frame at hand."""
    snapshot = reader(host, ManualClock()).poll()
    return StillFeed((snapshot,), Health(Verdict.UNKNOWN, "a glance"))


def test_the_loop_takes_over(tree: Callable[[str], ListingFs]) -> None:
    """Before its first frame the glance is shown, after it its own; history and events follow."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    glance = glance_of(host)
    came = threading.Event()

    def make() -> Loop:
        loop = Loop(reader(host, SystemClock()))
        loop.subscribe(lambda _: came.set())
        return loop

    feed = EarlyFeed(glance, make)
    assert feed.latest() is glance.frame
    assert len(feed.history("node.devices", NODE, 60.0)) == 1
    feed.start()
    assert came.wait(LONG)
    feed.close()
    frame = feed.latest()
    assert frame is not None
    assert frame is not glance.frame
    assert frame.health.reason.startswith("only read")
    assert feed.history("node.devices", NODE, 60.0)
    assert feed.explain("anything") == ""
    assert list(feed.events(60.0)) == []
    assert feed.error is None
    assert not feed._thread.is_alive()


def test_a_loop_that_cannot_be_made(tree: Callable[[str], ListingFs]) -> None:
    """The glance stays, and the error is kept for whoever closes the feed."""
    glance = glance_of(tree("trn2.3xlarge-2.30.2-busy"))

    def make() -> Loop:
        raise InputError("gone")

    feed = EarlyFeed(glance, make)
    feed.start()
    feed.close()
    assert isinstance(feed.error, InputError)
    assert feed.latest() is glance.frame


def test_somebody_leaves_while_the_loop_is_made(tree: Callable[[str], ListingFs]) -> None:
    """A loop that nobody waits for any more is closed without a tick."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    glance = glance_of(host)
    making, left = threading.Event(), threading.Event()

    def make() -> Loop:
        making.set()
        assert left.wait(LONG)
        return Loop(reader(host, SystemClock()))

    feed = EarlyFeed(glance, make)
    feed.start()
    assert making.wait(LONG)
    closing = threading.Thread(target=feed.close)
    closing.start()
    while not feed._left:
        SystemClock().wait(0.001)
    left.set()
    closing.join(LONG)
    assert not closing.is_alive()
    assert feed.latest() is glance.frame


@pytest.mark.parametrize("times", [1, 2])
def test_closing_without_a_start(tree: Callable[[str], ListingFs], times: int) -> None:
    """A screen that never came up leaves nothing behind."""
    feed = EarlyFeed(glance_of(tree("trn2.3xlarge-2.30.2-busy")), lambda: pytest.fail("made"))
    for _ in range(times):
        feed.close()
    assert not feed._thread.is_alive()
