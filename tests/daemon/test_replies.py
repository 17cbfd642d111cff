"""Answers: rendered once a frame, compressed right, and never without the frame's age."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.daemon.replies import AGE_HEADER, STALE_HEADER, Rendered
from neuron_observer.daemon.standing import Aged
from neuron_observer.daemon.table import OPENAPI, ROWS, STREAM
from neuron_observer.exporters.message import Request, Response
from tests.daemon.daemons import Still, asked, faulty, got
from tests.daemon.test_changes import frame

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


def headers(response: Response) -> dict[str, str]:
    """By name."""
    return dict(response.headers)


@settings(max_examples=40)
@given(
    st.dictionaries(st.text(max_size=8), JSON, min_size=1).filter(lambda d: "frame" not in d),
    st.lists(st.floats(0, 1e6), min_size=1, max_size=3),
)
def test_compressed_and_plain_are_the_same(document: dict[str, Any], ages: list[float]) -> None:
    """At every age one gzip member that unpacks to the document, with the age at its end."""
    rendered, still = Rendered(), frame()
    for age in ages:
        aged = Aged(still, age, 3.0)
        plain = rendered.answer(Request("GET", "/", "", {}), aged, 1, lambda: document)
        packed = rendered.answer(
            Request("GET", "/", "", {"accept-encoding": "gzip"}), aged, 1, lambda: document
        )
        assert gzip.decompress(packed.body) == plain.body
        told = json.loads(plain.body)
        assert told.pop("frame")["age"] == round(age, 3)
        assert told == document


def test_it_is_rendered_once_a_frame() -> None:
    """However often it is asked for; another frame, another question: once more each."""
    rendered, made, first = Rendered(), list[str](), Aged(frame(), 0.1, 3.0)

    def make(name: str) -> Mapping[str, Any]:
        made.append(name)
        return {"name": name}

    def ask(aged: Aged, key: str | None) -> None:
        rendered.answer(Request("GET", "/", "", {}), aged, key, lambda: make(str(key)))

    for key in ("a", "a", "b", "a", "b"):
        ask(first, key)
    assert made == ["a", "b"]
    ask(Aged(frame(), 0.1, 3.0), "a")
    assert made == ["a", "b", "a"]
    ask(first, None)
    ask(first, None)
    assert made[3:] == ["None", "None"]


def test_a_frame_that_a_client_has() -> None:
    """304 with the age, as long as it is the same frame; not once that is stale."""
    still = Still(frame())
    tag = headers(got(still.answers, "/api/v1/health"))["ETag"]
    for told in (tag, f'"x", {tag}', tag.removeprefix("W/")):
        again = got(still.answers, "/api/v1/health", if_none_match=told)
        assert (again.status, again.body) == (304, b"")
        assert headers(again)[AGE_HEADER] == "0.000"
    assert got(still.answers, "/api/v1/health", if_none_match='"x"').status == 200
    still.clock.advance(3.1)
    assert got(still.answers, "/api/v1/health", if_none_match=tag).status == 200
    made = frame()
    still.take(made._replace(snapshot=made.snapshot._replace(monotonic=3.0)))
    assert got(still.answers, "/api/v1/health", if_none_match=tag).status == 200


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_answer_tells_the_age(row: Any) -> None:
    """In the document and its headers; a stale one says so; before a frame there is none."""
    query = "?finding=x" if row.name == "explain" else ""
    early = got(Still().answers, row.path + query)
    assert early.status == 503
    assert headers(early)[AGE_HEADER] == "none"
    still = Still(frame())
    still.clock.advance(3.5)
    response = got(still.answers, row.path + query)
    assert (headers(response)[AGE_HEADER], headers(response)[STALE_HEADER]) == ("3.500", "true")
    if response.status == 200:
        told = json.loads(response.body)["frame"]
        assert (told["age"], told["stale"], told["stale_after"]) == (3.5, True, 3.0)


@pytest.mark.parametrize("path", ["/", "/readyz", "/api/nowhere", OPENAPI, f"{STREAM}?x=1"])
def test_so_do_the_others(path: str) -> None:
    """Probes, problems and the contract."""
    assert AGE_HEADER in headers(got(faulty().answers, path))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(method: str) -> None:
    """A problem that names what is allowed."""
    response = asked(faulty().answers, "/api/v1/health", method)
    assert isinstance(response, Response)
    assert (response.status, headers(response)["Allow"]) == (405, "GET, HEAD")
    assert json.loads(response.body)["status"] == 405
