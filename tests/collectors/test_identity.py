"""Who the devices are is asked again only where what they are told by is another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.collectors.identity import IDENTITY, tells_another_identity
from neuron_observer.model import Batch, Cell, Column, Layout, Missing, Place, Why

PLACES = (Place(0, 0), Place(0, 1))
METRICS = ("device.hbm.used", *IDENTITY)
CELLS = st.sampled_from([1, 2, "a", "b", Missing(Why.FAILED, "x"), Missing(Why.STALE, "y")])


def layout() -> Layout:
    """Two rows a metric, the first of no identity."""
    columns = {metric: Column(metric, 2 * number, PLACES) for number, metric in enumerate(METRICS)}
    return Layout(columns, ("",) * 2 * len(METRICS), {})


def batch(of: Layout, cells: list[Cell]) -> Batch:
    """A batch of one device."""
    return Batch("sysfs", "slow", 0, of, cells, 1.0)


@given(st.lists(CELLS, min_size=12, max_size=12), st.integers(0, 11), CELLS)
def test_only_what_tells_them(cells: list[Cell], row: int, other: Cell) -> None:
    """Another cell of an identity metric does, at any row; another reading does not."""
    of = layout()
    now = [*cells[:row], other, *cells[row + 1 :]]
    tells = tells_another_identity(batch(of, cells), batch(of, now))
    assert tells == (other != cells[row] and row >= 2)


def test_files_that_came_or_went() -> None:
    """A first batch and another layout tell, if there is an identity in them at all."""
    one, other = layout(), layout()
    cells: list[Cell] = [1] * 12
    assert tells_another_identity(None, batch(one, cells))
    assert tells_another_identity(batch(one, cells), batch(other, cells))
    assert not tells_another_identity(batch(one, cells), batch(one, cells))
    bare = Layout({"device.hbm.used": Column("device.hbm.used", 0, PLACES)}, ("", ""), {})
    assert not tells_another_identity(None, batch(bare, [1, 2]))
