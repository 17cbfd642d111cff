from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from neuron_observer.cli.group import cli
from neuron_observer.errors import InputError, UsageError
from neuron_observer.recording.reader import opened
from tests.conftest import tree_file

ROOT = Path(__file__).parent.parent.parent
SIMULATED = ("--simulate", "healthy", "--instance", "trn2.3xlarge")


def test_a_recording_of_some_seconds(tmp_path: Path) -> None:
    """What it says of itself is true, and it is replayed."""
    file = tmp_path / "r.nobs.gz"
    result = CliRunner().invoke(cli, ["record", *SIMULATED, "--seconds", "0", "-o", str(file)])
    assert result.exit_code == 0
    recording = opened(str(file))
    assert f"{len(recording.times)} ticks" in result.stderr
    assert recording.header["options"]["kernel_log"] is True
    assert recording.note == ""
    assert "before-we-watched" in CliRunner().invoke(cli, ["replay", str(file)]).stdout


def test_without_lines_and_jobs(tmp_path: Path) -> None:
    """Neither is in the file."""
    file = tmp_path / "r.nobs.gz"
    arguments = ["record", *SIMULATED, "--seconds", "0", "-o", str(file)]
    CliRunner().invoke(cli, [*arguments, "--no-kernel-log", "--no-jobs"])
    (tick,) = [one for one in opened(str(file)).passes() if one.tick]
    assert (tick.kernel, tick.logs) == ([], {})
    assert not [path for path in tick.nodes if path.startswith("proc/") and path[5].isdecimal()]


def test_interrupted_it_is_whole(tmp_path: Path) -> None:
    """Ctrl-C ends it as its time does."""
    file = tmp_path / "r.nobs.gz"
    code = (
        "import sys, os, signal\n"
        "from neuron_observer import loop\n"
        "tick = loop.Loop.tick\n"
        "def one(self, **more):\n"
        "    frame = tick(self, **more)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return frame\n"
        "loop.Loop.tick = one\n"
        "from neuron_observer.cli.group import run\n"
        "run()\n"
    )
    arguments = ["record", *SIMULATED, "-o", str(file)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert signal.SIGINT.name not in done.stderr
    recording = opened(str(file))
    assert (len(recording.times), recording.note) == (1, "")


def test_what_cannot_be_recorded(tmp_path: Path) -> None:
    """A recording itself; into a folder that is not there, or the host's own files."""
    listing = str(tree_file("trn2.3xlarge-2.30.2-busy"))
    out = str(tmp_path / "r.nobs.gz")
    again = CliRunner().invoke(cli, ["record", "--host-root", listing, "-o", out])
    assert isinstance(again.exception, UsageError)
    nowhere = CliRunner().invoke(cli, ["record", *SIMULATED, "-o", str(tmp_path / "a/b")])
    assert isinstance(nowhere.exception, InputError)
    below = CliRunner().invoke(cli, ["record", *SIMULATED, "-o", "/sys/x"])
    assert isinstance(below.exception, UsageError)


def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    """With the reason."""
    (tmp_path / "r.nobs.gz").symlink_to("/dev/full")
    arguments = ["record", *SIMULATED, "-o", str(tmp_path / "r.nobs.gz")]
    result = CliRunner().invoke(cli, arguments)
    assert isinstance(result.exception, InputError)
    assert "No space left" in result.exception.message


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """An earlier recording stays, unless somebody says --force; what never began leaves no file."""
    file = tmp_path / "r.nobs.gz"
    file.write_text("of last week")
    arguments = ["record", *SIMULATED, "--seconds", "0", "-o", str(file)]
    refused = CliRunner().invoke(cli, arguments)
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception) == (
        f"{file} is there already\n  --force writes over it; -o names another."
    )
    assert file.read_text() == "of last week"
    assert CliRunner().invoke(cli, [*arguments, "--force"]).exit_code == 0
    assert len(opened(str(file)).times) == 1
    itself = tmp_path / "again.nobs.gz"
    CliRunner().invoke(cli, ["record", "--host-root", str(file), "-o", str(itself)])
    assert not itself.exists()
