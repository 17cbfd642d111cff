"""Query strings: what is known is read, everything else is refused in words of our own."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.daemon import asked
from neuron_observer.daemon.asked import Instant, WrongQuery, read, read_instant
from neuron_observer.daemon.table import ROWS, STREAM_PARAMETERS

SEVERITIES = ("info", "warning", "critical")
PARAMETERS = (
    asked.flag("shadow", "x"),
    asked.choice("format", "x", ("text", "nagios")),
    asked.words("severity", "x", SEVERITIES),
    asked.number("limit", "x", 1, 2000),
    asked.numbers("device", "x"),
    asked.instant("since", "x"),
    asked.matching("id", "x", r"[a-z-]{1,8}", "a word"),
)


@pytest.mark.parametrize(
    ("query", "name", "value"),
    [
        ("shadow=false", "shadow", False),
        ("format=nagios", "format", "nagios"),
        ("severity=info,critical", "severity", frozenset({"info", "critical"})),
        ("severity=info%2Ccritical", "severity", frozenset({"info", "critical"})),
        ("limit=7", "limit", 7),
        ("device=0,3-5", "device", (0, 3, 4, 5)),
        ("since=15m", "since", Instant(ago=900.0)),
        ("since=1970-01-01T00:00:01.5Z", "since", Instant(wall=1.5)),
        ("since=1970-01-01T01:00:00%2B01:00", "since", Instant(wall=0.0)),
        ("id=a-b", "id", "a-b"),
    ],
)
def test_what_is_known(query: str, name: str, value: object) -> None:
    """Read as its kind; all other parameters are None."""
    found = read(query, PARAMETERS)
    assert found.pop(name) == value
    assert set(found.values()) == {None}


def test_nothing_asked() -> None:
    """Every parameter has its place."""
    assert read("", PARAMETERS) == {one.name: None for one in PARAMETERS}


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("severty=info", "unknown parameter severty"),
        ("<b>=1", "unknown parameter"),
        ("shadow=True", "parameter shadow has no such value"),
        ("shadow=", "parameter shadow has no such value"),
        ("severity=", "parameter severity has no such value"),
        ("severity=info,", "parameter severity has no such value"),
        ("severity=INFO", "parameter severity has no such value"),
        ("limit=0", "parameter limit has no such value"),
        ("limit=2001", "parameter limit has no such value"),
        ("limit=1e3", "parameter limit has no such value"),
        ("limit=%D9%A1", "parameter limit has no such value"),
        ("limit=-1", "parameter limit has no such value"),
        ("device=4096", "parameter device has no such value"),
        ("device=5-3", "parameter device has no such value"),
        ("device=0, 3", "parameter device has no such value"),
        ("since=yesterday", "parameter since has no such value"),
        ("since=2026-11-30T10:00:00", "parameter since has no such value"),
        ("since=2026-13-30T10:00:00Z", "parameter since has no such value"),
        ("since=0001-01-01T00:00:00%2B14:00", "parameter since has no such value"),
        ("since=999999999d", "parameter since has no such value"),
        ("id=UP", "parameter id has no such value"),
        ("shadow=true&shadow=true", "parameter shadow stands twice"),
        ("shadow", "the query cannot be read"),
        ("&", "the query cannot be read"),
        ("shadow=%FF", "the query cannot be read"),
        ("&".join(f"a{n}=1" for n in range(17)), "the query cannot be read"),
    ],
)
def test_what_is_not(query: str, title: str) -> None:
    """Refused with what is wrong, never with what was sent."""
    with pytest.raises(WrongQuery) as wrong:
        read(query, PARAMETERS)
    assert wrong.value.title == title
    assert wrong.value.detail


def test_a_parameter_that_is_needed() -> None:
    """Its absence is an error, and says what it takes."""
    needed = (asked.matching("finding", "x", "[a-z]+", "the id of a finding", required=True),)
    with pytest.raises(WrongQuery, match="parameter finding is needed"):
        read("", needed)


ALL = (PARAMETERS, STREAM_PARAMETERS, *(row.parameters for row in ROWS))
NAMES = sorted({one.name for parameters in ALL for one in parameters})


@settings(max_examples=60)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.tuples(st.sampled_from(NAMES), st.text(max_size=12)), max_size=5).map(
            urlencode
        ),
        st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=3).map(
            lambda pairs: "&".join(f"{quote(name)}={quote(value)}" for name, value in pairs)
        ),
    ),
    st.sampled_from(ALL),
)
def test_any_query_is_read_or_refused(query: str, parameters: tuple[asked.Parameter, ...]) -> None:
    """Nothing else is raised, and a refusal holds nothing that a client could make up."""
    told = ""
    try:
        assert set(read(query, parameters)) == {one.name for one in parameters}
    except WrongQuery as wrong:
        told = f"{wrong.title}; {wrong.detail}"
    assert told.isascii()
    assert told.isprintable()
    assert not set("<>\"'&\\") & set(told.partition(";")[0])


@given(st.integers(0, 4_102_444_800_000), st.sampled_from(["Z", "+00:00"]))
def test_an_instant_is_read_back(milliseconds: int, zone: str) -> None:
    """As the documents print it."""
    from neuron_observer.contract import instant  # noqa: PLC0415 - its other half

    text = instant(milliseconds / 1000)
    assert text
    found = read_instant(text.replace("Z", zone))
    assert found
    assert found.wall == pytest.approx(milliseconds / 1000, abs=0.0015)
