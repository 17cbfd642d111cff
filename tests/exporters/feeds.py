"""Feeds that a test makes up: one frame at a time, read from a host or put together by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.derive import make_batch
from neuron_observer.model import Driver, Frame, Health, Snapshot, Verdict
from neuron_observer.observer import HostReader
from neuron_observer.sources.listing import Listing, ListingFs, Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.clock import ManualClock
    from neuron_observer.model import Batch, Cell, Event, Place, Value

NOT_JUDGED = Health(Verdict.UNKNOWN, "only read")


class OneFrame:
    """The port `Feed` with a frame that a test sets."""

    def __init__(self, frame: Frame | None = None) -> None:
        self.frame = frame

    def latest(self) -> Frame | None:
        """The frame that was set."""
        return self.frame

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:  # noqa: ARG002
        """None is held."""
        return ()

    def events(self, seconds: float) -> Sequence[Event]:  # noqa: ARG002 - the port's signature
        """None happened."""
        return ()

    def explain(self, finding_id: str) -> str:  # noqa: ARG002 - the port's signature
        """No finding is known."""
        return ""


def batch(rows: dict[str, list[tuple[Place, Cell]]], read_at: float = 0.0) -> Batch:
    """A batch of some readings."""
    return make_batch("made up", rows, read_at)


def frame_of(*batches: Batch, monotonic: float = 0.0, health: Health = NOT_JUDGED) -> Frame:
    """A frame of some batches and nothing else."""
    driver = Driver(None, "unknown")
    return Frame(Snapshot(0.0, monotonic, "made up", None, driver, (), batches), (), health)


def read(host: ListingFs, clock: ManualClock) -> Frame:
    """A frame of a host that was read twice, a second apart."""
    reader = HostReader(host, clock)
    reader.poll()
    clock.advance(1.0)
    snapshot = reader.poll()
    reader.close()
    return Frame(snapshot, (), NOT_JUDGED)


def together(*hosts: ListingFs) -> ListingFs:
    """One host with the files of several."""
    nodes = {path: node for host in hosts for path, node in host.listing.passes[0].nodes.items()}
    return ListingFs(Listing({}, [Pass(nodes=nodes)]), "together")
