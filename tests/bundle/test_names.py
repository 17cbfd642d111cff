"""Pseudonyms: the same for the same, of a form that parsers take."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.bundle.names import KINDS, Names
from neuron_observer.parsers import sysfs

ALL = sorted(KINDS["all"])


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(ALL), st.text(min_size=1, max_size=12)), max_size=30))
def test_the_same_for_the_same_and_for_nothing_else(asked: list[tuple[str, str]]) -> None:
    """A name keeps its pseudonym, two names have two, a pseudonym is left alone."""
    names = Names(KINDS["all"])
    given_names = {(kind, real): names.of(kind, real) for kind, real in asked}  # type: ignore[arg-type]
    for (kind, real), pseudonym in given_names.items():
        assert names.of(kind, real) == pseudonym  # type: ignore[arg-type]
        assert names.of(kind, pseudonym) == pseudonym  # type: ignore[arg-type]
    replaced = [
        (kind, one) for (kind, real), one in given_names.items() if one != real and kind != "host"
    ]
    assert len(set(replaced)) == len(replaced)


def test_of_other_kinds_nothing_is_replaced() -> None:
    """Serial numbers stay unless all is to go; with none everything stays."""
    serial = "11b2488e04750d9d"
    assert Names(KINDS["ids"]).of("serial", serial) == serial
    assert Names(KINDS["all"]).of("serial", serial) == "5e71a10000000001"
    assert Names(KINDS["none"]).of("host", "trainer-7") == "trainer-7"


def test_forms_are_kept() -> None:
    """Addresses are addresses, serial numbers serial numbers, a scheduler's number a number."""
    names = Names(KINDS["all"])
    assert sysfs.serial(names.of("serial", "aa").encode()) == "5e71a10000000001"
    for number in range(300):
        ipaddress.IPv4Address(names.of("address4", f"10.0.{number}.1"))
    ipaddress.IPv6Address(names.of("address6", "fe80::1"))
    assert re.fullmatch(r"i-[0-9a-f]{17}", names.of("instance", "i-0abc"))
    assert re.fullmatch(r"subnet-[0-9a-f]{17}", names.of("resource", "subnet-01234567"))
    assert names.of("job", "12345").isdigit()
    assert names.of("program", "secret_project.py").endswith(".py")
    assert len(names.of("container", "f" * 64)) == 64
    assert re.fullmatch(r"02(:[0-9a-f]{2}){5}", names.of("mac", "0e:12:00:00:00:01"))


def test_the_table_tells_what_stands_for_what() -> None:
    """For whoever made the bundle; the counts are for everybody."""
    names = Names(KINDS["ids"])
    names.of("host", "trainer-7")
    names.of("user", "alice")
    assert names.table()[0] == {"kind": "host", "name": "trainer-7", "stands_as": "host-1"}
    assert names.counts() == {"host": 1, "user": 1}


@pytest.mark.parametrize("level", ["all", "ids", "none"])
def test_nothing_stays_nothing(level: str) -> None:
    """An empty name is no name."""
    assert Names(KINDS[level]).of("host", "") == ""  # type: ignore[index]
