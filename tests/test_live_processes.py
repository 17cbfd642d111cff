"""Real processes with the real hook, found in the real /proc and heard: bounded in time."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from neuron_observer.clock import SystemClock
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.model import Job, Rank

PATIENCE = 60.0  # seconds for what must come
RANK = """
import sys, time
from neuron_observer import hook
hook.install(folder=sys.argv[1], role="stage-0")
while True:
    with hook.step(tokens=8):
        time.sleep(0.01)
        with hook.collective("all_reduce", signature="x"):
            time.sleep(0.01)
"""


def rank(number: int, folder: Path) -> subprocess.Popen[bytes]:
    """A rank as a launcher starts it."""
    variables = {
        "RANK": str(number),
        "LOCAL_RANK": str(number),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": f"test-{folder.name}",
        "PYTHONPATH": ":".join(sys.path),
    }
    return subprocess.Popen([sys.executable, "-c", RANK, str(folder)], env=variables)


def steps(one: Rank) -> bool:
    """Whether it has done some."""
    return one.pace is not None and one.pace.step > 3


def test_ranks_without_a_device_are_heard_and_missed(tmp_path: Path) -> None:
    """Both ranks of one job with what they do; one is killed, and is no rank any more."""
    folder = tmp_path / "ranks"
    folder.mkdir()
    clock = SystemClock()
    options = Options(machine=False, heartbeats=str(folder))
    reader = HostReader(DirectoryFs("/"), clock, options)

    def until(true: Callable[[Job], bool]) -> Job:
        end = clock.monotonic() + PATIENCE
        found: list[Job] = []
        while clock.monotonic() < end:
            jobs = reader.poll(("normal", "jobs")).jobs
            found = [job for job in jobs if job.run_id == f"test-{folder.name}"]
            if found and true(found[0]):
                return found[0]
            clock.wait(0.2)
        raise AssertionError(found)

    with ExitStack() as stack:
        stack.callback(reader.close)
        processes = [rank(number, folder) for number in (0, 1)]
        for process in processes:
            stack.callback(process.wait)
            stack.callback(process.kill)
        end = clock.monotonic() + PATIENCE
        while len(list(folder.iterdir())) < 2 and clock.monotonic() < end:
            clock.wait(0.05)  # else the reader looks again after ten seconds
        job = until(lambda j: len(j.ranks) == 2 and all(map(steps, j.ranks)))
        assert (job.kind, job.world_size, job.devices) == ("training", 2, ())
        assert [one.process.pid for one in job.ranks] == [process.pid for process in processes]
        for one in job.ranks:
            assert one.pace is not None
            assert (one.pace.phase, one.pace.source, one.pace.role) == (
                "training",
                "blocking",
                "stage-0",
            )
            assert one.pace.entered >= one.pace.step
        assert job.pace is not None
        assert (job.pace.source, job.pace.heard) == ("hook", 2)
        processes[1].kill()
        processes[1].wait()
        job = until(lambda j: len(j.ranks) == 1)
        assert job.ranks[0].rank == 0
