"""What the rows of a batch are, told without an object a row: thousands are rarely asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.model import Column, Place


Table = TypeVar("Table", bound="tuple[object, ...]")


@lru_cache(512)
def _first(table: tuple[object, ...]) -> tuple[object, ...]:
    return table


def once(table: Table) -> Table:
    """The first table that is equal, so that devices that are alike share it."""
    return _first(table)  # type: ignore[return-value]  # an equal one


class Rows(Mapping["tuple[str, Place]", int]):
    """(metric, place) → row, found in the columns: as dicts those of a big node take a megabyte."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns

    def __getitem__(self, spot: tuple[str, Place]) -> int:
        """The row; `KeyError` where there is none."""
        metric, place = spot
        column = self._columns[metric]
        try:
            return column.start + column.places.index(place)
        except ValueError:
            raise KeyError(spot) from None

    def __iter__(self) -> Iterator[tuple[str, Place]]:
        """In the order of the rows."""
        for column in self._columns.values():
            for place in column.places:
                yield column.metric, place

    def __len__(self) -> int:
        """How many rows."""
        return sum(len(column.places) for column in self._columns.values())


class Sources(Sequence[str]):
    """By row: the path of its file; put together when asked for, for thousands are never."""

    def __init__(self, below: str, paths: Iterable[str]) -> None:
        """Paths below that; empty where no file gives a row."""
        self._below, self._paths = below, once(tuple(paths))

    def __len__(self) -> int:
        """How many rows."""
        return len(self._paths)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...

    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        """The path, below /sys or in full."""
        path = self._paths[row]
        if isinstance(path, tuple):
            return tuple([self._below + one if one else "" for one in path])
        return self._below + path if path else ""
