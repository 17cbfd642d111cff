"""From a file's bytes to the cells that come from it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from neuron_observer.model import Missing, Why
from neuron_observer.parsers.sysfs import FELL_OFF, SCALARS
from neuron_observer.parsers.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.collectors.batching import FileRead, Target
    from neuron_observer.model import Cell

Decode: TypeAlias = "Callable[[bytes], tuple[Cell, ...]]"

_NO_PART: Final = Missing(Why.FAILED, "this part is not in the file")


def _bounded(cell: Cell, limit: int | None) -> Cell:
    if limit is None or not isinstance(cell, int) or cell <= limit:
        return cell
    if cell == 65535 and limit == 65534:
        return FELL_OFF
    return Missing(Why.FAILED, f"{cell} is above the largest possible value")


def decoder(file: FileRead) -> Decode:
    """How to read what a file holds."""
    formats = {target.source.format for target in file.targets}
    if len(formats) == 1 and not formats.isdisjoint(TABLES):
        return _table(file.targets)
    if len(file.targets) == 1:
        return _scalar(file.targets[0].source.format, file.targets[0].limit)
    # a path map may read one file for several metrics
    singles = [
        _table((t,)) if t.source.format in TABLES else _scalar(t.source.format, t.limit)
        for t in file.targets
    ]
    return lambda raw: tuple(decode(raw)[0] for decode in singles)


def _table(targets: tuple[Target, ...]) -> Decode:
    parts = tuple((target.source.part, target.limit) for target in targets)
    return _parts(targets[0].source.format, parts)


@cache  # as `_scalar`
def _parts(form: str, wanted: tuple[tuple[str, int | None], ...]) -> Decode:
    parse = TABLES[form]

    def decode(raw: bytes) -> tuple[Cell, ...]:
        parts = parse(raw)
        return tuple(_bounded(parts.get(part, _NO_PART), limit) for part, limit in wanted)

    return decode


@cache  # thousands of files have a few forms
def _scalar(form: str, limit: int | None) -> Decode:
    parse = SCALARS[form]

    def decode(raw: bytes) -> tuple[Cell, ...]:
        return (_bounded(parse(raw), limit),)

    return decode
