"""`path_map`: which metrics may be told another path, and which paths."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.config.said import wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.catalogue import MetricSpec
    from neuron_observer.config.said import Word

_MAPPABLE = ("device", "core", "class", "module", "dmi")


@cache
def mappable() -> Mapping[str, MetricSpec]:
    """The metrics that are read from a file of the driver."""
    return {
        spec.id: spec
        for spec in METRICS.values()
        if any(source.where in _MAPPABLE for source in spec.sources)
    }


def mapped_path(metric: str, word: Word) -> str:
    """A path below its device (`{core}`: the core's number), of the node below /sys."""
    path = word.text
    if word.tag == "null" or not path or path.startswith("/") or ".." in path.split("/"):
        raise wrong(word.origin, f"path_map.{metric} must be a path below the device")
    if "\0" in path or not path.isprintable():
        raise wrong(word.origin, f"path_map.{metric}: a control character is no path")
    if mappable()[metric].scope == "core" and "{core}" not in path:
        raise wrong(
            word.origin,
            f"path_map.{metric}: {metric} is read from every core",
            "Put {core} where the core's number stands.",
        )
    return path
