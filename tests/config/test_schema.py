"""The structs agree with the code that they configure, and say enough of every key."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from neuron_observer.catalogue.spec import Detail
from neuron_observer.collectors.monitor import Mode
from neuron_observer.config import Config
from neuron_observer.config.environment import is_key, variable
from neuron_observer.config.keys import groups, keys, plain, range_text, value_at
from neuron_observer.config.said import Origin, Word, Words
from neuron_observer.config.values import value_of
from neuron_observer.exporters.http import Limits
from neuron_observer.history import LIMIT, WINDOW
from neuron_observer.loop import PERIODS


def test_defaults_are_those_of_the_code() -> None:
    """A daemon without a configuration does as it did before there was one."""
    config, limits = Config(), Limits()
    assert msgspec.to_builtins(config.lanes) == PERIODS
    assert (config.history.window, config.history.max_bytes) == (WINDOW, LIMIT)
    assert config.http.connections == limits.connections
    assert config.http.request_bytes == limits.request_bytes
    assert config.http.request == limits.request_seconds
    assert config.http.idle == limits.idle_seconds
    assert config.http.answer == limits.answer_seconds


def test_words_are_those_of_the_code() -> None:
    """Details of a page, ways to get reports."""
    assert keys()["export", "detail"].choices == get_args(Detail)
    assert set(keys()["monitor", "mode"].choices) == {"off", *get_args(Mode)}


@pytest.mark.parametrize("key", keys().values(), ids=lambda key: key.name)
def test_every_key_says_what_it_is(key: object) -> None:
    """A sentence, bounds where it is a quantity, a default that its reader takes."""
    [key] = [one for one in keys().values() if one is key]
    assert key.text.endswith(".")
    assert range_text(key)
    assert value_at(Config(), key.path) == key.default
    if key.form in ("duration", "size", "share", "count"):
        assert key.low is not None
        assert key.high is not None
        assert key.low <= key.default <= key.high
    if key.form != "map":
        written = plain(key, key.default)
        place = Origin("f", 1)
        said: Word | Words = Word("" if written is None else str(written), "", place)
        if isinstance(written, list):
            said = Words(tuple(Word(one, "", place) for one in written), place)
        if isinstance(written, bool):
            said = Word(str(written).lower(), "bool", place)
        assert value_of(key, said) == key.default


def test_every_group_says_what_it_is_about() -> None:
    """A sentence each."""
    assert all(text.endswith(".") for text in groups().values())
    assert len(groups()) == 13


def test_no_key_has_a_name_of_somebody_else() -> None:
    """Every key can stand in the environment under a name that means it."""
    names = [variable(key) for key in keys().values()]
    assert len(set(names)) == len(names)
    assert all(map(is_key, names))


def test_a_configuration_does_not_change() -> None:
    """Frozen, so that threads may share it."""
    with pytest.raises(AttributeError):
        Config().http.idle = 1.0  # type: ignore[misc]
    assert msgspec.structs.asdict(Config()) == msgspec.structs.asdict(Config())
