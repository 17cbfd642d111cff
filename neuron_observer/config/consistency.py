"""Values that are right by themselves and wrong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.config.keys import key_at, keys, plain, value_at
from neuron_observer.config.said import DEFAULT, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.config.keys import Path
    from neuron_observer.config.said import Origin
    from neuron_observer.config.schema import Config
    from neuron_observer.errors import ConfigError

# the first may not be more than the second
_ORDERED = (
    (("lanes", "fast"), ("lanes", "normal"), "The fast lane is the fast one."),
    (("lanes", "normal"), ("lanes", "slow"), "The slow lane is the slow one."),
    (
        ("history", "max_bytes"),
        ("budget", "memory"),
        "The history is part of the memory: lower the one or raise the other.",
    ),
)


def contradictions(config: Config, origins: Mapping[Path, Origin]) -> Iterator[ConfigError]:
    """What cannot be meant, each with the places of both values."""
    for less, more, remedy in _ORDERED:
        limit = value_at(config, more)
        if limit and value_at(config, less) > limit:  # 0: none
            known = keys()
            told = [f"{key_at(known, p).name} ({_shown(config, p)})" for p in (less, more)]
            yield _between(origins, less, more, f"{told[0]} is more than {told[1]}", remedy)
    mode, file = ("monitor", "mode"), ("monitor", "file")
    if config.monitor.mode == "file" and config.monitor.file is None:
        remedy = "Name the file that neuron-monitor is written to in monitor.file."
        yield _between(
            origins, mode, file, "monitor.mode is file, and monitor.file says none", remedy
        )
    if config.monitor.mode != "file" and config.monitor.file is not None:
        message = f"monitor.file is set, and monitor.mode is {config.monitor.mode}"
        yield _between(origins, file, mode, message, "Say mode: file, or leave the file out.")


def _shown(config: Config, path: Path) -> str:
    return str(plain(keys()[path], value_at(config, path)))


def _between(
    origins: Mapping[Path, Origin], one: Path, other: Path, message: str, remedy: str
) -> ConfigError:
    """The error at the place of what somebody said; the other place is told too."""
    said, beside = origins.get(one, DEFAULT), origins.get(other, DEFAULT)
    if said == DEFAULT:
        said, beside, other = beside, said, one
    return wrong(said, f"{message}; {'.'.join(other)}: {beside}", remedy)
