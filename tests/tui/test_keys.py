"""Every key of the table, each pressed on the running application."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from textual.command import CommandPalette
from textual.events import MouseScrollDown, MouseScrollUp
from textual.widgets import Input, OptionList

from neuron_observer.clock import ManualClock
from neuron_observer.tui.app import TopApp
from neuron_observer.tui.board import Board
from neuron_observer.tui.canvas import Canvas
from neuron_observer.tui.keys import GROUPS, KEYS, help_lines
from neuron_observer.tui.overlay import Choice, Overlay, Question
from neuron_observer.tui.pages import PAGES
from neuron_observer.tui.settings import Settings
from neuron_observer.tui.themes import THEMES
from tests.tui.hosts import still
from tests.tui.pilot import painted, play, selected
from tests.tui.played import feed_of

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from neuron_observer.feed import Feed
    from neuron_observer.tui.view import View

BUSY = "trn2.48xlarge-2.30.2-busy"


def jobs() -> Feed:
    """A small host with a job."""
    return feed_of("healthy", 16, 8, "trn2.3xlarge")


def view_of(app: TopApp) -> View:
    """What is shown now."""
    view = app.view
    assert view is not None
    return view


def text_of(app: TopApp) -> str:
    """What stands on the terminal."""
    return "\n".join(painted(app))


def test_the_table_of_keys_is_whole() -> None:
    """No key twice, every action is one of the board's, the help has every line."""
    pressed = [one for key in KEYS for one in key.keys.split(",")]
    assert len(pressed) == len(set(pressed))
    for key in KEYS:
        name = key.action.partition("(")[0]
        of, action = (TopApp, name[4:]) if name.startswith("app.") else (Board, name)
        assert hasattr(of, f"action_{action}"), key
        assert key.group in GROUPS
    text = "\n".join(help_lines())
    assert all(key.text in text for key in KEYS)


def test_keys_of_pages() -> None:
    """Digits, Tab and Shift+Tab, Esc; every page paints."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        for page in PAGES.values():
            await pilot.press(page.key)
            assert view_of(app).page == page.name
            assert painted(app)[-1].strip()
        names = list(PAGES)
        await pilot.press("tab")
        assert view_of(app).page == names[0]
        await pilot.press("shift+tab")
        assert view_of(app).page == names[-1]
        await pilot.press("escape")
        assert view_of(app).page == "overview"

    play(jobs(), steps)


def test_keys_that_move_in_a_table() -> None:
    """Rows by arrows, letters, pages and ends; the selected device follows to other pages."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        ways = (
            (["down", "j"], 2),
            (["k"], 1),
            (["up", "up", "up"], 0),
            (["end"], 15),
            (["home"], 0),
            (["G"], 15),
            (["g"], 0),
            (["pagedown"], 15),
            (["pageup"], 0),
        )
        await pilot.press("2")
        for keys, expected in ways:
            await pilot.press(*keys)
            assert selected(app) == expected, keys
        await pilot.press("down", "3")
        assert "▸neuron1 core 0" in text_of(app)
        await pilot.press("end")
        assert selected(app) == 15
        await pilot.press("1")
        assert "neuron15 " in text_of(app)

    play(still(BUSY), steps)


def test_keys_that_move_through_columns() -> None:
    """What does not fit comes into sight; the first column stays; it stops at both ends."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        assert "Chip" in painted(app)[1]
        await pilot.press("right", "l")
        assert "Chip" not in painted(app)[1]
        assert "Device" in painted(app)[1]
        await pilot.press(*["right"] * 13)
        assert "Jobs" in painted(app)[1]
        await pilot.press("h", *["left"] * 14)
        assert "Chip" in painted(app)[1]

    play(still(BUSY), steps)


def test_keys_that_sort() -> None:
    """`s` and `S` go through the columns, `r` turns it round; it is kept for the next time."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("2", *["s"] * 4)
        assert view_of(app).way.sort == "device.utilization"
        assert "Util▾" in painted(app)[1]
        await pilot.press("r")
        assert "Util▴" in painted(app)[1]
        await pilot.press("S", "S", "S", "S")
        assert view_of(app).way.sort == ""

    play(still(BUSY), steps)


