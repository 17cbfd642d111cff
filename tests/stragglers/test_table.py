"""Reading tables: what they hold, what is wrong with them, and in how much memory."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.errors import InputError
from neuron_observer.stragglers.table import Table, read

if TYPE_CHECKING:
    from collections.abc import Iterable


def csv(rows: Iterable[object], header: str = "step,rank,busy_s") -> StringIO:
    """A table of rows that are tuples or lines."""
    lines = [row if isinstance(row, str) else ",".join(map(str, row)) for row in rows]  # type: ignore[call-overload]
    return StringIO("\n".join([header, *lines, ""]))


def steady(steps: int = 30, ranks: int = 4) -> list[tuple[int, int, float]]:
    """Rows of a job whose ranks all take a second."""
    return [(step, rank, 1.0) for step in range(steps) for rank in range(ranks)]


def parsed(stream: StringIO, **options: object) -> Table:
    """The table of a stream named jobs.csv."""
    return read(stream, "jobs.csv", **options)  # type: ignore[arg-type]


cells = st.dictionaries(
    st.tuples(st.integers(0, 30), st.integers(0, 6)),
    st.none() | st.floats(0.5, 2.0).map(lambda value: round(value, 6)),
    min_size=1,
)


@settings(max_examples=50, deadline=None)
@given(cells, st.randoms(use_true_random=False))
def test_rows_in_any_order_give_the_same_table(
    cells: dict[tuple[int, int], float | None], random: object
) -> None:
    """Every value comes back at its step and rank; an empty field is NaN, not zero."""
    if all(value is None for value in cells.values()):
        return
    rows = [(step, rank, "" if v is None else v) for (step, rank), v in cells.items()]
    random.shuffle(rows)  # type: ignore[attr-defined]
    found: dict[tuple[int, int], float] = {}
    for part in parsed(csv(rows)).parts:
        for row, step in enumerate(part.steps.tolist()):
            for column, rank in enumerate(part.topology.ranks.tolist()):
                found[step, rank] = float(part.busy[row, column])
    for place, value in cells.items():
        if value is None:
            assert np.isnan(found.get(place, float("nan")))
        else:
            assert found[place] == pytest.approx(value)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(0, 0, 1), (0, 1, -2)], "jobs.csv:3: busy_s is '-2': negative"),
        ([(0, 0, 1), (0, 1, "inf")], "jobs.csv:3: busy_s is 'inf': not finite"),
        ([(0, 0, 1), (0, 1, "fast")], "jobs.csv:3: busy_s is 'fast': no number"),
        ([(0, 0, 1), (0, "one", 1)], "jobs.csv:3: rank is 'one': no number"),
        ([(0, 0, 1), (0.5, 1, 1)], "jobs.csv:3: step is '0.5': no whole number"),
        ([(0, 0, 1), (0, 1)], "jobs.csv:3: 2 fields, the header has 3"),
        ([(0, 0, 1), (1, 0, 1), (0, 0, 1)], "jobs.csv:4: step 0 of rank 0 stands twice"),
        ([], "jobs.csv:2: no rows after the header"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(rows: list[object], expected: str) -> None:
    """File, line, field and value; then what to do."""
    with pytest.raises(InputError) as error:
        parsed(csv(rows))
    assert error.value.message.startswith(expected)


def test_blank_lines_do_not_shift_line_numbers() -> None:
    """An empty line is passed over and counted."""
    with pytest.raises(InputError, match=r"jobs\.csv:4: busy_s is 'x'"):
        parsed(csv(["0,0,1", "", "0,1,x"]))


def test_a_step_given_twice_in_a_later_chunk_is_found() -> None:
    """Duplicates are known across chunks of rows too."""
    rows = steady(17_000, 4)
    with pytest.raises(InputError, match="step 3 of rank 1 stands twice"):
        parsed(csv([*rows, (3, 1, 1.0)]))


def test_a_lacking_column_is_asked_for() -> None:
    """The remedy names the option."""
    with pytest.raises(InputError) as error:
        parsed(csv([(0, 0, 1)], header="step,rank,compute"))
    assert "step, rank, compute" in error.value.message
    assert "--map busy_s=NAME" in error.value.remedy
    with pytest.raises(InputError, match="no column 'comput' for busy_s"):
        parsed(csv([(0, 0, 1)], header="step,rank,compute"), mapping={"busy_s": "comput"})


def test_other_names_separators_and_a_byte_order_mark() -> None:
    """Columns are mapped; semicolons and tabs separate as well."""
    stream = StringIO("\ufeffiter;worker;ms\n" + "".join(f"{s};{s % 2};2\n" for s in range(40)))
    table = parsed(stream, mapping={"step": "iter", "rank": "worker", "busy_s": "ms"}, unit="ms")
    assert table.parts[0].busy[0, 0] == pytest.approx(0.002)


def test_the_unit_is_asked_for_not_guessed() -> None:
    """A column that speaks of milliseconds needs --unit."""
    stream = csv([(0, 0, 5)], header="step,rank,busy_ms")
    with pytest.raises(InputError) as error:
        parsed(stream, mapping={"busy_s": "busy_ms"})
    assert "--unit ms" in error.value.remedy


def test_mixed_units_are_refused() -> None:
    """One rank in milliseconds among ranks in seconds; nothing is converted silently."""
    rows = [(s, r, 1000.0 if r == 2 else 1.0) for s in range(30) for r in range(4)]
    with pytest.raises(InputError, match="seconds and milliseconds mixed") as error:
        parsed(csv(rows))
    assert "rank 2" in error.value.message


def test_one_very_long_step_is_no_mixed_unit() -> None:
    """A single stall of a thousand seconds is a stall."""
    rows = [(s, r, 1000.0 if (s, r) == (9, 2) else 1.0) for s in range(300) for r in range(4)]
    assert parsed(csv(rows)).parts[0].busy.max() == 1000.0


def test_zero_busy_times_are_missing_and_told() -> None:
    """No rank computes for no time at all."""
    table = parsed(csv([*steady(), (30, 0, 0), (30, 1, 1)]))
    assert table.notes == ["1 busy times are 0 (first in line 122): taken as missing"]
    assert np.isnan(table.parts[0].busy[30, 0])


def test_a_resized_job_is_cut_in_two() -> None:
    """From step 30 on only four of eight ranks are left."""
    rows = steady(30, 8) + [(step, rank, 1.0) for step in range(30, 60) for rank in range(4)]
    table = parsed(csv(rows))
    assert [part.topology.size for part in table.parts] == [8, 4]
    assert table.parts[1].steps[0] == 30
    assert "from step 30 on" in table.notes[0]


def test_a_rank_that_drops_out_is_only_missing() -> None:
    """One of eight is not another world."""
    rows = [row for row in steady(60, 8) if not (row[1] == 5 and row[0] > 30)]
    (part,) = parsed(csv(rows)).parts
    assert np.isnan(part.busy[40, 5])


def test_renumbered_ranks_are_cut_apart() -> None:
    """Rank 0 and 1 change their nodes at step 40: the same number is another machine."""
    rows = [(s, r, 1.0, f"n{(r + (s >= 40)) % 2}") for s in range(80) for r in range(2)]
    table = parsed(csv(rows, header="step,rank,busy_s,node"))
    first, second = (part.topology.node for part in table.parts)
    assert first is not None
    assert second is not None
    assert [first.name(0), second.name(0)] == ["n0", "n1"]


def test_a_label_that_changes_all_the_time_is_no_label() -> None:
    """The number of a micro-batch is not a role."""
    rows = [(s, r, 1.0, s) for s in range(300) for r in range(2)]
    with pytest.raises(InputError, match="role of rank 0 had 100 different values"):
        parsed(csv(rows, header="step,rank,busy_s,role"))


def test_labels_wait_input_and_tokens() -> None:
    """All optional columns arrive."""
    header = "step,rank,busy_s,wait_s,input_s,tokens,role,replica,node,device"
    rows = [(s, r, 1, 0.5, 0.1, 4096, r % 2, r // 2, "a", r) for s in range(20) for r in range(4)]
    (part,) = parsed(csv(rows, header=header)).parts
    assert part.wait is not None
    assert part.input is not None
    assert part.tokens is not None
    assert (part.wait[0, 0], part.input[0, 0], part.tokens[0, 0]) == (0.5, 0.1, 4096)
    assert part.topology.role is not None
    assert part.topology.role.codes.tolist() == [0, 1, 0, 1]
    assert part.topology.device_index is not None
    assert part.topology.device_index.tolist() == [0, 1, 2, 3]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 400), st.sampled_from([16, 64, 100]))
def test_a_table_beyond_the_bound_is_folded(ranks: int, steps: int, most: int) -> None:
    """Cells stay within the bound, and the mean of each rank stays what it was."""
    rows = [(s, r, 1.0 + r + s / 1000) for s in range(steps) for r in range(ranks)]
    table = parsed(csv(rows), most_cells=most)
    cells = sum(part.busy.size for part in table.parts)
    assert cells <= most
    if steps * ranks <= most:
        assert table.width == 1
    else:
        assert "folded" in " ".join(table.notes)
    (part,) = table.parts
    expected = 1.0 + np.arange(ranks) + (steps - 1) / 2000
    np.testing.assert_allclose(part.busy.mean(axis=0), expected, rtol=0.3)


def test_a_file_by_rank_folds_like_a_file_by_step() -> None:
    """The order of the rows changes nothing, folded or not."""
    rows = [(s, r, 1.0 + r) for s in range(64) for r in range(4)]
    by_step = parsed(csv(rows), most_cells=64).parts[0]
    by_rank = parsed(
        csv((s, r, 1.0 + r) for r in range(4) for s in range(64)), most_cells=64
    ).parts[0]
    np.testing.assert_allclose(by_step.busy, by_rank.busy)


def test_text_that_is_no_table() -> None:
    """A log file, and nothing at all."""
    with pytest.raises(InputError, match=r"jobs\.csv:1: no column step"):
        parsed(StringIO("neuron: everything is fine\nor is it\n"))
    with pytest.raises(InputError, match="empty"):
        parsed(StringIO(""))


BINARY = bytes(range(256)) * 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BINARY, "jobs.csv:2: is no text in UTF-8"),
        (b"step,rank,busy_s\n1,0,1.0\n" + b"1,1,\xff\n", "jobs.csv:3: is no text in UTF-8"),
        (b"\0" * (1 << 20), "jobs.csv:1: field larger than field limit"),
        (b"step,rank,busy_s\n" + b"1" * (1 << 20), "jobs.csv:2: field larger than field limit"),
        (b"step,rank,busy_s\n" + b"1,1,1.0\n" * 9999 + b"\xff", "jobs.csv:10001: is no text"),
        (b"step\r,rank", "jobs.csv:1: new-line character seen"),
    ],
)
def test_what_is_no_text_is_told_with_its_line(content: bytes, message: str) -> None:
    """Binary files, zeros, the end of a line in the midst of one."""
    stream = TextIOWrapper(BytesIO(content), "utf-8", newline="\n")
    with pytest.raises(InputError, match=f"^{message}") as raised:
        read(stream, "jobs.csv")
    assert raised.value.remedy == "is this a CSV file?"
