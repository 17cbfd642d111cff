"""The handler of /metrics: which format and encoding a scraper asked for.

Source: RFC 9110 §12.5 (Accept, Accept-Encoding, quality values).
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.exporters.exposition import Format
from neuron_observer.exporters.message import Response, plain
from neuron_observer.exporters.own import Scrapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from neuron_observer.exporters.message import Handler, Request, Stream
    from neuron_observer.exporters.page import Page

COMPAT = "/metrics/compat/"
_OPENMETRICS = "application/openmetrics-text"
_TEXT_RANGES = ("text/plain", "text/*", "*/*")  # the most exact one counts


class _Offer(NamedTuple):
    """One entry of an Accept header."""

    name: str
    parameters: dict[str, str]
    quality: float


def metrics_handler(page: Page) -> Callable[[Request], Response]:
    """Answers a scrape from the last frame, and counts it."""
    page.scrapes = Scrapes()
    counting = Lock()

    def handle(request: Request) -> Response:
        begin = page.clock.monotonic()
        form = choose_format(request.headers.get("accept", ""))
        gzip = accepts_gzip(request.headers.get("accept-encoding", ""))
        headers = [("Vary", "Accept, Accept-Encoding")]
        if gzip:
            headers.append(("Content-Encoding", "gzip"))
        *parts, last = page.parts(form, gzip=gzip)
        with counting:
            done = page.scrapes or Scrapes()
            page.scrapes = Scrapes(done.pages + 1, done.seconds + page.clock.monotonic() - begin)
        return Response(last, content_type=form.value, headers=tuple(headers), before=tuple(parts))

    return handle


def compat_handler(pages: Mapping[str, Handler]) -> Handler:
    """Answers for `/metrics/compat/NAME`: the names that other exporters give to the same."""

    def handle(request: Request) -> Response | Stream:
        name = request.path.removeprefix(COMPAT)
        if name in pages:
            return pages[name](request)
        known = ", ".join(sorted(pages)) or "none yet"
        return plain(404, f"no names of {name!r} here; known: {known}")

    return handle


def choose_format(accept: str) -> Format:
    """OpenMetrics where it is asked for at least as much as text; else text."""
    offers = list(_offers(accept))
    openmetrics = [
        offer.quality
        for offer in offers
        if offer.name == _OPENMETRICS and offer.parameters.get("version", "1.0.0") == "1.0.0"
    ]
    text = 0.0
    for name in _TEXT_RANGES:
        found = [offer.quality for offer in offers if offer.name == name]
        if found:
            text = max(found)
            break
    wanted = max(openmetrics, default=0.0)
    return Format.OPENMETRICS if wanted > 0 and wanted >= text else Format.TEXT


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether a page may be compressed."""
    found = {offer.name: offer.quality for offer in _offers(accept_encoding)}
    return found.get("gzip", found.get("*", 0.0)) > 0


def _offers(header: str) -> Iterator[_Offer]:
    for entry in header.split(","):
        name, *rest = (part.strip() for part in entry.split(";"))
        pairs = (part.partition("=") for part in rest)
        parameters = {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}
        if name:
            yield _Offer(name.lower(), parameters, _quality(parameters.pop("q", "1")))


def _quality(text: str) -> float:
    """0 to 1; what is no such number asks for nothing."""
    try:
        quality = float(text)
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0
