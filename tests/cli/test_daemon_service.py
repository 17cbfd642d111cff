"""`daemon` as a service manager starts it: sockets handed over, and what it tells in return."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.exporters.listener import Address
from tests.cli.test_daemon import PATIENCE, SMALL, get, wait_for
from tests.conftest import TREES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOT = TREES.parents[1]


class Manager:
    """The manager's end of the notify socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.heard: list[str] = []

    def hears(self, pattern: str) -> str:
        """Listen until a message matches; the message."""
        while True:
            text = self._sock.recv(4096).decode()
            self.heard.append(text)
            if re.fullmatch(pattern, text, re.DOTALL):
                return text


@contextmanager
def service(folder: Path, host: str) -> Iterator[tuple[subprocess.Popen[str], Manager, Address]]:
    """A daemon with a TCP and a unix socket that were opened before it, and a watchdog of 2 s."""
    with ExitStack() as stack:
        notify = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        notify.bind(str(folder / "notify"))
        notify.settimeout(PATIENCE)
        http = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        api = stack.enter_context(socket.socket(socket.AF_UNIX))
        api.bind(str(folder / "api"))
        api.listen()
        one, two = http.fileno(), api.fileno()
        script = (
            f"exec 230<&{one} 231<&{two} {one}<&- {two}<&-; exec 3<&230 4<&231 230<&- 231<&-;"
            f' export LISTEN_PID=$$; exec "{sys.executable}" -m neuron_observer daemon'
            f' --host-root "{host}"'
        )
        environment = os.environ | {
            "LISTEN_FDS": "2",
            "LISTEN_FDNAMES": "http:api",
            "NOTIFY_SOCKET": str(folder / "notify"),
            "WATCHDOG_USEC": "2000000",
            "PYTHONPATH": str(ROOT),
        }
        process = stack.enter_context(
            subprocess.Popen(
                ["bash", "-c", script],
                pass_fds=(one, two),
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
        stack.callback(process.kill)
        yield process, Manager(notify), Address(*http.getsockname())


def test_from_start_to_end(tmp_path: Path) -> None:
    """Ready with the first frame, fed, reloaded, stopping; asked on both sockets all the while."""
    with service(tmp_path, SMALL) as (process, manager, address):
        with socket.socket(socket.AF_UNIX) as client:  # before it is ready: the connection waits
            client.settimeout(PATIENCE)
            client.connect(str(tmp_path / "api"))
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        manager.hears("READY=1")
        assert manager.heard[0] == "STATUS=looks at the host for the first time"
        assert re.fullmatch(r"STATUS=\w+: .*; 1 device, driver 2.30.2.0", manager.heard[1])
        wait_for(lambda: get(address, "/readyz")[0] == 200)
        manager.hears("WATCHDOG=1")
        manager.hears("WATCHDOG=1")
        before = SystemClock().monotonic()
        process.send_signal(signal.SIGHUP)
        told = manager.hears(r"RELOADING=1\nMONOTONIC_USEC=\d+")
        when = int(told.rpartition("=")[2]) / 1e6
        assert before <= when <= SystemClock().monotonic()
        manager.hears("READY=1")
        process.send_signal(signal.SIGTERM)
        manager.hears("STOPPING=1\nSTATUS=stopping")
        assert process.wait(10) == 0


@pytest.mark.parametrize("state", ["absent", "coming"])
def test_a_host_without_devices(tmp_path: Path, state: str) -> None:
    """No driver, or one that is still loading: ready all the same, and the status says so."""
    host = tmp_path / "host"
    (host / "sys/module").mkdir(parents=True)
    (host / "proc").mkdir()
    if state == "coming":
        (host / "sys/module/neuron").mkdir()
        (host / "sys/module/neuron/initstate").write_text("coming\n")
    with service(tmp_path, str(host)) as (_, manager, _address):
        manager.hears("READY=1")
        assert f"; 0 devices, driver {state}" in manager.heard[-2]


def test_a_watchdog_learns_where_it_hung(tmp_path: Path) -> None:
    """SIGABRT ends it, and standard error has the stack of every thread."""
    with service(tmp_path, SMALL) as (process, manager, _):
        manager.hears("READY=1")
        process.send_signal(signal.SIGABRT)
        _, said = process.communicate(timeout=10)
        assert process.returncode == -signal.SIGABRT
        assert "Fatal Python error: Aborted" in said
        assert said.count("(most recent call first)") >= 3
        assert "loop" in said
