"""What a job had of its machine: hours, idle cores, memory, faults, and a verdict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.cli.job import lines
from neuron_observer.derive import make_batch
from neuron_observer.jobs.documents import report_document
from neuron_observer.jobs.grouping import Around, group
from neuron_observer.jobs.report import (
    LONGEST_GAP,
    MOST_JOBS,
    RETRANSMITS,
    JobTally,
    concerns,
    judge,
)
from neuron_observer.model import (
    Action,
    Confidence,
    Core,
    Coverage,
    Device,
    DeviceHealth,
    Driver,
    Entity,
    Finding,
    Frame,
    Health,
    JobScan,
    Missing,
    Place,
    Severity,
    Snapshot,
    State,
    Verdict,
    Why,
)
from tests.jobs.makers import TRN2, holder, torch_job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.model import Cell, Job

WALL = 1_788_000_000.0
HEALTHY = Health(
    Verdict.HEALTHY,
    "all rules hold",
    Coverage(decided=1, required=1),
    tuple(DeviceHealth(index, Verdict.HEALTHY, "all rules hold") for index in range(16)),
)
UNKNOWN = Health(Verdict.UNKNOWN, "only read, not judged")
SCAN = JobScan(processes=100, holders=4, denied=0, pending=0)
DEVICES = tuple(
    Device(i, "Trainium2", None, None, f"k{i}", cores=tuple(Core(i, n) for n in range(8)))
    for i in range(2)
)


def frame(
    jobs: Sequence[Job],
    at: float = 0.0,
    *,
    utilization: Mapping[tuple[int, int], Cell] | None = None,
    hbm: Mapping[int, Cell] | None = None,
    resent: Cell | None = None,
    findings: Sequence[Finding] = (),
    health: Health = HEALTHY,
    scan: JobScan | None = SCAN,
) -> Frame:
    """What one tick gives, `at` seconds after the first."""
    rows: dict[str, list[tuple[Place, Cell]]] = {
        "core.utilization": [(Place(*p), c) for p, c in (utilization or {}).items()],
        "device.hbm.used": [(Place(d), c) for d, c in (hbm or {}).items()],
    }
    if resent is not None:
        rows[RETRANSMITS] = [(Place(label="rdmap0/1"), resent)]
    snapshot = Snapshot(
        at=WALL + at,
        monotonic=500.0 + at,
        host_root="/",
        instance_type="trn2.48xlarge",
        driver=Driver("2.30.2.0", "live"),
        devices=DEVICES,
        batches=(make_batch("x", {m: cells for m, cells in rows.items() if cells}, 500.0 + at),),
        jobs=tuple(jobs),
        job_scan=scan,
    )
    return Frame(snapshot, tuple(findings), health)


def finding(
    device: int | None = 0,
    severity: Severity = Severity.CRITICAL,
    confidence: Confidence = Confidence.CONFIRMED,
    *,
    blames: bool = True,
    job: str | None = None,
) -> Finding:
    """A finding on a device."""
    entity = Entity("device", device=device, job=job)
    return Finding(
        "sram", entity, severity, confidence, Action.REPLACE_INSTANCE, "SRAM error",
        blames_hardware=blames,
    )  # fmt: skip


def busy(*cores: int, device: int = 0) -> dict[tuple[int, int], Cell]:
    """Utilisation of the eight cores of a device: these at 90 %, the others at none."""
    return {(device, core): 0.9 if core in cores else 0.0 for core in range(8)}


def test_core_hours_and_idle_cores() -> None:
    """Four logical cores of two for an hour, of which three execute: 8 hours, 2 of them idle."""
    job, tally = torch_job(4), JobTally()
    for second in range(0, 3601, 20):
        tally.add(frame([job], second, utilization=busy(0, 1, 2, 3, 4, 5)))
    found = tally.report(job.id)
    assert found is not None
    assert found.watched == pytest.approx(3600)
    assert found.core_hours == pytest.approx(8.0)
    assert found.idle_core_hours == pytest.approx(2.0)
    assert not found.ended


def test_a_gap_is_not_counted() -> None:
    """A laptop lid, a stopped daemon: nothing is assumed of that time."""
    job, tally = torch_job(4), JobTally()
    for at in (0.0, 10.0, 10.0 + LONGEST_GAP + 1, 60.0):
        tally.add(frame([job], at, utilization=busy(0)))
    found = tally.report(job.id)
    assert found is not None
    assert found.watched == pytest.approx(10 + 60 - 41)
    assert any("not watched all the time" in note for note in found.notes)


def test_devices_that_two_jobs_hold_tell_nothing() -> None:
    """Neither whose cores are idle nor whose memory it is."""
    one, tally = torch_job(4), JobTally()
    (two,) = group([holder(7, (0,), "python3 serve.py")], Around(TRN2))
    for at in (0.0, 2.0):
        tally.add(frame([one, two], at, utilization=busy(0), hbm={0: 1000}))
    found, other = tally.report(one.id), tally.report(two.id)
    assert found is not None
    assert other is not None
    assert found.core_hours is not None
    assert (found.idle_core_hours, found.hbm_peak) == (None, None)
    assert (other.core_hours, other.hbm_peak) == (None, None)
    assert "how many cores it has is not known" in other.notes


def test_a_job_alone_on_a_device_has_all_its_cores() -> None:
    """Nothing says which cores, and nobody else is there."""
    (job,) = group([holder(7, (0, 1), "python3 serve.py")], Around(TRN2))
    tally = JobTally()
    both = {**busy(0, device=0), **busy(1, 2, device=1)}
    for at in (0.0, 3.6):
        tally.add(frame([job], at, utilization=both))
    found = tally.report(job.id)
    assert found is not None
    assert found.core_hours == pytest.approx(0.016)
    assert found.idle_core_hours == pytest.approx(0.013)


def test_a_monitor_does_not_share_a_device() -> None:
    """neuron-monitor holds all devices and uses none."""
    job, tally = torch_job(4), JobTally()
    (tool,) = group([holder(7, (0, 1), "neuron-monitor")], Around(TRN2))
    for at in (0.0, 2.0):
        tally.add(frame([job, tool], at, utilization=busy(0)))
    found = tally.report(job.id)
    assert found is not None
    assert found.idle_core_hours is not None
    assert tally.report(tool.id) is None


@pytest.mark.parametrize("cell", [Missing(Why.STALE), Missing(Why.NOT_YET)])
def test_missing_utilisation_is_not_idle(cell: Missing) -> None:
    """A core whose use is unknown is neither busy nor idle."""
    job, tally = torch_job(4), JobTally()
    for at in (0.0, 2.0):
        tally.add(frame([job], at, utilization={**busy(0), (0, 7): cell}))
    found = tally.report(job.id)
    assert found is not None
    assert found.core_hours is not None
    assert found.idle_core_hours is None
    assert any("no utilisation" in note for note in found.notes)


def test_peaks_of_memory() -> None:
    """HBM on its devices and resident memory of its processes, the largest of each."""
    job, tally = torch_job(4), JobTally()
    for at, used in enumerate((100, 900, 300)):
        tally.add(frame([job], at, hbm={0: used, 1: 7777}))
    found = tally.report(job.id)
    assert found is not None
    assert (found.hbm_peak, found.rss_peak) == (900, 4 * 1024)


@pytest.mark.parametrize(
    ("counts", "sum_"), [((5, 5, 9), 4), ((5, 2, 3), 3), ((7, 7, 7), 0), ((3,), None)]
)
def test_retransmits_are_counted_since_the_job_was_seen(
    counts: tuple[int, ...], sum_: int | None
) -> None:
    """A counter that falls began anew; one reading is no count."""
    job, tally = torch_job(4), JobTally()
    for at, count in enumerate(counts):
        tally.add(frame([job], at, resent=count))
    found = tally.report(job.id)
    assert found is not None
    assert found.retransmits == sum_


def test_a_job_that_ends_and_its_last_sight() -> None:
    """Absent from a frame in which jobs were looked for."""
    job, tally = torch_job(4), JobTally()
    tally.add(frame([job], 0))
    tally.add(frame([job], 2))
    tally.add(frame([], 4, scan=None))
    found = tally.report(job.id)
    assert found is not None
    assert not found.ended
    tally.add(frame([], 6))
    found = tally.report(job.id)
    assert found is not None
    assert (found.ended, found.watched_until) == (True, WALL + 2)


def test_findings_with_their_times() -> None:
    """Only those of its devices, of the node and its own, from first to last sight."""
    job, tally = torch_job(4), JobTally()
    other = finding(device=9)
    foreign = finding(job="another-job")
    for at in range(6):
        found = [finding(), other, foreign] if 2 <= at <= 4 else [other]
        tally.add(frame([job], at, findings=found))
    report = tally.report(job.id)
    assert report is not None
    assert [(one.first, one.last) for one in report.sightings] == [(WALL + 2, WALL + 4)]
    assert (report.verdict, report.why) == ("hardware-fault", "SRAM error")


@pytest.mark.parametrize(
    ("findings", "judged", "verdict"),
    [
        ([], True, "hardware-clean"),
        ([], False, "not-judged"),
        ([finding()], True, "hardware-fault"),
        ([finding()], False, "hardware-fault"),
        ([finding(severity=Severity.WARNING)], True, "hardware-suspect"),
        ([finding(confidence=Confidence.PROBABLE)], True, "hardware-suspect"),
        ([finding(confidence=Confidence.CONTRADICTED)], True, "hardware-clean"),
        ([finding(blames=False)], True, "hardware-clean"),
        ([finding(severity=Severity.WARNING), finding()], True, "hardware-fault"),
    ],
)
def test_verdicts(findings: list[Finding], judged: bool, verdict: str) -> None:
    """A fault is confirmed and critical; clean needs a node that was judged."""
    assert judge(findings, unjudged="" if judged else "not known")[0] == verdict


def test_one_unknown_frame_and_it_is_not_clean() -> None:
    """Health that was unknown for a while may have hidden a fault."""
    job, tally = torch_job(4), JobTally()
    for at, health in enumerate((HEALTHY, UNKNOWN, HEALTHY)):
        tally.add(frame([job], 10.0 * at, health=health))
    report = tally.report(job.id)
    assert report is not None
    assert (report.verdict, report.why) == ("not-judged", "neuron0 was not judged all the time")


def test_why_a_report_does_not_judge_names_the_device_and_what_is_missing() -> None:
    """As it was when something was not known first."""
    job, tally = torch_job(4), JobTally()
    blind = DeviceHealth(0, Verdict.UNKNOWN, "all ones: the device fell off the bus")
    others = HEALTHY.devices[1:]
    for at, device in ((0.0, HEALTHY.devices[0]), (20.0, blind)):
        health = HEALTHY._replace(verdict=device.verdict, devices=(device, *others))
        tally.add(frame([job], at, health=health))
    report = tally.report(job.id)
    assert report is not None
    assert report.why == (
        "neuron0 was not known all the time: all ones: the device fell off the bus"
    )


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(0.0, "not-judged"), (9.0, "not-judged"), (10.0, "hardware-clean")]
)
def test_what_was_hardly_watched_is_not_clean(seconds: float, verdict: str) -> None:
    """Registers of the firmware are read each 10 s and believed at the second time."""
    job, tally = torch_job(4), JobTally()
    for at in {0.0, seconds}:
        tally.add(frame([job], at))
    report = tally.report(job.id)
    assert report is not None
    assert report.verdict == verdict
    assert ("a verdict takes 10 s at least" in report.why) is (verdict == "not-judged")


def test_a_fault_needs_no_time() -> None:
    """What is confirmed at once is told at once."""
    job, tally = torch_job(4), JobTally()
    tally.add(frame([job], findings=[finding()]))
    report = tally.report(job.id)
    assert report is not None
    assert report.verdict == "hardware-fault"


def test_a_device_that_nobody_judged_is_not_clean() -> None:
    """A node may be well as far as it is seen, and a job's device not be part of that."""
    job, tally = torch_job(4), JobTally()
    tally.add(frame([job], health=HEALTHY._replace(devices=())))
    report = tally.report(job.id)
    assert report is not None
    assert report.verdict == "not-judged"


