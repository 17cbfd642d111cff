"""Families that are no readings: the verdict, the findings; with them how the observer does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from neuron_observer.catalogue.families import Family, FamilyType
from neuron_observer.exporters import own, ranks
from neuron_observer.exporters.series import Sample, stateset
from neuron_observer.jobs.labels import MOST, NAMES, job_labels
from neuron_observer.model import Health, Missing, State, Verdict, Why

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from neuron_observer.exporters.series import Labels
    from neuron_observer.model import Cell, Entity, Finding, Frame, PartHealth

_GAUGE, _STATES = FamilyType.GAUGE, FamilyType.STATESET
_VERDICTS = tuple(verdict.value for verdict in Verdict)

HEALTH = Family("neuron_health", _STATES, "Verdict on the node", states=_VERDICTS)
DEVICE_HEALTH = Family("neuron_device_health", _STATES, "Verdict on a device", states=_VERDICTS)
_PART = "Verdict on a {} that is not healthy; any other is as its device or the node"
PART_HEALTH = {
    kind: Family(f"neuron_{kind}_health", _STATES, _PART.format(kind), states=_VERDICTS)
    for kind in ("core", "link", "port")
}
DECIDED = Family("neuron_health_signals_decided", _GAUGE, "Signals that the verdict rests on")
REQUIRED = Family("neuron_health_signals_required", _GAUGE, "Signals that HEALTHY needs")
FINDING = Family("neuron_finding_active", _GAUGE, "A finding that is firing, known or recovering")
SUPPRESSED = Family(
    "neuron_finding_suppressed",
    _GAUGE,
    "The same that somebody suppressed: it is there and counts for nothing until a certain time",
)
SHADOW = Family(
    "neuron_finding_shadow",
    _GAUGE,
    "The same of a rule in shadow: it rests on what was inferred and counts for nothing",
)
FOUND = Family(
    "neuron_findings", FamilyType.COUNTER, "Findings that began to fire since this program started"
)
JOB = Family("neuron_job", FamilyType.INFO, "A job on a device; only with --job-labels")
JOBS_OVER = Family(
    "neuron_observer_job_labels_left_out",
    _GAUGE,
    f"Devices of jobs beyond the {MOST} that are told",
)
_FINDING_LABELS = (
    *("finding", "severity", "confidence", "state", "action", "entity"),
    *("neuron_device", "neuron_core", "port", "neuron_job", "neuron_rank"),
)
# what tells the series of a family apart; all others have one series
LABELS = {
    HEALTH.name: (HEALTH.name,),
    DEVICE_HEALTH.name: ("neuron_device", DEVICE_HEALTH.name),
    PART_HEALTH["core"].name: ("neuron_device", "neuron_core", PART_HEALTH["core"].name),
    PART_HEALTH["link"].name: ("link", PART_HEALTH["link"].name),
    PART_HEALTH["port"].name: ("port", PART_HEALTH["port"].name),
    FINDING.name: _FINDING_LABELS,
    SHADOW.name: _FINDING_LABELS,
    SUPPRESSED.name: _FINDING_LABELS,
    FOUND.name: ("finding", "severity"),
    JOB.name: ("neuron_device", *NAMES),
    **ranks.LABELS,
    **own.LABELS,
}

JUDGED = (
    *(HEALTH, DEVICE_HEALTH, *PART_HEALTH.values(), DECIDED, REQUIRED, FINDING, SUPPRESSED, SHADOW),
    *(FOUND, JOB, JOBS_OVER, *ranks.FAMILIES, *own.FAMILIES),
)
TAIL = own.TAIL

STALE_AFTER = 15.0  # seconds; a frame older than this shows no readings
_ACTIVE = {State.FIRING, State.ACKNOWLEDGED, State.RECOVERING}
TOO_OLD = Health(Verdict.UNKNOWN, "the last frame is too old")


def judged(
    frame: Frame | None, missing: Mapping[Why, int], memory: Memory, *, too_old: bool
) -> dict[str, list[Sample]]:
    """Samples by the name of their family in JUDGED; all readings of a frame too old are stale."""
    told = {own.INFO.name: [own.info()]}
    if frame is None:
        return told
    health, findings = frame.health, frame.findings
    if too_old:
        health, findings = TOO_OLD, ()
        missing = {Why.STALE: sum(len(batch.cells) for batch in frame.snapshot.batches)}
    return {
        **told,
        HEALTH.name: list(stateset(HEALTH, (), {health.verdict.value})),
        DEVICE_HEALTH.name: [
            sample
            for one in health.devices
            for sample in stateset(DEVICE_HEALTH, _device(one.index), {one.verdict.value})
        ],
        **_parts(health.parts),
        DECIDED.name: [Sample((), health.coverage.decided)],
        REQUIRED.name: [Sample((), health.coverage.required)],
        FINDING.name: list(_findings(one for one in findings if not one.shadow)),
        SUPPRESSED.name: list(
            _findings((one for one in findings if not one.shadow), {State.SUPPRESSED})
        ),
        SHADOW.name: list(_findings(one for one in findings if one.shadow)),
        FOUND.name: [
            Sample((("finding", id_), ("severity", severity)), count)
            for (id_, severity), count in sorted(memory.found.items())
        ],
        own.MISSING.name: [Sample((("reason", why.value),), missing.get(why, 0)) for why in Why],
        **own.collectors(memory.ran),
    }


def jobs_told(frame: Frame) -> dict[str, list[Sample]]:
    """A series a device and job, for joins by `neuron_device`; none where jobs are not known."""
    if frame.snapshot.job_scan is None:
        return {}
    rows, over = job_labels(frame.snapshot.jobs)
    told = [(*_device(place.device or 0), *labels.items()) for place, labels in rows]
    return {
        JOB.name: [Sample(tuple(sorted(labels)), 1) for labels in told],
        JOBS_OVER.name: [Sample((), over)],
    }


def _device(index: int) -> Labels:
    return (("neuron_device", str(index)),)


def _parts(parts: Iterable[PartHealth]) -> dict[str, list[Sample]]:
    """Cores, links and ports that are not healthy."""
    told: dict[str, list[Sample]] = {family.name: [] for family in PART_HEALTH.values()}
    for part in parts:
        who = part.entity
        family = PART_HEALTH.get(who.kind)
        if family is None:
            continue
        labels: Labels = ((who.kind, str(who.port)),)
        if who.kind == "core":
            labels = (("neuron_core", str(who.core)), ("neuron_device", str(who.device)))
        told[family.name] += stateset(family, labels, {part.verdict.value})
    return told


def _findings(findings: Iterable[Finding], states: Container[State] = _ACTIVE) -> Iterator[Sample]:
    """One series a finding; two that differ in nothing that a label tells are one."""
    told = dict.fromkeys(_finding_labels(one) for one in findings if one.state in states)
    for labels in told:
        yield Sample(labels, 1)


def _finding_labels(one: Finding) -> Labels:
    """What it is and of whom; no label `job`, because Prometheus has one of its own."""
    who = one.entity
    texts = (
        *(one.id, one.severity.value, one.confidence.value, one.state.value, one.action.value),
        *(who.kind, who.device, who.core, who.port, who.job, who.rank),
    )
    labels = zip(_FINDING_LABELS, texts, strict=True)
    return tuple(sorted((name, str(text)) for name, text in labels if text is not None))


class Memory:
    """What a page must know of frames that nobody scraped: runs of collectors, new findings."""

    def __init__(self) -> None:
        self.ran: dict[str, own.Ran] = {}
        self.found: dict[tuple[str, str], int] = {}  # (id, severity) → how many began to fire
        self._active: frozenset[tuple[str, Entity]] = frozenset()
        self._since: float | None = None  # wall clock of the first frame

    def note(self, frame: Frame) -> None:
        """Take a frame; the same once more changes nothing. Whoever reads sees all or none."""
        at = frame.snapshot.at
        ran = dict(self.ran)
        for run in frame.snapshot.runs:
            ran[run.collector] = own.ran(ran.get(run.collector), run, at)
        self.ran = ran
        active = [one for one in frame.findings if one.state in _ACTIVE and not one.shadow]
        begun = self._since = at if self._since is None else self._since
        new = [
            one for one in active if _whose(one) not in self._active and not _is_older(one, begun)
        ]
        if new:
            found = Counter(self.found)
            found.update((one.id, one.severity.value) for one in new)
            self.found = dict(found)
        self._active = frozenset(map(_whose, active))


def _is_older(finding: Finding, begun: float) -> bool:
    """Whether an earlier run of this program found it."""
    return finding.first_seen is not None and finding.first_seen < begun


def _whose(finding: Finding) -> tuple[str, Entity]:
    """What makes two findings the same; a serial number may become known on the way."""
    return finding.id, finding.entity._replace(serial=None)


def count_missing(cells: Sequence[Cell]) -> Counter[Why]:
    """How many cells are missing, by reason."""
    if Missing not in set(map(type, cells)):  # as most often
        return Counter()
    return Counter([cell.why for cell in cells if isinstance(cell, Missing)])
