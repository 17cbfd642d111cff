"""What stands over a page: a connection that is lost, a recording and where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks.judging import judge_by
from neuron_observer.clock import ManualClock
from neuron_observer.feed import CONNECTION, Transport
from neuron_observer.model import Run
from neuron_observer.recording.reader import opened
from neuron_observer.replay import ReplayFeed
from neuron_observer.tui.banner import banner
from neuron_observer.tui.layout import screen
from neuron_observer.tui.lines import plain
from tests.conftest import tree_file
from tests.daemon.daemons import rules
from tests.tui.hosts import still, view_of
from tests.tui.pilot import painted, play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.pilot import Pilot

    from neuron_observer.checks.judging import Judge
    from neuron_observer.tui.app import TopApp
    from neuron_observer.tui.view import View

SMALL = "trn2.3xlarge-2.30.2-busy"
MINUTES = 2


def lost(why: str) -> View:
    """A view of a frame that a daemon gave which is gone; 75 s after it."""
    feed = still(SMALL)
    run = Run(CONNECTION, ok=False, seconds=16.0, error=why)
    snapshot = feed.frame.snapshot._replace(runs=(run,))
    feed.frame = feed.frame._replace(snapshot=snapshot)
    return view_of(feed)._replace(now=snapshot.monotonic + 75.0)


def test_nothing_to_say() -> None:
    """Then no line is taken from the page."""
    assert banner(view_of(still(SMALL)), 80, 3) == []


def test_a_lost_connection() -> None:
    """How old the frame is, why, and how often it is asked; below the node's line."""
    told = "lost: what is shown is 1 min 15 s old; asked again each 16 s: no answer in 5 s"
    lines = screen(lost("no answer in 5 s"), 120, 30)
    assert lines[1] == told
    assert lines[2].startswith("Devices")
    assert len(lines) == 30
    assert "\x1b" not in "".join(screen(lost("\x1b[31mred"), 120, 30))


@pytest.mark.parametrize("size", [(20, 5), (80, 24), (300, 80), (10, 1), (30, 2)])
def test_it_fits(size: tuple[int, int]) -> None:
    """The screen stays as large as it is."""
    lines = screen(lost("a very long reason " * 20), *size)
    assert len(lines) == size[1]
    assert max(map(len, lines)) <= size[0]


@pytest.fixture
def replay(tmp_path: Path) -> Iterator[ReplayFeed]:
    """A recording of two minutes, a pass each ten seconds, at its beginning."""
    file = tmp_path / "host.tsv"
    whole = Path(tree_file(SMALL)).read_text("utf-8")
    later = '#at {0}.000\n#host ["proc/uptime", "0444", "{0}.0 1.0\\n"]\n'
    passes = (later.format(second) for second in range(10, 60 * MINUTES + 1, 10))
    file.write_text(whole + "".join(passes), "utf-8")

    def make(one_shot: bool) -> Judge:
        return judge_by(rules(), one_shot=one_shot)

    feed = ReplayFeed(opened(str(file)), make, ManualClock())
    yield feed
    feed.close()


def test_a_recording(replay: ReplayFeed) -> None:
    """State, time, a bar, position and length."""
    assert isinstance(replay, Transport)
    replay.seek(60.0)
    frame = replay.latest()
    assert frame
    view = view_of(still(SMALL))._replace(feed=replay)
    [told] = banner(view, 110, 3)
    assert plain(told).startswith("x1 ")
    assert " UTC  ██████████·········· 1:00 of 2:00" in plain(told)
    assert plain(told).endswith(", . step, [ ] seek, + - speed ")


def test_keys_of_a_recording(replay: ReplayFeed) -> None:
    """Steps and seeks stand where they say, speed doubles and halves, Space plays; help has all."""

    async def steps(app: TopApp, pilot: Pilot[None]) -> None:
        async def after(*keys: str) -> str:
            await pilot.press(*keys)
            await pilot.pause()
            return painted(app)[1]

        assert (await after("full_stop", "full_stop")).startswith("paused ")
        assert replay.position == 20.0
        assert " 0:10 of 2:00" in await after("comma")
        assert (await after("space")).startswith("x1 ")
        assert (await after("plus", "plus")).startswith("x4 ")
        assert (await after("minus", "minus", "minus", "minus")).startswith("x0.25 ")
        assert " 0:20 of 2:00" in await after("right_square_bracket")
        assert " 0:10 of 2:00" in await after("left_square_bracket")
        assert (await after("right_curly_bracket")).startswith("ended ")
        assert " 0:00 of 2:00" in await after("left_curly_bracket")
        assert (await after("right_curly_bracket", "space")).startswith("x0.25 ")
        assert replay.position == 0.0
        await pilot.press("question_mark")
        await pilot.pause()
        assert any("twice as fast" in text for text in painted(app))

    play(replay, steps, (100, 30))
