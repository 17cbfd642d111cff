"""The flight recorder: what it holds, what it costs a cycle, a dump, and how fast a replay goes.

    python -m benchmarks.recorder [--minutes N] [--rounds N]

Memory: the simulated job on all cores of a trn2.48xlarge (16 devices, 64 logical cores), by a clock
moved by hand at the daemon's own lanes. What the recorder holds when its window is full is the
figure; the same recording is then written, and played back through reader, rules and history.

Cost: the plain directory of `benchmarks.rules` (5 % of the counters of the normal lane move each
second). Two loops with all rules read it in turn, ten seconds of ticks each, one with the recorder
and one without; a pair is the processor time of both, the packing included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from benchmarks.hosts import write_tree
from benchmarks.measuring import Goal, Pair, judge, machine, within
from benchmarks.poll import LISTING
from benchmarks.rules import moving_files
from neuron_observer.checks.judging import judge_by, load_rules
from neuron_observer.cli.roots import enough_descriptors
from neuron_observer.clock import ManualClock
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.recording.dumps import Dumps
from neuron_observer.recording.flight import FlightRecorder, Limits
from neuron_observer.recording.reader import opened
from neuron_observer.replay import Player
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.hostfs import DirectoryFs, HostFs
from neuron_observer.sources.tapped import tapped

BYTES_GOAL = 8.0  # MB in memory
WINDOW_GOAL = 900.0  # seconds
COST_GOAL = 1.02  # of a cycle without it
DUMP_GOAL = 1.0  # seconds
SPEED_GOAL = 10.0  # recorded seconds a second
_SECONDS = 10  # of a slice: each lane comes round


def make(host: HostFs, clock: ManualClock, recorder: FlightRecorder | None) -> Loop:
    """A loop with all rules, and with a recorder or without."""
    keep = isinstance(host, DirectoryFs)
    options = Options(keep=keep, wait_for_firmware=False, kernel_log=not keep)
    heard = tapped(host, recorder.tape) if recorder else host
    made = judge_by(load_rules())
    loop = Loop(HostReader(heard, clock, options), judge=made, explain=made.explain)
    if recorder:
        recorder.begin(loop.reader)
        loop.subscribe(lambda frame: recorder.note(frame, loop.schedule.periods))
    return loop


def run(loop: Loop, clock: ManualClock, seconds: float) -> None:
    """Tick for so long."""
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        loop.tick()
        clock.advance(loop.schedule.until_next(clock.monotonic()))


def measure_held(folder: Path, minutes: float) -> bool:
    """What is held, what a dump costs and how fast it is played."""
    clock = ManualClock()
    dumps = Dumps(folder, 10**9)
    recorder = FlightRecorder(Limits(), dumps)
    loop = make(simulate(load("healthy", instance="trn2.48xlarge"), clock), clock, recorder)
    run(loop, clock, minutes * 60)
    status = recorder.status()
    met = within("held in memory", status.bytes / 1e6, BYTES_GOAL, "MB")
    whole = status.seconds >= min(WINDOW_GOAL, minutes * 60 - 30)
    print(f"    window {status.seconds:.0f} s: {'whole' if whole else 'SHORT'}")
    asked = recorder.request("benchmark")
    begin = time.perf_counter()
    loop.tick(woken=True)
    gathered = time.perf_counter() - begin
    file = asked.result()
    seconds = time.perf_counter() - begin
    met &= within("writing it", seconds, DUMP_GOAL, "s")
    size = Path(file).stat().st_size / 1e6
    print(f"    {size:.2f} MB; {gathered * 1e3:.0f} ms of it in the loop's thread, a tick included")
    loop.close()
    return met & whole & measure_replay(file)


def measure_replay(file: str) -> bool:
    """How fast it is played, from reading the file to the last frame."""
    rules = load_rules()
    begin = time.process_time()
    recording = opened(file)
    player = Player(recording, lambda one_shot: judge_by(rules, one_shot=one_shot))
    while player.step():
        pass
    seconds = time.process_time() - begin
    player.close()
    speed = recording.span / seconds
    met = speed >= SPEED_GOAL
    verdict = "met" if met else "MISSED"
    print(f"replay: {speed:.0f} times as fast as it was, goal {SPEED_GOAL:.0f}: {verdict}")
    print(f"    {player.played} frames, {seconds / max(player.played, 1) * 1e3:.2f} ms each")
    return met


def measure_cost(folder: Path, rounds: int) -> bool:
    """What it adds to the processor time of a cycle."""
    write_tree(LISTING, folder)
    enough_descriptors()
    moving = moving_files(folder, errors=False)
    numbers = count(1000)
    clocks = ManualClock(), ManualClock()
    host = DirectoryFs(str(folder))
    loops = make(host, clocks[0], FlightRecorder(Limits(), None)), make(host, clocks[1], None)

    def second(loop: Loop, clock: ManualClock) -> float:
        text = f"{next(numbers)}\n"
        for file in moving:
            file.write_text(text, "ascii")
        begin = time.process_time_ns()
        run(loop, clock, 1.0)
        return (time.process_time_ns() - begin) / 1e6

    pairs = []
    for number in range(rounds + 1):
        spent = [0.0, 0.0]
        for which in [0, 1] * _SECONDS:
            spent[which] += second(loops[which], clocks[which])
        if number:
            pairs.append(Pair(spent[0] / _SECONDS, spent[1] / _SECONDS))
    for loop in loops:
        loop.close()
    return judge(Goal("a second of cycles with it", COST_GOAL), pairs, "ms")


def main() -> int:
    """Print all figures; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=16.0)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        met = measure_cost(Path(folder), options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        met &= measure_held(Path(folder), options.minutes)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
