"""How long it takes until a change of a file is in a frame.

    python -m benchmarks.latency [--changes N]

By polling: a whole trn2.48xlarge as plain files, its fast lane every quarter second. A writer puts
the time into a heartbeat file again and again; the frame that shows it gives the delay. Goal:
99 of 100 within the period and one and a half passes.

By event (root): the wake-up of the loop on an attribute that the kernel itself announces, the
active virtual terminal (`sysfs_notify` of /sys/class/tty/tty0/active), which stands for
`hw_error_event`. From the start of the call that switches it to the frame. Goal: 50 ms.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.hosts import write_tree
from benchmarks.measuring import TREES, machine, within
from neuron_observer.clock import SystemClock
from neuron_observer.loop import PERIODS, Loop, running
from neuron_observer.model import Place
from neuron_observer.observer import HostReader, Options
from neuron_observer.readings import reading
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.wakeups import FileWakeups

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame

LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
HEALTH = "sys/devices/virtual/neuron_device/neuron15/stats/hardware/health_status"
EVENT_GOAL = 50.0  # milliseconds
VT_ACTIVATE, VT_WAITACTIVE, VT_GETSTATE = 0x5606, 0x5607, 0x5603  # linux/vt.h
_clock = SystemClock()
_random = random.Random(1)  # noqa: S311 - when to write, not a secret


class Sightings:
    """When which value of the fast lane was seen first; how long each pass took."""

    def __init__(self) -> None:
        self.seen: dict[object, float] = {}
        self.frames = 0
        self.passes: list[float] = []
        self._changed = threading.Condition()

    def __call__(self, frame: Frame) -> None:
        """Listen to the loop: this is where a rule would have fired."""
        now = _clock.monotonic()
        found = reading(frame.snapshot.batches, "device.health.error_events", Place(15))
        with self._changed:
            self.frames += 1
            self.seen.setdefault(found[0], now)
            self.passes.append(sum(run.seconds for run in frame.snapshot.runs) * 1e3)
            self._changed.notify_all()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Until a frame makes it so."""
        with self._changed:
            if not self._changed.wait_for(ready, 5.0):
                raise SystemExit("no frame showed the change within 5 s")


def percentile(figures: list[float]) -> float:
    """The 99th."""
    return quantiles(figures, n=100)[98] if len(figures) > 1 else figures[0]


def by_polling(root: Path, changes: int) -> bool:
    """A stamped writer against the fast lane."""
    file = root / HEALTH / "hw_error_event"
    sightings = Sightings()
    loop = Loop(
        HostReader(DirectoryFs(str(root)), _clock, Options(keep=True, wait_for_firmware=False))
    )
    loop.subscribe(sightings)
    delays = []
    with running(loop):
        sightings.wait(lambda: sightings.frames > 2)
        sightings.passes.clear()
        for number in range(1_000_001, 1_000_001 + changes):
            _clock.wait(_random.uniform(0.0, 0.3))
            with file.open("r+b", buffering=0) as writer:
                begin = _clock.monotonic()
                writer.write(b"%d\n" % number)
            sightings.wait(lambda number=number: number in sightings.seen)  # type: ignore[misc]
            delays.append((sightings.seen[number] - begin) * 1e3)
    slowest = percentile(sightings.passes)
    goal = PERIODS["fast"] * 1e3 + 1.5 * slowest
    print(f"pass: median {median(sightings.passes):.2f} ms, 99th {slowest:.1f} ms")
    print(f"by polling: {changes} changes, median {median(delays):.1f} ms")
    return within("by polling, 99th percentile", percentile(delays), goal, "ms")


class Terminals:
    """The virtual terminals, as something that makes sysfs announce a change."""

    def __init__(self) -> None:
        self._console = os.open("/dev/tty0", os.O_RDWR | os.O_NOCTTY)
        state = bytearray(6)
        fcntl.ioctl(self._console, VT_GETSTATE, state)
        self._first = state[0] | state[1] << 8

    def switch(self, number: int) -> None:
        """To the first or to the next one; waits until it is done."""
        fcntl.ioctl(self._console, VT_ACTIVATE, self._first + number)

    def close(self) -> None:
        """Back to where it was."""
        self.switch(0)
        fcntl.ioctl(self._console, VT_WAITACTIVE, self._first)
        os.close(self._console)


def by_event(root: Path, changes: int) -> bool:
    """Switches of the terminal against the frame that the wake-up makes."""
    try:
        terminals = Terminals()
    except OSError as error:
        print(f"by event: not measured, no virtual terminal may be switched ({error})")
        return True
    wakeups = FileWakeups("/")
    woken = _Only(wakeups, ("sys/class/tty/tty0/active",))
    reader = HostReader(DirectoryFs(str(root)), _clock, Options(keep=True, wait_for_firmware=False))
    loop = Loop(reader, schedule=PERIODS | {"fast": 3600.0, "normal": 3600.0}, wakeups=woken)
    sightings = Sightings()
    loop.subscribe(sightings)
    try:
        with running(loop) as feed:
            return _switched(feed, sightings, terminals, changes)
    finally:
        with suppress(OSError):
            terminals.close()


def _switched(feed: Feed, sightings: Sightings, terminals: Terminals, changes: int) -> bool:
    sightings.wait(lambda: feed.latest() is not None)
    delays = []
    for number in range(changes):
        _clock.wait(0.05)
        before, begin = sightings.frames, _clock.monotonic()
        terminals.switch(1 - number % 2)
        sightings.wait(lambda before=before: sightings.frames > before)  # type: ignore[misc]
        delays.append((_clock.monotonic() - begin) * 1e3)
    print(f"by event: {changes} switches, median {median(delays):.2f} ms")
    return within("by event, 99th percentile", percentile(delays), EVENT_GOAL, "ms")


class _Only:
    """Wake-ups by other files than the loop asks for."""

    def __init__(self, wakeups: FileWakeups, paths: tuple[str, ...]) -> None:
        self._wakeups, self._paths = wakeups, paths
        self.wait, self.wake, self.close = wakeups.wait, wakeups.wake, wakeups.close

    @property
    def watched(self) -> frozenset[str]:
        """Ours."""
        return self._wakeups.watched

    def watch(self, _paths: object) -> None:
        """Watch ours."""
        self._wakeups.watch(self._paths)


def main() -> int:
    """Both; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--changes", type=int, default=200)
    options = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tree(LISTING, root)
        met = by_polling(root, options.changes)
        met &= by_event(root, options.changes)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
