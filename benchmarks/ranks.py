"""What judging 64 hooked ranks costs the daemon, and how soon a slow one is told.

    python -m benchmarks.ranks [--seconds S] [--period S] [--settled S]

Two daemons read the same trn2.48xlarge (plain files) at the same time: one reads the heartbeat
files of 64 ranks of a job of 512, the other is told to read none. 64 sleeping processes hold the
devices; their heartbeats are written from here, a step every `--period` seconds, as a job of equal
ranks with 0.4 % of noise. Then rank 37 takes 1.2 times as long.

Goals: resident memory of the daemon at most 65 MB; at most 0.5 % of a core more than the other;
rank 37 and nobody else is told, as a warning within 15 steps.
"""

from __future__ import annotations

import argparse
import mmap
import os
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks.hosts import write_tree
from benchmarks.measuring import TREES, machine
from benchmarks.running import Running, daemon
from neuron_observer.clock import SystemClock
from tests.heartbeats import Record, header

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
RANKS, WORLD, FIRST, SLOW = 64, 512, 128, 37
HEADER = 1024  # bytes; the ring follows
LEARN = 66  # steps until all is learned, and some
MEMORY_GOAL, CPU_GOAL, STEPS_GOAL = 65e6, 0.005, 15
FOLDER = "run/neuron-observer-ranks"
_clock = SystemClock()
_TICK = os.sysconf("SC_CLK_TCK")


class Ranks:
    """The processes of a job, and what their hooks would write."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER
        self.folder.mkdir(parents=True)
        self.boot = bytes.fromhex(
            Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip().replace("-", "")
        )
        (root / "dev").mkdir(exist_ok=True)
        self.processes = [self._start(root, local) for local in range(RANKS)]
        self.names = [self._name(process.pid) for process in self.processes]
        self.steps = 0
        self.files = [self._made(local) for local in range(RANKS)]
        self.random = Random(1)  # noqa: S311 - noise

    @staticmethod
    def _start(root: Path, local: int) -> subprocess.Popen[bytes]:
        node = root / f"dev/neuron{local // 4}"
        node.touch()
        held = os.open(node, os.O_RDONLY)
        variables = {
            "RANK": str(FIRST + local),
            "LOCAL_RANK": str(local),
            "WORLD_SIZE": str(WORLD),
            "MASTER_ADDR": "node-2",
            "MASTER_PORT": "29500",
            "TORCHELASTIC_RUN_ID": "bench",
            "TORCHELASTIC_RESTART_COUNT": "0",
        }
        try:
            return subprocess.Popen(["sleep", "3600"], env=variables, pass_fds=[held])
        finally:
            os.close(held)

    @staticmethod
    def _name(pid: int) -> tuple[int, int]:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return pid, int(stat.rpartition(b")")[2].split()[19])

    def step(self, period: float, ratio: float) -> None:
        """One step of so long, of which the slow rank computes `ratio` times as long."""
        end = _clock.monotonic()
        work = [0.6 * period * (1 + self.random.gauss(0, 0.004)) for _ in range(RANKS)]
        work[SLOW] *= ratio
        for local, busy in enumerate(work):
            waited = max(period - busy, 0.0)
            record = Record(self.steps, end - period, end, waited, waited / 20, 0.001, calls=20)
            self._write(local, record)
        self.steps += 1

    def _made(self, local: int) -> mmap.mmap:
        pid, ticks = self.names[local]
        path = self.folder / f"rank-{pid}-{ticks}.hb"
        path.write_bytes(self._header(local, 0, _clock.monotonic()) + bytes(256 * 64))
        with path.open("r+b") as file:
            return mmap.mmap(file.fileno(), 0)

    def _write(self, local: int, record: Record) -> None:
        """In place, as the hook does: the generation is odd meanwhile."""
        file, steps = self.files[local], self.steps + 1
        raw, at = self._header(local, steps, record.end), HEADER + self.steps % 256 * 64
        file[16:24] = (2 * steps - 1).to_bytes(8, "little")
        file[at : at + 64] = record.packed()
        file[24:HEADER] = raw[24:]
        file[16:24] = raw[16:24]

    def _header(self, local: int, steps: int, end: float) -> bytes:
        pid, ticks = self.names[local]
        return header(
            generation=2 * steps,
            pid=pid,
            uid=os.getuid(),
            ticks=ticks,
            boot=self.boot,
            rank=FIRST + local,
            local=local,
            world=WORLD,
            steps=steps,
            at=end,
            wall=_clock.wall(),
            entered=20 * steps,
            completed=20 * steps,
            flags=3,
        )

    def stop(self) -> None:
        """End the processes, by their own ids."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@contextmanager
