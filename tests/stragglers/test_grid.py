"""The bounded table: nothing is lost when it folds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.stragglers.grid import Grid


def filled(rows: list[tuple[int, int, float]], most: int, chunk: int) -> Grid:
    """A grid that took these rows (step, rank, value) in chunks."""
    grid = Grid(("busy_s",), most)
    for first in range(0, len(rows), chunk):
        part = rows[first : first + chunk]
        steps, ranks, values = (np.array(column) for column in zip(*part, strict=True))
        grid.add(steps, ranks, {"busy_s": values.astype(np.float64)})
    return grid


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5), st.integers(1, 60), st.integers(8, 90), st.integers(1, 40), st.integers(0, 9)
)
def test_folding_keeps_every_value(
    ranks: int, steps: int, most: int, chunk: int, seed: int
) -> None:
    """Each column holds the mean of its steps, for every rank, in whatever order rows come."""
    most = max(most, 2 * ranks)
    rows = [
        (step, rank, float(step + 1000 * rank)) for step in range(steps) for rank in range(ranks)
    ]
    np.random.default_rng(seed).shuffle(rows)
    grid = filled(rows, most, chunk)
    table, edges = grid.table("busy_s"), grid.steps()
    assert table.shape == (len(edges), ranks)
    assert table.size <= most
    assert np.isfinite(table).all()
    assert int(grid._seen.sum()) == len(rows)
    assert int(grid._counts["busy_s"].sum()) == len(rows)
    assert float(grid._sums["busy_s"].sum()) == sum(value for _, _, value in rows)
    np.testing.assert_allclose(table[:, -1] - table[:, 0], 1000.0 * (ranks - 1))


def test_steps_in_order_fold_in_pairs() -> None:
    """Sixteen steps in eight cells: four columns of four steps, or fewer."""
    rows = [(step, rank, float(step)) for step in range(16) for rank in range(2)]
    grid = filled(rows, most=8, chunk=2)
    assert grid.width == 4
    assert grid.steps().tolist() == [0, 4, 8, 12]
    assert grid.table("busy_s")[:, 0].tolist() == [1.5, 5.5, 9.5, 13.5]


def test_a_large_table_folds_too() -> None:
    """More than one chunk of folded columns, as a file of many ranks makes."""
    rows = [(step, rank, 1.0 + rank) for step in range(300) for rank in range(64)]
    grid = filled(rows, most=64 * 50, chunk=1000)
    table = grid.table("busy_s")
    assert np.isfinite(table).all()
    np.testing.assert_allclose(table, np.tile(1.0 + np.arange(64), (len(table), 1)))


def test_more_ranks_than_cells() -> None:
    """A table of one column that is still too large is told, not truncated."""
    with pytest.raises(MemoryError, match="20 ranks are too many"):
        filled([(0, rank, 1.0) for rank in range(20)], most=10, chunk=50)
