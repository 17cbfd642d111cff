"""Feeds of hosts that stand still and of one that moves, for the screen's tests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock
from neuron_observer.model import Health, Verdict
from neuron_observer.observer import HostReader
from neuron_observer.oneshot import StillFeed
from neuron_observer.sources.listing import Listing, ListingFs, Pass, read_listing
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.tui.signs import UNICODE
from neuron_observer.tui.view import Cells, View
from tests.conftest import TREES, tree_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Event, Frame, Place, Snapshot, Value
    from neuron_observer.tui.signs import Signs

BUSY_TREE = "trn2.48xlarge-2.30.2-busy"
WALL = 1_788_000_030.0  # the minute of which the listings' power figures are
NOT_JUDGED = Health(Verdict.UNKNOWN, "only read, not judged: no rule was evaluated")


class FeedAtHand:
    """A feed whose frame a test sets."""

    def __init__(self, frame: Frame | None = None) -> None:
        self.frame = frame

    def latest(self) -> Frame | None:
        """What was set."""
        return self.frame

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:  # noqa: ARG002 - a port's
        """Nothing was kept."""
        return ()

    def events(self, seconds: float) -> Sequence[Event]:  # noqa: ARG002 - a port's
        """Nothing happened."""
        return ()

    def explain(self, finding_id: str) -> str:  # noqa: ARG002 - a port's
        """Nothing is known."""
        return ""


def read_host(host: ListingFs, seconds: int = 1) -> list[Snapshot]:
    """A host polled once a second, each time at its next pass."""
    clock = ManualClock(WALL)
    reader = HostReader(host, clock, workers=lambda host, clock, _: DirectWorkers(host, clock))
    snapshots = [reader.poll()]
    for _ in range(1, seconds):
        clock.advance(1.0)
        host.advance()
        snapshots.append(reader.poll(("fast", "normal")))
    reader.close()
    return snapshots


def still(name: str) -> StillFeed:
    """A listing read once; `empty` is a host without anything."""
    return StillFeed(_read_once(name), NOT_JUDGED)


def moving() -> StillFeed:
    """A trn2.48xlarge with a job, its host and eight EFA ports, polled once a second."""
    return StillFeed(_read_moving(30), NOT_JUDGED)


@cache
def _read_once(name: str) -> list[Snapshot]:
    if name == "empty":
        return read_host(ListingFs(Listing({}, [Pass(nodes={})]), name))
    return read_host(ListingFs(read_listing(str(tree_file(name))), name))


@cache
def _read_moving(seconds: int) -> list[Snapshot]:
    nodes = dict(read_listing(str(tree_file(BUSY_TREE))).passes[0].nodes)
    nodes |= read_listing(str(TREES / "machine" / "host.tsv")).passes[0].nodes
    adapters = read_listing(str(TREES / "machine" / "trn1.32xlarge-efa.tsv")).passes[0].nodes
    nodes |= {path: node for path, node in adapters.items() if "infiniband" in path}
    passes = [Pass(nodes=nodes)]
    for second in range(1, seconds):
        nodes = {
            path: replace(node, content=_grown(path, node.content, second))
            for path, node in nodes.items()
            if path.endswith(_MOVE)
        }
        passes.append(Pass(float(second), nodes))
    host = ListingFs(Listing({}, passes), BUSY_TREE)
    return read_host(host, seconds)


_MOVE = ("nc_time_in_use/total", "/tx_bytes", "/rx_bytes", "proc/stat")


def _grown(path: str, content: bytes, second: int) -> bytes:
    if path == "proc/stat":
        name, *ticks = content.splitlines()[0].split()
        more = (4000, 10, 600, 14_000, 20, 0, 10, 0)
        grown = [int(tick) + extra for tick, extra in zip(ticks, more, strict=False)]
        first = b" ".join([name, *(str(tick).encode() for tick in grown), *ticks[len(more) :]])
        return b"\n".join([first, *content.splitlines()[1:], b""])
    if path.endswith("bytes"):
        return b"%d\n" % (int(content) + 1_500_000_000)
    device, core = (int("".join(filter(str.isdigit, part))) for part in path.split("/")[4:6])
    busy = 55 + (device * 8 + core * 3 + second * 5) % 40
    return b"%d\n" % (int(content) + busy * 10_000)


def view_of(
    feed: StillFeed | FeedAtHand, *, signs: Signs = UNICODE, selected: int | None = None
) -> View:
    """What the screen makes of a feed 0.4 s after its frame; by default of the first device."""
    frame = feed.latest()
    assert frame is not None
    first = min((device.index for device in frame.snapshot.devices), default=None)
    chosen = first if selected is None else selected
    return View(feed, Cells(frame), frame.snapshot.monotonic + 0.4, chosen, signs)
