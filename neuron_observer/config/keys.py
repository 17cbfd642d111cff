"""The keys of the configuration, made from its structs."""

from __future__ import annotations

from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta, Struct

from neuron_observer.config.schema import Config
from neuron_observer.config.units import duration_text, share_text, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.config.schema import Form

Path: TypeAlias = "tuple[str, ...]"


class Key(NamedTuple):
    """One key: where it stands, what it takes, what it means."""

    path: Path
    form: Form
    default: Any
    text: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    nullable: bool = False
    restart: bool = False  # only a restart takes a change
    secret: bool = False  # masked wherever it is shown

    @property
    def name(self) -> str:
        """As people write it."""
        return ".".join(self.path)


def keys(struct: type[Struct] = Config) -> Mapping[Path, Key]:
    """The keys of a struct, those of its groups included, in order."""
    return _keys(struct)


@cache
def _keys(struct: type[Struct]) -> dict[Path, Key]:
    return {key.path: key for key in _found(struct, ())}


@cache
def groups(struct: type[Struct] = Config) -> Mapping[str, str]:
    """The groups of a struct and what each is about."""
    hints = get_type_hints(struct)
    return {
        name: str(hint.__doc__)
        for name, hint in hints.items()
        if isinstance(hint, type) and issubclass(hint, Struct)
    }


def _found(struct: type[Struct], above: Path) -> Iterator[Key]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        hint, path = hints[field.name], (*above, field.name)
        if isinstance(hint, type) and issubclass(hint, Struct):
            yield from _found(hint, path)
            continue
        default = field.default
        if default is msgspec.NODEFAULT:
            default = field.default_factory()
        yield _key(path, default, *get_args(hint))


def _key(path: Path, default: Any, kind: Any, meta: Meta) -> Key:
    extra = meta.extra or {}
    return Key(
        path,
        extra["form"],
        default,
        meta.description or "",
        meta.ge,
        meta.le,
        get_args(kind) if get_origin(kind) is Literal else (),
        nullable=type(None) in get_args(kind),
        restart=extra.get("restart", False),
        secret=extra.get("secret", False),
    )


def key_at(known: Mapping[Path, Key], path: Path) -> Key:
    """The key of a path; a value of a map has its map's."""
    if path in known:
        return known[path]
    return known[path[:-1]]._replace(path=path, form="mapped")


def value_at(config: Struct, path: Path) -> Any:
    """The value of a key."""
    found: Any = config
    for name in path:
        found = getattr(found, name)
    return found


def plain(key: Key, value: Any) -> Any:
    """A value as it is written in a file: text, number, boolean, list, mapping or nothing."""
    if value is None or isinstance(value, bool):
        return value
    if key.form == "duration":
        return duration_text(value)
    if key.form == "size":
        return size_text(value)
    if key.form == "share":
        return share_text(value)
    return list(value) if isinstance(value, tuple) else value


def range_text(key: Key) -> str:
    """What a key takes, in words."""
    if key.choices:
        *others, last = key.choices
        return f"{', '.join(others)} or {last}"
    if key.low is not None and key.high is not None:
        return f"{plain(key, key.low)} to {plain(key, key.high)}"
    words = {
        "flag": "true or false",
        "text": "text",
        "path": "an absolute path",
        "paths": "absolute paths",
        "addresses": "HOST:PORT, or a list of them",
        "map": "a mapping",
        "mapped": "a path below the device",
    }
    return words[key.form] + (", or null" if key.nullable else "")