severities = st.sampled_from(list(Severity))
confidences = st.sampled_from(list(Confidence))
many = st.lists(
    st.builds(lambda s, c, b: finding(0, s, c, blames=b), severities, confidences, st.booleans()),
    max_size=4,
)
ORDER = ("hardware-clean", "not-judged", "hardware-suspect", "hardware-fault")


@given(many, many, st.booleans())
@settings(max_examples=50)
def test_more_findings_never_improve_a_verdict(
    some: list[Finding], more: list[Finding], judged: bool
) -> None:
    """The verdict is monotone, and the order of findings does not matter."""
    unjudged = "" if judged else "not known"
    before = ORDER.index(judge(some, unjudged=unjudged)[0])
    after = ORDER.index(judge([*more, *some], unjudged=unjudged)[0])
    assert after >= before
    assert judge([*some, *more], unjudged=unjudged)[0] == ORDER[after]


@given(st.lists(st.floats(0.1, 60), min_size=1, max_size=20), st.integers(0, 8))
@settings(max_examples=30)
def test_idle_hours_never_exceed_core_hours(steps: list[float], executing: int) -> None:
    """Whatever the pauses between frames."""
    job, tally = torch_job(4), JobTally()
    at = 0.0
    tally.add(frame([job], at, utilization=busy(*range(executing))))
    for step in steps:
        at += step
        tally.add(frame([job], at, utilization=busy(*range(executing))))
    report = tally.report(job.id)
    assert report is not None
    assert report.core_hours is not None
    assert report.idle_core_hours is not None
    assert 0 <= report.idle_core_hours <= report.core_hours
    assert report.core_hours == pytest.approx(report.watched * 8 / 3600)


