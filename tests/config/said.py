"""Any configuration: what somebody may write about each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from hypothesis import strategies as st

from neuron_observer.config.keys import keys, plain
from neuron_observer.config.mapped import mappable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.config.keys import Key, Path

# what contradicts other keys is tried by itself
TOGETHER = {"monitor", "lanes", "budget", "history"}
WORD = st.text("abcdefghijklmnop qrstuvwxyz0123456789-_'\"#:{}é\u3042", min_size=1, max_size=8)
FOLDER = WORD.map(lambda word: f"/{word}")
ADDRESS = st.integers(1, 65535).map(lambda port: f"127.0.0.1:{port}")
METRIC = st.sampled_from([id_ for id_, spec in mappable().items() if spec.scope != "core"])


def quantity(key: Key) -> st.SearchStrategy[Any]:
    """A number within the bounds, as it is written."""
    low, high = key.low or 0, key.high or 0
    if key.form == "duration":
        milliseconds = st.integers(int(low * 1000), int(high * 1000))
        return milliseconds.map(lambda number: plain(key, number / 1000))
    if key.form == "share":
        return st.integers(int(low * 1000), 1000).map(lambda number: plain(key, number / 1000))
    return st.integers(int(low), int(high)).map(lambda number: plain(key, number))


def value(key: Key) -> st.SearchStrategy[Any]:
    """What may stand behind a key."""
    if key.choices:
        return st.sampled_from(key.choices)
    by_form: dict[str, st.SearchStrategy[Any]] = {
        "flag": st.booleans(),
        "path": FOLDER | st.none() if key.nullable else FOLDER,
        "paths": st.lists(FOLDER, max_size=3, unique=True),
        "addresses": st.lists(ADDRESS, max_size=3, unique=True),
        "map": st.dictionaries(METRIC, WORD.map(str.strip).filter(bool), max_size=3),
    }
    return by_form[key.form] if key.form in by_form else quantity(key)


FREE = [key.path for key in keys().values() if key.path[0] not in TOGETHER]
DOCUMENT = st.lists(st.sampled_from(FREE), max_size=6, unique=True).flatmap(
    lambda chosen: st.fixed_dictionaries({path: value(keys()[path]) for path in chosen})
)


def text_of(document: Mapping[Path, Any]) -> str:
    """A document as a file."""
    nested: dict[str, Any] = {}
    for path, said in document.items():
        here = nested
        for name in path[:-1]:
            here = here.setdefault(name, {})
        here[path[-1]] = said
    text: str = yaml.safe_dump(nested, allow_unicode=True)
    return text
