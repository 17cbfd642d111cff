"""The unix socket's file: whose it is, who may use it, and what is never removed."""

from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import UsageError
from neuron_observer.exporters.unix_socket import unix_socket

if TYPE_CHECKING:
    from pathlib import Path


def test_made_and_removed(tmp_path: Path) -> None:
    """It listens, its user and group may use it, and afterwards it is gone."""
    path = tmp_path / "socket"
    before = os.umask(0)
    try:
        with unix_socket(str(path)) as listener, socket.socket(socket.AF_UNIX) as caller:
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
            caller.connect(str(path))
            listener.accept()[0].close()
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    assert not path.exists()


def test_another_mode(tmp_path: Path) -> None:
    """As the configuration says."""
    with unix_socket(str(tmp_path / "socket"), 0o600):
        assert stat.S_IMODE((tmp_path / "socket").stat().st_mode) == 0o600


def test_what_a_dead_daemon_left_is_replaced(tmp_path: Path) -> None:
    """Nobody answers there, so it is in nobody's way."""
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with unix_socket(path) as ours, socket.socket(socket.AF_UNIX) as caller:
        caller.connect(path)
        taken, _ = ours.accept()
        with taken:
            caller.sendall(b"hello")
            assert taken.recv(5) == b"hello"


def test_a_live_daemon_is_left_alone(tmp_path: Path) -> None:
    """Its socket still answers afterwards."""
    path = str(tmp_path / "socket")
    with unix_socket(path):
        with (
            pytest.raises(UsageError, match="a daemon answers there already") as error,
            unix_socket(path),
        ):
            pass
        assert "ss -lxp" in error.value.remedy
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(path)


def make_file(path: Path) -> None:
    """Somebody's file."""
    path.write_text("mine")


def make_folder(path: Path) -> None:
    """Somebody's folder."""
    path.mkdir()


def make_link(path: Path) -> None:
    """A link to a socket that nobody listens on."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path.with_name("dead")))
    path.symlink_to("dead")


@pytest.mark.parametrize("make", [make_file, make_folder, make_link])
def test_what_is_no_socket_is_never_removed(tmp_path: Path, make: object) -> None:
    """Whatever the configuration says: a mistyped path costs nobody a file."""
    assert callable(make)
    path = tmp_path / "socket"
    make(path)
    with (
        pytest.raises(UsageError, match="is no socket, so it is left alone"),
        unix_socket(str(path)),
    ):
        pass
    assert os.path.lexists(path)


def test_whoever_replaced_it_keeps_it(tmp_path: Path) -> None:
    """At the end only our own file goes."""
    path = tmp_path / "socket"
    with unix_socket(str(path)):
        path.rename(tmp_path / "old")
        path.write_text("another's")
    assert path.read_text() == "another's"


@pytest.mark.parametrize(
    ("path", "words"),
    [("nowhere/socket", "RuntimeDirectory="), ("x" * 200, "of at most 107 bytes")],
)
def test_what_cannot_be_made(tmp_path: Path, path: str, words: str) -> None:
    """A line that says what to do."""
    with pytest.raises(UsageError) as error, unix_socket(str(tmp_path / path)):
        pass
    assert words in error.value.remedy
