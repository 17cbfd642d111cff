"""A thread that keeps a source drained."""

from __future__ import annotations

import os
import threading

import pytest

from neuron_observer.sources.lines import LineCounts, LineSource, PipeLines
from neuron_observer.sources.pump import PumpedLines

PATIENCE = 20.0  # seconds that a test waits for a thread at most


class Flood:
    """A source that gives its lines as fast as they are taken, then tells that it is dry."""

    def __init__(self, lines: list[bytes]) -> None:
        self.name = "flood"
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self.dry = threading.Event()
        self._lines = lines

    def poll(self, limit: int) -> list[bytes]:
        """The next lines."""
        taken, self._lines = self._lines[:limit], self._lines[limit:]
        self.counts.read += len(taken)
        if not taken:
            self.ended = True
            self.dry.set()
        return taken

    def fileno(self) -> int | None:
        """None."""
        return None

    def close(self) -> None:
        """Nothing to do."""


def drained(flood: Flood, pump: LineSource) -> list[bytes]:
    """All that is left in the queue once the flood is over."""
    assert flood.dry.wait(PATIENCE)
    return pump.poll(1_000_000)


def test_all_lines_come_through_in_order() -> None:
    """As long as there is room."""
    lines = [b"%d" % number for number in range(5000)]
    flood = Flood(lines)
    pump = PumpedLines(flood)
    assert drained(flood, pump) == lines
    assert (pump.counts.read, pump.counts.dropped) == (5000, 0)
    pump.close()
    assert pump.ended


def test_a_flood_keeps_the_newest_and_counts_the_rest() -> None:
    """Memory stays bounded; the line after the flood is there."""
    flood = Flood([b"noise %d" % number for number in range(56_000)] + [b"NEURON_HW_ERR"])
    pump = PumpedLines(flood, max_lines=1000)
    kept = drained(flood, pump)
    assert len(kept) == 1000
    assert kept[-1] == b"NEURON_HW_ERR"
    assert pump.counts.dropped == 55_001
    assert pump.counts.read == 1000
    pump.close()


def test_bytes_are_bounded_too() -> None:
    """A thousand long lines are no thousand short ones."""
    flood = Flood([b"x" * 1000] * 1000)
    pump = PumpedLines(flood, max_bytes=10_000)
    assert len(drained(flood, pump)) == 10
    assert pump.counts.dropped == 990
    pump.close()


def test_what_is_wanted_survives_a_flood() -> None:
    """From half full on, other lines are not taken in: the fault in the middle stays."""
    noise = [b"audit %d" % number for number in range(30_000)]
    flood = Flood([*noise, b"NEURON_HW_ERR", *noise])
    pump = PumpedLines(flood, max_lines=1000, wanted=lambda line: b"NEURON" in line)
    kept = drained(flood, pump)
    assert b"NEURON_HW_ERR" in kept
    assert len(kept) + pump.counts.dropped == 60_001
    pump.close()


@pytest.mark.parametrize("size", [200_000, 2_000_000])
def test_a_writer_of_more_than_a_pipe_holds_is_not_held_up(size: int) -> None:
    """A report larger than the pipe's buffer arrives whole, though nobody polls meanwhile."""
    reader, writer = os.pipe()
    pump = PumpedLines(PipeLines(reader, "pipe", max_line=4_000_000))
    with os.fdopen(writer, "wb") as out:
        out.write(b"x" * size + b"\n")
    pump._thread.join(PATIENCE)
    assert [len(line) for line in pump.poll(10)] == [size]
    assert pump.ended
    pump.close()


def test_who_wants_lines_is_told_when_they_come() -> None:
    """Not for lines that nobody wants; when it is told, the wanted ones are in the queue."""
    told = threading.Event()
    reader, writer = os.pipe()
    pump = PumpedLines(
        PipeLines(reader, "pipe"), wanted=lambda line: line.startswith(b"neuron"), news=told.set
    )
    with os.fdopen(writer, "wb", buffering=0) as out:
        out.write(b"usb 1-1: new device\n" * 3)
        assert not told.wait(0.05)
        out.write(b"neuron: a line\n")
        assert told.wait(PATIENCE)
        assert pump.poll(9)[-1] == b"neuron: a line"
    pump.close()


def test_closing_ends_the_thread_though_nothing_comes() -> None:
    """A silent writer does not keep it."""
    reader, writer = os.pipe()
    pump = PumpedLines(PipeLines(reader, "pipe"))
    pump.close()
    assert not pump._thread.is_alive()
    os.close(writer)
