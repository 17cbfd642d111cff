"""Which format and encoding a scraper gets."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.exporters.exposition import Format
from neuron_observer.exporters.message import Request, plain
from neuron_observer.exporters.own import Scrapes
from neuron_observer.exporters.page import Page
from neuron_observer.exporters.scrape import (
    COMPAT,
    accepts_gzip,
    choose_format,
    compat_handler,
    metrics_handler,
)
from tests.exporters.feeds import OneFrame

if TYPE_CHECKING:
    from neuron_observer.exporters.message import Response
    from neuron_observer.model import Frame

OM, TEXT = Format.OPENMETRICS, Format.TEXT
PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", TEXT),
        ("*/*", TEXT),
        ("text/html,application/xhtml+xml,*/*;q=0.8", TEXT),
        (PROMETHEUS_2, OM),
        (PROMETHEUS_3, OM),
        ("application/openmetrics-text", OM),
        ('Application/OpenMetrics-Text; Version="1.0.0"', OM),
        ("application/openmetrics-text;version=0.0.1", TEXT),
        ("application/openmetrics-text;version=2.0.0", TEXT),
        ("application/openmetrics-text;q=0.5,text/plain;q=0.6", TEXT),
        ("application/openmetrics-text;q=0.5,text/plain;q=0.5", OM),
        ("text/plain;q=0.2,*/*;q=0.9,application/openmetrics-text;q=0.5", OM),
        ("application/openmetrics-text;q=0", TEXT),
        ("application/openmetrics-text;q=0.0,*/*", TEXT),
        ("application/openmetrics-text;q=nonsense", TEXT),
        ("application/openmetrics-text;q=nan", TEXT),
        ("application/openmetrics-text;q=7", TEXT),
        ("application/json", TEXT),
        (",;,;q=", TEXT),
    ],
)
def test_format(accept: str, form: Format) -> None:
    """OpenMetrics where it is wanted at least as much; text in every other case."""
    assert choose_format(accept) is form


@pytest.mark.parametrize(
    ("accept", "packed"),
    [
        ("", False),
        ("identity", False),
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("br", False),
    ],
)
def test_gzip(accept: str, packed: bool) -> None:
    """Compressed only for who takes it."""
    assert accepts_gzip(accept) is packed


@settings(max_examples=60)
@given(st.text(max_size=60))
def test_any_header_is_answered(header: str) -> None:
    """Nonsense is no reason to fail."""
    assert choose_format(header) in Format
    assert accepts_gzip(header) in (True, False)


def test_answer() -> None:
    """The page in the format asked for, with what a cache must know."""
    page, uncounted = Page(OneFrame(), ManualClock()), Page(OneFrame(), ManualClock())
    uncounted.scrapes = Scrapes()
    headers = {"accept": PROMETHEUS_2, "accept-encoding": "gzip"}
    answer = metrics_handler(page)(Request("GET", "/metrics", "", headers))
    assert answer.status == 200
    assert answer.content_type == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answer.headers == (
        ("Vary", "Accept, Accept-Encoding"),
        ("Content-Encoding", "gzip"),
    )
    assert gzip.decompress(b"".join((*answer.before, answer.body))) == uncounted.render(
        Format.OPENMETRICS
    )
    plain = metrics_handler(page)(Request("GET", "/metrics", "", {}))
    assert plain.headers == (("Vary", "Accept, Accept-Encoding"),)
    assert b"".join((*plain.before, plain.body)) == uncounted.render(Format.TEXT)


def test_scrapes_are_counted() -> None:
    """How many pages were given before this one, and how long that took."""
    clock = ManualClock()
    page = Page(Slow(clock), clock)
    handle = metrics_handler(page)
    ask = Request("GET", "/metrics", "", {})
    pages = [whole(handle(ask)).decode().splitlines() for _ in range(3)]
    told = [[line for line in page if line.startswith("neuron_observer_scrape")] for page in pages]
    assert told == [
        [f"neuron_observer_scrapes_total {n}", f"neuron_observer_scrape_seconds_total {n * 0.25}"]
        for n in range(3)
    ]


class Slow(OneFrame):
    """A feed that takes a quarter second."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock

    def latest(self) -> Frame | None:
        """Nothing, late."""
        self._clock.advance(0.25)
        return None


def whole(answer: Response) -> bytes:
    """The body of an answer, all parts of it."""
    return b"".join((*answer.before, answer.body))


def test_other_exporters_names() -> None:
    """Each has a page; a name that nobody knows gets those that are known."""
    handle = compat_handler({"b": lambda _: plain(200, "of b"), "a": lambda _: plain(200, "of a")})
    assert handle(Request("GET", "/metrics/compat/a", "", {})) == plain(200, "of a")
    for name in ("x", "", "a/b", "a/"):
        refused = handle(Request("GET", f"{COMPAT}{name}", "", {}))
        assert refused == plain(404, f"no names of {name!r} here; known: a, b")
    assert compat_handler({})(Request("GET", "/metrics/compat/x", "", {})) == plain(
        404, "no names of 'x' here; known: none yet"
    )
