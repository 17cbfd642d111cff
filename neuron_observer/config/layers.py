"""Layers on top of each other: default, file, conf.d, environment, flags. The last one wins.

Maps merge by key, lists replace. Everything that is wrong anywhere is found at once.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from neuron_observer.config.consistency import contradictions
from neuron_observer.config.document import Reader
from neuron_observer.config.environment import read_environment
from neuron_observer.config.files import find
from neuron_observer.config.keys import key_at, keys
from neuron_observer.config.said import Origin, Word, Words, wrong
from neuron_observer.config.schema import Config
from neuron_observer.config.values import value_of
from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.config.files import Text
    from neuron_observer.config.keys import Key, Path
    from neuron_observer.config.said import Said

Flags: TypeAlias = "Mapping[str, tuple[str, str | tuple[str, ...]]]"  # key → flag, what it says
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Sources(NamedTuple):
    """Where a configuration is to be read from; reading them again is a reload."""

    file: str | None = None
    required: bool = True  # a file that is not there is an error
    environment: Mapping[str, str] = _NOTHING
    flags: Flags = _NOTHING


class Loaded(NamedTuple):
    """A configuration and where its values come from."""

    config: Config
    origins: Mapping[Path, Origin]  # of what somebody said
    files: tuple[str, ...]  # in the order in which they count
    remarks: tuple[str, ...]  # odd, but no error


class Examined(NamedTuple):
    """What became of a configuration: nothing is loaded where anything is wrong."""

    loaded: Loaded | None
    problems: tuple[ConfigError, ...]


def examine(sources: Sources) -> Examined:
    """Read and check everything."""
    problems: list[ConfigError] = []
    texts: tuple[Text, ...] = ()
    remarks: tuple[str, ...] = ()
    if sources.file is not None:
        texts, wrong_files, remarks = find(sources.file, required=sources.required)
        problems += wrong_files
    reader, known = Reader(Config, problems), keys(Config)
    layers = [reader.read(text.text, text.file) for text in texts]
    for text, layer in zip(texts, layers, strict=True):
        problems += shown_secrets(layer, text, known)
    layers.append(read_environment(sources.environment, Config, problems))
    layers.append(_flags(sources.flags))
    values: dict[Path, Any] = {}
    origins: dict[Path, Origin] = {}
    for layer in layers:  # what is wrong is told, also where a later layer says something right
        values |= _values(layer, known, problems)
        origins |= {path: one.origin for path, one in layer.items()}
    if problems:
        order = {text.file: number for number, text in enumerate(texts)}
        problems.sort(key=lambda one: (order.get(one.file, len(order)), one.line or 0))
        return Examined(None, tuple(problems))
    config: Config = msgspec.convert(_nested(values), Config)
    problems += contradictions(config, origins)
    if problems:
        return Examined(None, tuple(problems))
    return Examined(Loaded(config, origins, tuple(text.file for text in texts), remarks), ())


def read(sources: Sources) -> Loaded:
    """The same; `ConfigError` of the first thing that is wrong, with the number of others."""
    loaded, problems = examine(sources)
    if loaded is not None:
        return loaded
    first, others = problems[0], len(problems) - 1
    if others:
        more = f"{others} more: `neuron-observer config validate` lists them."
        first.remedy = f"{first.remedy}\n  {more}" if first.remedy else more
    raise first


def load(file: str | None, *, environment: Mapping[str, str] = _NOTHING) -> Config:
    """The configuration of a file, what is beside it and some variables; else the defaults."""
    return read(Sources(file, environment=environment)).config


def _flags(flags: Flags) -> dict[Path, Said]:
    found: dict[Path, Said] = {}
    for key, (flag, value) in flags.items():
        origin = Origin(flag)
        if isinstance(value, tuple):
            words = tuple(Word(one, "", origin) for one in value)
            found[tuple(key.split("."))] = Words(words, origin)
        else:
            found[tuple(key.split("."))] = Word(value, "", origin)
    return found


def shown_secrets(
    layer: Mapping[Path, Said], text: Text, known: Mapping[Path, Key]
) -> list[ConfigError]:
    """Secrets of a file that anybody may read."""
    if not text.public:
        return []
    return [
        wrong(
            one.origin,
            f"{key_at(known, path).name} is a secret, and anybody may read this file",
            f"chmod o-r {text.file}",
        )
        for path, one in layer.items()
        if key_at(known, path).secret
    ]


def _values(
    said: Mapping[Path, Said], known: Mapping[Path, Key], problems: list[ConfigError]
) -> dict[Path, Any]:
    found: dict[Path, Any] = {}
    for path, one in said.items():
        try:
            found[path] = value_of(key_at(known, path), one)
        except ConfigError as error:
            problems.append(error)
    return found


def _nested(values: Mapping[Path, Any]) -> dict[str, Any]:
    """Values by path as mappings in mappings."""
    found: dict[str, Any] = {}
    for path, value in values.items():
        here = found
        for name in path[:-1]:
            here = here.setdefault(name, {})
        here[path[-1]] = value
    return found
