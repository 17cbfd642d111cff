"""The configuration file: strict YAML; an unknown key names its file, line and nearest match."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from neuron_observer.catalogue import METRICS
from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KEYS = ("path_map", "all_devices", "trust_untested_driver")
_FLAGS = ("all_devices", "trust_untested_driver")
_MAPPABLE = ("device", "core", "class", "module", "dmi")
_NULL = "tag:yaml.org,2002:null"  # a key whose lines are all comments says nothing
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class Config:
    """What the file says; each field has the default of a missing key."""

    path_map: Mapping[str, str] = field(default_factory=dict)  # metric id → path
    all_devices: bool = False
    trust_untested_driver: bool = False  # its registers may make a node unhealthy


def load(file: str | None) -> Config:
    """Read and check a configuration file; without one, the defaults."""
    if file is None:
        return Config()
    path_map: dict[str, str] = {}
    flags: dict[str, bool] = {}
    for key, value in _items(_document(file), file):
        if key.value == "path_map":
            path_map = _path_map(value, file)
        elif key.value in _FLAGS:
            flags[key.value] = _boolean(value, file)
        else:
            raise _unknown("key", key, KEYS, file)
    return Config(path_map, **flags)


def _document(file: str) -> yaml.Node | None:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text", file=file) from error
    try:
        return yaml.compose(text)
    except yaml.reader.ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        raise ConfigError("a control character is no text", file=file, line=number) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(error.problem or "is not YAML", file=file, line=line) from error
    except (ValueError, OverflowError, RecursionError) as error:  # \UFFFFFFFF, [[[[…
        raise ConfigError(f"is not YAML: {error}", file=file) from error


def _items(node: yaml.Node | None, file: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    if node is None or node.tag == _NULL:
        return []
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1
        raise ConfigError("must be a mapping of keys to values", file=file, line=line)
    seen: set[str] = set()
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError("a key must be a word", file=file, line=line)
        if key.value in seen:
            raise ConfigError(f"key {key.value!r} stands twice", file=file, line=line)
        seen.add(key.value)
    return list(node.value)


def _unknown(what: str, key: yaml.ScalarNode, known: Iterable[str], file: str) -> ConfigError:
    nearest = difflib.get_close_matches(key.value, list(known), n=1)
    remedy = f"Did you mean {nearest[0]!r}?" if nearest else f"Known: {', '.join(sorted(known))}"
    line = key.start_mark.line + 1
    return ConfigError(f"unknown {what} {key.value!r}", file=file, line=line, remedy=remedy)


def _boolean(node: yaml.Node, file: str) -> bool:
    value = str(node.value).lower()
    if node.tag != "tag:yaml.org,2002:bool" or value not in _BOOLEANS:
        raise ConfigError("must be true or false", file=file, line=node.start_mark.line + 1)
    return _BOOLEANS[value]


def _path_map(node: yaml.Node, file: str) -> dict[str, str]:
    """Metric id → path below its device (`{core}`: the core's number), of the node below /sys."""
    mappable = {
        spec.id: spec
        for spec in METRICS.values()
        if any(source.where in _MAPPABLE for source in spec.sources)
    }
    found: dict[str, str] = {}
    for key, value in _items(node, file):
        line = value.start_mark.line + 1
        if key.value not in mappable:
            raise _unknown("metric", key, mappable, file)
        path = str(value.value)
        if (
            not isinstance(value, yaml.ScalarNode)
            or not path
            or path.startswith("/")
            or ".." in path.split("/")
        ):
            raise ConfigError("must be a path below the device", file=file, line=line)
        if mappable[key.value].scope == "core" and "{core}" not in path:
            raise ConfigError(
                f"{key.value} is read from every core",
                file=file,
                line=line,
                remedy="Put {core} where the core's number stands.",
            )
        found[key.value] = path
    return found