def test_the_filter() -> None:
    """`/` asks, Enter takes it, Esc takes it away; a question that is left changes nothing."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash")
        assert "have a table to filter" in text_of(app)
        await pilot.press("3", "slash")
        await pilot.pause()
        assert isinstance(app.screen, Question)
        await pilot.press(*"neuron3", "enter")
        await pilot.pause()
        assert view_of(app).way.filter == "neuron3"
        assert "8 of 128 match neuron3" in text_of(app)
        await pilot.press("slash", "x", "escape")
        await pilot.pause()
        assert view_of(app).way.filter == "neuron3"
        await pilot.press("escape")
        assert (view_of(app).way.filter, view_of(app).page) == ("", "cores")

    play(still(BUSY), steps, (120, 30))


def test_the_columns() -> None:
    """`c` lists them all; Space and Enter turn one, `c` is done, Esc leaves it as it was."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("2", "c")
        await pilot.pause()
        assert isinstance(app.screen, Choice)
        assert "[x] Health" in text_of(app)
        await pilot.press("space", "down", "down", "enter", "c")
        await pilot.pause()
        assert "Health" not in painted(app)[1]
        assert "health" not in view_of(app).way.columns
        await pilot.press("c", "space", "escape")
        await pilot.pause()
        assert "health" not in view_of(app).way.columns
        await pilot.press("1", "c")
        assert "have columns to choose" in text_of(app)
        assert app.screen_stack == [app.board]

    play(still(BUSY), steps)


def test_keys_of_time() -> None:
    """Back and on pause the screen; the cells are those of then, what is not held says so."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        now = text_of(app)
        await pilot.press("left_square_bracket", "comma")
        assert view_of(app).paused
        assert view_of(app).cells.back == 2.0
        assert painted(app)[0].endswith(" UTC, 2 s ago")
        assert "— verdict not held" in painted(app)[0]
        assert text_of(app) != now
        await pilot.press("left")
        assert view_of(app).cells.back == 3.0
        await pilot.press("right", "right_square_bracket", "full_stop", "full_stop")
        assert view_of(app).cells.back == 0.0
        await pilot.press("left_curly_bracket", "right_curly_bracket", "left_curly_bracket")
        assert view_of(app).cells.back == 60.0
        await pilot.press("w")
        await pilot.pause()
        assert "nothing is held of that time" in text_of(app)
        await pilot.press("escape", "p")
        assert not view_of(app).paused
        assert not view_of(app).is_past

    play(feed_of("healthy", 16, 2, "trn2.3xlarge"), steps)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["enter"], "Serial number of the chip"),
        (["8", "enter"], "before-we-watched"),
        (["0", "enter"], "Resident memory"),
        (["3", "enter"], "Executions that failed"),
        (["w"], "Why values are missing"),
        (["question_mark"], "neuron-observer top"),
        (["f1"], "neuron-observer top"),
    ],
)
def test_what_can_be_read_in_full(keys: list[str], text: str) -> None:
    """Enter opens what is chosen; `w` and `?` explain; any of them is left again."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(*keys)
        await pilot.pause()
        assert isinstance(app.screen, Overlay)
        assert text in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen_stack == [app.board]

    play(jobs(), steps, (150, 80))


def test_keys_that_copy() -> None:
    """`y` the chosen row, `Y` the table with its headings, apart by tabs."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("2", "down", "y")
        assert app.clipboard.startswith("neuron1\t")
        assert "copied the row" in painted(app)[-1]
        await pilot.press("Y")
        lines = app.clipboard.splitlines()
        assert lines[0].startswith("Device\tHealth\t")
        assert len(lines) == 17

    play(still(BUSY), steps)


@pytest.mark.parametrize("ending", ["csv", "json", "svg", "txt"])
def test_the_key_that_exports(tmp_path: Path, ending: str) -> None:
    """`e` asks for a name; its ending says what is written; a file that is there stays."""
    path = tmp_path / f"out.{ending}"

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        for told in ("written", "not written: the file is there already"):
            await pilot.press("2", "e")
            await pilot.pause()
            app.screen.query_one(Input).value = str(path)
            await pilot.press("enter")
            await pilot.pause()
            assert view_of(app).notice == f"{path}: {told}"

    play(still(BUSY), steps)
    text = path.read_text(encoding="utf-8")
    assert "neuron15" in text
    if ending == "json":
        assert len(json.loads(text)["rows"]) == 16


def test_keys_of_the_look() -> None:
    """`t` goes through the themes, `a` to ASCII and back; neither changes what is said."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        seen = []
        for _ in THEMES:
            await pilot.press("t")
            seen.append(app.board.settings.theme)
            assert f"theme {seen[-1]}" in painted(app)[-1]
        assert sorted(seen) == sorted(THEMES)
        await pilot.press("a")
        clock.advance(9.0)
        app.look()
        await pilot.pause()
        assert text_of(app).isascii()
        await pilot.press("a")
        assert "▸" in text_of(app)

    feed = still(BUSY)
    clock = ManualClock(monotonic=feed.frame.snapshot.monotonic)
    play(feed, steps, clock=clock)


