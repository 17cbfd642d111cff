"""The application without a terminal, for tests: run it, press keys, see what stands on it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock
from neuron_observer.tui.app import TopApp
from neuron_observer.tui.layout import screen
from neuron_observer.tui.signs import UNICODE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import App
    from textual.pilot import Pilot

    from neuron_observer.feed import Feed
    from neuron_observer.tui.settings import Settings

    Steps = Callable[[TopApp, Pilot[None]], Awaitable[None]]


def play(
    feed: Feed,
    steps: Steps,
    size: tuple[int, int] = (80, 24),
    *,
    clock: ManualClock | None = None,
    settings: Settings | None = None,
) -> TopApp:
    """Run the application, and do something with it."""
    frame = feed.latest()
    clock = clock or ManualClock(monotonic=frame.snapshot.monotonic if frame else 1000.0)
    app = TopApp(feed, clock, UNICODE, settings=settings)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(app, pilot)

    asyncio.run(run())
    return app


def painted(app: App[None]) -> list[str]:
    """What stands on the terminal."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def selected(app: TopApp) -> int | None:
    """The index of the selected device."""
    view = app.view
    return view.selected if view else None


async def settled(app: TopApp, pilot: Pilot[None]) -> tuple[int, int]:
    """The size in which the screen is what is printed; Textual gathers resizes."""
    for _ in range(20):
        size = (app.size.width, app.size.height)
        if app.view is not None and painted(app) == screen(app.view, *size):
            return size
        await pilot.pause()
    return 0, 0
