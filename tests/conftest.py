"""Fixtures that all tests share: host trees, a clock that is moved by hand."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from neuron_observer.clock import ManualClock
from neuron_observer.sources.listing import Listing, ListingFs, read_listing

if TYPE_CHECKING:
    from collections.abc import Callable

# How fast a shared machine is just now says nothing about the code.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# What a shell starts in the background ignores SIGINT; the programs that tests interrupt must not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TREES = Path(__file__).parent / "trees"

# Screens, judgement and what benchmarks compute are the same on every interpreter.
_LONG = (
    *("benchmarks", "bundling", "checks", "daemon", "rules", "stragglers", "tui"),
    *("test_live_jobs.py", "test_no_growth.py"),
)

# The listings are large; each is parsed once a run and shared, because nobody writes to it.
_PARSED: dict[str, Listing] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long what takes many seconds in all."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).parts[0] in _LONG:
            item.add_marker(pytest.mark.long)


def tree_file(name: str) -> Path:
    """The file of a listing."""
    packed = TREES / f"{name}.tsv.gz"
    return packed if packed.exists() else TREES / f"{name}.tsv"


@pytest.fixture(scope="session")
def tree() -> Callable[[str], ListingFs]:
    """Makes a fresh host of a listing by its name."""

    def make(name: str) -> ListingFs:
        if name not in _PARSED:
            _PARSED[name] = read_listing(str(tree_file(name)))
        return ListingFs(_PARSED[name], name)

    return make


@pytest.fixture
def clock() -> ManualClock:
    """A clock at the minute of which the listings' power figures are."""
    return ManualClock(wall=1_788_000_030.0)
