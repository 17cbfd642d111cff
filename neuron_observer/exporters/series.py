"""What a batch says as series: which rows of it make which families, with which labels and values.

A reading that is missing is no series. Of several batches with one reading the last counts.
"""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.families import Family, FamilyType, families

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from neuron_observer.catalogue.spec import Detail, MetricSpec
    from neuron_observer.model import Batch, Cell, Layout, Place

Labels: TypeAlias = "tuple[tuple[str, str], ...]"  # by name

DETAILS: tuple[Detail, ...] = ("node", "device", "core", "full")
# scope → the label that tells its places apart, beside device and core
_LABELS = {"pci", "port", "efa", "sensor", "disk", "runtime", "logical_core"}


class Sample(NamedTuple):
    """One series: its labels and its value in the base unit."""

    labels: Labels
    value: int | float


class Block(NamedTuple):
    """The rows of one family in a batch."""

    family: Family
    rows: tuple[int, ...]
    labels: tuple[Labels, ...]  # of each row
    names: tuple[str, ...]  # of each row: what its label is called in an info family


def labels_of(spec: MetricSpec, place: Place) -> Labels:
    """The labels of a reading: those of its row, its device and core, its port or address."""
    found = list(spec.labels)
    if place.device is not None:
        found.append(("neuron_device", str(place.device)))
    if place.core is not None:
        found.append(("neuron_core", str(place.core)))
    if place.label and spec.scope in _LABELS:
        found.append((spec.scope, place.label))
    return tuple(sorted(found))


@cache
def shown(detail: Detail) -> tuple[Family, ...]:
    """The families that a page of this detail may have, by name."""
    below = DETAILS[: DETAILS.index(detail) + 1]
    return tuple(families(spec for spec in METRICS.values() if spec.detail in below))


def blocks(batches: Sequence[Batch], shown: Sequence[Family]) -> list[list[Block]]:
    """For each batch its blocks, families in the order given."""
    pairs = zip(batches, repeated(batches), strict=True)
    return [blocks_of(batch.layout, shown, hidden) for batch, hidden in pairs]


def repeated(batches: Sequence[Batch]) -> list[set[tuple[str, Place]]]:
    """For each batch the readings that a later one has too."""
    hidden: list[set[tuple[str, Place]]] = [set() for _ in batches]
    having: dict[str, list[int]] = {}
    for number, batch in enumerate(batches):
        for metric in batch.layout.columns:
            having.setdefault(metric, []).append(number)
    for metric, numbers in having.items():
        devices = {batches[number].device for number in numbers}
        if len(devices) == len(numbers) and (None not in devices or len(numbers) == 1):
            continue  # as nearly always: a batch a device
        seen: set[Place] = set()
        for number in reversed(numbers):
            places = batches[number].layout.columns[metric].places
            hidden[number].update((metric, place) for place in seen.intersection(places))
            seen.update(places)
    return hidden


def blocks_of(
    layout: Layout, shown: Sequence[Family], hidden: Collection[tuple[str, Place]] = ()
) -> list[Block]:
    """The blocks of a batch, without the readings that are hidden."""
    found = []
    for family in shown:
        rows: list[tuple[int, Labels, str]] = []
        for spec in family.rows:
            column = layout.columns.get(spec.id)
            for offset, place in enumerate(column.places if column else ()):
                if column and (spec.id, place) not in hidden:
                    name = spec.id.rpartition(".")[2]
                    rows.append((column.start + offset, labels_of(spec, place), name))
        if rows:
            if family.type is FamilyType.INFO:
                rows.sort(key=lambda row: row[1])  # the rows of a place together
            numbers, labels, names = zip(*rows, strict=True)
            found.append(Block(family, numbers, labels, names))
    return found


def samples(block: Block, cells: Sequence[Cell]) -> Iterator[Sample]:
    """The series of a block; `cells` are those of its rows."""
    if block.family.type is FamilyType.INFO:
        yield from _info(block, cells)
    elif block.family.type is FamilyType.STATESET:
        for labels, cell in zip(block.labels, cells, strict=True):
            if isinstance(cell, str):
                yield from stateset(block.family, labels, set(cell.split(",")) - {""})
    else:
        scale = block.family.scale
        for labels, cell in zip(block.labels, cells, strict=True):
            if isinstance(cell, int | float) and isfinite(cell):
                yield Sample(labels, scaled(cell, scale))


def _info(block: Block, cells: Sequence[Cell]) -> Iterator[Sample]:
    told: dict[Labels, dict[str, str]] = {}
    for labels, name, cell in zip(block.labels, block.names, cells, strict=True):
        if isinstance(cell, str | int | float):
            told.setdefault(labels, dict(labels))[name] = str(cell)
    for found in told.values():
        yield Sample(tuple(sorted(found.items())), 1)


def stateset(family: Family, labels: Labels, holds: set[str]) -> Iterator[Sample]:
    """One series a state; a state that the catalogue does not know stands after the known ones."""
    for state in (*family.states, *sorted(holds.difference(family.states))):
        label = (family.name, state)
        yield Sample(tuple(sorted((*labels, label))), int(state in holds))


def scaled(value: float, scale: float) -> int | float:
    """A value in the base unit.

    Whole numbers stay whole where the factor is; a fraction is divided by, because 1234567 by
    1e-6 is not 1.234567, and what a division adds beyond the 15 digits of a double is taken off.
    """
    if scale == 1:
        return value
    if scale > 1:
        return value * round(scale)
    part = value / round(1 / scale)
    return part if isinstance(value, int) else round(part, 15)
