"""What a daemon listens on, and what it says about it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.daemon.listening import listening, places, warning
from neuron_observer.errors import UsageError
from neuron_observer.exporters.listener import bound
from neuron_observer.exporters.web import Web
from neuron_observer.exporters.web.settings import Tls, WebSettings
from tests.exporters.certificates import made

if TYPE_CHECKING:
    from pathlib import Path

INNER, OUTER = "127.0.0.1:0", "0.0.0.0:0"


def web(*, tls: bool = False, users: bool = False) -> Web:
    """A web configuration."""
    pair = made()["server"]
    settings = WebSettings(
        "web.yml",
        Tls(str(pair.certificate), str(pair.key)) if tls else None,
        users={"a": "$2b$04$" + "a" * 53} if users else {},
    )
    return Web(lambda: settings, ManualClock())


def test_several(tmp_path: Path) -> None:
    """Each address and the socket listen, and none does afterwards."""
    path = tmp_path / "socket"
    with listening([INNER, "[::1]:0"], str(path)) as sockets:
        assert [one.family for one in sockets] == [
            socket.AF_INET,
            socket.AF_INET6,
            socket.AF_UNIX,
        ]
        first, second = bound(sockets[0]), bound(sockets[1])
        assert places(sockets, None) == (
            f"http://{first}/metrics, http://[::1]:{second.port}/metrics, unix:{path}"
        )
        assert places(sockets[:1], web(tls=True)) == f"https://{first}/metrics"
    assert all(one.fileno() == -1 for one in sockets)
    assert not path.exists()


def test_one_that_cannot_be_had_closes_all(tmp_path: Path) -> None:
    """Nothing stays open, and no socket file is left."""
    with listening([INNER]) as sockets:
        taken = str(bound(sockets[0]))
        path = tmp_path / "socket"
        with (
            pytest.raises(UsageError, match="already in use"),
            listening([INNER, taken], str(path)),
        ):
            pass
    assert not path.exists()
    with pytest.raises(UsageError, match="is no socket"), listening([INNER], str(tmp_path)):
        pass


@pytest.mark.parametrize(
    ("addresses", "protection", "words"),
    [
        ([INNER], {}, ""),
        (["[::1]:0"], {}, ""),
        ([OUTER], {}, "whoever reaches it can read all"),
        ([OUTER], {"tls": True}, "encrypted, but whoever reaches it can read all"),
        ([OUTER], {"users": True}, "passwords go over the network in clear"),
        ([OUTER], {"tls": True, "users": True}, ""),
        ([INNER, OUTER], {}, "whoever reaches it can read all"),
        (["[::]:0"], {}, "whoever reaches it can read all"),
    ],
)
def test_whoever_listens_to_all_is_warned(
    addresses: list[str], protection: dict[str, bool], words: str, tmp_path: Path
) -> None:
    """Named are the addresses that other machines reach, and what changes that."""
    with listening(addresses, str(tmp_path / "socket")) as sockets:
        said = warning(sockets, web(**protection) if protection else None)
        assert words in said
        assert bool(said) is bool(words)
        if words:
            assert said.startswith(f"{bound(sockets[len(addresses) - 1])}: ")
            assert "127.0.0.1:0," not in said
