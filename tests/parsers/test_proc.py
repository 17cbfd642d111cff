"""Files of /proc: round trips, what malformed input becomes, and that nothing ever raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.model import Missing, Why
from neuron_observer.parsers.proc import (
    BLOCK_PARTS,
    CPU_MODES,
    block,
    cpu_stat,
    descriptors,
    load,
    memory,
    pressure,
)
from neuron_observer.parsers.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Cell

PARSERS = (cpu_stat, memory, load, pressure, descriptors, block)
counts = st.integers(0, (1 << 53) - 1)
shares = st.integers(0, 10_000).map(lambda hundredths: hundredths / 100)
# Bytes that look like the files: their words, separators and numbers in any order.
WORDS = (b"cpu", b"cpu0", b"some", b"full", b"avg10=", b"total=", b"MemTotal:", b"SwapFree:", b"kB")
SEPARATORS = (b" ", b"\n", b"\t", b"/", b".", b"=", b":")
NUMBERS = (b"7", b"99999999999999999999", b"-1", b"\xff")
almost = st.lists(st.sampled_from([*WORDS, *SEPARATORS, *NUMBERS]), max_size=30).map(b"".join)


@pytest.mark.parametrize("parse", PARSERS)
@given(raw=st.binary(max_size=200) | almost)
def test_any_bytes_give_cells(parse: Callable[[bytes], dict[str, Cell]], raw: bytes) -> None:
    """No input raises; no number is negative or above 64 bits."""
    for cell in parse(raw).values():
        assert isinstance(cell, int | float | Missing)
        if not isinstance(cell, Missing):
            assert 0 <= cell < 1 << 64


def test_all_are_registered_as_tables() -> None:
    """The batch finds each parser by its format."""
    assert set(PARSERS) <= set(TABLES.values())


@given(st.lists(counts, min_size=8, max_size=10), st.integers(1, 400), counts)
def test_cpu_stat_round_trip(ticks: list[int], processors: int, switches: int) -> None:
    """Modes by their order, processors by their lines, whatever else the file holds."""
    rows = ["cpu  " + " ".join(map(str, ticks))]
    rows += [f"cpu{number} 1 2 3 4 5 6 7 8 0 0" for number in range(processors)]
    rows += ["intr 175371 0 0 9", f"ctxt {switches}", "procs_running 3", "softirq 9 1 1", ""]
    parts = cpu_stat("\n".join(rows).encode())
    assert [parts[f"cpu.{mode}"] for mode in CPU_MODES] == ticks[:8]
    assert parts["cpus"] == processors
    assert (parts["ctxt"], parts["intr"], parts["procs_running"]) == (switches, 175371, 3)


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_memory_round_trip(one: int, other: int) -> None:
    """Kilobytes become bytes, counts stay, and the difference is exact."""
    total, left = max(one, other), min(one, other)
    text = f"MemTotal: {total} kB\nMemAvailable:  {left} kB\nHugePages_Total:    7\n"
    assert memory(text.encode()) == {
        "MemTotal": total * 1024,
        "MemAvailable": left * 1024,
        "HugePages_Total": 7,
        "MemTotal-MemAvailable": (total - left) * 1024,
    }


def test_memory_never_gives_less_than_nothing() -> None:
    """More available than there is, a foreign unit and an overflow are no values."""
    parts = memory(
        b"MemTotal: 1 kB\nMemAvailable: 2 kB\nSlab: 3 MB\nShmem: 18446744073709551615 kB"
    )
    for name in ("MemTotal-MemAvailable", "Slab", "Shmem"):
        assert isinstance(parts[name], Missing), name
    assert "SwapTotal-SwapFree" not in parts


@given(shares, shares, counts)
def test_pressure_round_trip(now: float, longer: float, total: int) -> None:
    """Both lines by their names, in percent and microseconds."""
    text = "".join(
        f"{share} avg10={now:.2f} avg60={longer:.2f} avg300=0.00 total={total}\n"
        for share in ("some", "full")
    )
    parts = pressure(text.encode())
    for share in ("some", "full"):
        assert parts[f"{share}.avg10"] == now
        assert parts[f"{share}.avg60"] == longer
        assert parts[f"{share}.total"] == total


def test_a_kernel_without_full_pressure_of_the_processor_says_so() -> None:
    """Before 5.13 the processor's file has one line: the other is unsupported, not 0."""
    parts = pressure(b"some avg10=0.28 avg60=0.17 avg300=0.05 total=3675248\n")
    missing = parts["full.total"]
    assert isinstance(missing, Missing)
    assert missing.why is Why.UNSUPPORTED


def test_more_than_all_of_the_time_is_no_share() -> None:
    """avg10 above 100 is malformed."""
    assert isinstance(pressure(b"some avg10=100.01 total=1\n")["some.avg10"], Missing)


@given(shares, st.integers(0, 9999), st.integers(0, 99_999))
def test_load_round_trip(mean: float, runnable: int, tasks: int) -> None:
    """Three means and the number of tasks."""
    parts = load(f"{mean:.2f} 0.14 12.09 {runnable}/{tasks} 6980\n".encode())
    expected = {"1m": mean, "5m": 0.14, "15m": 12.09, "runnable": runnable, "tasks": tasks}
    assert parts == expected


def test_descriptors_without_a_limit() -> None:
    """A limit of 2⁶³ - 1 is a number; free ones are taken off; more free than made is no value."""
    assert descriptors(b"277\t7\t9223372036854775807\n") == {"used": 270, "limit": (1 << 63) - 1}
    assert isinstance(descriptors(b"1 2 3")["used"], Missing)
    assert descriptors(b"277\t0\n") == {}


@given(st.lists(counts, min_size=11, max_size=17))
def test_block_round_trip(fields: list[int]) -> None:
    """Eleven columns by their order; newer kernels' extra ones are ignored."""
    parts = block((" ".join(f"{field:8d}" for field in fields) + "\n").encode())
    assert list(parts) == list(BLOCK_PARTS)
    assert list(parts.values()) == fields[:11]


def test_a_short_block_line_has_no_parts() -> None:
    """A cut line is not guessed at."""
    assert block(b"1 2 3\n") == {}
