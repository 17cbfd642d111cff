"""Tables: filters, order, the part that is seen, what stands at a cell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Cell, Missing, Place, Why
from neuron_observer.tui.columns import heading, of_metric, thousands
from neuron_observer.tui.lines import plain
from neuron_observer.tui.sheet import Column, Row, Sheet, chosen, columns_shown, rows_shown
from neuron_observer.tui.table import as_text, draw, record
from neuron_observer.tui.view import View, Way
from tests.tui.hosts import still, view_of

ANY_VIEW = view_of(still("empty"))
GONE = Missing(Why.STALE, "gone")
CELLS = st.sampled_from([0, 1, 5, 0.5, "word", "other", GONE])


@pytest.fixture
def view() -> View:
    """Any view; these tables have figures of their own."""
    return ANY_VIEW


def sheet_of(rows: list[tuple[Cell, Cell]]) -> Sheet:
    """A table of a name, a share and something."""

    def column(id_: str, place: int, scale: float = 1.0) -> Column:
        return Column(
            id_, id_.upper(), id_, lambda _, row: row.of[place], lambda c, _: str(c), scale=scale
        )

    name = Column(
        "name", "Name", "", lambda _, row: row.key, lambda cell, _: str(cell), right=False
    )
    columns = (name, column("share", 0, 100.0), column("thing", 1))
    return Sheet(columns, [Row(f"row{n}", Place(n), cells) for n, cells in enumerate(rows)])


ROWS: list[tuple[Cell, Cell]] = [(0.9, 2048), (0.25, "busy"), (GONE, 4096), (0.5, "idle")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "0123"),
        ("row1", "1"),
        ("BUSY", "1"),
        ("-busy", "023"),
        ("share>25", "03"),
        ("share>=25%", "013"),
        ("share<50", "1"),
        ("share=90", "0"),
        ("share!=90", "13"),
        ("thing>=4k", "2"),
        ("thing=idle", "3"),
        ("thing!=idle", "012"),
        ("share>10 thing=busy", "1"),
        ("share>10 & row3", "3"),
        ("nothing", ""),
        ("unknown>1", ""),
        ("share>word", ""),
        (">5", ""),
        ("-", ""),
    ],
)
def test_a_filter(view: View, text: str, expected: str) -> None:
    """Words, words that may not be there, comparisons; all must hold, missing is nothing."""
    rows = rows_shown(view._replace(way=Way(filter=text)), sheet_of(ROWS))
    assert "".join(row.key[-1] for row in rows) == expected


@settings(max_examples=40)
@given(st.text(max_size=30))
def test_any_filter_is_taken(text: str) -> None:
    """Whatever somebody types gives some of the rows, in their order."""
    view = ANY_VIEW._replace(way=Way(filter=text))
    keys = [row.key for row in rows_shown(view, sheet_of(ROWS))]
    assert keys == sorted(set(keys))


@settings(max_examples=40)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=12), st.booleans())
def test_sorted_rows_are_all_rows(rows: list[tuple[Cell, Cell]], falling: bool) -> None:
    """Numbers in order, words apart from them, what is missing last whichever way round."""
    view = ANY_VIEW._replace(way=Way(sort="share", falling=falling))
    sheet = sheet_of(rows)
    seen = [row.of[0] for row in rows_shown(view, sheet)]
    assert sorted(map(str, seen)) == sorted(str(cells[0]) for cells in rows)
    there = [cell for cell in seen if not isinstance(cell, Missing)]
    assert seen[: len(there)] == there
    numbers = [cell for cell in there if not isinstance(cell, str)]
    assert numbers == sorted(numbers, reverse=falling)


def test_numbers_in_words_are_numbers(view: View) -> None:
    """The second device stands before the tenth."""
    sheet = sheet_of([(0, 0)] * 12)
    rows = rows_shown(view._replace(way=Way(sort="name", falling=False)), sheet)
    assert [row.key for row in rows] == [f"row{number}" for number in range(12)]


@settings(max_examples=40)
@given(
    st.integers(0, 40),
    st.integers(1, 60),
    st.integers(1, 20),
    st.integers(0, 45),
    st.integers(0, 5),
)
def test_the_chosen_row_is_seen(rows: int, width: int, height: int, at: int, shift: int) -> None:
    """In any room; and what is clicked is what is seen."""
    view = ANY_VIEW._replace(way=Way(row=f"row{at}", shift=shift))
    sheet = sheet_of([(0.5, 1)] * rows)
    drawn = draw(view, sheet, width, height)
    keys = [row.key for row in drawn.rows]
    if rows:
        assert (f"row{at}" if at < rows else "row0") in keys
    for y, key in enumerate(keys, 1):
        row = drawn.row_at(y)
        assert row is not None
        assert row.key == key
    assert drawn.row_at(0) is None
    assert drawn.row_at(len(keys) + 1) is None
    column = drawn.column_at(1)
    assert column is not None
    assert column.id == "name"


def test_the_first_column_stays(view: View) -> None:
    """Whatever columns are chosen or scrolled away, a row is named."""
    sheet = sheet_of(ROWS)
    some = columns_shown(sheet, Way(columns=("thing", "gone")))
    assert [column.id for column in some] == ["name", "thing"]
    far = draw(view._replace(way=Way(shift=9)), sheet, 60, 8)
    assert [column.id for column, _, _ in far.columns] == ["name", "thing"]


def test_a_table_says_what_is_left_out(view: View) -> None:
    """Rows, columns, the filter; and why a value of the chosen row is missing."""
    sheet = sheet_of(ROWS)
    status = plain(draw(view._replace(way=Way(row="row2")), sheet, 60, 4).lines[-1])
    assert status.startswith(("2-3 of 4", "3-4 of 4"))
    assert "— SHARE: stale: gone" in status
    narrow = plain(draw(view, sheet, 12, 8).lines[-1])
    assert "1 more column" in narrow
    some = plain(draw(view._replace(way=Way(filter="row1")), sheet, 60, 8).lines[-1])
    assert "1 of 4 match row1" in some
    none = draw(view._replace(way=Way(filter="no such")), sheet, 60, 8)
    assert "nothing matches 'no such'" in plain(none.lines[1])


def test_a_record_has_every_column(view: View) -> None:
    """Everything that is known of a row, and why the rest is not."""
    text = [plain(one) for one in record(view._replace(way=Way(row="row2")), sheet_of(ROWS))]
    assert text[0] == "row2"
    assert any("SHARE" in one and "stale: gone" in one for one in text)
    assert any("THING" in one and "4096" in one for one in text)
    assert record(view, sheet_of([])) == []


def test_a_table_to_be_copied(view: View) -> None:
    """As it is looked at, whole."""
    way = Way(sort="share", filter="-row2")
    heads, rows = as_text(view._replace(way=way), sheet_of(ROWS))
    assert heads == ["Name", "SHARE", "THING"]
    assert [row[0] for row in rows] == ["row0", "row3", "row1"]
    assert chosen(view, []) == 0


def test_every_metric_has_a_heading() -> None:
    """Out of the catalogue; none is empty, none of a scope stands for two."""
    for scope in ("device", "core", "port", "efa"):
        heads = [heading(spec) for spec in METRICS.values() if spec.scope == scope]
        assert all(head and head[0] != " " for head in heads)
    assert heading(METRICS["device.hbm.ecc_uncorrected"]) == "HBM UE"
    assert heading(METRICS["efa.node_guid"]) == "Node GUID"


@pytest.mark.parametrize(
    ("metric", "cell", "text"),
    [
        ("device.utilization", 0.834, "83%"),
        ("device.power.mean", 53.2, "53%"),
        ("device.power.die0.utilization", 5300, "53%"),
        ("device.hbm.used", 71 * 1024**3, "71 GiB"),
        ("device.firmware.answering", 1, "yes"),
        ("device.firmware.answering", 0, "no"),
        ("device.state", 7, "7"),
        ("device.health.unhealthy_components", "", "none"),
        ("device.power.status", "POWER_STATUS_VALID", "VALID"),
        ("core.flop_rate", 91.2e12, "91.2 T"),
        ("core.time_in_use", 1_500_000, "1.5 s"),
        ("core.execution.failure", 12345, "12,345"),
        ("device.hbm.used", GONE, "—"),
    ],
)
def test_a_metric_in_its_unit(view: View, metric: str, cell: Cell, text: str) -> None:
    """As short as it may be read without doubt."""
    assert of_metric(metric).text(cell, view) == text


@settings(max_examples=40)
@given(st.floats(0, 1e17))
def test_thousands_are_short(number: float) -> None:
    """At most seven cells, or a whole number below a million."""
    assert len(thousands(number)) <= 8
