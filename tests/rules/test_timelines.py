"""The shipped rules judge every timeline as the table of faults says they must."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks.play import play
from neuron_observer.checks.timeline import read_timelines
from neuron_observer.rules.loader import load

if TYPE_CHECKING:
    from neuron_observer.rules.rule import Rule

HERE = Path(__file__).parent
HOSTS = (HERE.parent / "trees",)
FILES = sorted((HERE / "timelines").glob("*.yaml"))
pytestmark = pytest.mark.long


@cache
def rules() -> tuple[Rule, ...]:
    """The shipped rules."""
    return load()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_rules_judge_as_they_must(file: Path) -> None:
    """Fires, near miss, clears, reset, not live, and what else a fault's timelines show."""
    told = [
        f"{timeline.name}: {problem}"
        for timeline in read_timelines(file, HOSTS)
        for problem in play(timeline, rules()).problems
    ]
    assert told == []
