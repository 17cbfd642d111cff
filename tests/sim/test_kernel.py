"""The simulated kernel log: records, numbers, and what is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.sim.kernel import MOST, KernelLog, SimulatedLines
from tests.sim.worlds import bench, fault


def lines_of(log: KernelLog) -> SimulatedLines:
    """The log as a source."""
    return SimulatedLines(lambda sequence, limit: (log.since(sequence, limit), log.oldest))


def test_record_has_the_form_of_kmsg() -> None:
    """Level, number, microseconds, flag, text; what is not printable is escaped."""
    log = KernelLog()
    log.add("a\tb\\cä", 3, 1.5)
    assert list(log.records) == [b"3,0,1500000,-;a\\x09b\\x5cc\\xc3\\xa4"]


@given(st.lists(st.integers(0, 7), max_size=50), st.lists(st.integers(1, 9), max_size=60))
def test_records_come_once_and_in_order(levels: list[int], limits: list[int]) -> None:
    """However many are asked for at a time."""
    log = KernelLog()
    for number, level in enumerate(levels):
        log.add(f"line {number}", level, float(number))
    source = lines_of(log)
    found = [record for limit in [*limits, 100] for record in source.poll(limit)]
    assert found == list(log.records)
    assert source.counts.read == len(levels)
    assert source.poll(5) == []


def test_overrun_is_counted() -> None:
    """The oldest records give way; the source goes on from the oldest that is left."""
    log = KernelLog()
    source = lines_of(log)
    for number in range(MOST + 10):
        log.add("x", 6, float(number))
    assert source.poll(1)[0].startswith(b"6,10,")
    assert source.counts.overruns == 1
    assert source.poll(1)[0].startswith(b"6,11,")


def test_closed_source_gives_nothing() -> None:
    """And has no descriptor to wait on."""
    log = KernelLog()
    log.add("x", 6, 0.0)
    source = lines_of(log)
    source.close()
    assert (source.poll(5), source.ended, source.fileno()) == ([], True, None)


def test_stamps_are_of_the_readers_clock() -> None:
    """A record's time is monotonic time, so that own reads can be told from others."""
    host = bench(fault("kernel_lines", 10.0, text="now"), jobs=())
    host.go(12.0)
    source = host.host.kernel_log()
    assert source.poll(9) == [b"6,0,1010000000,-;now"]
    uptime = float(host.host.read("proc/uptime").split()[0])
    assert uptime == host.clock.monotonic()
