"""Half an hour of a real daemon: scraped by a real Prometheus, reloaded, its driver reloaded.

    python -m benchmarks.soak [--minutes N]

Hosts are whole trn2.48xlarge (16 devices of 8 cores, driver 2.30.2) as plain files. One daemon is
idle: at its defaults, on a host at rest, and nobody asks it. The other has everything on (`--detail
full --job-labels`): some counters of its host move each second, it is scraped each second, gets a
SIGHUP now and then where it listens to it, and its driver goes away and comes back. Goals:

- 0 failed scrapes, by what Prometheus itself recorded; without Debian's `prometheus` by a client
  of our own, which is said
- memory: 45 MB idle, 60 MB with everything on; flat once the history is full (15 minutes): 2 MB
- descriptors and threads: as many at the end as at the beginning

Everything listens on 127.0.0.1 and is ended by its own pid.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.hosts import write_tree
from benchmarks.measuring import TREES, machine, within
from benchmarks.resilience import moved
from benchmarks.running import daemon
from neuron_observer.clock import SystemClock
from neuron_observer.history import WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.running import Running

LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
MOVING = "sys/devices/virtual/neuron_device/neuron[0-7]/neuron_core[0-3]/stats/other_info/*/total"
IDLE_GOAL, FULL_GOAL, GROWTH_GOAL = 45e6, 60e6, 2e6  # bytes
FILLING = 8e6  # bytes that the history may take while it fills
HANGUP, RELOAD, AWAY = (
    20.0,
    45.0,
    3.0,
)  # seconds between two of each; the driver is gone for so long
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: neuron
    static_configs: [{{targets: ['{target}']}}]
"""
_clock = SystemClock()


class Held(NamedTuple):
    """What a process holds at an instant."""

    at: float  # monotonic
    resident: int  # bytes
    descriptors: int
    threads: int


class Scrapes(NamedTuple):
    """What a scraper recorded."""

    done: int
    failed: int
    by: str


def held(running: Running) -> Held:
    """Of a daemon, now."""
    status = Path(f"/proc/{running.process.pid}/status").read_text("ascii")
    threads = int(re.findall(r"Threads:\s+(\d+)", status)[0])
    return Held(_clock.monotonic(), running.resident(), running.descriptors(), threads)


def hears(running: Running, number: int) -> bool:
    """Whether a process has a handler of its own for a signal (proc(5), SigCgt)."""
    status = Path(f"/proc/{running.process.pid}/status").read_text("ascii")
    mask = int(re.findall(r"SigCgt:\s+([0-9a-f]+)", status)[0], 16)
    return bool(mask >> (number - 1) & 1)


class Prometheus:
    """A real one, with a scrape a second."""

    def __init__(self, process: subprocess.Popen[bytes], address: str) -> None:
        self._process, self._address = process, address
        self._begin = _clock.monotonic()

    def tick(self) -> None:
        """It scrapes by itself."""

    def scrapes(self) -> Scrapes:
        """All that it recorded, and how many of them had failed."""
        window = f"[{int(_clock.monotonic() - self._begin) + 10}s]"
        done, well = (
            self._ask(f"{name}(up{window})") for name in ("count_over_time", "sum_over_time")
        )
        return Scrapes(done, done - well, "Prometheus")

    def _ask(self, expression: str) -> int:
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://{self._address}/api/v1/query?{query}") as answer:
            [found] = json.load(answer)["data"]["result"]
        return int(float(found["value"][1]))


class Client:
    """What stands in for one: a scrape a second over one connection."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._done = self._failed = 0

    def tick(self) -> None:
        """Scrape once."""
        self._done += 1
        try:
            status, text = self._running.get("/metrics")
            self._failed += status != 200 or "neuron_observer_series" not in text
        except OSError:
            self._failed += 1

    def scrapes(self) -> Scrapes:
        """All of them."""
        return Scrapes(self._done, self._failed, "a client of our own (no prometheus here)")


@contextmanager
def scraper(running: Running, folder: Path) -> Iterator[Prometheus | Client]:
    """A Prometheus if there is one."""
    program = shutil.which("prometheus")
    if program is None:
        yield Client(running)
        return
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(target=running.target), "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    command += [f"--web.listen-address={address}", "--log.level=error"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield Prometheus(process, address)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()


class Host:
    """A tree that moves, and whose driver is reloaded."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        write_tree(LISTING, self.root)
        self._away = folder / "away"
        self._away.mkdir(parents=True)
        self._moving = sorted(self.root.glob(MOVING))
        self._number = 10**12
        self.gone_at: float | None = None
        self.reloads = 0

    def tick(self) -> None:
        """A second of work, unless the driver is gone."""
        self._number += 1
        for file in self._moving if self.gone_at is None else ():
            file.write_bytes(b"%d\n" % self._number)

    def unload(self) -> None:
        """The driver and all that is its own."""
        for number, path in enumerate(moved(self.root)):
            path.rename(self._away / str(number))
        self.gone_at = _clock.monotonic()

    def load(self) -> None:
        """And back."""
        for number, path in enumerate(moved(self.root)):
            (self._away / str(number)).rename(path)
        self.gone_at = None
        self.reloads += 1


