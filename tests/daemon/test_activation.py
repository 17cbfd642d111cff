"""Sockets that somebody else opened: real descriptors in a real child process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from neuron_observer.daemon.activation import inherited_sockets
from neuron_observer.errors import UsageError

CHILD = Path(__file__).with_name("activation_child.py")
ROOT = CHILD.parents[2]


def started(descriptors: list[int], **environment: str) -> subprocess.Popen[str]:
    """A child with these descriptors from 3 on, and these variables."""
    # a copy of each well above 3, so that none is overwritten before it is put in its place
    moves = [f"exec {30 + i}<&{fd}" for i, fd in enumerate(descriptors)]
    moves += [f"exec {3 + i}<&{30 + i} {30 + i}<&-" for i in range(len(descriptors))]
    moves += [f"exec {fd}<&-" for fd in descriptors if not 3 <= fd < 3 + len(descriptors)]
    script = "; ".join([*moves, f'exec "{sys.executable}" "{CHILD}"'])
    return subprocess.Popen(
        ["bash", "-c", script],
        pass_fds=descriptors,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What the child said."""
    assert process.stdout
    answer = json.loads(process.stdout.readline())
    assert isinstance(answer, dict)
    return answer


def listener(stack: ExitStack, family: int, address: Any) -> socket.socket:
    """A listening socket."""
    sock = stack.enter_context(socket.socket(family))
    sock.bind(address)
    sock.listen()
    return sock


def test_several_are_taken_and_served(tmp_path: Path) -> None:
    """TCP, IPv6 and unix, each with its name; a grandchild inherits none of them."""
    with ExitStack() as stack:
        socks = [
            listener(stack, socket.AF_INET, ("127.0.0.1", 0)),
            listener(stack, socket.AF_UNIX, str(tmp_path / "api")),
        ]
        names = ["http", "api"]
        if socket.has_ipv6:
            socks.append(listener(stack, socket.AF_INET6, ("::", 0)))
            names.append("http")
        number = str(len(socks))
        process = stack.enter_context(
            started(
                [sock.fileno() for sock in socks],
                LISTEN_PID="own",
                LISTEN_FDS=number,
                LISTEN_FDNAMES=":".join(names),
            )
        )
        answer = told(process)
        assert answer["names"] == names
        assert answer["families"] == [sock.family.name for sock in socks]
        assert answer["left"] == []
        assert not {*range(3, 3 + len(socks))} & {*answer["child"][:-1]}  # the last reads the list
        for sock, name in zip(socks, names, strict=True):
            with socket.socket(sock.family) as client:
                client.settimeout(10)
                where = sock.getsockname()
                client.connect(("::1", where[1]) if sock.family == socket.AF_INET6 else where)
                assert client.recv(100) == name.encode()
        assert process.wait(10) == 0


def test_without_names(tmp_path: Path) -> None:
    """An older manager does not say how they are called."""
    with ExitStack() as stack:
        sock = listener(stack, socket.AF_UNIX, str(tmp_path / "api"))
        process = stack.enter_context(started([sock.fileno()], LISTEN_PID="own", LISTEN_FDS="1"))
        assert told(process)["names"] == [""]
        process.kill()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("datagram", "no listening stream socket"),
        ("connected", "no listening stream socket"),
        ("file", "no socket"),
        ("closed", "Bad file descriptor"),
    ],
)
def test_what_is_no_listener_is_refused(kind: str, why: str, tmp_path: Path) -> None:
    """It is named, with where to look; the daemon does not start on it."""
    with ExitStack() as stack:
        descriptors = []
        if kind == "datagram":
            descriptors.append(
                stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).fileno()
            )
        elif kind == "connected":
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            descriptors.append(stack.enter_context(theirs).fileno())
        elif kind == "file":
            (tmp_path / "file").touch()
            descriptors.append(stack.enter_context((tmp_path / "file").open()).fileno())
        process = stack.enter_context(
            started(descriptors, LISTEN_PID="own", LISTEN_FDS="1", LISTEN_FDNAMES="http")
        )
        answer = told(process)
        assert answer["error"] == f"inherited descriptor 3 (http): {why}"
        assert "systemctl cat neuron-observer.socket" in answer["remedy"]
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"LISTEN_PID": "x", "LISTEN_FDS": "1"}, "LISTEN_PID=x: no process id"),
        ({"LISTEN_PID": "7", "LISTEN_FDS": "-1"}, "LISTEN_FDS=-1: no number up to 64"),
        ({"LISTEN_PID": "7", "LISTEN_FDS": "1e3"}, "LISTEN_FDS=1e3: no number up to 64"),
        ({"LISTEN_PID": "7", "LISTEN_FDS": "65"}, "LISTEN_FDS=65: no number up to 64"),
        (
            {"LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http"},
            "LISTEN_FDNAMES=http: 1 names for 2 sockets",
        ),
    ],
)
def test_what_is_malformed_is_refused(environ: dict[str, str], message: str) -> None:
    """Before any descriptor is touched."""
    with pytest.raises(UsageError) as caught:
        inherited_sockets(environ, 7)
    assert caught.value.message == message
    assert environ == {}


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LISTEN_PID": "8", "LISTEN_FDS": "2"},  # of our parent, which forgot to take it away
        {"LISTEN_PID": "7"},
        {"LISTEN_FDS": "2"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "0", "LISTEN_FDNAMES": ""},
    ],
)
def test_nothing_that_is_ours(environ: dict[str, str]) -> None:
    """No sockets, no error, and nothing left for our children."""
    assert inherited_sockets(environ, 7) == ()
    assert environ == {}
