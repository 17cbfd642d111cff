"""The helper process: answers, ends with us, and never holds us up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from neuron_observer.clock import SystemClock
from neuron_observer.sources.helper import HelperWorkers
from neuron_observer.sources.workers import Request

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PATIENCE = 20.0  # seconds; only a failure waits so long
REQUEST = Request("sys", ("a", "missing"), (4097, 4097))


def _host(tmp_path: Path) -> str:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/a").write_bytes(b"\xff7\n")
    return str(tmp_path)


def test_it_answers_with_bytes_and_errors(tmp_path: Path) -> None:
    """What comes over the pipe is what the files hold, or why they cannot be read."""
    workers = HelperWorkers(_host(tmp_path), SystemClock())
    assert workers.submit(3, REQUEST)
    content, error = workers.gather([3], PATIENCE)[3].contents
    workers.close()
    assert content == b"\xff7\n"
    assert isinstance(error, FileNotFoundError)


def test_no_process_is_started_for_nothing(tmp_path: Path) -> None:
    """Without a request there is nothing to end."""
    before = _children()
    workers = HelperWorkers(_host(tmp_path), SystemClock())
    assert _children() == before
    workers.close()


def test_close_does_not_wait_for_a_pipe_that_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A helper that cannot be ended keeps its end of the pipe; closing returns all the same."""
    program, pid = tmp_path / "helper", tmp_path / "pid"
    program.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {pid}.new; mv {pid}.new {pid}\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    workers = HelperWorkers(_host(tmp_path), SystemClock())
    workers.submit(0, REQUEST)
    assert workers.gather([0], 0.5) == {}
    closing = threading.Thread(target=workers.close, daemon=True)
    closing.start()
    closing.join(PATIENCE)
    os.kill(int(pid.read_text()), signal.SIGKILL)
    assert not closing.is_alive()


def test_an_interrupt_of_the_terminal_is_not_the_helpers(tmp_path: Path) -> None:
    """Ctrl-C goes to a whole process group; the helper is in one of its own."""
    workers = HelperWorkers(_host(tmp_path), SystemClock())
    before = _children()
    workers.submit(0, REQUEST)
    (helper,) = _children() - before
    assert os.getpgid(helper) != os.getpgid(0)
    workers.close()


def test_it_ends_when_its_input_does(tmp_path: Path) -> None:
    """A helper whose starter was killed leaves by itself and says nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "neuron_observer.sources.helper", _host(tmp_path)],
        input=b"",
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def _children() -> set[int]:
    """Process ids of our own children."""
    with open(f"/proc/self/task/{threading.get_native_id()}/children") as listed:  # noqa: PTH123 - one line
        return set(map(int, listed.read().split()))
