"""Which handler answers a request, and who may ask it to change something."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from neuron_observer.exporters.message import Handler, Request, Response, Stream, plain

READING = ("GET", "HEAD")
_ANY_BELOW = "/*"
_NOBODY = 65534  # whom the kernel shows for a user that our namespace does not know


class Route(NamedTuple):
    """A handler and the methods that it knows.

    `waits`: it may need long or wait (for a disk), so it is called in a thread beside the server's.
    """

    handler: Handler
    methods: tuple[str, ...] = READING
    waits: bool = False


Routes: TypeAlias = Mapping[str, Handler | Route]  # path, or `/path/*` for all that is below it


def find(routes: Routes, path: str) -> Route | None:
    """The route of a path: its own, else the longest one that it is below."""
    found = routes.get(path)
    parent = path
    while found is None and parent:
        parent = parent.rpartition("/")[0]
        found = routes.get(parent + _ANY_BELOW)
    return found if found is None or isinstance(found, Route) else Route(found)


def owner_only(handler: Handler) -> Handler:
    """A handler that changes state: only for root and our own user, only by the unix socket."""

    def handle(request: Request) -> Response | Stream:
        peer = request.peer
        if peer is None:
            return plain(403, "changes are made on this machine, by the unix socket")
        if peer.uid == _NOBODY or peer.uid not in (0, os.geteuid()):
            return plain(403, f"user {peer.uid} may not change anything; root may (sudo)")
        return handler(request)

    return handle


def choose(routes: Routes, request: Request) -> Route:
    """The route of a request, or one that says why there is none."""
    route = find(routes, request.path)
    if route is None:
        return Route(lambda _: plain(404, f"nothing at {request.path}; see /"))
    if request.method in route.methods:
        return route
    why = plain(405, f"{' or '.join(route.methods)}, please")
    refusal = why._replace(headers=(("Allow", ", ".join(route.methods)),))
    return Route(lambda _: refusal)


def answer(routes: Routes, request: Request) -> Response | Stream:
    """The answer to a request, whether its route waits or not."""
    return choose(routes, request).handler(request)