def test_the_oldest_of_the_ended_is_forgotten_first() -> None:
    """Hundreds of short jobs are bounded, and what was forgotten is counted."""
    tally = JobTally()
    running = torch_job(4)
    for number in range(MOST_JOBS + 10):
        short = group([holder(1000 + number, (1,), "python3 x.py")], Around())
        tally.add(frame([running, *short], number))
    assert len(tally.ids) == MOST_JOBS
    assert tally.forgotten == 11
    assert running.id in tally.ids


def test_the_document_is_json() -> None:
    """The report as others may build on it: unknown is null, times are RFC 3339."""
    job, tally = torch_job(4), JobTally()
    tally.add(frame([job], 0, findings=[finding()]))
    report = tally.report(job.id)
    assert report is not None
    document = json.loads(json.dumps(report_document(report)))
    assert document["schema"] == "neuron-observer/job-report/1"
    assert document["hbm_peak_bytes"] is None
    assert document["findings"][0]["id"] == "sram"
    assert document["findings"][0]["from"] == document["watched_from"]
    assert document["job"]["ranks"][3]["cores"]["numbers"] == [3]


def test_a_job_that_was_never_seen_has_no_report() -> None:
    """None, not a report of zeros."""
    assert JobTally().report("nobody") is None


def test_a_fault_told_after_the_end_counts() -> None:
    """The job dies of it, and registers are read ten seconds later; not where others came in."""
    job, fault = torch_job(4), finding()
    other = torch_job(4)._replace(id="other")
    verdicts = []
    for after, at in (((), 20.0), ((other,), 20.0), ((), 90.0)):
        tally = JobTally()
        tally.add(frame([job]))
        tally.add(frame([job], 10.0))
        tally.add(frame(after, 10.0 + at, findings=[fault]))
        report = tally.report(job.id)
        assert report is not None
        assert report.ended
        verdicts.append(report.verdict)
    assert verdicts == ["hardware-fault", "hardware-clean", "hardware-clean"]


