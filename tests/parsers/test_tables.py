"""Files of more than one value: power, dice, PE array, AER; whole, cut, uneven and nonsense."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neuron_observer.model import Cell, Missing, Why
from neuron_observer.parsers.sysfs import FELL_OFF, NOT_ANSWERING
from neuron_observer.parsers.tables import TABLES, named_counts, pe_array, power, power_dies

U64 = st.integers(0, 2**64 - 1)
POWER_PARTS = {"status", "epoch", "minimum", "maximum", "mean"}
FIGURES = ("minimum", "maximum", "mean")
PE_HEAD = "xrow_grp,mm_active,wl_active,idle\n"
DIES_HEAD = "die,util_bips,counter\n"

ROWS = st.lists(
    st.text(alphabet="0123456789,.-_ POWERSTATUVLID_bogus()naeilr:\u0663\0", max_size=40),
    max_size=6,
)
HEADS = st.sampled_from(["", PE_HEAD, DIES_HEAD, "POWER_STATUS_VALID,", "TOTAL_ERR_COR "])
ANYTHING = st.one_of(
    st.binary(max_size=120),
    st.builds(lambda head, rows: (head + "\n".join(rows)).encode(), HEADS, ROWS),
)


def reasons(parts: dict[str, Cell]) -> set[Why | None]:
    """Why the parts are missing; None stands for a value."""
    return {cell.why if isinstance(cell, Missing) else None for cell in parts.values()}


@pytest.mark.parametrize("name", sorted(TABLES))
@settings(max_examples=40)
@given(raw=ANYTHING)
@example(raw=b"\0" * 4096)
@example(raw=b"\xff" * 4096)
@example(raw=b",,,,\n" * 800)
def test_any_bytes_give_parts_with_a_value_or_a_reason(name: str, raw: bytes) -> None:
    """No table raises, and a missing part says why."""
    for cell in TABLES[name](raw).values():
        assert isinstance(cell, int | float | str | Missing)
        if isinstance(cell, Missing):
            assert cell.detail


@pytest.mark.parametrize("name", ["power_dies", "pe_array", "aer"])
@given(raw=ANYTHING)
def test_only_plain_digits_are_a_count(name: str, raw: bytes) -> None:
    """A count of a table stands in it as ASCII digits between separators."""
    for cell in TABLES[name](raw).values():
        if not isinstance(cell, Missing):
            separated = raw.replace(b",", b"\n").replace(b" ", b"\n").split(b"\n")
            assert cell in {int(text) for text in separated if text.isdigit() and len(text) < 21}


# power


@given(
    st.integers(0, 253_402_300_799),
    st.tuples(*[st.integers(0, 10_000)] * 3),
    st.sampled_from(["", "\n"]),
)
@example(1789180860, (0, 0, 0), "\n")
def test_a_valid_power_line(epoch: int, figures: tuple[int, ...], end: str) -> None:
    """`%u.%02u` from 0.00 to 100.00; 0.00 is a value on an idle chip."""
    texts = [f"{figure // 100}.{figure % 100:02d}" for figure in figures]
    parts = power(f"POWER_STATUS_VALID,{epoch},{','.join(texts)}{end}".encode())
    assert parts == {
        "status": "POWER_STATUS_VALID",
        "epoch": epoch,
        **{name: float(text) for name, text in zip(FIGURES, texts, strict=True)},
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n", Why.NOT_YET),
        ("POWER_STATUS_NO_DATA,1789180860,0.00,0.00,0.00\n", Why.FAILED),
        ("POWER_STATUS_INVALID,1789180860,1.00,2.00,3.00\n", Why.FAILED),
        ("POWER_STATUS_MAX,1789180860,1.00,2.00,3.00\n", Why.FAILED),
    ],
)
def test_figures_of_a_line_that_is_not_valid(line: str, why: Why) -> None:
    """INVALID contains VALID and is not; NO_DATA is never 0 percent."""
    parts = power(line.encode())
    assert reasons({name: parts[name] for name in FIGURES}) == {why}
    assert parts["status"] == line.partition(",")[0]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\n",
        "\0",
        "POWER_STATUS_VALID\n",
        "POWER_STATUS_VALID,1,0.00,0.00\n",
        "POWER_STATUS_VALID,1,0.00,0.00,0.00,0.00\n",
        "VALID,1,0.00,0.00,0.00\n",
        "POWER_STATUS_VALIDE,1,0.00,0.00,0.00\n",
        "power_status_valid,1,0.00,0.00,0.00\n",
        "busy\n",
    ],
)
def test_no_power_line(line: str) -> None:
    """A line of another form gives nothing at all, and says so for each part."""
    parts = power(line.encode())
    assert set(parts) == POWER_PARTS
    assert reasons(parts) == {Why.FAILED}


@pytest.mark.parametrize(
    "figure",
    [
        "100.01",
        "999.99",
        "-1.00",
        "1",
        "1.0",
        "1.000",
        "1,00",
        "1.00%",
        "nan",
        "\u0663.00",
        " 1.00",
    ],
)
def test_one_wrong_figure_costs_only_itself(figure: str) -> None:
    """More than 100 percent, a sign, another form: missing, and the others stay."""
    if "," in figure:
        assert reasons(power(f"POWER_STATUS_VALID,1,0.00,{figure},9.00\n".encode())) == {Why.FAILED}
        return
    parts = power(f"POWER_STATUS_VALID,1,0.00,{figure},9.00\n".encode())
    assert isinstance(parts["maximum"], Missing)
    assert (parts["minimum"], parts["mean"]) == (0.0, 9.0)


@pytest.mark.parametrize("epoch", [253_402_300_800, 2**63, 2**64 - 1])
def test_an_epoch_beyond_the_year_9999_is_no_time(epoch: int) -> None:
    """No clock shows it, and no date can be written for it."""
    assert isinstance(
        power(f"POWER_STATUS_VALID,{epoch},0.00,0.00,0.00\n".encode())["epoch"], Missing
    )


# power of the dice


def test_two_dice() -> None:
    """`d,bips,counter`: basis points and a sample number."""
    assert power_dies(b"die,util_bips,counter\n0,1234,77\n1,0,78\n") == {
        "0.util_bips": 1234,
        "0.counter": 77,
        "1.util_bips": 0,
        "1.counter": 78,
    }


@given(st.integers(0, 10_000), st.integers(0, 65535), st.integers(0, 1))
def test_a_die_reads_back(bips: int, sample: int, die: int) -> None:
    """What `npower_format_raw` prints of one die."""
    parts = power_dies(f"{DIES_HEAD}{die},{bips},{sample}\n".encode())
    assert parts == {f"{die}.util_bips": bips, f"{die}.counter": sample}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("0,bogus(65535),65535", FELL_OFF),
        ("0,bogus(48879),57005", NOT_ANSWERING),
    ],
)
def test_signatures_of_a_dead_device(row: str, reason: Missing) -> None:
    """All ones, and the two halves of 0xdeadbeef."""
    parts = power_dies(f"{DIES_HEAD}{row}\n".encode())
    assert parts == {"0.util_bips": reason, "0.counter": reason}


@pytest.mark.parametrize(
    "row",
    [
        "0,unavailable",
        "0,read_error",
        "0,bogus(10001),5",
        "0,10001,5",
        "0,-1,5",
        "0,",
        "0",
        "0,1,2,3",
        "0,busy,busy",
        "0,bogus(),5",
    ],
)
def test_rows_without_a_figure(row: str) -> None:
    """The other row forms of the driver, and rows of no form; die 1 is still read."""
    parts = power_dies(f"{DIES_HEAD}{row}\n1,50,6\n".encode())
    assert isinstance(parts["0.util_bips"], Missing)
    assert (parts["1.util_bips"], parts["1.counter"]) == (50, 6)


@pytest.mark.parametrize("raw", [b"", b"\n", b"0,1,2\n", b"die,util,counter\n0,1,2\n", b"\0"])
def test_no_die_table(raw: bytes) -> None:
    """Without its head the file is another one."""
    assert power_dies(raw) == {}


# PE array


@given(st.lists(st.tuples(U64, U64, U64), min_size=4, max_size=4))
def test_a_pe_array_reads_back(groups: list[tuple[int, int, int]]) -> None:
    """Four row groups of three 64-bit cycle counters."""
    rows = "".join(f"{g},{mm},{wl},{idle}\n" for g, (mm, wl, idle) in enumerate(groups))
    expected: dict[str, Cell] = {}
    for g, (mm, wl, idle) in enumerate(groups):
        expected |= {f"{g}.mm_active": mm, f"{g}.wl_active": wl, f"{g}.idle": idle}
    assert pe_array((PE_HEAD + rows).encode()) == expected


@given(
    st.lists(st.tuples(U64, U64, U64), min_size=4, max_size=4),
    st.integers(0, 300),
)
def test_a_cut_pe_array_gives_no_wrong_count(groups: list[tuple[int, int, int]], cut: int) -> None:
    """The driver cuts a text over 255 bytes, also in a number: a part of one is no count."""
    whole = PE_HEAD + "".join(f"{g},{mm},{wl},{idle}\n" for g, (mm, wl, idle) in enumerate(groups))
    expected = pe_array(whole.encode())
    for part, cell in pe_array(whole[:cut].encode()).items():
        assert isinstance(cell, Missing) or cell == expected[part]


@pytest.mark.parametrize(
    "raw", [b"", b"\n", b"0,1,2,3\n", b"xrow_grp,mm_active\n0,1,2,3\n", b"\xff"]
)
def test_no_pe_array(raw: bytes) -> None:
    """Without its head the file is another one."""
    assert pe_array(raw) == {}


def test_uneven_pe_rows_are_left_out() -> None:
    """A row of another width has no columns that could be told apart."""
    assert set(pe_array(f"{PE_HEAD}0,1,2\n1,1,2,3,4\n2,1,2,3\n".encode())) == {
        "2.mm_active",
        "2.wl_active",
        "2.idle",
    }


def test_a_wrong_count_costs_only_itself() -> None:
    """One field that is no number leaves its neighbours."""
    parts = pe_array(f"{PE_HEAD}0,x,2,3\n".encode())
    assert isinstance(parts["0.mm_active"], Missing)
    assert (parts["0.wl_active"], parts["0.idle"]) == (2, 3)


# AER


def test_aer_lines() -> None:
    """Names may hold blanks in older kernels; the total has a name of its own."""
    raw = b"Receiver Error 2\nBad TLP 0\nRELAY_NUM Rollover 1\nTOTAL_ERR_COR 3\n"
    assert named_counts(raw) == {
        "Receiver Error": 2,
        "Bad TLP": 0,
        "RELAY_NUM Rollover": 1,
        "TOTAL_ERR_COR": 3,
    }


@pytest.mark.parametrize("row", ["TOTAL_ERR_COR -1", "TOTAL_ERR_COR 3x", "TOTAL_ERR_COR 3\x1c4"])
def test_aer_lines_without_a_count(row: str) -> None:
    """A name without a count has no value."""
    found = named_counts(f"{row}\n".encode()).get("TOTAL_ERR_COR", Missing(Why.FAILED, "not there"))
    assert isinstance(found, Missing)


@pytest.mark.parametrize("raw", [b"", b"\n", b"7\n", b"word\n", b"\0 5\n"])
def test_no_aer_lines(raw: bytes) -> None:
    """A count without a name has no meaning."""
    assert named_counts(raw) == {}
