"""Reading a host once, by a command that then ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.derive import derive
from neuron_observer.model import Frame, Health, Value, Verdict
from neuron_observer.observer import ALL_LANES
from neuron_observer.readings import reading
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from neuron_observer.model import Event, Finding, Place, Snapshot
    from neuron_observer.observer import HostReader
    from neuron_observer.sources.hostfs import HostFs

NOT_JUDGED = Health(Verdict.UNKNOWN, "only read, not judged: no rule was evaluated")
ONE_SHOT_GAP = 0.3  # seconds between the two reads
_MOVING = ("fast", "normal", "jobs", "expensive")


def read_once(reader: HostReader, lanes: Collection[str] = ALL_LANES) -> Snapshot:
    """Two reads, so that rates are known; the second only of what moves.

    A recording of one instant is read once: the same bytes again would be rates of 0 that nobody
    measured.
    """
    return read_twice(reader, lanes)[-1]


def read_twice(reader: HostReader, lanes: Collection[str] = ALL_LANES) -> tuple[Snapshot, ...]:
    """The snapshots of both reads, the later one complete; one of a recording of one instant."""
    first = reader.poll(lanes, derived=False)
    if not let_time_pass(reader, first.monotonic):
        return (first._replace(batches=(*first.batches, *derive(None, first))),)
    second = reader.poll([lane for lane in lanes if lane in _MOVING])
    broken = tuple(run for run in first.runs if not run.ok)
    both = second._replace(events=first.events + second.events, runs=broken + second.runs)
    return first, both


class StillFeed:
    """A feed whose frame stays: what was read once, of a host or a recording."""

    def __init__(
        self,
        snapshots: Sequence[Snapshot],
        health: Health,
        findings: tuple[Finding, ...] = (),
        explain: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._snapshots = snapshots
        self._explain = explain
        self.frame = Frame(snapshots[-1], findings, health)

    def latest(self) -> Frame | None:
        """The frame."""
        return self.frame

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """Its value in each of the snapshots, where it was read anew."""
        found: dict[float, Value] = {}
        oldest = self.frame.snapshot.monotonic - seconds
        for snapshot in self._snapshots:
            value = reading(snapshot.batches, metric, place)
            if isinstance(value, Value) and value.read_time >= oldest:
                found[value.read_time] = value
        return [found[read_time] for read_time in sorted(found)]

    def events(self, seconds: float) -> Sequence[Event]:
        """What happened at most so long before the frame."""
        oldest = self.frame.snapshot.at - seconds
        return [event for event in self.frame.snapshot.events if event.at >= oldest]

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding; empty if no rule was evaluated."""
        return self._explain(finding_id)


def read_anew(host: HostFs, lanes: Collection[str]) -> Collection[str]:
    """Those of some lanes that can be read anew now: of a recording those that it read then.

    What it shows of the others is what was read before, and no second read.
    """
    if isinstance(host, DirectoryFs):
        return lanes
    from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only for files

    there = host.recorded if isinstance(host, ListingFs) else None
    return lanes if there is None else [lane for lane in lanes if lane in there]


def let_time_pass(reader: HostReader, since: float, seconds: float = ONE_SHOT_GAP) -> bool:
    """Wait until so long after an instant (monotonic), or go to a recording's next pass.

    False if a recording has no other pass.
    """
    gap: float | None = since + seconds - reader.clock.monotonic()
    if not isinstance(reader.host, DirectoryFs):
        from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only for files

        if isinstance(reader.host, ListingFs):
            gap = reader.host.go_on()
    if gap is None:
        return False
    reader.clock.wait(gap)
    return True
