"""Does the job move at all? A state machine over the progress of its ranks.

INIT → COMPILE → TRAINING → (PAUSE) → STALLED. A stall is the lack of any progress on *any* rank for
D = clamp(10 x p99 of the job's own step period, 60 s, 600 s); loading a model, a live compiler and
growing checkpoint files stop that clock. Who is to blame is `stalls.blame`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING

from neuron_observer.stragglers.middle import middle, quantile
from neuron_observer.stragglers.parameters import ONLINE

if TYPE_CHECKING:
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.progress import Counts, Progress, Stall


class Phase(str, Enum):
    """What the job is doing."""

    INIT = "init"  # no step seen
    COMPILE = "compile"  # a model is compiled or loaded before the first steps
    TRAINING = "training"
    PAUSE = "pause"  # checkpoint, evaluation, compilation in the middle
    STALLED = "stalled"
    UNKNOWN = "unknown"  # nothing that moves can be seen


@dataclass(frozen=True, slots=True, eq=False)
class Hang:
    """The state of one job; times are those of `Progress.at`."""

    phase: Phase = Phase.INIT
    since: float = 0.0  # when the phase began
    moved: float | None = None  # last progress, or last end of a pause
    stepped: float | None = None  # last step, unless a pause came between
    done: Counts | None = None  # what every rank had done
    entered: Counts | None = None  # and the collectives that it had entered
    periods: tuple[float, ...] = ()  # the last hundred step periods
    samples: int = 0  # samples without progress since `moved`
    stall: Stall | None = None
    why: str = ""  # of UNKNOWN

    def limit(self, parameters: Parameters = ONLINE) -> float:
        """D: seconds without progress that make a stall."""
        if not self.periods:
            return parameters.stall_most
        usual = middle(self.periods)
        good = [period for period in self.periods if period <= parameters.pause * usual]
        slow = quantile(good, 0.99)
        limit = parameters.stall_periods * slow
        return min(max(limit, parameters.stall_least), parameters.stall_most)


ENOUGH = 3  # periods that make a job one that trains
BLIND = "the counters of this driver only move when a process lets go of its device"


def advance(state: Hang, progress: Progress, parameters: Parameters = ONLINE) -> Hang:
    """The state after one sample. Pure; samples are given in order of time."""
    if not progress.live:
        return _enter(replace(state, why=BLIND, stall=None), Phase.UNKNOWN, progress.at)
    if not any(map(isfinite, progress.done)):
        return state  # no answer is not "no progress"
    before, state = state, _noted(state, progress)
    if progress.paused:
        paused = Phase.PAUSE if len(state.periods) >= ENOUGH else Phase.COMPILE
        state = replace(state, moved=progress.at, stepped=None, samples=0, stall=None)
        return _enter(state, paused, progress.at)
    steps = _gain(before.done, progress.done)
    if steps > 0 or _gain(before.entered, progress.entered) > 0:
        return _progressed(state, progress, steps, parameters)
    if state.moved is None:
        return replace(state, moved=progress.at)
    return _still(replace(state, samples=state.samples + 1), progress, parameters)


def _noted(state: Hang, progress: Progress) -> Hang:
    """The state with the counts of this sample; a rank that did not answer keeps its last."""
    return replace(
        state,
        done=_merged(state.done, progress.done),
        entered=_merged(state.entered, progress.entered),
    )


def _merged(old: Counts | None, new: Counts | None) -> Counts | None:
    if old is None or new is None or len(old) != len(new):
        return new if new is not None else old
    if all(map(isfinite, new)):
        return new
    return [now if isfinite(now) else before for before, now in zip(old, new, strict=True)]


def _gain(old: Counts | None, new: Counts | None) -> float:
    """The median gain of the ranks that gained; a counter that fell began anew."""
    if old is None or new is None or len(old) != len(new):
        return 0.0
    gains = [float(now - before) for before, now in zip(old, new, strict=True) if now > before]
    return middle(gains) if gains else 0.0


def _progressed(state: Hang, progress: Progress, steps: float, parameters: Parameters) -> Hang:
    """Steps were done, or at least collectives entered: an evaluation does no steps."""
    periods, stepped = state.periods, state.stepped
    if steps > 0:
        if stepped is not None and progress.at > stepped:
            periods = (*periods, (progress.at - stepped) / steps)[-parameters.period_window :]
        stepped = progress.at
    state = replace(
        state, periods=periods, stepped=stepped, moved=progress.at, samples=0, stall=None
    )
    training = len(periods) >= ENOUGH
    return _enter(state, Phase.TRAINING if training else Phase.INIT, progress.at)


def _still(state: Hang, progress: Progress, parameters: Parameters) -> Hang:
    """No progress in this sample: a stall if that has lasted, and was seen more than once."""
    if len(state.periods) < ENOUGH or state.moved is None:
        return state
    quiet = progress.at - state.moved
    if quiet < state.limit(parameters) or state.samples < 2:
        return state
    from neuron_observer.stragglers.stalls import blame  # noqa: PLC0415 - numpy, rarely needed

    stall = blame(progress, since=state.moved, usual=middle(state.periods))
    return _enter(replace(state, stall=stall, stepped=None), Phase.STALLED, progress.at)


def _enter(state: Hang, phase: Phase, at: float) -> Hang:
    return state if state.phase is phase else replace(state, phase=phase, since=at)