class Soak:
    """The course of it."""

    def __init__(self, host: Host, idle: Running, full: Running) -> None:
        self._host, self._idle, self._full = host, idle, full
        self.of_idle: list[Held] = []
        self.of_full: list[Held] = []
        self.hangups = 0
        self._may_hang_up = hears(full, signal.SIGHUP)

    def run(self, seconds: float, scrapes: Prometheus | Client) -> None:
        """A tick a second."""
        begin = _clock.monotonic()
        next_reload, next_hangup = begin + RELOAD, begin + HANGUP
        while (now := _clock.monotonic()) < begin + seconds:
            self._host.tick()
            scrapes.tick()
            self.of_idle.append(held(self._idle))
            self.of_full.append(held(self._full))
            if self._host.gone_at is not None and now - self._host.gone_at >= AWAY:
                self._host.load()
            there = self._host.gone_at is None  # a busy machine may be more than a reload late
            if there and next_reload <= now < begin + seconds - 2 * AWAY:
                self._host.unload()
                next_reload += RELOAD
            if self._may_hang_up and now >= next_hangup:
                self._full.process.send_signal(signal.SIGHUP)
                self.hangups += 1
                next_hangup += HANGUP
            _clock.wait(1.0)
        if self._host.gone_at is not None:
            self._host.load()

    def judge(self, scrapes: Scrapes) -> bool:
        """All goals."""
        heard = self.hangups if self._may_hang_up else "not heard by this daemon, not sent:"
        print(f"{self._host.reloads} driver reloads, {heard} SIGHUPs; scraped by {scrapes.by}")
        print(f"{scrapes.done} scrapes")
        met = within("failed scrapes", scrapes.failed, 0, "")
        met &= scrapes.done > 0
        met &= memory("idle", self.of_idle, IDLE_GOAL)
        return memory("everything on", self.of_full, FULL_GOAL) and met


def memory(name: str, of: Sequence[Held], goal: float) -> bool:
    """How much it holds, and whether that stays."""
    begin = of[0].at
    warm = [one for one in of if one.at - begin >= min(WINDOW, (of[-1].at - begin) / 2)]
    early, late = warm[: len(warm) // 2] or warm, warm[len(warm) // 2 :]
    full = warm[0].at - begin >= WINDOW
    growth = max(one.resident for one in late) - max(one.resident for one in early)
    met = within(f"{name}: resident", max(one.resident for one in of) / 1e6, goal / 1e6, "MB")
    most = GROWTH_GOAL if full else FILLING
    note = "" if full else " (its history still fills)"
    met &= within(f"{name}: growth{note}", growth / 1e6, most / 1e6, "MB")
    for what in ("descriptors", "threads"):
        figures = [getattr(one, what) for one in warm]
        print(f"    {what}: {min(figures)} to {max(figures)}, {figures[-1]} at the end")
        met &= figures[-1] <= figures[0] + 2  # a connection comes and goes
    return met


def main() -> int:
    """All; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    options = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host, rest = Host(folder / "busy"), Host(folder / "idle")
        with (
            daemon(rest.root) as idle,
            daemon(host.root, "--detail", "full", "--job-labels") as full,
            scraper(full, folder) as scrapes,
        ):
            soak = Soak(host, idle, full)
            soak.run(60.0 * options.minutes, scrapes)
            met = soak.judge(scrapes.scrapes())
            for running, what in ((idle, "idle"), (full, "everything on")):
                look = running.look()
                cost = sum(v for n, v in look.series.items() if n.startswith("neuron_observer_cpu"))
                share = cost / (60.0 * options.minutes)
                print(f"{what}: {share:.1%} of a core; {len(running.said)} lines in the log")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
