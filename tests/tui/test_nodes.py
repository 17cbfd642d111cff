"""Several nodes: the lines, and the screen by its keys and clicks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.feed import Glance
from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    Entity,
    Finding,
    Health,
    Severity,
    State,
    Verdict,
)
from neuron_observer.tui.lines import length, plain
from neuron_observer.tui.nodes import listed
from neuron_observer.tui.nodes_board import NodeBoard, NodesApp
from neuron_observer.tui.signs import ASCII, UNICODE
from tests.tui.hosts import FeedAtHand, still
from tests.tui.pilot import painted

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from neuron_observer.feed import Feed

BUSY = "trn2.48xlarge-2.30.2-busy"
NOW = 100.0


def finding(severity: Severity, device: int, state: State = State.FIRING) -> Finding:
    """Something that is wrong with a device."""
    entity = Entity("device", device=device)
    return Finding(
        f"fault-{device}", entity, severity, Confidence.CONFIRMED, Action.NONE, "broke", state
    )


def health(verdict: Verdict, reason: str = "") -> Health:
    """By rules that were evaluated."""
    return Health(verdict, reason, Coverage(1, 1, (), ()), (), ())


GLANCES = (
    Glance("n1", "trn2.48xlarge", health(Verdict.HEALTHY, "nothing found"), (), 99.5),
    Glance(
        "n2.example",
        "trn2.48xlarge",
        health(Verdict.UNHEALTHY),
        (
            finding(Severity.INFO, 1),
            finding(Severity.CRITICAL, 7),
            finding(Severity.CRITICAL, 2, State.RESOLVED),
        ),
        90.0,
    ),
    Glance("n3", None, health(Verdict.HEALTHY), (), 40.0, "no answer in 5 s", 104.0),
    Glance("n4"),
)


def test_a_line_a_node() -> None:
    """Verdict, worst finding and how many more, age; a dead one says why and when it is asked."""
    lines = [plain(one).rstrip() for one in listed(GLANCES, NOW, UNICODE, 78, chosen=1)]
    assert lines == [
        "4 nodes: 1 unhealthy, 1 without an answer, 1 not heard of yet, 1 healthy",
        "  n1          healthy    nothing found                                <1 s old",
        "▸ n2.example  unhealthy  fault-7 neuron7: broke (1 more)              10 s old",
        "  n3          — no answer in 5 s; asked again in 4 s                 1 min old",
        "  n4          not heard of yet                                               —",
    ]


NAMES = st.text(max_size=80)


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(
            Glance,
            NAMES,
            st.none() | NAMES,
            st.none() | st.builds(health, st.sampled_from(Verdict), NAMES),
            st.lists(st.builds(finding, st.sampled_from(Severity), st.integers(0, 3))).map(tuple),
            st.floats(0, 200),
            NAMES,
        ),
        max_size=20,
    ),
    st.integers(1, 200),
)
def test_lines_fit(glances: list[Glance], width: int) -> None:
    """Whatever nodes are called and say: a heading and a line each, as wide as the screen."""
    lines = listed(glances, NOW, ASCII, width, 0)
    assert len(lines) == len(glances) + 1
    assert {length(one) for one in lines} == {width}
    assert all(plain(one).isprintable() for one in lines)


class Node:
    """A node whose glance and frames a test sets."""

    def __init__(self, glance: Glance, feed: FeedAtHand) -> None:
        self.name = glance.name
        self.told = glance
        self.feed = feed
        self.is_open = False

    def glance(self) -> Glance:
        """What was set."""
        return self.told

    def open(self) -> Feed:
        """The feed that was given."""
        self.is_open = True
        return self.feed

    def leave(self) -> None:
        """It is known."""
        self.is_open = False


def play(steps: Any, size: tuple[int, int] = (80, 24), number: int = 4) -> None:
    """Run the application on so many nodes, and do something with it."""
    frame = still(BUSY).frame
    glances = [GLANCES[k % 4]._replace(name=f"node{k}") for k in range(number)]
    nodes = [Node(one, FeedAtHand(frame)) for one in glances]
    app = NodesApp(nodes, ManualClock(monotonic=frame.snapshot.monotonic), UNICODE)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(app, pilot, nodes)

    asyncio.run(run())


def test_one_is_looked_at_whole() -> None:
    """Keys choose and open, `n` and Esc come back; frames are asked for only meanwhile."""

    async def steps(app: NodesApp, pilot: Pilot[None], nodes: list[Node]) -> None:
        assert painted(app)[0].startswith("4 nodes: ")
        for keys, number, leave in (("j", 1, "n"), ("up", 0, "escape"), ("G", 3, "backspace")):
            await pilot.press(keys, "enter")
            await pilot.pause()
            assert isinstance(app.screen, NodeBoard)
            assert [one.is_open for one in nodes] == [k == number for k in range(4)]
            assert painted(app)[1].startswith(f"node{number} ")
            assert painted(app)[1].endswith("n back to all nodes")
            await pilot.press(leave)
            await pilot.pause()
            assert painted(app)[0].startswith("4 nodes: ")
            assert not any(one.is_open for one in nodes)
        await pilot.press("q")

    play(steps)


def test_before_its_first_frame_it_says_why() -> None:
    """A node that does not answer can be looked at too, and be left."""

    async def steps(app: NodesApp, pilot: Pilot[None], nodes: list[Node]) -> None:
        nodes[2].feed.frame = None
        await pilot.press("j", "j", "enter")
        await pilot.pause()
        assert "node2: no answer in 5 s (n: back to all nodes)" in painted(app)[0]
        await pilot.press("n")
        await pilot.pause()
        assert painted(app)[0].startswith("4 nodes: ")

    play(steps)


def test_what_is_told_is_painted() -> None:
    """A verdict that changes stands there with the next look; also while a node is looked at."""

    async def steps(app: NodesApp, pilot: Pilot[None], nodes: list[Node]) -> None:
        nodes[0].told = nodes[0].told._replace(health=health(Verdict.DEGRADED, "a reason"))
        app.look()
        await pilot.pause()
        assert "degraded   a reason" in painted(app)[1]
        await pilot.press("enter")
        await pilot.pause()
        nodes[0].feed.frame = still("trn2.3xlarge-2.30.2-busy").frame
        app.look()
        await pilot.pause()
        assert painted(app)[0].startswith("trn2.3xlarge")

    play(steps)


@pytest.mark.parametrize("height", [5, 24])
def test_clicks(height: int) -> None:
    """A click chooses, another one opens; the chosen one is on the screen, however low that is."""

    async def steps(app: NodesApp, pilot: Pilot[None], nodes: list[Node]) -> None:
        await pilot.press("end")
        last = len(nodes) - 1
        row = next(y for y, text in enumerate(painted(app)) if text.startswith("▸"))
        assert f"node{last} " in painted(app)[row]
        await pilot.click("#canvas", offset=(5, 0))
        await pilot.click("#canvas", offset=(5, row - 1))
        await pilot.pause()
        assert any(text.startswith(f"▸ node{last - 1} ") for text in painted(app))
        shown = next(y for y, text in enumerate(painted(app)) if text.startswith("▸"))
        await pilot.click("#canvas", offset=(5, shown))
        await pilot.pause()
        assert isinstance(app.screen, NodeBoard)
        assert nodes[last - 1].is_open

    play(steps, (80, height), 16)
