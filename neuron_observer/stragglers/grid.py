"""A rank x step table filled row by row in bounded memory.

While the table fits, every step has its column. Beyond the bound neighbouring steps are folded
in pairs, again and again; a cell is then the mean of its steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from neuron_observer.stragglers.columns import Floats, Ints

MOST_CELLS = 4_000_000  # of one value column: 48 MB


class Grid:
    """Sums and counts of several value columns by rank and step."""

    def __init__(self, names: tuple[str, ...], most_cells: int = MOST_CELLS) -> None:
        self.names = names
        self.width = 1  # steps in a column
        self._most = most_cells
        self._rows: dict[int, int] = {}  # rank → row
        self._columns: dict[int, int] = {}  # step → column, while nothing is folded
        self._edges: Ints = np.zeros(0, dtype=np.int64)  # first step of each folded column
        self._in_last = 0  # steps in the last folded column
        self._newest = -(2**62)  # the last step, once columns are folded
        self._sums = {name: np.zeros((4, 16)) for name in names}
        self._counts = {name: np.zeros((4, 16), dtype=np.int32) for name in names}
        self._seen = np.zeros((4, 16), dtype=np.int32)  # rows of the file in a cell

    def add(self, steps: Ints, ranks: Ints, values: dict[str, Floats]) -> Ints:
        """Add rows; NaN is no value. Gives the places of rows that repeat an earlier one."""
        rows = self._lookup(ranks, self._rows)
        columns = self._lookup(steps, self._columns) if self.width == 1 else self._folded(steps)
        self._grow(len(self._rows), len(self._columns) or len(self._edges))
        flat = rows * self._seen.shape[1] + columns
        repeated = self._repeated(flat) if self.width == 1 else np.zeros(0, dtype=np.int64)
        np.add.at(self._seen.reshape(-1), flat, 1)
        for name, column in values.items():
            known = np.isfinite(column)
            np.add.at(self._sums[name].reshape(-1), flat[known], column[known])
            np.add.at(self._counts[name].reshape(-1), flat[known], 1)
        while len(self._rows) * (len(self._columns) or len(self._edges)) > self._most:
            self._fold()
        return repeated

    def steps(self) -> Ints:
        """The steps, ascending: the first of each column."""
        return (
            np.sort(np.array(list(self._columns), dtype=np.int64)) if self._columns else self._edges
        )

    def ranks(self) -> Ints:
        """The ranks, ascending."""
        return np.sort(np.array(list(self._rows), dtype=np.int64))

    def table(self, name: str) -> Floats:
        """One value column, `(steps, ranks)`; NaN where no row has a value."""
        rows = np.array([self._rows[int(rank)] for rank in self.ranks()], dtype=np.int64)
        order = self._order()
        counts = self._counts[name][rows][:, order].T
        sums = self._sums[name][rows][:, order].T
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    def _order(self) -> Ints:
        if not self._columns:
            return np.arange(len(self._edges))
        steps = np.array(list(self._columns), dtype=np.int64)
        return np.array(list(self._columns.values()), dtype=np.int64)[np.argsort(steps)]

    @staticmethod
    def _lookup(keys: Ints, index: dict[int, int]) -> Ints:
        unique, inverse = np.unique(keys, return_inverse=True)
        places = [index.setdefault(int(key), len(index)) for key in unique]
        return np.asarray(np.array(places, dtype=np.int64)[inverse])

    def _folded(self, steps: Ints) -> Ints:
        """Columns of steps; only a step beyond all others can begin a new one."""
        for step in np.unique(steps[steps > self._newest]).tolist():
            if self._in_last >= self.width:
                self._edges = np.append(self._edges, step)
                self._in_last = 0
            self._in_last += 1
            self._newest = step
        return np.maximum(np.searchsorted(self._edges, steps, side="right") - 1, 0)

    def _repeated(self, flat: Ints) -> Ints:
        _, first = np.unique(flat, return_index=True)
        again = np.ones(len(flat), dtype=np.bool_)
        again[first] = False
        return np.flatnonzero(again | (self._seen.reshape(-1)[flat] > 0))

    def _grow(self, rows: int, columns: int) -> None:
        height, width = self._seen.shape
        if rows <= height and columns <= width:
            return
        taller = max(height, 2 * rows if rows > height else 0)
        wider = max(width, 2 * columns if columns > width else 0)
        room = ((0, taller - height), (0, wider - width))
        self._seen = np.pad(self._seen, room)
        self._sums = {name: np.pad(table, room) for name, table in self._sums.items()}
        self._counts = {name: np.pad(table, room) for name, table in self._counts.items()}

    def _fold(self) -> None:
        """Join neighbouring columns in pairs."""
        order, steps = self._order(), self.steps()
        if len(steps) < 2:
            raise MemoryError(f"{len(self._rows)} ranks are too many for one table")
        alone = len(steps) % 2 == 1  # the last column has no partner
        if self.width == 1:
            self._in_last, self._newest = (1 if alone else 2), int(steps[-1])
        elif not alone:
            self._in_last += self.width
        self._edges, self._columns, self.width = steps[::2], {}, 2 * self.width
        self._seen = _paired(self._seen, order)
        self._sums = {name: _paired(table, order) for name, table in self._sums.items()}
        self._counts = {name: _paired(table, order) for name, table in self._counts.items()}


def _paired(table: npt.NDArray[Any], order: Ints) -> npt.NDArray[Any]:
    ordered = table[:, order]
    if ordered.shape[1] % 2:
        ordered = np.pad(ordered, ((0, 0), (0, 1)))
    return np.ascontiguousarray(ordered[:, ::2] + ordered[:, 1::2])  # `add` writes to a flat view