@pytest.mark.parametrize("change", [{"state": State.PENDING}, {"shadow": True}])
def test_what_does_not_count_is_no_sighting(change: dict[str, Any]) -> None:
    """Pending and shadow findings are in a frame and in no report."""
    tally = JobTally()
    fault = finding()._replace(**change)
    for at in (0.0, 10.0):
        tally.add(frame([torch_job(4)], at, findings=[fault]))
    report = tally.report(torch_job(4).id)
    assert report is not None
    assert (report.sightings, report.verdict) == ((), "hardware-clean")
    assert [one.finding for one in report.shadowed] == ([fault] if fault.shadow else [])
    shown = [line for line in lines(report) if line.startswith("in shadow")]
    assert [
        line.startswith("in shadow       sram (critical, confirmed): SRAM error (")
        for line in shown
    ] == [True] * len(report.shadowed)
    assert len(report_document(report)["shadow_findings"]) == len(report.shadowed)


def test_a_sighting_stays_as_sure_as_it_was() -> None:
    """Confirmed once is confirmed, whatever the next read lacks."""
    tally, job = JobTally(), torch_job(4)
    for at, sure in enumerate((Confidence.PROBABLE, Confidence.CONFIRMED, Confidence.PROBABLE)):
        tally.add(frame([job], 2.0 * at, findings=[finding(confidence=sure)]))
    report = tally.report(job.id)
    assert report is not None
    assert report.verdict == "hardware-fault"
    assert len(report.sightings) == 1


def test_a_port_concerns_only_jobs_that_span_nodes() -> None:
    """A fault of the network is none of a job that is all here."""
    port = finding()._replace(entity=Entity("port", port="rdmap0/1"))
    job = torch_job(4)
    assert not concerns(port, job)
    assert concerns(port, job._replace(world_size=64))
