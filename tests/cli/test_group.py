"""The command as a process: pipes that close, encodings without a dash, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.conftest import tree_file

PATIENCE = 60.0  # seconds; only a failure waits so long
COMMAND = (sys.executable, "-m", "neuron_observer")
HOST = ("--host-root", str(tree_file("trn1.32xlarge-2.24.7-busy")))
ROOT = Path(__file__).parents[2]


def _start(*arguments: str, stdout: int | IO[bytes]) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [*COMMAND, *arguments], stdout=stdout, stderr=subprocess.PIPE, env=environment
    )


@pytest.mark.parametrize(
    "arguments", [("devices", *HOST), ("doctor", *HOST), ("--help",), ("--version",)]
)
def test_a_reader_that_went_away_is_no_problem(arguments: tuple[str, ...]) -> None:
    """`doctor | head`: exit code 0 and not a word, never the 1 that means problems."""
    reading, writing = os.pipe()
    os.close(reading)
    started = _start(*arguments, stdout=writing)
    os.close(writing)
    _, said = started.communicate(timeout=PATIENCE)
    assert (started.returncode, said) == (0, b"")


@pytest.mark.parametrize("arguments", [("devices", *HOST), ("--version",)])
def test_without_standard_output(arguments: tuple[str, ...]) -> None:
    """`>&-`: nothing to write to is not a crash."""
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *arguments]
    done = subprocess.run(
        closed,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_is_told() -> None:
    """One line, not a traceback, and no exit code that means something else."""
    with Path("/dev/full").open("wb") as full:
        started = _start("devices", *HOST, stdout=full)
        _, said = started.communicate(timeout=PATIENCE)
    assert said.decode() == ("neuron-observer: output cannot be written: No space left on device\n")
    assert started.returncode == 3


@pytest.mark.parametrize("encoding", ["latin-1", "cp437", "ascii"])
@pytest.mark.parametrize("verb", ["devices", "doctor", "snapshot"])
def test_an_encoding_without_our_signs(verb: str, encoding: str) -> None:
    """E29: a dash or arrow that the terminal cannot show is said in ASCII, never a crash."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    done = subprocess.run(
        [*COMMAND, verb, *HOST],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"\\u2014" not in done.stdout


def test_an_interrupt_ends_it_quietly() -> None:
    """Ctrl-C in the pause between two passes: 130 and no traceback."""
    tree = str(tree_file("trn2.3xlarge-2.30.2-busy"))
    started = _start(
        "capture",
        "--host-root",
        tree,
        "-o",
        "-",
        "--seconds",
        "600",
        "--every",
        "300",
        stdout=subprocess.PIPE,
    )
    assert started.stdout
    started.stdout.readline()
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE)
    assert started.returncode == 130
    assert b"Traceback" not in said


@pytest.mark.parametrize("verb", ["devices", "doctor"])
@pytest.mark.parametrize(
    "said", [{"LC_ALL": "C"}, {"LANG": "C", "LC_ALL": ""}, {"PYTHONIOENCODING": "ascii"}]
)
def test_a_locale_that_knows_ascii_alone(verb: str, said: dict[str, str]) -> None:
    """Python makes UTF-8 of a C locale, and click of ASCII; the terminal need not follow."""
    done = subprocess.run(
        [*COMMAND, verb, *HOST],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), **said},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_a_file_is_written_as_it_is(tmp_path: Path) -> None:
    """A page that goes into a file is the same in every locale."""
    pages = []
    for said in ("C", "C.UTF-8"):
        with (tmp_path / said).open("wb") as file:
            environment = os.environ | {"PYTHONPATH": str(ROOT), "LC_ALL": said}
            command = [*COMMAND, "metrics", "--format", "markdown"]
            subprocess.run(command, stdout=file, timeout=PATIENCE, check=True, env=environment)
        pages.append((tmp_path / said).read_text("utf-8"))
    assert pages[0] == pages[1]
    assert not pages[0].isascii()
