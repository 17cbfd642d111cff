"""Single panels: the node line, the grid, rates of the host, memory that does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.model import (
    NODE,
    Coverage,
    DeviceHealth,
    Driver,
    Health,
    Missing,
    Place,
    Run,
    Value,
    Verdict,
    Why,
)
from neuron_observer.oneshot import StillFeed
from neuron_observer.tui.core_bars import by_second
from neuron_observer.tui.device_grid import device_grid, tiling
from neuron_observer.tui.host_strip import host_strip, processor, throughput
from neuron_observer.tui.lines import length, plain
from neuron_observer.tui.memory import memory
from neuron_observer.tui.node_line import node_line
from neuron_observer.tui.view import Cells, View, gib, percent, rate
from tests.tui.hosts import NOT_JUDGED, moving, still, view_of

GIB = 2**30


@pytest.fixture(scope="module")
def view() -> View:
    """The moving host."""
    return view_of(moving())


def node_text(view: View, width: int = 120) -> str:
    """The node line as text."""
    return plain(node_line(view, width, 1)[0])


def test_a_frame_that_was_not_judged_says_so(view: View) -> None:
    """Without a rule there is no verdict, not even a bad one."""
    assert "not judged" in node_text(view)
    assert "healthy" not in node_text(view)


def test_a_verdict_has_its_reason(view: View) -> None:
    """Verdict, reason, and the letters of the devices."""
    devices = (DeviceHealth(1, Verdict.UNHEALTHY, "hbm-unrepairable"),)
    health = Health(Verdict.UNHEALTHY, "device 1: HBM", Coverage(3, 4), devices)
    judged = still("trn2.48xlarge-2.30.2-busy")
    judged.frame = judged.frame._replace(health=health)
    seen = view_of(judged)
    assert "unhealthy: device 1: HBM" in node_text(seen)
    first_row = plain(device_grid(seen, 80, 9)[1])
    assert first_row[:5] == "▸ 0 ?"
    assert first_row[20:25] == "  1 U"


def test_an_unknown_verdict_of_rules_is_told(view: View) -> None:
    """UNKNOWN with rules behind it is a verdict, not an absence of one."""
    feed = still("trn2.3xlarge-2.30.2-busy")
    health = Health(Verdict.UNKNOWN, "firmware does not answer", Coverage(1, 4))
    feed.frame = feed.frame._replace(health=health)
    assert "unknown: firmware does not answer" in node_text(view_of(feed))


@pytest.mark.parametrize(
    ("late", "said"), [(0.0, "<1 s old"), (2.96, "2 s old"), (75.0, "1 min 15 s old")]
)
def test_the_age_of_the_frame(view: View, late: float, said: str) -> None:
    """At the right end, in whole seconds, then in minutes."""
    aged = view._replace(now=view.snapshot.monotonic + late)
    assert node_text(aged).endswith(said)
    tone = node_line(aged, 120, 1)[0][-1].tone
    assert tone == ("bad" if late > 3 else "dim")
    assert node_text(aged._replace(paused=True)).endswith(f"paused, {said}")


def test_the_age_stays_when_the_line_is_narrow(view: View) -> None:
    """The left end is cut, the age is not."""
    assert node_text(view, 30).endswith("<1 s old")
    assert len(node_text(view, 30)) == 30


def grid_text(feed: StillFeed, width: int = 80) -> str:
    """The grid as text."""
    return "\n".join(plain(text) for text in device_grid(view_of(feed), width, 9))


def test_no_device() -> None:
    """Absent driver, and a driver that shows nothing, are told apart."""
    feed = still("empty")
    assert "no Neuron device, driver or PCI function here" in grid_text(feed)
    snapshot = feed.frame.snapshot._replace(driver=Driver("2.30.2.0", "live"))
    feed.frame = feed.frame._replace(snapshot=snapshot)
    assert "the driver is loaded and shows no device" in grid_text(feed)


def test_a_device_that_left_keeps_its_place() -> None:
    """The hole is named in the heading and in the grid."""
    feed = still("trn2.48xlarge-2.30.2-busy")
    left = tuple(device for device in feed.frame.snapshot.devices if device.index != 6)
    feed.frame = feed.frame._replace(snapshot=feed.frame.snapshot._replace(devices=left))
    text = grid_text(feed)
    assert "NOT HERE: 6" in text
    assert "  6 not here" in text
    assert " 15 ?" in text


def test_a_broken_collector_is_named() -> None:
    """What failed is said above the devices."""
    feed = still("trn2.3xlarge-2.30.2-busy")
    broken = (Run("efa", ok=False, seconds=0.0, error="OSError"),)
    feed.frame = feed.frame._replace(snapshot=feed.frame.snapshot._replace(runs=broken))
    assert "efa failed" in grid_text(feed)


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200, 300])
def test_every_tile_is_found_where_it_is_drawn(view: View, width: int) -> None:
    """A click on a tile's number selects that device; beside the tiles nothing is selected."""
    height = 41
    tiles = tiling(view, width, height)
    lines = [plain(text) for text in device_grid(view, width, height)]
    for place, index in enumerate(tiles.order):
        row, column = divmod(place, tiles.columns)
        x, y = column * tiles.width, 1 + row * tiles.height
        assert lines[y][x : x + 3].strip("▸ ") == str(index)
        assert tiles.at(x, y) == index
        assert tiles.at(x + tiles.width - 1, y + tiles.height - 1) == index
    assert tiles.at(0, 0) is None
    assert tiles.at(tiles.columns * tiles.width, 1) is None
    assert tiles.at(0, 1 + tiles.height * 16) is None


