"""G9: what starting the program costs, and `devices` on a full trn2.48xlarge.

    python -m benchmarks.startup [--rounds N] [--command PATH]

The program stands as a console script in a fresh virtual environment, with bytecode compiled and
without the libraries that these two commands do not load; `--command` takes one that is installed
already. `--version` is held against `python -c pass` of the same interpreter. `devices` is held
against a C program that opens, reads and closes every file of the driver in the same tree, and,
to see what is left, against the same program over only the files that `devices` opens itself.
The 300 ms between its two reads are waited for, not worked: CPU time does not count them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median
from typing import NamedTuple

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
# Prints each path below the root that the program opens; a bare name is in the folder opened last.
_WATCH = """
import os, sys
folder = ""
def note(event, arguments):
    global folder
    if event != "open" or not isinstance(arguments[0], str):
        return
    path = arguments[0]
    if path.startswith(sys.argv[-1] + "/") and os.path.isdir(path):
        folder = path
    elif path.startswith(sys.argv[-1] + "/") or not path.startswith("/"):
        os.write(2, os.fsencode(os.path.join(folder, path)) + b"\\n")
sys.addaudithook(note)
"""


class Files(NamedTuple):
    """Files for the C program to read."""

    listed: Path  # the list that it takes
    number: int


def install(folder: Path) -> Path:
    """The console script of a fresh environment."""
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "click"], check=True)
    subprocess.run([*pip, "install", "--no-deps", str(ROOT)], check=True)
    return folder / "bin" / "neuron-observer"


def clean_environment() -> dict[str, str]:
    """Ours without what keeps bytecode from being used or takes the program from elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def files_of_driver(root: Path, folder: Path) -> Files:
    """Everything that the driver shows of its devices."""
    below = root / "sys" / "devices" / "virtual" / "neuron_device"
    files = [file for file in below.rglob("*") if file.is_file() and not file.is_symlink()]
    return Files(write_list(folder / "every", files), len(files))


def files_opened(python: Path, root: Path, folder: Path) -> Files:
    """What `devices` opens, each as often as it does; its helper process is not looked at."""
    hook = folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(_WATCH, "utf-8")
    run = subprocess.run(
        [python, "-m", "neuron_observer", "devices", "--host-root", root],
        env=clean_environment() | {"PYTHONPATH": str(hook)},
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [line for line in run.stderr.splitlines() if line.startswith(str(root))]
    files = [path for path in paths if Path(path).is_file()]
    return Files(write_list(folder / "opened", files), len(files))


def measure_version(command: Path, rounds: int) -> bool:
    """`--version` against an empty program."""
    environment = clean_environment()
    python = command.parent / "python"
    pairs = paired(
        lambda: cpu_of([command, "--version"], environment) * 1e3,
        lambda: cpu_of([python, "-c", "pass"], environment) * 1e3,
        rounds,
    )
    met = judge(Goal("--version against python -c pass", VERSION_GOAL), pairs, "ms")
    click = median(cpu_of([python, "-c", "import click"], environment) for _ in range(rounds))
    print(f"    an interpreter that only imports click takes {click * 1e3:.4g} ms")
    return met


def measure_devices(command: Path, floor: Path, folder: Path, listing: str, rounds: int) -> bool:
    """`devices` against C, over the whole tree and over what it opens."""
    root = folder / listing
    write_tree(TREES / f"{listing}.tsv.gz", root)
    environment = clean_environment()
    every = files_of_driver(root, folder)
    opened = files_opened(command.parent / "python", root, folder)

    def ours() -> float:
        return cpu_of([command, "devices", "--host-root", root], environment) * 1e3

    def floor_over(files: Files) -> float:
        return cpu_of([floor, "once", files.listed], environment) * 1e3

    met = judge(
        Goal(f"devices, {listing}, against C over all files", DEVICES_GOAL),
        paired(ours, lambda: floor_over(every), rounds),
        "ms",
        f"; C opens {every.number:,} files, devices {opened.number:,}",
    )
    judge(
        Goal(f"devices, {listing}, against C over the files that it opens", None),
        paired(ours, lambda: floor_over(opened), rounds),
        "ms",
        f"; both open {opened.number:,} files",
    )
    return met


def main() -> int:
    """Measure; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--command", type=Path, help="an installed neuron-observer")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is None:
        print(machine(), flush=True)
        # made and removed out here, where what the child mounts on it is not seen
        with tempfile.TemporaryDirectory() as folder:
            command = options.command or install(Path(folder) / "venv")
            child = [sys.executable, "-m", "benchmarks.startup", "--rounds", str(options.rounds)]
            trees = Path(folder) / "trees"
            trees.mkdir()
            return subprocess.call([*child, "--command", command, "--folder", trees])
    if os.geteuid() == 0:
        enter_namespaces()
        mount("tmpfs", options.folder)
    floor = compile_floor(options.folder)
    met = measure_version(options.command, options.rounds)
    for listing in LISTINGS:
        met &= measure_devices(options.command, floor, options.folder, listing, options.rounds)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
