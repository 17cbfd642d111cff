"""What goes into the history comes out again, within its bytes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.derive import make_batch
from neuron_observer.history import History
from neuron_observer.model import Cell, Driver, Missing, Place, Snapshot, Value, Why

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Batch

A, B = Place(0, 0), Place(0, 1)
GONE = Missing(Why.FAILED, "the file is gone")
LATE = Missing(Why.STALE, "last read 9 s ago")


def snapshot_of(now: float, *batches: Batch) -> Snapshot:
    """A snapshot that holds nothing else."""
    driver = Driver("2.30.2.0", "live")
    return Snapshot(now + 1e9, now, "/", None, driver, (), batches)


def batch_of(
    read_at: float, *cells: Cell, like: Batch | None = None, lane: str = "normal"
) -> Batch:
    """A batch of one metric at places A and B (or A alone), laid out as another one."""
    rows = {"core.inferences": list(zip((A, B), cells, strict=False))}
    made = make_batch("sysfs", rows, read_at)._replace(lane=lane, device=0)
    return made._replace(layout=like.layout) if like else made


def values(history: History, place: Place = A, seconds: float = 1e9) -> list[Value]:
    """All that is held of one place."""
    return list(history.values("core.inferences", place, seconds))


OTHERS: st.SearchStrategy[Cell] = st.text(max_size=4) | st.sampled_from([GONE, LATE])
COUNTS: st.SearchStrategy[Cell] = st.integers(-(2**80), 2**80) | st.integers(0, 3) | OTHERS
RATES: st.SearchStrategy[Cell] = st.floats(allow_nan=False) | OTHERS


def as_read(cells: Sequence[Cell], times: Sequence[float]) -> list[Value]:
    """What the history has to give."""
    pairs = zip(cells, times, strict=True)
    return [Value(cell, at) for cell, at in pairs if not isinstance(cell, Missing)]


@given(
    st.lists(COUNTS, min_size=1, max_size=7) | st.lists(RATES, min_size=1, max_size=7),
    st.lists(COUNTS, min_size=1, max_size=3) | st.lists(RATES, min_size=1, max_size=3),
    st.integers(1, 200),
    st.sampled_from([0.25, 1.0, 0.1]),
)
def test_what_goes_in_comes_out(
    first: list[Cell], second: list[Cell], reads: int, period: float
) -> None:
    """Numbers of any size, text and gaps, with their times, over many stretches."""
    history, before = History(window=1e6), None
    times = [100.0 + number * period for number in range(reads)]
    one = [first[number % len(first)] for number in range(reads)]
    other = [second[number % len(second)] for number in range(reads)]
    for at, *cells in zip(times, one, other, strict=True):
        before = batch_of(at, *cells, like=before)
        history.add(snapshot_of(at, before))
    for place, cells in ((A, one), (B, other)):
        found = values(history, place)
        assert found == as_read(cells, times)
        assert [type(value.value) for value in found] == [
            type(cell) for cell in cells if not isinstance(cell, Missing)
        ]


@given(
    st.lists(COUNTS | RATES, min_size=1, max_size=150),
    st.lists(st.floats(-10.0, 170.0), min_size=2, max_size=2),
)
def test_the_last_between_two_instants(cells: list[Cell], instants: list[float]) -> None:
    """It is the last of all values between them, over stretches and gaps."""
    history, batch = History(window=1e6), None
    for second, cell in enumerate(cells):
        batch = batch_of(float(second), cell, 0, like=batch)
        history.add(snapshot_of(float(second), batch))
    begin, end = sorted(instants)
    within = [one for one in values(history) if begin <= one.read_time <= end]
    assert history.last("core.inferences", A, begin, end) == (within[-1] if within else None)
    assert history.last("core.inferences", Place(3, 3), begin, end) is None


@given(st.lists(st.tuples(st.booleans(), COUNTS), min_size=1, max_size=12))
def test_another_layout_begins_anew(reads: list[tuple[bool, Cell]]) -> None:
    """As after a driver's reload: rows that are other rows then, or the same in a new layout."""
    history = History()
    for number, (both, cell) in enumerate(reads):
        cells = (cell, cell) if both else (cell,)
        history.add(snapshot_of(float(number), batch_of(float(number), *cells)))
    times = [float(number) for number in range(len(reads))]
    assert values(history) == as_read([cell for _, cell in reads], times)
    at_b = [(at, cell) for at, (both, cell) in zip(times, reads, strict=True) if both]
    assert values(history, B) == as_read([c for _, c in at_b], [at for at, _ in at_b])


def test_only_reads_are_held() -> None:
    """A batch that was not read again, or was marked as stale since, is no second reading."""
    history, batch = History(), batch_of(1.0, 5, 6)
    stale = batch._replace(cells=[LATE, LATE])
    for now, seen in ((1.0, batch), (2.0, batch), (3.0, stale), (4.0, batch)):
        history.add(snapshot_of(now, seen))
    history.add(snapshot_of(5.0, batch_of(5.0, 7, 6, like=batch)))
    assert values(history) == [Value(5, 1.0), Value(7, 5.0)]


