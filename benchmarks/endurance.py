"""Whether the screen of `top` endures what people and months do to it.

    python -m benchmarks.endurance [--events N] [--frames N] [--seed N]

Random keys, clicks, turns of the wheel, resizes and frames, without an exception; and frames while
nothing else happens, without growth. The application runs without a terminal, over a simulated host
whose time goes on as fast as it can. A failure names the seed and the event.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.pilot import WaitForScreenTimeout

from benchmarks.measuring import machine, within
from neuron_observer.clock import ManualClock
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.tui.app import TopApp
from neuron_observer.tui.keys import KEYS
from neuron_observer.tui.signs import UNICODE

if TYPE_CHECKING:
    from textual.pilot import Pilot

EVENTS = 10_000
FRAMES = 10_000
MOST_GROWTH = 1.0  # MB over the frames after the first fifth, in which the history fills
SIZES = ((80, 24), (20, 5), (300, 80), (1, 1), (120, 40), (81, 3), (7, 60), (200, 50))
_LEAVING = ("quit", "suspend")  # parts of actions that end it or stop it
_TYPED = ("a", "b", "1", "-", ">", "space", "backspace", "enter", "tab", "escape", "é", "f5")
_BATCH = 10  # events between two waits
_TRIES = 10  # of half a minute each, to come to rest


class Host:
    """A simulated host with a fault, and a loop over it that ticks when it is told to."""

    def __init__(self, instance: str = "trn2.3xlarge") -> None:
        self.clock = ManualClock()
        host = simulate(load("sram-error", instance=instance), self.clock, begin=100.0)
        self.reader = HostReader(
            host,
            self.clock,
            Options(kernel_log=True),
            workers=lambda host, clock, _: DirectWorkers(host, clock),
        )
        from neuron_observer.checks.judging import judge_by, load_rules  # noqa: PLC0415 - yaml

        judge = judge_by(load_rules())
        self.loop = Loop(self.reader, judge=judge, explain=judge.explain)
        self.loop.tick()

    def go(self, seconds: float = 1.0) -> None:
        """One frame more."""
        self.clock.advance(seconds)
        self.loop.tick()


def keys() -> list[str]:
    """Every key that does not leave, and what people type."""
    bound = [
        key
        for one in KEYS
        if not any(word in one.action for word in _LEAVING)
        for key in one.keys.split(",")
    ]
    return [*bound, *_TYPED]


def _press(app: TopApp, key: str) -> None:
    character = " " if key == "space" else key if len(key) == 1 else None
    app.post_message(events.Key(key, character))


def _mouse(app: TopApp, chance: Random) -> None:
    """A click or a turn of the wheel, also beyond the screen's edges."""
    x, y = chance.randrange(-1, app.size.width + 2), chance.randrange(-1, app.size.height + 2)
    kinds: list[tuple[type[events.MouseEvent], ...]] = [
        (events.MouseDown, events.MouseUp),
        (events.MouseScrollDown,),
        (events.MouseScrollUp,),
        (events.MouseMove,),
    ]
    for kind in chance.choice(kinds):
        app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))


async def _something(app: TopApp, pilot: Pilot[None], host: Host, chance: Random) -> None:
    what = chance.random()
    if what < 0.6:
        _press(app, chance.choice(keys()))
    elif what < 0.8:
        _mouse(app, chance)
    elif what < 0.9:
        with suppress(WaitForScreenTimeout):
            await pilot.resize_terminal(*chance.choice(SIZES))
    else:
        host.go(chance.choice((0.25, 1.0, 30.0)))


async def _session(host: Host, chance: Random, number: int) -> int:
    """Events until so many have happened, or one of them ended the application; how many."""
    app = TopApp(host.loop.feed, host.clock, UNICODE)
    async with app.run_test(size=SIZES[0]) as pilot:
        for done in range(number):
            await _something(app, pilot, host, chance)
            if done % _BATCH == 0:
                await _settle(pilot)
                if not app.is_running:
                    return done + 1
        await _settle(pilot)
    return number


async def _settle(pilot: Pilot[None]) -> None:
    """Until everything is done; a machine that is busy with other things may take long."""
    for _ in range(_TRIES):
        with suppress(WaitForScreenTimeout):
            await pilot.pause()
            return
    raise SystemExit("the screen does not come to rest")


def endure_events(number: int, seed: int) -> None:
    """So many random events; what is raised comes out of here."""
    host, left, session = Host(), number, 0
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where exports go
        try:
            while left > 0:
                chance = Random(f"{seed}-{session}")  # noqa: S311 - no secret
                try:
                    left -= asyncio.run(_session(host, chance, left))
                except BaseException:
                    print(f"seed {seed}, session {session}, {number - left} events before it")
                    raise
                session += 1
        finally:
            os.chdir(here)
            host.loop.close()


class Held(NamedTuple):
    """What this process holds."""

    megabytes: float
    objects: int
    descriptors: int

    @staticmethod
    def now() -> Held:
        """After a collection."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        descriptors = sum(1 for _ in Path("/proc/self/fd").iterdir())
        return Held(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(gc.get_objects()), descriptors)


def endure_frames(number: int) -> tuple[Held, Held]:
    """So many frames, each painted; what was held after the first fifth of them and at the end."""
    host = Host()
    held: list[Held] = []

    async def run() -> None:
        app = TopApp(host.loop.feed, host.clock, UNICODE)
        async with app.run_test(size=(120, 40)) as pilot:
            for frame in range(number):
                if frame == number // 5:
                    held.append(Held.now())
                host.go()
                app.look()
                await _settle(pilot)
            held.append(Held.now())

    asyncio.run(run())
    host.loop.close()
    return held[0], held[1]


def main() -> int:
    """Endure; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--seed", type=int, default=10)
    options = parser.parse_args()
    print(machine(), flush=True)
    endure_events(options.events, options.seed)
    print(f"{options.events} random events, seed {options.seed}: no exception", flush=True)
    before, after = endure_frames(options.frames)
    print(f"    {options.frames} frames: {before} to {after}")
    met = within("growth of memory", after.megabytes - before.megabytes, MOST_GROWTH, "MB")
    return 0 if met and after.descriptors <= before.descriptors else 1


if __name__ == "__main__":
    sys.exit(main())
