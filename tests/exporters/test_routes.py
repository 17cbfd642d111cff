"""Which handler answers, and who may change something."""

from __future__ import annotations

import os

import pytest

from neuron_observer.exporters.message import Peer, Request, Response, Stream, plain
from neuron_observer.exporters.routes import Route, answer, find, owner_only


def says(word: str) -> Route:
    """A route whose answer is a word."""
    return Route(lambda _: plain(200, word))


ROUTES = {
    "/": says("index"),
    "/a": says("a"),
    "/a/*": says("below a"),
    "/a/b/*": says("below b"),
    "/post": Route(lambda request: plain(202, request.body.decode()), ("POST",)),
}


def asked(path: str, method: str = "GET", body: bytes = b"") -> Response:
    """The answer, which is no stream here."""
    found = answer(ROUTES, Request(method, path, "", {}, body))
    assert not isinstance(found, Stream)
    return found


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/", b"index\n"),
        ("/a", b"a\n"),
        ("/a/", b"below a\n"),
        ("/a/x", b"below a\n"),
        ("/a/x/y", b"below a\n"),
        ("/a/b", b"below a\n"),
        ("/a/b/c", b"below b\n"),
    ],
)
def test_the_nearest_route_answers(path: str, body: bytes) -> None:
    """Its own first, then the longest prefix."""
    assert asked(path).body == body


@pytest.mark.parametrize("path", ["/x", "//", "/ab", "/a*", "/*", "/A"])
def test_nothing_there(path: str) -> None:
    """The index is no prefix, and no star stands for a name."""
    assert find(ROUTES, path) is None
    assert asked(path).status == 404


def test_methods() -> None:
    """What a route does not know is refused with what it knows."""
    refused = asked("/a", "DELETE")
    assert (refused.status, refused.headers) == (405, (("Allow", "GET, HEAD"),))
    assert asked("/post").headers == (("Allow", "POST"),)
    assert asked("/post", "POST", body=b"x") == plain(202, "x")


@pytest.mark.parametrize(
    ("peer", "status"),
    [
        (None, 403),
        (Peer(os.geteuid(), 1, 1), 200),
        (Peer(0, 1, 1), 200),
        (Peer(os.geteuid() + 1, 0, 1), 403),
        (Peer(65534, 0, 1), 403),
    ],
)
def test_only_root_and_ourselves_change_anything(peer: Peer | None, status: int) -> None:
    """Never by TCP, and no other user, whatever his group."""
    handler = owner_only(lambda _: plain(200, "changed"))
    found = handler(Request("POST", "/", "", {}, peer=peer))
    assert isinstance(found, Response)
    assert found.status == status


def test_nobody_is_never_ourselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user that our namespace does not know looks like nobody; so would we, were we nobody."""
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    found = owner_only(lambda _: plain(200, "changed"))(
        Request("POST", "/", "", {}, b"", Peer(65534, 0, 1))
    )
    assert isinstance(found, Response)
    assert found.status == 403
