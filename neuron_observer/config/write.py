"""The configuration as people read it: a file to begin with, the values in force, the reference.

All of it is made from the structs, so that it says what the reader takes.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from neuron_observer.config.environment import variable
from neuron_observer.config.keys import groups, keys, plain, range_text, value_at
from neuron_observer.config.said import DEFAULT
from neuron_observer.errors import UsageError
from neuron_observer.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.config.keys import Key
    from neuron_observer.config.layers import Loaded

MASK = "***"  # in place of a secret
_WIDE = 10**9


class Line(NamedTuple):
    """A key, its value as it is written in a file, and where that comes from."""

    key: Key
    value: Any
    origin: str


def written(key: Key, value: Any) -> str:
    """A value as YAML on one line; a secret is not shown."""
    if key.secret and value is not None:
        return MASK
    return _yaml(plain(key, value))


def _yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=_WIDE, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("...").rstrip("\n")


def lines(loaded: Loaded, *, effective: bool) -> Iterator[Line]:
    """What somebody said; if asked for also what nobody did, with its default."""
    for key in keys().values():
        value = value_at(loaded.config, key.path)
        if key.form == "map":
            below = [path for path in loaded.origins if path[:-1] == key.path]
            for path in sorted(below):
                mapped = key._replace(path=path, form="mapped")
                yield Line(mapped, value[path[-1]], str(loaded.origins[path]))
            if below:
                continue
        origin = loaded.origins.get(key.path, DEFAULT)
        if effective or origin != DEFAULT:
            yield Line(key, value, str(origin))


def as_json(found: list[Line]) -> str:
    """`{KEY: {"value": …, "origin": …}}`."""
    document = {
        one.key.name: {
            "value": MASK
            if one.key.secret and one.value is not None
            else plain(one.key, one.value),
            "origin": one.origin,
        }
        for one in found
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def as_yaml(found: list[Line]) -> str:
    """A file that says the same, each value with its origin."""
    told: list[str] = []
    above: tuple[str, ...] = ()
    for one in found:
        *group, name = one.key.path
        if group and tuple(group) != above:
            told.append(f"{group[0]}:")
        above = tuple(group)
        indent = "  " * len(group)
        told.append(
            f"{indent}{_yaml(name)}: {written(one.key, one.value)}  # {printable(one.origin)}"
        )
    return "\n".join(told)


def template() -> str:
    """A file with every key, what it means and its default, all of them comments."""
    told = [
        "# Configuration of neuron-observer. Every key is shown with its default; take the # away",
        "# before those that you change. Files in conf.d beside this one are read after it, by",
        "# name; what comes later wins. `neuron-observer config validate` checks it all, SIGHUP",
        "# has a daemon read it anew. Reference: docs/config.md",
    ]
    group = ""
    for key in keys().values():
        above = key.path[0] if len(key.path) > 1 else ""
        if above and above != group:
            told += ["", f"# {groups()[above]}", f"{above}:"]
        elif not above:
            told.append("")
        group = above
        indent = "  " if above else ""
        told += [f"{indent}# {one}" for one in _wrapped(_help(key), 90)]
        told.append(f"{indent}#{key.path[-1]}: {written(key, key.default)}")
    return "\n".join(told) + "\n"


def _help(key: Key) -> str:
    restart = " Needs a restart." if key.restart else ""
    return f"{key.text} ({range_text(key)}){restart}"


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + len(word) >= width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


_PAGE = """\
# Configuration

Made by `neuron-observer config print --format markdown`; do not edit.

The daemon and every verb read `/etc/neuron-observer/config.yaml`, then
`/etc/neuron-observer/conf.d/*.yaml` by name, then the environment; options of a call win. `--config
FILE` (or `NEURON_OBSERVER_CONFIG`) names another file, whose `conf.d` is the one beside it;
`--config /dev/null` means none. A file that is not there by default is no error, one that was named
is. Maps merge by key, lists replace, the last one wins; a key without a value says nothing.

A capture (`--host-root FILE`) and a simulation are other machines: there only a named file counts.
The verbs take from it what they judge by: `path_map`, `all_devices`, `kubelet`, `rules`,
`trust_untested_driver`; the rest is the daemon's.

`config init` writes a file to begin with, `config validate` says everything that is wrong, `config
print --effective` what holds and where it comes from. The reader is strict: a key that nobody
knows, of another form, out of range, contradictory or there twice, anchors, aliases and merge keys,
tabs, what is not UTF-8: each is an error with file, line and remedy, and nothing is taken. As root
it refuses a file that anybody may write (as sudo and logrotate do), and in `conf.d`, which nobody
named, one that belongs to somebody else.

Quantities carry their unit: durations `500ms`, `10s`, `5m`, `1h`, `30d`; sizes `500kB`, `8MB`,
`1GB` (10³) or `16KiB`, `8MiB`, `1GiB` (2¹⁰); shares `5%`. A variable is called `NEURON_OBSERVER_`
and the key, with `__` for the dot; a list is written with commas, an empty variable says the empty
list or text. The variables that Kubernetes makes of a service called neuron-observer
(`NEURON_OBSERVER_SERVICE_…`, `NEURON_OBSERVER_PORT…`), `NEURON_OBSERVER_CONNECT_…` of
`--connect` and `NEURON_OBSERVER_HOOK…` of the hook are no keys.

On SIGHUP the daemon reads it all anew, the rules too. If anything is wrong, all stays as it was,
the log says why and `neuron_observer_config_last_reload_successful` is 0. Findings that stand go on
as they are. Changes of keys marked *restart* are told in the log and wait for a restart.

| key | default | takes | meaning | variable |
|---|---|---|---|---|
"""


def reference() -> str:
    """docs/config.md."""
    return _PAGE + "".join(f"| {' | '.join(_row(key))} |\n" for key in keys().values())


def _row(key: Key) -> list[str]:
    restart = " *restart*" if key.restart else ""
    name = "in files only" if key.form == "map" else f"`{variable(key)}`"
    return [
        f"`{key.name}`",
        f"`{written(key, key.default)}`",
        range_text(key),
        key.text.replace("|", "\\|") + restart,
        name,
    ]


def write(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all; one that is there only with `force`."""
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
        import tempfile  # noqa: PLC0415 - brings much along

        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(temporary).chmod(0o644)
            if force:
                os.replace(temporary, path)  # noqa: PTH105 - as `link`
            else:
                os.link(temporary, path)  # which fails if it is there, even since just now
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108 - as above
    except FileExistsError:
        raise UsageError(
            f"{path} is there already", remedy="--force writes over it; --path names another."
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {error.strerror}", remedy="--path - prints it instead."
        ) from None
