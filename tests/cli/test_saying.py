"""`ack`, `suppress`, `set-healthy` to a real daemon that is killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.errors import DaemonError, UsageError
from tests.cli.test_daemon import started, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Result

HOST = ("--simulate", "sram-error@100", "--instance", "trn2.3xlarge")
FAULT = "sram-uncorrectable"


@contextmanager
def daemon(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A daemon with a state and a socket, which has found the fault."""
    socket = folder / "socket"
    socket.unlink(missing_ok=True)
    options = ("--listen", "127.0.0.1:0", "--socket", str(socket), "--state", str(folder / "state"))
    with started("daemon", *HOST, *options) as process:
        wait_for(socket.exists)
        wait_for(lambda: FAULT in states(socket))
        yield process


def states(socket: Path) -> dict[str, tuple[str, str]]:
    """State and begin of each finding."""
    command = [sys.executable, "-m", "neuron_observer", "findings", "--all", "--format", "json"]
    environment = {**os.environ, "NEURON_OBSERVER_SOCKET": str(socket)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    try:
        document: dict[str, Any] = json.loads(run.stdout)
    except ValueError:
        return {}
    return {one["id"]: (one["state"], one["first_seen"]) for one in document["findings"]}


def test_what_was_said_outlives_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Result]
) -> None:
    """Acknowledged, killed, started again: the same finding, known; then declared healthy."""
    socket = tmp_path / "socket"
    monkeypatch.setenv("NEURON_OBSERVER_SOCKET", str(socket))
    with daemon(tmp_path) as process:
        said = call("ack", FAULT, "--device", "0", "--reason", "a test")
        assert said.out == f"{FAULT} of device 0: acknowledged, 1 finding\n"
        assert said.err == ""
        wait_for(lambda: states(socket)[FAULT][0] == "acknowledged")
        before = states(socket)[FAULT]
        process.send_signal(signal.SIGKILL)
        process.wait()
    with daemon(tmp_path):
        assert states(socket)[FAULT] == before
        lines = call("findings", "--all").out
        assert "acknowledged by" in lines
        with pytest.raises(UsageError, match="no finding 'no-such' stands"):
            call("ack", "no-such", "--reason", "a test")
        until = ("--until", "1h", "--reason", "a test")
        assert call("suppress", FAULT, *until).out == f"{FAULT}: suppressed\n"
        wait_for(lambda: states(socket)[FAULT][0] == "suppressed")
        assert call("unsuppress", FAULT, "--reason", "a test").out.endswith("counts again\n")
        assert call("set-healthy", "--device", "0", "--reason", "a test").code == 0
        wait_for(lambda: states(socket)[FAULT][0] == "resolved")


def test_without_a_daemon_nobody_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Result]
) -> None:
    """With the remedy."""
    monkeypatch.setenv("NEURON_OBSERVER_SOCKET", str(tmp_path / "none"))
    with pytest.raises(DaemonError, match="no daemon runs on this machine"):
        call("ack", FAULT, "--reason", "a test")
    with pytest.raises(DaemonError, match="no daemon runs on this machine"):
        call("findings", "--all")
    with pytest.raises(UsageError, match="exclude each other"):
        call("findings", "--all", "--watch", "20")