def test_the_last_seconds_alone() -> None:
    """Seconds count back from the last snapshot; what is unknown gives nothing."""
    history, batch = History(), None
    for second in range(300):
        batch = batch_of(float(second), second, 0, like=batch)
        history.add(snapshot_of(second + 0.5, batch))
    assert values(history, seconds=2.0) == [Value(298, 298.0), Value(299, 299.0)]
    assert [value.value for value in values(history, seconds=150.0)] == list(range(150, 300))
    assert history.values("core.flops", A, 10.0) == []
    assert values(history, Place(3, 3)) == []


def test_a_late_answer_is_found_by_its_own_time() -> None:
    """Also once it is packed, behind reads of later times."""
    history, batch = History(window=1e6), None
    for number in range(130):
        at = 50.0 if number == 40 else 100.0 + number
        batch = batch_of(at, number, 0, like=batch)
        history.add(snapshot_of(300.0 + number, batch))
    assert history.last("core.inferences", A, 40.0, 60.0) == Value(40, 50.0)


def test_a_late_answer_has_its_own_time() -> None:
    """A read that began long ago and ended now stands where it began."""
    history = History()
    for at, cell in ((10.0, 1), (20.0, LATE), (12.0, 2), (30.0, 3)):
        history.add(snapshot_of(31.0, batch_of(at, cell, lane="firmware")))
    assert values(history) == [Value(1, 10.0), Value(2, 12.0), Value(3, 30.0)]


def test_a_lane_that_takes_over() -> None:
    """One place read in two lanes, one after the other: one series, in order."""
    history = History()
    history.add(snapshot_of(1.0, batch_of(1.0, 1, lane="slow")))
    history.add(snapshot_of(2.0, batch_of(2.0, 2, lane="fast")))
    history.add(snapshot_of(3.0, batch_of(2.5, 3, lane="slow")))
    assert [value.value for value in values(history)] == [1, 2, 3]


def test_what_is_older_than_the_window_goes() -> None:
    """Also of a device that is gone, and of a layout that was replaced."""
    history, batch = History(window=60.0), None
    history.add(snapshot_of(0.0, batch_of(0.0, 1, lane="gone"), batch_of(0.0, 7)))
    for second in range(1, 400):
        batch = batch_of(float(second), second, second, like=batch)
        history.add(snapshot_of(float(second), batch))
    held = values(history)
    assert held[-1] == Value(399, 399.0)
    assert 60 <= len(held) < 60 + 64 + 10  # a stretch goes as a whole, at the next sweep
    assert not history.shortened
    assert history.seconds == 60.0


def _number(second: int, row: int) -> int:
    """Anything, so that it packs badly."""
    return (second * 7919 + row * 104_729) ** 3 % 10**9


def wide(second: int, rows: int, prefix: str = "m") -> Batch:
    """A batch of many metrics that all move."""
    moved: dict[str, list[tuple[Place, Cell]]] = {
        f"{prefix}{row}": [(A, _number(second, row))] for row in range(rows)
    }
    return make_batch("sysfs", moved, float(second))


def test_bytes_that_run_out_shorten_the_window() -> None:
    """It stays within its limit, says how far back it goes, and is right as far as it goes."""
    limit = 300_000
    history, batch = History(limit=limit), wide(0, 200)
    most = 0
    for second in range(800):
        batch = wide(second, 200)._replace(layout=batch.layout)
        history.add(snapshot_of(float(second), batch))
        most = max(most, history.bytes)
    assert limit / 2 < most < limit + 5 * 200 * 60  # what comes between two looks at the bytes
    assert history.shortened
    assert 60 < history.seconds < 799
    held = history.values("m5", A, 900.0)
    assert held[0].read_time <= 799 - history.seconds + 1
    every = [Value(_number(second, 5), float(second)) for second in range(800)]
    assert list(held) == every[-len(held) :]


def test_layouts_that_nobody_else_holds_count() -> None:
    """A driver that reloads for ever, each time with other files, does not fill the memory."""
    history = History(limit=100_000)
    for reload in range(300):
        history.add(snapshot_of(float(reload), wide(reload, 50, f"of load {reload}: ")))
    assert history.bytes <= 200_000
    assert history.shortened


def test_an_empty_history() -> None:
    """Nothing was read: no values, no seconds, no bytes."""
    history = History()
    assert (history.seconds, history.bytes, history.shortened) == (0.0, 0, False)
    assert values(history) == []


def test_readers_of_other_threads_see_whole_series() -> None:
    """While one thread adds, what others get is a series without holes or doubles."""
    history, batch = History(), batch_of(0.0, 0, 0)
    wrong: list[list[float]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = [float(value.value) for value in values(history)]
            if found != list(range(len(found))):
                wrong.append(found)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for second in range(400):
        batch = batch_of(float(second), second, 0, like=batch)
        history.add(snapshot_of(float(second), batch))
    done.set()
    for thread in threads:
        thread.join(10)
    assert not wrong
