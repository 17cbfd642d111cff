"""Ranks of a job without torch: processes that write heartbeats by the real hook."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
# five steps, each with a collective, then `inside` for as long as somebody lets it live
SCRIPT = """
import sys
from neuron_observer import hook
for number in range(5):
    with hook.step(tokens=100):
        with hook.collective("all_reduce", signature="4 2"):
            pass
print("ready", flush=True)
with hook.collective("all_gather", signature="4 2"):
    sys.stdin.readline()
sys.exit(int(sys.argv[1]))
"""


@contextmanager
def ranks(folder: Path, *exit_codes: int) -> Iterator[list[subprocess.Popen[str]]]:
    """One rank for each exit code, with which it ends once it is told to, all ready."""
    with ExitStack() as stack:
        found = []
        for rank, code in enumerate(exit_codes):
            process = stack.enter_context(_rank(folder, rank, len(exit_codes), code))
            stack.callback(process.kill)
            found.append(process)
        for process in found:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        yield found


def _rank(folder: Path, rank: int, world: int, code: int) -> subprocess.Popen[str]:
    environment = {
        "PYTHONPATH": str(ROOT),
        "NEURON_OBSERVER_HOOK_DIR": str(folder),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "TORCHELASTIC_RUN_ID": f"test-{os.getpid()}",
        "TORCHELASTIC_RESTART_COUNT": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
    }
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(code)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
