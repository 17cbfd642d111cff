"""The unix socket's file: made, replaced where nobody listens, gone afterwards."""

from __future__ import annotations

import socket
import stat
from typing import TYPE_CHECKING

import pytest

from neuron_observer.daemon.sockets import listen_unix
from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_everybody_here_may_ask(tmp_path: Path) -> None:
    """It takes connections while it is held, with a mode for all users, and is gone then."""
    path = tmp_path / "o.sock"
    with listen_unix(str(path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    assert not path.exists()


def test_what_a_dead_daemon_left(tmp_path: Path) -> None:
    """Is replaced."""
    path = tmp_path / "o.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listen_unix(str(path)), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_what_another_daemon_has(tmp_path: Path) -> None:
    """Is left to it: the second one says so and ends."""
    path = tmp_path / "o.sock"
    with listen_unix(str(path)):
        with (
            pytest.raises(UsageError, match="another daemon listens there"),
            listen_unix(str(path)),
        ):
            pass
        assert path.exists()


def test_what_somebody_else_put_there(tmp_path: Path) -> None:
    """A file is not touched, and one that took our place stays."""
    path = tmp_path / "o.sock"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="a file that is no socket"), listen_unix(str(path)):
        pass
    assert path.read_text(encoding="utf-8") == "mine"
    path.unlink()
    with listen_unix(str(path)):
        path.unlink()
        path.write_text("mine", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("path", ["nowhere/o.sock", "x" * 200])
def test_where_there_can_be_none(tmp_path: Path, path: str) -> None:
    """A folder that is not there, a path that is too long."""
    with pytest.raises(UsageError) as error, listen_unix(str(tmp_path / path)):
        pass
    assert error.value.remedy
