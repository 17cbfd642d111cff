"""Steps of which the device tells few: what is made of the others between them."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING

import numpy as np
import pytest

from neuron_observer.parsers.heartbeat import Step
from neuron_observer.stragglers.joining import Joined
from neuron_observer.stragglers.rank_judge import MOST_HELD, RankJudge
from neuron_observer.stragglers.ranks import Clocks, Row
from neuron_observer.stragglers.suspects import Regime

if TYPE_CHECKING:
    from neuron_observer.model import TimeSource

RANKS = 5


def _step(number: int, length: float, source: TimeSource) -> Step:
    inside = nan if source == "none" else 0.4 * length
    begin = number * length
    return Step(
        number, begin, begin + length, inside, inside / 2, nan, nan, 2, compiled=False, pause=False,
        async_handles=False, source=source,
    )  # fmt: skip


class Judged:
    """A judge that is told one step after the other."""

    def __init__(self, length: float) -> None:
        self.judge = RankJudge(
            [Row(100 + rank, rank) for rank in range(RANKS)], job="j", elsewhere=0, node="n"
        )
        self.length, self.number = length, 0
        self.regimes: list[Regime] = []
        self.updates: list[int] = []

    @property
    def compared(self) -> bool:
        """Whether all ranks have a usual time that they are compared with."""
        return bool(np.isfinite(self.judge._detector.residual).all())

    def take(self, steps: int, *, tells: int = 0, source: TimeSource = "none") -> None:
        """Steps; after every tenth the device tells of the one `tells` before."""
        for _ in range(steps):
            number = self.number
            of = number - tells
            said = {row: _step(of, self.length, "event") for row in range(RANKS)}
            ended = {row: _step(number, self.length, source) for row in range(RANKS)}
            if tells and number % 10 == 0:  # this rank was read when its device had told
                ended[0] = _step(number, self.length, "event")
            joined = Joined(
                number,
                (number + 1) * self.length,
                ended,
                said if tells and of % 10 == 0 else {},
            )
            self.judge.take(joined, Clocks(joined.end, 1e9 + joined.end), self.judge.side())
            now = self.judge.assessment
            if now is not None and (not self.updates or self.updates[-1] != now.step):
                self.updates.append(now.step)
                self.regimes.append(now.regime)
            self.number += 1


@pytest.mark.parametrize(
    ("length", "every", "folds"), [(1.0, 10, {1}), (1 / 32, 10, {1}), (1 / 128, 26, {2, 3})]
)
def test_an_update_has_a_step_of_which_the_device_told(
    length: float, every: int, folds: set[int]
) -> None:
    """Never blind in between; short steps are taken together as ever."""
    judged = Judged(length)
    judged.take(2 * every, tells=3)
    begun = len(judged.updates)
    judged.take(20 * every, tells=3)
    later = judged.updates[begun:]
    assert {b - a for a, b in pairwise(later)} == {every}
    assert Regime.BLIND not in judged.regimes[begun:]
    assert judged.judge.fold in folds
    busy, wait, *_ = judged.judge.shown.rows
    assert busy == pytest.approx([0.6 * length] * RANKS)
    assert wait == pytest.approx([0.4 * length] * RANKS)


def test_a_device_that_tells_no_more_is_not_waited_for() -> None:
    """After some steps each is judged by itself again, and nothing is said of busy times."""
    judged = Judged(1.0)
    judged.take(40, tells=3)
    judged.take(MOST_HELD + 20)
    assert judged.updates[-10:] == list(range(judged.number - 10, judged.number))
    assert judged.regimes[-1] is Regime.BLIND
    assert judged.judge.shown.rows[0] == pytest.approx([nan] * RANKS, nan_ok=True)


def test_usual_times_outlive_steps_that_are_not_known() -> None:
    """No rank is learned anew because of them; it is where its times are taken in another way."""
    judged = Judged(1.0)
    judged.take(650, tells=3)
    assert judged.compared
    judged.take(MOST_HELD + 10)
    judged.take(40, tells=3)
    assert judged.compared
    judged.take(10, source="blocking")
    assert not judged.compared


NAMED = """
import sys
from math import nan
from neuron_observer.parsers.heartbeat import Step
from neuron_observer.stragglers.joining import Joined
from neuron_observer.stragglers.rank_judge import RankJudge
from neuron_observer.stragglers.ranks import Clocks, Row

rows = [Row(100 + rank, rank, rank // 4, 0, "stage", str(rank % 4)) for rank in range(16)]
judge = RankJudge(rows, job="j", elsewhere=0, node="n")
for number in range(160):
    steps = {}
    for row in range(16):
        busy = 0.6 + 0.001 * (7 * number * (row + 1) % 5)
        busy *= 1.2 if row == 5 and number > 120 else 1.0
        inside = (number + 1.0, number + 2.0, 1 - busy, 0.01, nan, nan, 2, False, False, False)
        steps[row] = Step(number, *inside, "blocking")
    judge.take(Joined(number, number + 2.0, steps, {}), Clocks(number + 2.0, 1e9), judge.side())
print([int(one.tier) for one in judge.suspects], judge.shown.period, "numpy.ma" in sys.modules)
"""


def test_to_name_a_rank_no_masked_arrays_are_loaded() -> None:
    """They take more than a megabyte, and stay."""
    run = subprocess.run([sys.executable, "-c", NAMED], capture_output=True, text=True, check=True)
    assert run.stdout == "[2] 1.0 False\n"
