"""Families of running jobs and their ranks: medians of the last 12 steps, progress, who is slow.

Detection at the resolution of a step stays here; these are for comparing a rank with its peers on
other nodes, which one node does not see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from neuron_observer.catalogue.families import Family, FamilyType
from neuron_observer.exporters.series import Sample, stateset
from neuron_observer.model import JobPhase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.exporters.series import Labels
    from neuron_observer.model import Frame, Job, Rank, RankPace

MOST = 128  # ranks that are told
_GAUGE, _COUNTER = FamilyType.GAUGE, FamilyType.COUNTER
_TIERS = {None: 0, "notice": 1, "warning": 2, "critical": 3}
_MEDIAN = "median of the last 12 steps"

PHASE = Family(
    "neuron_job_phase",
    FamilyType.STATESET,
    "What a running job does, as far as that can be seen",
    states=get_args(JobPhase),
)
PERIOD = Family(
    "neuron_job_step_period_seconds",
    _GAUGE,
    "Time of a step as it is now (source hook: median of twelve), else of an execution (driver,"
    " monitor)",
    "seconds",
)
SLOWDOWN = Family(
    "neuron_job_slowdown_ratio",
    _GAUGE,
    "Step period of now over the usual one, while a job is slower than it was",
    "ratio",
)
HEARD = Family("neuron_job_ranks_heard", _GAUGE, "Ranks of a job here whose step hook is heard")
STEPS = Family("neuron_rank_steps", _COUNTER, "Steps that a rank has finished")
BUSY = Family(
    "neuron_rank_busy_seconds",
    _GAUGE,
    f"A rank's own work in a step: neither in collectives nor waiting for data; {_MEDIAN}",
    "seconds",
)
WAIT = Family(
    "neuron_rank_wait_seconds",
    _GAUGE,
    f"Time in collectives in a step, waiting for peers included; {_MEDIAN}",
    "seconds",
)
INPUT = Family(
    "neuron_rank_input_seconds", _GAUGE, f"Waiting for data in a step; {_MEDIAN}", "seconds"
)
SEQUENCE = Family("neuron_rank_collective_seq", _GAUGE, "Collectives that a rank has entered")
STRAGGLER = Family(
    "neuron_rank_straggler",
    _GAUGE,
    "How far it is established that a rank is slow: 0 no, 1 notice, 2 warning, 3 critical",
)
LEFT_OUT = Family(
    "neuron_observer_ranks_left_out", _GAUGE, f"Ranks beyond the {MOST} that are told"
)
FAMILIES = (
    *(PHASE, PERIOD, SLOWDOWN, HEARD),
    *(STEPS, BUSY, WAIT, INPUT, SEQUENCE, STRAGGLER, LEFT_OUT),
)
_RANK = ("neuron_job", "neuron_rank", "neuron_device", "role", "replica")
LABELS = {
    PHASE.name: ("neuron_job", PHASE.name),
    PERIOD.name: ("neuron_job", "source"),
    SLOWDOWN.name: ("neuron_job",),
    HEARD.name: ("neuron_job",),
    **{one.name: _RANK for one in (STEPS, BUSY, WAIT, INPUT, SEQUENCE, STRAGGLER)},
}


def ranks_told(frame: Frame, detail: Detail) -> dict[str, list[Sample]]:
    """Samples by family: jobs always, ranks from detail `core` on."""
    jobs = [job for job in frame.snapshot.jobs if job.pace]
    if not jobs:
        return {}
    told: dict[str, list[Sample]] = {family.name: [] for family in FAMILIES}
    for job in jobs:
        for family, sample in _job(job):
            told[family.name].append(sample)
    if detail not in ("core", "full"):
        return told
    ranks = [(job, rank, rank.pace) for job in jobs for rank in job.ranks if rank.pace]
    for job, rank, pace in ranks[:MOST]:
        labels = _labels(job, rank, pace)
        for family, value in _values(pace):
            if value is not None:
                told[family.name].append(Sample(labels, value))
    if ranks:
        told[LEFT_OUT.name] = [Sample((), max(len(ranks) - MOST, 0))]
    return told


def _job(job: Job) -> Iterator[tuple[Family, Sample]]:
    pace = job.pace
    if pace is None:
        return
    labels: Labels = (("neuron_job", job.id),)
    yield from ((PHASE, sample) for sample in stateset(PHASE, labels, {pace.phase}))
    if pace.period is not None:
        yield PERIOD, Sample((*labels, ("source", pace.source)), pace.period)
    if pace.ratio is not None:
        yield SLOWDOWN, Sample(labels, pace.ratio)
    if pace.heard:
        yield HEARD, Sample(labels, pace.heard)


def _labels(job: Job, rank: Rank, pace: RankPace) -> Labels:
    devices = rank.process.devices
    number = rank.rank if rank.rank is not None else f"pid{rank.process.pid}"
    found = {"neuron_job": job.id, "neuron_rank": str(number)}
    if len(devices) == 1:
        found["neuron_device"] = str(devices[0])
    if pace.role:
        found["role"] = pace.role
    if pace.replica:
        found["replica"] = pace.replica
    return tuple(sorted(found.items()))


def _values(pace: RankPace) -> Iterator[tuple[Family, float | None]]:
    yield STEPS, pace.step
    yield BUSY, pace.busy
    yield WAIT, pace.wait
    yield INPUT, pace.input
    yield SEQUENCE, pace.entered
    yield STRAGGLER, _TIERS[pace.straggler]
