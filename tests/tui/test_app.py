"""The application by its keys, clicks and resizes, without a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.observer import HostReader, Options
from neuron_observer.oneshot import StillFeed
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.tui.canvas import Canvas
from neuron_observer.tui.layout import screen
from neuron_observer.tui.overlay import Overlay
from tests.tui.hosts import NOT_JUDGED, FeedAtHand, moving, still
from tests.tui.pilot import painted, play, selected, settled

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

    from neuron_observer.tui.app import TopApp

BUSY = "trn2.48xlarge-2.30.2-busy"


def has_overlay(app: TopApp) -> bool:
    """Whether a text lies over the screen."""
    return isinstance(app.screen, Overlay)


@pytest.mark.parametrize("name", ["moving", "empty", "inf2.48xlarge-2.30.2-worn"])
def test_the_widgets_paint_the_lines_that_are_printed(name: str) -> None:
    """After any series of sizes the screen is what is printed in the last one, cell by cell."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        for size in ((200, 60), (80, 24), (20, 5), (1, 1), (300, 80), (120, 40)):
            await pilot.resize_terminal(*size)
            assert await settled(app, pilot) == size

    play(moving() if name == "moving" else still(name), steps)


WAYS = (
    (["l", "j"], 5),
    (["right", "right", "left"], 1),
    (["j", "down", "k"], 4),
    (["left", "up", "l", "h"], 0),
    (["end", "right", "down"], 15),
    (["right", "right", "right", "right"], 3),
)


def test_keys_select_a_device() -> None:
    """Arrows and h j k l move in the grid and stop at its edges; the cores follow."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        for keys, expected in WAYS:
            await pilot.press("home", *keys)
            assert selected(app) == expected, keys
            text = "\n".join(painted(app))
            assert f"▸{expected:>2}" in text
            assert f"neuron{expected} " in text

    play(still(BUSY), steps)


@pytest.mark.parametrize(("x", "y", "expected"), [(3, 2, 0), (25, 5, 5), (79, 9, 15), (5, 1, 0)])
def test_a_click_selects_a_device(x: int, y: int, expected: int) -> None:
    """A tile is clicked anywhere; the heading selects nothing."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.click(offset=(x, y))
        await pilot.pause()
        assert selected(app) == expected

    play(still(BUSY), steps)


def test_a_click_elsewhere_selects_nothing() -> None:
    """Only tiles are devices."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("right")
        await pilot.click(offset=(3, 13))
        await pilot.pause()
        assert selected(app) == 1

    play(still(BUSY), steps)


@pytest.mark.parametrize("key", ["p", "space"])
def test_pause_holds_the_frame(key: str) -> None:
    """Frames go by unseen while it is paused, and the line says so; then the latest is shown."""
    one, other = still(BUSY).frame, still("inf2.48xlarge-2.30.2-worn").frame
    feed = FeedAtHand(one)

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        feed.frame = other
        app.look()
        await pilot.pause()
        assert "paused, <1 s old" in painted(app)[0]
        assert painted(app)[0].startswith("trn2")
        await pilot.press(key)
        await pilot.pause()
        assert painted(app)[0].startswith("inf2")
        assert "paused" not in painted(app)[0]

    play(feed, steps)


def test_help_comes_and_goes() -> None:
    """`?` explains keys and letters; the keys that close it end nothing else."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        for leave in ("escape", "q", "question_mark", "space"):
            await pilot.press("question_mark")
            await pilot.pause()
            assert has_overlay(app)
            assert "overview: everything at a glance" in "\n".join(painted(app))
            await pilot.press(leave)
            await pilot.pause()
            assert not has_overlay(app)
            assert app.view is not None
            assert not app.view.paused
            assert painted(app) == screen(app.view, 80, 24)
        assert app.is_running

    play(still(BUSY), steps)


def test_why_lists_every_reason() -> None:
    """`w` shows also the reasons that did not fit."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        assert "no /proc/meminfo here" not in "\n".join(painted(app))
        await pilot.press("w")
        await pilot.pause()
        assert "no /proc/meminfo here" in "\n".join(painted(app))

    play(still(BUSY), steps)


def test_an_overlay_scrolls() -> None:
    """What is longer than the screen can be reached by the arrow keys."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert "Nothing is ever written" not in "\n".join(painted(app))
        await pilot.press("down", "j", "pagedown", "end")
        await pilot.pause()
        assert "Nothing is ever written" in "\n".join(painted(app))
        await pilot.press("k", "up", "pageup", "home")
        await pilot.pause()
        assert "neuron-observer top" in "\n".join(painted(app))

    play(still(BUSY), steps, (84, 14))


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
def test_keys_that_end(key: str) -> None:
    """The program ends with exit code 0."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await pilot.pause()
        assert not app.is_running

    assert play(still(BUSY), steps).return_code == 0


def test_before_the_first_frame() -> None:
    """It says what it waits for, takes every key, and shows the frame when it is there."""
    feed = FeedAtHand()

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        assert painted(app)[0] == "reading the host"
        await pilot.press("right", "end", "home", "p", "p", "w")
        feed.frame = still(BUSY).frame
        app.look()
        await pilot.pause()
        assert painted(app)[0].startswith("trn2.48xlarge")

    play(feed, steps)


def test_devices_come_and_go() -> None:
    """The selection follows: the first device when the selected one left, nobody when all did."""
    full, empty = still(BUSY).frame, still("empty").frame
    one = still("trn2.3xlarge-2.30.2-busy").frame
    feed = FeedAtHand(full)

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("end")
        assert selected(app) == 15
        for frame, expected in ((one, 0), (empty, None), (full, 0), (empty, None)):
            feed.frame = frame
            app.look()
            await pilot.pause()
            assert selected(app) == expected
            assert app.view is not None
            assert painted(app) == screen(app.view, 80, 24)
        await pilot.press("right", "down", "end")
        assert selected(app) is None

    play(feed, steps)


def test_the_first_device_that_is_here_is_selected() -> None:
    """Device 0 is missing: the cores of the next one stand there, not an empty half screen."""
    clock = ManualClock()
    reader = HostReader(simulate(load("device-missing"), clock), clock, Options(jobs=False))
    feed = StillFeed((reader.poll(),), NOT_JUDGED)
    reader.close()

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        assert selected(app) == 1
        assert any(line.startswith("Cores of 1") for line in painted(app))
        await pilot.press("left")
        assert selected(app) == 0

    play(feed, steps)


def test_only_what_changed_is_painted() -> None:
    """A frame like the one before paints nothing; another age paints one line."""
    feed = still(BUSY)

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        painted_lines: list[int] = []
        canvas = app.query_one(Canvas)
        canvas.refresh = _counting(canvas, painted_lines)  # type: ignore[method-assign]
        feed.frame = feed.frame._replace(findings=())
        app.look()
        await pilot.pause()
        assert painted_lines == []
        clock.advance(2.0)
        app.look()
        assert painted_lines == [0]

    clock = ManualClock(monotonic=feed.frame.snapshot.monotonic)
    play(feed, steps, clock=clock)


def _counting(canvas: Canvas, found: list[int]) -> Callable[..., Canvas]:
    before = canvas.refresh

    def refresh(*regions: object, **options: object) -> Canvas:
        found.extend(getattr(region, "y", -1) for region in regions)
        return before(*regions, **options)  # type: ignore[arg-type]

    return refresh
