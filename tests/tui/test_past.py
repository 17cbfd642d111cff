"""The past: figures of then, and a dash with its reason for what is not held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import NODE, Missing, Place, Value
from neuron_observer.tui.findings import shown
from neuron_observer.tui.job_sheet import members, why_none
from neuron_observer.tui.layout import screen
from neuron_observer.tui.past import NOT_HELD, NOT_READ, Past
from neuron_observer.tui.view import View, rate
from tests.tui.hosts import FeedAtHand, moving, view_of
from tests.tui.played import feed_of

if TYPE_CHECKING:
    from collections.abc import Sequence

CORE = Place(3, 2)


def back(seconds: float) -> View:
    """The moving host some seconds before its frame."""
    view = view_of(moving())
    return view._replace(cells=Past(view.frame, view.feed, seconds))


def test_cells_are_those_of_then() -> None:
    """The last value that was read before; of a second before it is another one than now."""
    view = view_of(moving())
    known = {value.read_time: value.value for value in view.history("core.utilization", CORE, 60.0)}
    instant = view.instant - 3.0
    expected = known[max(time for time in known if time <= instant)]
    assert back(3.0).cells.at("core.utilization", CORE) == expected
    assert expected != view.cells.at("core.utilization", CORE)


def test_courses_and_rates_end_then() -> None:
    """Nothing of what came later is in them."""
    then = back(10.0)
    values = then.history("core.utilization", CORE, 60.0)
    assert values
    assert all(value.read_time <= then.instant for value in values)
    assert not isinstance(rate(then, "efa.port.tx_bytes", then.cells.ports[0]), Missing)


def test_what_is_not_held_is_missing() -> None:
    """Before the first read, and in a gap; what never changes is as it is."""
    far = back(500.0)
    assert far.cells.at("core.utilization", CORE) == NOT_HELD
    assert far.cells.at("device.name", Place(0)) == "Trainium2"
    gone = far.cells.at("host.pressure.io.some_10s", NODE)
    assert isinstance(gone, Missing)
    assert gone not in (NOT_HELD, NOT_READ)  # it was never there
    assert "nothing is held of that time" in "\n".join(screen(far._replace(page="cores"), 120, 40))


class Gap(FeedAtHand):
    """Values stop some seconds before the frame."""

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:  # noqa: ARG002 - a port's
        """One value, read long ago."""
        assert self.frame is not None
        return [Value(0.5, self.frame.snapshot.monotonic - 6.5)] if seconds > 6 else []


def test_a_gap_is_not_bridged() -> None:
    """A value that is older than three periods of its lane is not one of then."""
    view = view_of(moving())
    late = Past(view.frame, Gap(view.frame), 1.0)
    assert late.at("core.utilization", CORE) == NOT_READ


def test_verdicts_and_jobs_are_not_held() -> None:
    """They are a dash; of findings those are there that began before."""
    feed = feed_of("healthy", 16, 8, "trn2.3xlarge")
    view = view_of(feed)
    then = view._replace(cells=Past(view.frame, feed, 8.0))
    assert members(view)
    assert members(then) == []
    assert why_none(then).endswith("jobs of the past are not held")
    first = screen(then, 120, 40)
    assert "verdict not held" in first[0]
    before = view._replace(cells=Past(view.frame, feed, 800.0))
    assert shown(view)
    assert shown(before) == []
