"""The processes that a job consists of: a launcher, and a rank a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.state import Process

if TYPE_CHECKING:
    from neuron_observer.sim.world import World

PYTHON = "/opt/training/bin/python"


def launch(world: World, job: str, ranks: int) -> int:
    """Start the launcher of a job; its pid."""
    process = Process(
        pid=world.new_pid(),
        parent=1,
        name="torchrun",
        command=(PYTHON, "/opt/training/bin/torchrun", f"--nproc-per-node={ranks}", f"{job}.py"),
        environment={"PATH": "/usr/bin"},
        since=world.now,
        started=world.uptime,
    )
    world.node.processes[process.pid] = process
    return process.pid


def make_rank(
    world: World, job: str, launcher: int, device: int, place: tuple[int, int]
) -> Process:
    """A rank that holds a device; `place` is its rank and how many there are.

    Core numbers in the environment are logical: half of the physical ones on Trainium2 and 3.
    """
    rank, ranks = place
    chip = world.node.instance.chip
    logical = chip.cores // 2 if chip.dice == 2 else chip.cores
    first = device * logical
    environment = {
        "PATH": "/usr/bin",
        "RANK": f"{rank}",
        "LOCAL_RANK": f"{rank}",
        "WORLD_SIZE": f"{ranks}",
        "LOCAL_WORLD_SIZE": f"{ranks}",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": job,
        "NEURON_RT_VISIBLE_CORES": f"{first}-{first + logical - 1}",
        "NEURON_PROCESS_TAG": job,
    }
    return Process(
        pid=world.new_pid(),
        parent=launcher,
        name="python",
        command=(PYTHON, "-u", f"{job}.py"),
        environment=environment,
        since=world.now,
        started=world.uptime,
        devices=(device,),
        threads=48,
    )
