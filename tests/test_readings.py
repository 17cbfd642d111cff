"""Finding one reading, or all of a metric, in the batches of a snapshot."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.derive import make_batch
from neuron_observer.model import Cell, Missing, Place, Value, Why
from neuron_observer.readings import ABSENT, columns, find, reading

DENIED = Missing(Why.DENIED, "EACCES")
BATCHES = (
    make_batch("sysfs", {"core.flops": [(Place(0, 0), 5), (Place(0, 1), DENIED)]}, 10.0),
    make_batch("sysfs", {"core.flops": [(Place(1, 0), 0)], "device.name": [(Place(1), "x")]}, 11.0),
)


def test_a_value_has_the_time_of_its_batch() -> None:
    """Each batch was read at its own time; 0 is a value."""
    assert reading(BATCHES, "core.flops", Place(0, 0)) == Value(5, 10.0)
    assert reading(BATCHES, "core.flops", Place(1, 0)) == Value(0, 11.0)


def test_a_missing_cell_is_its_reason() -> None:
    """Nothing is put in its place."""
    assert reading(BATCHES, "core.flops", Place(0, 1)) == DENIED


def test_what_nobody_read_is_unsupported() -> None:
    """Another place, another metric, no batches at all."""
    assert reading(BATCHES, "core.flops", Place(2, 0)) == ABSENT
    assert reading(BATCHES, "core.flops", Place(0)) == ABSENT
    assert reading(BATCHES, "core.inferences", Place(0, 0)) == ABSENT
    assert reading((), "core.flops", Place(0, 0)) == ABSENT
    assert find((), "core.flops", Place(0, 0)) is None
    assert ABSENT.why is Why.UNSUPPORTED


def test_a_cell_is_found_with_its_batch() -> None:
    """The row counts within the batch."""
    found = find(BATCHES, "device.name", Place(1))
    assert found is not None
    batch, row = found
    assert batch is BATCHES[1]
    assert batch.cells[row] == "x"


def test_a_column_is_every_place_of_a_metric() -> None:
    """Over all batches, in their order, missing cells included."""
    assert [(place, cell) for _, place, cell in columns(BATCHES, "core.flops")] == [
        (Place(0, 0), 5),
        (Place(0, 1), DENIED),
        (Place(1, 0), 0),
    ]
    assert list(columns(BATCHES, "core.inferences")) == []


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.dictionaries(st.integers(0, 5), st.one_of(st.integers(), st.just(DENIED)), min_size=1),
    )
)
def test_columns_and_rows_agree(table: dict[str, dict[int, Cell]]) -> None:
    """Whatever was put into a batch is found by row and by column, once."""
    rows = {m: [(Place(n), cell) for n, cell in placed.items()] for m, placed in table.items()}
    batch = make_batch("test", rows, 0.0)
    for metric, placed in rows.items():
        assert [(place, cell) for _, place, cell in columns([batch], metric)] == placed
        for place, cell in placed:
            expected = cell if isinstance(cell, Missing) else Value(cell, 0.0)
            assert reading([batch], metric, place) == expected
    assert len(batch.cells) == sum(map(len, rows.values())) == len(batch.layout.sources)