def running(folder: Path) -> Iterator[tuple[Ranks, Running, Running]]:
    """The ranks, the daemon that hears them and the one that does not."""
    root = folder / "host"
    write_tree(LISTING, root)
    (root / "proc").symlink_to("/proc")
    deaf = folder / "deaf.yaml"
    deaf.write_text("jobs: {heartbeats: null}\n", "utf-8")
    hears = folder / "hears.yaml"
    hears.write_text(f"jobs: {{heartbeats: /{FOLDER}}}\n", "utf-8")
    ranks = Ranks(root)
    try:
        with ExitStack() as stack:
            ours = stack.enter_context(daemon(root, "--config", str(hears)))
            other = stack.enter_context(daemon(root, "--config", str(deaf)))
            yield ranks, ours, other
    finally:
        ranks.stop()


def main() -> int:
    """Measure; 1 if a goal is missed."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--period", type=float, default=1.0)
    arguments.add_argument("--settled", type=float, default=LEARN)
    asked = arguments.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as place, running(Path(place)) as (ranks, ours, other):
        _train(ranks, asked.period, asked.settled)
        before = cpu(ours), cpu(other)
        begin = _clock.monotonic()
        _train(ranks, asked.period, asked.seconds)
        passed = _clock.monotonic() - begin
        spent = [
            (now - then) / passed for now, then in zip((cpu(ours), cpu(other)), before, strict=True)
        ]
        told = _notice(ranks, ours, asked.period)
        return _judge(spent, (rss(ours), rss(other)), told)


def _train(ranks: Ranks, period: float, seconds: float) -> None:
    until = _clock.monotonic() + seconds
    while _clock.monotonic() < until:
        _clock.wait(period)
        ranks.step(period, 1.0)


def _notice(ranks: Ranks, ours: Running, period: float) -> dict[int, tuple[int, set[str]]]:
    """Steps until each tier is told, and of whom."""
    begin = ranks.steps
    found: dict[int, tuple[int, set[str]]] = {}
    while ranks.steps - begin < 3 * STEPS_GOAL and 2 not in found:
        _clock.wait(period)
        ranks.step(period, 1.2)
        series = ours.look().series
        tiers = {
            name.partition('neuron_rank="')[2].partition('"')[0]: int(value)
            for name, value in series.items()
            if name.startswith("neuron_rank_straggler{") and value
        }
        for tier in set(tiers.values()) - found.keys():
            found[tier] = ranks.steps - begin, set(tiers)
    return found


def _judge(
    spent: list[float], memory: tuple[float, float], told: dict[int, tuple[int, set[str]]]
) -> int:
    more = spent[0] - spent[1]
    steps, names = told.get(2, (0, set()))
    right = names == {str(FIRST + SLOW)} and steps <= STEPS_GOAL
    print(f"processor: {spent[0]:.2%} of a core, without {spent[1]:.2%}: +{more:.2%} (goal 0.50%)")
    print(f"memory: {memory[0] / 1e6:.1f} MB, without {memory[1] / 1e6:.1f} MB (goal 65 MB)")
    for tier, word in ((1, "notice"), (2, "warning")):
        if tier in told:
            print(f"{word} after {told[tier][0]} steps, of rank {', '.join(sorted(told[tier][1]))}")
    return int(not (more <= CPU_GOAL and memory[0] <= MEMORY_GOAL and right))


def cpu(of: Running) -> float:
    """Seconds of processor time that a daemon has used."""
    fields = Path(f"/proc/{of.process.pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def rss(of: Running) -> float:
    """Its resident memory in bytes."""
    status = Path(f"/proc/{of.process.pid}/status").read_text("ascii")
    return float(status.partition("VmRSS:")[2].split()[0]) * 1024


if __name__ == "__main__":
    raise SystemExit(main())
