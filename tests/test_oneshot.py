"""A host read once: both snapshots, and the feed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import NODE, Event, Health, Place, Verdict
from neuron_observer.observer import HostReader
from neuron_observer.oneshot import StillFeed, read_once, read_twice
from neuron_observer.sources.workers import DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import ManualClock
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.listing import ListingFs

JUDGED = Health(Verdict.UNKNOWN, "only read")


def reader(host: HostFs, clock: ManualClock) -> HostReader:
    """A reader without threads."""
    return HostReader(host, clock, workers=lambda host, clock, _: DirectWorkers(host, clock))


def test_one_instant_is_read_once(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """A recording of one instant gives one snapshot, and it is the one of read_once."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    snapshots = read_twice(reader(host, clock))
    assert len(snapshots) == 1
    once = read_once(reader(host, clock))
    assert [batch.cells for batch in snapshots[0].batches if batch.collector != "own"] == [
        batch.cells for batch in once.batches if batch.collector != "own"
    ]


def test_a_still_feed_keeps_what_was_read(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Its history has a value for each read, once, inside the window; its frame never changes."""
    one = reader(tree("trn2.3xlarge-2.30.2-busy"), clock)
    first = one.poll()
    clock.advance(2.0)
    second = one.poll(("fast", "normal"))
    second = second._replace(
        events=(Event("old", NODE, second.at - 60, ""), Event("new", NODE, second.at - 1, ""))
    )
    feed = StillFeed((first, second), JUDGED)
    core = Place(0, 3)
    times = [value.read_time for value in feed.history("core.time_in_use", core, 10.0)]
    assert times == [first.monotonic, second.monotonic]
    assert len(feed.history("core.time_in_use", core, 1.0)) == 1
    assert len(feed.history("device.connected_devices", Place(0), 10.0)) <= 1
    assert feed.history("core.time_in_use", Place(9, 9), 10.0) == []
    assert feed.latest() is feed.latest() is feed.frame
    assert feed.frame.health is JUDGED
    assert [event.kind for event in feed.events(10.0)] == ["new"]
    assert feed.explain("anything") == ""
