"""A whole table at once: the same detector, whose baseline is the trace itself.

The usual level of a rank is the lowest of its medians over the three thirds of the trace, so a
slowdown that fills up to two thirds of it stands out, at whichever end. Where a rank
is predicted from the few others of its replica, a fault of one looks like haste of the
others; there the usual level is that of the first third.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.columns import StepColumns, Times, TimeSource
from neuron_observer.stragglers.detector import Detector
from neuron_observer.stragglers.imbalance import imbalances
from neuron_observer.stragglers.parameters import RETROSPECTIVE
from neuron_observer.stragglers.residuals import TwoWay, one_way
from neuron_observer.stragglers.robust import median, medians, sigma
from neuron_observer.stragglers.signals import Usual

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats
    from neuron_observer.stragglers.imbalance import Imbalance
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.suspects import Assessment, Suspect
    from neuron_observer.stragglers.worlds import Part


@dataclass(frozen=True, slots=True)
class Account:
    """What a part of a table tells."""

    part: Part
    assessment: Assessment | None  # at the last step; None: too short to judge
    suspects: tuple[Suspect, ...]  # open at the end, and ended
    imbalances: tuple[Imbalance, ...]
    residual: Floats  # `(steps, ranks)` log ratio to what each should take
    refusals: tuple[str, ...]  # why nobody, or nobody more, can be named
    unlevelled: str = ""  # why ranks that were slow from the start cannot be told


def account(part: Part, parameters: Parameters = RETROSPECTIVE) -> Account:
    """Judge one part of a table."""
    blank = np.full(part.busy.shape, np.nan)
    if len(part.steps) < parameters.persist_of:
        why = f"{len(part.steps)} steps are too few: {parameters.persist_of} are needed"
        return Account(part, None, (), (), blank, (why,))
    if part.topology.size < 2:
        return Account(part, None, (), (), blank, ("one rank has no peers",))
    logs = np.log(part.busy)
    usual = learn(part, logs, parameters)
    detector = Detector(part.topology, parameters)
    detector.know(usual)
    found: list[Suspect] = []
    refusals: dict[str, None] = {}
    residual = blank
    last: Assessment | None = None
    for row, step in enumerate(part.steps.tolist()):
        last = detector.update(_columns(part, row, step))
        residual[row] = detector.residual
        found += last.closed
        refusals.update(dict.fromkeys(last.refusals))
    if last is not None:
        found += last.suspects
    heavy = imbalances(part.topology, part.steps, part.busy, parameters)
    return Account(part, last, tuple(found), heavy, residual, tuple(refusals), detector.unlevelled)


def _columns(part: Part, row: int, step: int) -> StepColumns:
    """One step of the table; the file does not say how its times were taken."""

    def times(table: Floats | None) -> Times | None:
        return None if table is None else Times(table[row], TimeSource.EVENT)

    tokens = None if part.tokens is None else part.tokens[row]
    period = float("nan")
    if part.wait is not None:
        waiting = 0.0 if part.input is None else np.nan_to_num(part.input[row])
        period = median(part.busy[row] + part.wait[row] + waiting)
    return StepColumns(
        step, 0.0, period, times(part.busy), times(part.wait), times(part.input), None, tokens
    )


def learn(part: Part, logs: Floats, parameters: Parameters) -> Usual:
    """The usual levels and the noise of a whole trace."""
    fixed = np.array([one_way(row, parameters.least_ranks) for row in logs])
    level = _lowest(fixed)
    noise = _noise(fixed, parameters)
    two_way = TwoWay(part.topology, parameters)
    if not two_way.possible:
        return Usual(level, noise, None, float("nan"), two_way)
    two_way.know(medians(logs))
    everybody = np.ones(part.topology.size, dtype=np.bool_)
    for row in logs:
        two_way.residual(row, everybody)  # fits the slopes
    two_way.freeze()
    polished = np.array([two_way.residual(row, everybody) for row in logs])
    usual = _third(polished, 0) if two_way.predicts else _lowest(polished)
    return Usual(level, noise, usual, _noise(polished, parameters), two_way)


def _noise(values: Floats, parameters: Parameters) -> float:
    """The robust scale of the residuals about each rank's median, pooled over all roles."""
    return max(sigma((values - medians(values)).ravel()), parameters.sigma_floor)


def _third(values: Floats, which: int) -> Floats:
    size = len(values)
    return medians(values[which * size // 3 : (which + 1) * size // 3])


def _lowest(values: Floats) -> Floats:
    thirds = np.array([_third(values, which) for which in range(3)])
    known = np.where(np.isnan(thirds), np.inf, thirds).min(axis=0)
    return np.where(np.isfinite(known), known, np.nan)
