"""Reading a host once, by a command that then ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.derive import derive
from neuron_observer.observer import ALL_LANES
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.model import Snapshot
    from neuron_observer.observer import HostReader

ONE_SHOT_GAP = 0.3  # seconds between the two reads
_MOVING = ("fast", "normal", "jobs", "expensive")


def read_once(reader: HostReader, lanes: Collection[str] = ALL_LANES) -> Snapshot:
    """Two reads, so that rates are known; the second only of what moves.

    A recording of one instant is read once: the same bytes again would be rates of 0 that nobody
    measured.
    """
    first = reader.poll(lanes, derived=False)
    if not let_time_pass(reader, first.monotonic):
        return first._replace(batches=(*first.batches, *derive(None, first)))
    second = reader.poll([lane for lane in lanes if lane in _MOVING])
    broken = tuple(run for run in first.runs if not run.ok)
    return second._replace(events=first.events + second.events, runs=broken + second.runs)


def let_time_pass(reader: HostReader, since: float) -> bool:
    """Wait until `ONE_SHOT_GAP` after an instant (monotonic), or go to a recording's next pass.

    False if a recording has no other pass.
    """
    gap: float | None = since + ONE_SHOT_GAP - reader.clock.monotonic()
    if not isinstance(reader.host, DirectoryFs):
        from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only for files

        if isinstance(reader.host, ListingFs):
            gap = reader.host.until_next
            reader.host.advance()
    if gap is None:
        return False
    reader.clock.wait(gap)
    return True
