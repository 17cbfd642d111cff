"""The heat map, the courses and the ranks side by side."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import Batch, Cell, Column, Layout, Missing, Place, RankPace, Why
from neuron_observer.tui.course import health, watts
from neuron_observer.tui.heat import core_at, heat, heat_height
from neuron_observer.tui.job_sheet import about, marks, members
from neuron_observer.tui.lines import plain
from neuron_observer.tui.port_sheet import adapter, links
from neuron_observer.tui.ranks import ranks
from tests.tui.hosts import FeedAtHand, moving, still, view_of
from tests.tui.played import faulty, feed_of

HOSTS = ("inf2.48xlarge-2.30.2-worn", "trn1.32xlarge-2.24.7-busy", "trn2.48xlarge-2.30.2-busy")


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_every_core_stands_in_the_map(name: str, width: int) -> None:
    """Each once, and a click at any of its cells finds it."""
    view = view_of(still(name))
    height = heat_height(view, width)
    lines = [plain(one) for one in heat(view, width, height)]
    assert len(lines) == height
    found = {core_at(view, width, x, y) for y in range(height) for x in range(width)}
    cores = {
        (device.index, core.index) for device in view.snapshot.devices for core in device.cores
    }
    assert cores <= found
    assert core_at(view, width, 0, 0) is None


def test_a_missing_core_is_a_dash() -> None:
    """Never the lowest level."""
    view = view_of(still("trn2.48xlarge-2.30.2-busy"))  # read once: no utilization yet
    assert isinstance(view.cells.at("core.utilization", Place(0, 0)), Missing)
    row = plain(heat(view, 80, 20)[1])
    assert row.count("—") == 16
    assert "▁" not in row


def test_a_core_that_stands_out_is_seen() -> None:
    """Its figure and its sign; the hot tone for the busiest."""
    view = view_of(moving())
    spans = [span for one in heat(view, 80, 20)[1:] for span in one]
    assert {span.tone for span in spans} >= {"hot", "warm", "cool"}
    assert any(span.text == "▇92 " for span in spans)


def test_logical_cores_stand_below() -> None:
    """Where neuron-monitor names them, by its numbers; they are never taken for physical ones."""
    feed = moving()
    snapshot = feed.frame.snapshot
    places = tuple(Place(0, None, f"lnc2/core{number}") for number in range(5))
    column = Column("logical_core.utilization", 0, places)
    rows = {("logical_core.utilization", place): row for row, place in enumerate(places)}
    layout = Layout({"logical_core.utilization": column}, [""] * 5, rows)
    cells: list[Cell] = [0.0, 0.25, 0.5, Missing(Why.STALE, "old"), 1.0]
    batch = Batch("monitor", "fast", 0, layout, cells, snapshot.monotonic)
    changed = snapshot._replace(batches=(*snapshot.batches, batch))
    view = view_of(FeedAtHand(feed.frame._replace(snapshot=changed)))
    lines = [plain(one) for one in heat(view, 80, heat_height(view, 80))]
    assert lines[-2].startswith("Logical cores")
    assert lines[-1].split() == ["0", "▁0", "1", "▂25", "2", "▄50", "3", "—", "4", "█100"]


@settings(max_examples=30)
@given(st.integers(1, 200), st.integers(0, 40))
def test_panels_keep_to_their_room(width: int, height: int) -> None:
    """Courses never have more lines than they may."""
    view = view_of(moving())
    for panel in (health, watts):
        assert len(panel(view, width, height)) <= height or height < 2


def test_a_count_that_rose_is_loud() -> None:
    """The course of a counter that grew in the window is in the tone of what is bad."""
    view = faulty()._replace(selected=3)
    line = next(one for one in health(view, 100, 20) if plain(one).startswith("HBM CE"))
    assert line[1].tone == "bad"
    quiet = next(one for one in health(view, 100, 20) if plain(one).startswith("SRAM UE"))
    assert quiet[1].tone == "load"
    assert any("Events of" in plain(one) for one in health(view, 100, 20))


def test_ranks_are_compared() -> None:
    """The longest busy first, on one scale, the straggler marked with how much and what."""
    view = faulty()._replace(page="jobs")
    lines = [plain(one) for one in ranks(view, 120, 20)]
    assert "rank 0 holds it up" in lines[0]
    assert lines[1].startswith(" rank 0 ")
    assert lines[1].endswith("▲ warning x1.34 chip")
    assert lines[1].count("█") > lines[2].count("█")
    assert lines[2].count("·") > lines[1].count("·")
    assert plain(ranks(view, 120, 6)[-1]).endswith("11 more")
    assert marks(members(view)[0]) == "straggler"


def test_ranks_without_a_hook() -> None:
    """Nothing is compared, and it says why; what is known of the job stands there all the same."""
    view = view_of(feed_of("healthy", 16, 8, "trn2.3xlarge"))._replace(page="jobs")
    assert "no step hook: executions are counted, no rank can be named by them" in plain(
        ranks(view, 100, 9)[1]
    )
    assert "training" in plain(about(view, 100, 9)[0])
    assert ranks(view_of(still("empty"))._replace(page="jobs"), 80, 9) == []


def test_half_known_times_are_half_a_bar() -> None:
    """A rank whose hook tells no collective times has only what it tells."""
    view = faulty()._replace(page="jobs")
    frame = view.frame
    (job, *others) = frame.snapshot.jobs
    pace = RankPace("training", 3, 0.1, input=0.2)
    first = job.ranks[0]._replace(pace=pace)
    job = job._replace(ranks=(first, *job.ranks[1:]), pace=None)
    snapshot = frame.snapshot._replace(jobs=(job, *others))
    changed = view_of(FeedAtHand(frame._replace(snapshot=snapshot)))._replace(page="jobs")
    line = next(plain(one) for one in ranks(changed, 100, 30) if plain(one).startswith(" rank 0 "))
    assert "█" not in line
    assert line.rstrip().endswith("—")


def test_links_and_adapters() -> None:
    """Neighbours, the links that the firmware calls unhealthy, what an adapter counts."""
    view = faulty()._replace(page="links")
    lines = [plain(one) for one in links(view, 80, 20)]
    assert lines[1].startswith("  0 12, 1, 3, 4")
    assert len(lines) == 17
    assert len(links(view, 80, 9)) == 9
    words = [plain(one) for one in adapter(view, 60, 20)]
    assert words[0].startswith("Adapter rdmap110s16")
    assert any("none of: failed commands" in one for one in words)
    assert adapter(view_of(still("empty"))._replace(page="links"), 60, 20) == []


def test_a_dead_link_is_named() -> None:
    """As the firmware names it, beside the device."""
    view = view_of(feed_of("component", 80, 8, "trn2.3xlarge"))._replace(page="links")
    text = "\n".join(plain(one) for one in links(view, 80, 20))
    assert "link_intraserver" in text
    assert Why.STALE.value not in text
