"""The service under a real systemd: installed as documented, then everything that can befall it.

    python -m benchmarks.service

Boots a machine over this one's files (`benchmarks.nspawn`), installs the package under
/opt/neuron-observer and the service by `install-service`, and binds a simulated trn2.48xlarge over
its /sys. What the sandbox allows is tried by a program in the service's own sandbox. One line a
thing that must hold, with its figure; exit code 1 if one does not. Needs root, systemd-nspawn
(Debian: package systemd-container), /usr/bin/python3 with venv and a package index for pip.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from benchmarks.measuring import ROOT
from benchmarks.nspawn import CHECKOUT, machine, missing
from benchmarks.service_drills import DRILLS, WHEELS, Board
from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    from benchmarks.nspawn import Machine

_BLOCK = re.compile(r"<!-- install commands -->\n```sh\n(.*?)```", re.DOTALL)


def documented() -> list[str]:
    """The commands of docs/install.md, as root gives them."""
    found = _BLOCK.search((ROOT / "docs/install.md").read_text(encoding="utf-8"))
    return found[1].replace("sudo ", "").splitlines() if found else []


def install_package(there: Machine, board: Board) -> None:
    """As docs/install.md says, from this checkout: what needs a network, before it is booted."""
    clock = SystemClock()
    begin = clock.monotonic()
    commands = [line for line in documented() if " -m venv " in line or "/pip " in line]
    commands.append(f"/opt/neuron-observer/bin/pip wheel --quiet --no-deps --wheel-dir {WHEELS} .")
    done = there.prepare(
        "/bin/sh", "-c", f"umask 022; set -e; cd {CHECKOUT}; {'; '.join(commands)}"
    )
    board.note("package under /opt/neuron-observer", not done.code, clock.monotonic() - begin, "s")
    if done.code:
        raise SystemExit(f"the package cannot be installed:\n{done.err[-2000:]}")


def main() -> int:
    """Print each line; 1 if something does not hold."""
    lacking = missing()
    if lacking:
        print(f"not run: needs {lacking}")
        return 0
    board = Board()
    with machine() as there:
        install_package(there, board)
        board.note("systemd is up", True, there.boot(), "s")
        for drill in DRILLS:
            drill(there, board)
    print(f"{board.held} of {board.held + board.broken} hold")
    return int(board.broken > 0)


if __name__ == "__main__":
    sys.exit(main())