def test_rates_of_the_host(view: View) -> None:
    """Processor and EFA from counters: 4,610 of 18,640 ticks; 8 ports of 1.5 GB/s."""
    assert processor(view) == pytest.approx(4620 / 18_640)
    assert throughput(view, "efa.port.tx_bytes") == pytest.approx(8 * 1.5e9)
    text = "\n".join(plain(each) for each in host_strip(view, 80, 2))
    assert "cpu 25%" in text
    assert "8 ports  sent 11.2 GiB/s  received 11.2 GiB/s" in text


class Course(StillFeed):
    """A feed with a course of its own for every counter."""

    values: tuple[Value, ...] = ()

    def history(self, metric: str, place: Place, seconds: float) -> tuple[Value, ...]:  # noqa: ARG002 - a port's
        """What a test says."""
        return self.values


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), None),
        (((5, 0.0),), None),
        (((5, 0.0), (9, 0.0)), None),
        (((9, -1.0), (5, 0.0)), None),
        (((1, -11.0), (9, 0.0)), None),
        (((1, -4.0), (5, -2.0), (9, 0.0)), 2.0),
        (((0, -8.0), (0, -4.0), (40, 0.0)), 5.0),
        (((90, -6.0), (1, -4.0), (5, -2.0), (9, 0.0)), 2.0),
        (((5, -2.0), (5, 0.0)), 0.0),
    ],
)
def test_a_rate_is_over_the_last_seconds(
    view: View, values: tuple[tuple[int, float], ...], expected: float | None
) -> None:
    """One value, a fall at the end, no time or too much of it give none; a fall begins anew."""
    end = view.snapshot.monotonic
    feed = Course([view.snapshot], NOT_JUDGED)
    feed.values = tuple(Value(value, end + at) for value, at in values)
    found = rate(view._replace(feed=feed, cells=Cells(feed.frame)), "host.cpu.user", NODE)
    if expected is None:
        assert found == Missing(Why.NOT_YET, "needs two reads")
    else:
        assert found == pytest.approx(expected)


@given(st.lists(st.integers(0, 10**12), max_size=12))
def test_a_rate_is_never_negative(counted: list[int]) -> None:
    """Whatever a counter does, and never more than what it shows now."""
    view = view_of(moving())
    end = view.snapshot.monotonic
    feed = Course([view.snapshot], NOT_JUDGED)
    count = len(counted)
    feed.values = tuple(Value(n, end - (count - 1 - i) * 0.5) for i, n in enumerate(counted))
    found = rate(view._replace(feed=feed, cells=Cells(feed.frame)), "host.cpu.user", NODE)
    assert isinstance(found, Missing) or 0 <= found <= counted[-1] / 0.5


def test_a_paused_course_ends_with_its_frame(view: View) -> None:
    """What was read after the frame that is held is not shown with it."""
    end = view.snapshot.monotonic
    feed = Course([view.snapshot], NOT_JUDGED)
    feed.values = tuple(Value(0.5, end + at) for at in (-20.0, -1.0, 0.0, 5.0))
    held = view._replace(feed=feed, now=end + 60.0)
    assert [value.read_time - end for value in held.history("x", NODE, 10.0)] == [-1.0, 0.0]


def test_a_gap_stays_a_gap() -> None:
    """Seconds without a value are None, the newest stands at the right."""
    values = [Value(0.1, 96.2), Value(0.2, 98.9), Value(0.3, 99.8), Value("x", 97.5)]
    assert by_second(values, 100.0, 5) == [None, 0.1, None, 0.2, 0.3]


@pytest.mark.parametrize("height", [1, 2, 5, 12, 30])
def test_memory_never_loses_a_byte(view: View, height: int) -> None:
    """What does not fit is summed up; lines fit the panel."""
    lines = memory(view, 40, height)
    assert len(lines) <= height
    assert all(length(each) <= 40 for each in lines)
    assert (height < 12) == any("more" in plain(each) for each in lines[1:]) or height == 1


def test_a_device_without_cores_holds_nothing_known(view: View) -> None:
    """While the driver loads a device has no cores yet: that is no memory of 0."""
    feed = still("trn2.3xlarge-2.30.2-busy")
    [device] = feed.frame.snapshot.devices
    bare = feed.frame.snapshot._replace(devices=(device._replace(cores=()),))
    feed.frame = feed.frame._replace(snapshot=bare)
    text = [plain(each) for each in memory(view_of(feed), 40, 12)]
    assert all(each.endswith("—") for each in text[1:])
    assert [plain(each) for each in memory(view_of(feed), 40, 3)][-1] == "10 not readable"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (0.002, "0.2%"),
        (0.0994, "9.9%"),
        (0.0996, "10%"),
        (0.834, "83%"),
        (1.0, "100%"),
    ],
)
def test_percent_has_four_cells(view: View, share: float, text: str) -> None:
    """A little is not nothing."""
    assert percent(share, view) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1, "<.01"),
        (GIB / 2, "0.50"),
        (9.996 * GIB, "10.0"),
        (71.1 * GIB, "71.1"),
        (96 * GIB, "96"),
        (144.4 * GIB, "144"),
    ],
)
def test_gib_has_four_cells(view: View, number: float, text: str) -> None:
    """Never rounded to nothing."""
    assert gib(number, view) == text
    assert len(text) <= 4
