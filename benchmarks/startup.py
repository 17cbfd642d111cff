"""G9: what starting the program costs, and `devices` on a full trn2.48xlarge.

    python -m benchmarks.startup [--rounds N] [--command PATH]

The console script of a fresh virtual environment, installed without the libraries that these two
commands do not load; `--command` takes one that is installed already. `--version` is held against
`python -c pass` of the same interpreter, `devices` against a C program that opens, reads and closes
every file of the driver in the same tree, and against one for the files alone that `devices` opens.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.hosts import enter_namespaces, mount, write_tree
from benchmarks.measuring import (
    ROOT,
    TREES,
    Goal,
    compile_floor,
    cpu_of,
    judge,
    machine,
    paired,
    write_list,
)

LISTINGS = ("trn2.48xlarge-2.30.2-busy", "trn2.48xlarge-2.24.7-idle")
VERSION_GOAL = 4.2
DEVICES_GOAL = 2.5
_OPENED = "import sys, os; opened = []; sys.addaudithook(lambda e, a: e == 'open' and opened.append(str(a[0])))"


def install(folder: Path) -> Path:
    """The console script of a fresh environment."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "click"], check=True)
    subprocess.run([*pip, "--no-deps", ROOT], check=True)
    return folder / "bin" / "neuron-observer"


def clean_environment() -> dict[str, str]:
    """Ours without what would keep bytecode from being used or take the program from elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
