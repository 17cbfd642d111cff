"""Folding sightings into facts: counts, bounds, and what excuses what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.triage import MATCHER
from neuron_observer.model import Action
from neuron_observer.triage.facts import MAX_FACTS, MAX_NOVEL, PIDS, TEXT, Folder, Sighting
from neuron_observer.triage.heads import Head

ROWS = {row.id: row for row in MATCHER.patterns}


def seen(row: str, line: int, device: int | None = None, **head: int) -> Sighting:
    """One sighting in the first input."""
    return Sighting(ROWS[row], 0, line, b"  words  ", Head(pid=head.get("pid")), device)


@given(st.lists(st.tuples(st.sampled_from(["rt-dma-abort", "reset-started"]), st.integers(0, 3))))
def test_nothing_is_lost(lines: list[tuple[str, int]]) -> None:
    """Every sighting is in the count of one fact."""
    folder = Folder()
    for number, (row, device) in enumerate(lines, start=1):
        folder.add(seen(row, number, device))
    assert sum(fact.count for fact in folder) == len(lines)
    loud = {(row, device) for row, device in lines if row == "rt-dma-abort"}
    quiet = {row for row, _ in lines if row == "reset-started"}
    assert len(list(folder)) == len(loud) + len(quiet)


def test_first_and_last_line() -> None:
    """A fact keeps the first line and text, and the number of the last."""
    folder = Folder()
    for line in (3, 9, 27):
        folder.add(seen("rt-dma-abort", line, 1, pid=line))
    (fact,) = folder
    assert (fact.line, fact.last_line, fact.count) == (3, 27, 3)
    assert fact.text == "words"
    assert fact.pids == [3, 9, 27]


def test_bounds() -> None:
    """Facts, processes, texts and unknown lines are bounded; their counts are not."""
    folder = Folder()
    for number in range(MAX_FACTS + 100):
        folder.add(seen("rt-dma-abort", number, number, pid=number % 100))
        folder.add_novel(0, number, b"x" * number)
    facts = list(folder)
    assert len(facts) == MAX_FACTS + 1
    assert sum(fact.count for fact in facts) == MAX_FACTS + 100
    assert max(len(fact.pids) for fact in facts) <= PIDS
    assert len(folder.novel) == MAX_NOVEL
    assert folder.novel_lines == MAX_FACTS + 100
    assert max(len(novel.text) for novel in folder.novel.values()) <= TEXT


def test_unknown_lines_that_differ_in_digits_are_one() -> None:
    """Numbers do not make a new kind of unknown line."""
    folder = Folder()
    for number in range(20):
        folder.add_novel(0, number, f"[{number}.5] neuron:new: nd{number} odd".encode())
    assert [novel.count for novel in folder.novel.values()] == [10, 10]


@pytest.mark.parametrize(
    ("rows", "excused"),
    [
        (["dma-timeout", "dma-copy-retried"], 1),
        (["dma-copy-retried", "dma-timeout"], 1),
        (["dma-timeout", "dma-copy-retried", "dma-timeout"], 1),
        (["dma-timeout", "dma-timeout", "dma-copy-retried"], 1),
        (["dma-timeout", "dma-copy-retried", "dma-timeout", "dma-copy-retried"], 2),
    ],
)
def test_one_line_excuses_one(rows: list[str], excused: int) -> None:
    """A retry beside a time-out makes that one harmless, in either order, and no other."""
    folder = Folder()
    for number, row in enumerate(rows, start=1):
        folder.add(seen(row, number))
    (timeout,) = (fact for fact in folder if fact.pattern.id == "dma-timeout")
    assert timeout.excused == excused
    assert timeout.harmless is (excused == rows.count("dma-timeout"))
    assert (timeout.action is Action.WATCH) is timeout.harmless


def test_what_is_far_away_excuses_nothing() -> None:
    """A retry many lines later belongs to something else."""
    folder = Folder()
    folder.add(seen("dma-timeout", 1))
    folder.add(seen("dma-copy-retried", 10))
    assert not next(iter(folder)).harmless
