"""Real processes: how a rank ends, forks, and what a data-loader worker or a launcher leaves."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from neuron_observer import hook
from tests.hook.reading import Heartbeat, heartbeat

ROOT = Path(__file__).parent.parent.parent
STEPS = "from neuron_observer import hook as o\nfor _ in range(3):\n    with o.step(): pass\n"


def _run(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NEURON_OBSERVER_HOOK_DIR": str(folder)} | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _left(folder: Path) -> list[Heartbeat]:
    return [heartbeat(path.read_bytes()) for path in sorted(folder.glob("rank-*.hb"))]


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("", []),
        ("raise SystemExit(0)", []),
        ("o.uninstall()", []),
        ("raise ValueError('of the job')", [hook.TRAINING]),
        (f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", [hook.TRAINING]),
        ("import os; os._exit(1)", [hook.TRAINING]),
    ],
)
def test_only_a_rank_that_died_leaves_its_file(folder: Path, end: str, left: list[int]) -> None:
    """A file of a process that is gone means that it did not end well."""
    done = _run(folder, STEPS + end)
    assert "neuron-observer" not in done.stderr
    assert [seen.phase for seen in _left(folder)] == left
    assert [seen.steps for seen in _left(folder)] == [3] * len(left)


def test_a_forked_child_writes_into_a_file_of_its_own_or_none(folder: Path) -> None:
    """The parent's stays as it was, also when the child ends; a child that trains has its own."""
    code = (
        STEPS + "import os\nfirst = o._recorder.file.path\nbefore = open(first, 'rb').read()\n"
        "if not os.fork():\n    raise SystemExit(0)\n"
        "os.wait()\n"
        "assert open(first, 'rb').read() == before\n"
        "if not os.fork():\n"
        "    with o.step(): pass\n"
        "    assert o._recorder.file.path != first and o._recorder.steps == 1\n"
        "    os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.wait()[1]) == 7\n"
        "assert open(first, 'rb').read() == before\n"
        "with o.step(): pass\n"
        "os._exit(0)\n"
    )
    done = _run(folder, code)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(seen.steps for seen in _left(folder)) == [1, 4]


def test_a_process_that_never_trains_has_no_file(folder: Path) -> None:
    """Loader workers and launchers load PyTorch with the same environment."""
    code = (
        "from neuron_observer import hook as o\no.autoload()\nassert o._recorder is not None\n"
        "import os\nassert not os.listdir(os.environ['NEURON_OBSERVER_HOOK_DIR'])\n"
        "for batch in o.data([1]): pass\n"
    )
    done = _run(folder, code, NEURON_OBSERVER_HOOK="1")
    assert (done.returncode, done.stderr, _left(folder)) == (0, "", [])


def test_off_unless_asked(folder: Path) -> None:
    """The entry point does nothing, and importing loads only what is Python's own."""
    code = (
        "import sys\nfrom neuron_observer import hook as o\no.autoload()\n"
        "assert o._recorder is None and not o._registered\n"
        "own = {n.split('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(n for n in own if not n.startswith('_')), 'signal' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("['neuron_observer']")


def test_the_entry_point_is_the_hook(folder: Path) -> None:
    """What pyproject.toml names for `torch.backends` is there."""
    project = (ROOT / "pyproject.toml").read_text()
    found = re.search(r'entry-points."torch.backends"]\n\S+ = "([\w.]+):(\w+)"', project)
    assert found
    assert getattr(import_module(found[1]), found[2]) is hook.autoload


def test_it_works_copied_and_is_written_for_python_3_8(folder: Path, tmp_path: Path) -> None:
    """One file, beside a script, with nothing of this package in reach."""
    path = Path(hook.write_copy(str(tmp_path)))
    ast.parse(path.read_text(), feature_version=(3, 8))
    code = "import neuron_observer_hook as o\nwith o.step(): pass\nimport os\nos._exit(0)\n"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"NEURON_OBSERVER_HOOK_DIR": str(folder)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [seen.steps for seen in _left(folder)] == [1]


def test_no_room_is_told_once_and_the_job_goes_on(folder: Path) -> None:
    """A limit on the size of files stands for a full disk: nothing is mapped, nothing is left."""
    code = (
        "import resource, os\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        + STEPS
        + "print('trained')\n"
    )
    done = _run(folder, code)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("neuron-observer hook is off: OSError: [Errno 27]")
    assert not list(folder.iterdir())
