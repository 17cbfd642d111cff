"""What the daemon answers beside its page: always from the last frame, never from a device."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.daemon import asked as queries
from neuron_observer.daemon.acts import PATH as ACTS
from neuron_observer.daemon.acts import Acts
from neuron_observer.daemon.documents import NotKnown
from neuron_observer.daemon.probes import Probes
from neuron_observer.daemon.replies import JSON, Problem, Rendered, frame_headers, of_query
from neuron_observer.daemon.standing import PERIOD, Standing
from neuron_observer.daemon.stream import Full, Streams
from neuron_observer.daemon.table import OPENAPI, PREFIX, ROWS, STREAM, STREAM_PARAMETERS, TEXTS
from neuron_observer.exporters.message import Response, Stream
from neuron_observer.exporters.routes import READING, Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.daemon.acts import Submit
    from neuron_observer.daemon.table import Row
    from neuron_observer.exporters.message import Handler, Request
    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame
    from neuron_observer.store.queries import Past

# All are handled here, so that a wrong one is answered in the form of the API.
_METHODS = (*READING, "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
_NOT_YET = Problem(503, "not ready", "the first frame is not there yet; /readyz says more")


class Answers:
    """Handlers over a feed."""

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        *,
        period: Callable[[], float] = lambda: PERIOD,
        topology: Callable[[], Topology | None] = lambda: None,
        past: Past | None = None,
        submit: Submit | None = None,
    ) -> None:
        """`period`: seconds of the normal lane now; `topology`: what stands in the machine.

        `past`: what is kept of earlier times; `submit`: takes what people say of findings.
        """
        self._standing = Standing(feed, clock, period=period, topology=topology, past=past)
        self._acts = Acts(self._standing, submit) if submit else None
        self._rendered = Rendered()
        self._probes = Probes(self._standing)
        self.streams = Streams(self._standing)

    def note(self, frame: Frame) -> None:
        """Take a frame; call it with every one."""
        self._rendered.forget()
        self._probes.note(frame)
        self._standing.changes.note(frame)
        self._standing.over.note(frame)
        self.streams.note(frame)

    def routes(self) -> dict[str, Handler | Route]:
        """Path → handler."""
        paths = ["/metrics", *TEXTS, *(row.path for row in ROWS), STREAM, OPENAPI]
        acts = {ACTS: self._acts.route()} if self._acts else {}
        return {
            **acts,
            "/healthz": lambda _: self._probes.healthz(),
            "/readyz": lambda _: self._probes.readyz(),
            "/": lambda _: self._probes.index(path for path in paths if path != "/"),
            **{row.path: self._reading(self._document_of(row), waits=row.waits) for row in ROWS},
            STREAM: self._reading(self._stream),
            OPENAPI: self._reading(self._openapi),
            f"{PREFIX.removesuffix('/v1/')}/*": Route(self._nothing, _METHODS),
        }

    def _reading(self, handler: Handler, *, waits: bool = False) -> Route:
        """A route that answers GET and HEAD, and everything else with a problem."""

        def handle(request: Request) -> Response | Stream:
            if request.method in READING:
                return handler(request)
            refused = Problem(405, "nothing can be changed here", "GET or HEAD, please")
            return refused.response(self._standing.last(), ("Allow", ", ".join(READING)))

        return Route(handle, _METHODS, waits)

    def _document_of(self, row: Row) -> Handler:
        def handle(request: Request) -> Response:
            aged = self._standing.last()
            try:
                values = queries.read(request.query, row.parameters)
                if aged is None:
                    return _NOT_YET.response(None, ("Retry-After", "1"))
                key = (row.name, aged.stale, *values.values()) if row.once else None
                make = partial(row.make, self._standing, aged, values)
                return self._rendered.answer(request, aged, key, make)
            except queries.WrongQuery as wrong:
                return of_query(wrong).response(aged)
            except NotKnown as unknown:
                return Problem(404, unknown.title, unknown.detail).response(aged)

        return handle

    def _stream(self, request: Request) -> Response | Stream:
        last = self._standing.last()
        try:
            values = queries.read(request.query, STREAM_PARAMETERS)
            last_id = request.headers.get("last-event-id", "")
            return self.streams.open(values, last_id, local=request.peer is not None)
        except queries.WrongQuery as wrong:
            return of_query(wrong).response(last)
        except Full:
            return Problem(503, "too many streams", "close one, or ask for events").response(last)

    def _openapi(self, request: Request) -> Response:
        from neuron_observer.daemon.openapi import contract  # noqa: PLC0415 - rarely asked for

        last = self._standing.last()
        try:
            queries.read(request.query, ())
        except queries.WrongQuery as wrong:
            return of_query(wrong).response(last)
        return Response(json.dumps(contract()).encode(), 200, JSON, frame_headers(last))

    def _nothing(self, _: Request) -> Response:
        known = (*(row.path for row in ROWS), STREAM, OPENAPI)
        return Problem(404, "no such path", "see known", known).response(self._standing.last())