@pytest.mark.parametrize("key", ["colon", "ctrl+p"])
def test_the_palette(key: str) -> None:
    """What is typed finds an action, and Enter does it."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
        await pilot.press(*"theme safe")
        for _ in range(50):
            await pilot.pause()
            if app.screen.query_one(OptionList).option_count:
                break
        await pilot.press("enter", "enter")
        for _ in range(50):
            await pilot.pause()
            if app.board.settings.theme == "safe":
                break
        assert app.board.settings.theme == "safe"

    play(still(BUSY), steps)


def test_a_palette_while_the_one_before_goes() -> None:
    """Keys are quicker than a screen that is taken away."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("colon")
        await pilot.pause()
        app.pop_screen()
        app.action_command_palette()
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
        assert [type(screen) for screen in app.screen_stack].count(type(app.screen)) == 1

    play(still(BUSY), steps)


@pytest.mark.parametrize(
    ("page", "spot", "check"),
    [
        ("1", (10, -1), lambda view: view.page == "devices"),
        ("1", (3, 1), lambda view: view.page == "findings"),
        ("2", (22, 1), lambda view: view.way.sort == "device.name"),
        ("2", (3, 5), lambda view: view.selected == 3),
        ("3", (50, 3), lambda view: view.way.row == "neuron3 core 1"),
    ],
)
def test_clicks(page: str, spot: tuple[int, int], check: object) -> None:
    """Tabs, findings, headings, rows and cores can be clicked."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press(page)
        await pilot.click(offset=(spot[0], spot[1] % 24))
        await pilot.pause()
        assert callable(check)
        assert check(view_of(app))

    feed = still(BUSY)
    found = feed_of("hbm-unrepairable", 80, 8, "trn2.3xlarge").frame
    assert found is not None
    feed.frame = feed.frame._replace(findings=found.findings)
    play(feed, steps)


def test_a_new_fault_is_told_on_every_page() -> None:
    """In the last line for some seconds, once; what stood there from the beginning is not new."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("3")
        assert "new:" not in painted(app)[-1]
        feed.frame = well._replace(findings=found)
        app.look()
        await pilot.pause()
        assert "new: critical neuron0 hbm-unrepairable" in painted(app)[-1]
        clock.advance(9.0)
        app.look()
        await pilot.pause()
        assert "new:" not in painted(app)[-1]

    feed = still(BUSY)
    well, clock = feed.frame, ManualClock(monotonic=feed.frame.snapshot.monotonic)
    ill = feed_of("hbm-unrepairable", 80, 8, "trn2.3xlarge").frame
    assert ill is not None
    found = ill.findings
    play(feed, steps, clock=clock)


def test_a_heading_again_and_a_row_again() -> None:
    """The second click on a heading turns the order round, on a row it opens it."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        for falling in (True, False):
            await pilot.click(offset=(22, 1))
            await pilot.pause()
            assert view_of(app).way.falling is falling
        await pilot.click(offset=(3, 5))
        await pilot.click(offset=(3, 5))
        await pilot.pause()
        assert isinstance(app.screen, Overlay)

    play(still(BUSY), steps)


def test_the_wheel_moves() -> None:
    """Through the rows of a table."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        canvas = app.screen.query_one(Canvas)
        spot = (5, 5, 0, 0, 0, False, False, False)
        for kind in (MouseScrollDown, MouseScrollDown, MouseScrollUp):
            canvas.post_message(kind(canvas, *spot))
            await pilot.pause()
        assert selected(app) == 1

    play(still(BUSY), steps)


def test_settings_begin_and_are_kept(tmp_path: Path) -> None:
    """A page, a theme and an order of before; what is changed is there the next time."""
    path = tmp_path / "neuron-observer" / "top.json"
    path.parent.mkdir()
    document = {"page": "cores", "theme": "light", "ascii": True, "mine": [1], "tables": {}}
    path.write_text(json.dumps(document), encoding="utf-8")

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        assert view_of(app).page == "cores"
        assert text_of(app).isascii()
        await pilot.press("s", "r", "t")

    play(still(BUSY), steps, settings=Settings(path))
    again = Settings(path)
    assert (again.page, again.theme, again.ascii) == ("cores", "safe", True)
    assert again.ways["cores"].sort == "core"
    assert not again.ways["cores"].falling
    assert json.loads(path.read_text(encoding="utf-8"))["mine"] == [1]
