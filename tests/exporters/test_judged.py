"""Verdicts and findings on the page: what is active, in shadow, counted, and on which part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.exporters.collector import NeuronCollector
from neuron_observer.exporters.judged import JOB, JOBS_OVER, PART_HEALTH, Memory, judged
from neuron_observer.exporters.page import Page
from neuron_observer.model import (
    Action,
    Confidence,
    Entity,
    Finding,
    Frame,
    Health,
    JobScan,
    PartHealth,
    Severity,
    State,
    Verdict,
)
from tests.exporters.feeds import OneFrame, frame_of
from tests.jobs.makers import TRN2, torch_job

SCAN = JobScan(10, 4, 0, 0)


def finding(device: int, state: State = State.FIRING, *, shadow: bool = False) -> Finding:
    """A critical one."""
    entity = Entity("device", device=device)
    words = (Severity.CRITICAL, Confidence.CONFIRMED, Action.REBOOT)
    return Finding("fault", entity, *words, "what it says", state=state, shadow=shadow)


def frame(*findings: Finding) -> Frame:
    """A frame with findings."""
    return frame_of()._replace(findings=findings)


def told(shown: Frame, memory: Memory) -> dict[str, list[tuple[str, float]]]:
    """Family → device and value of each series."""
    families = judged(shown, {}, memory, too_old=False)
    return {
        name: [(dict(of.labels).get("neuron_device", ""), of.value) for of in samples]
        for name, samples in families.items()
    }


def test_shadow_stands_apart() -> None:
    """What is in shadow is no active finding and is not counted; it has a family of its own."""
    memory = Memory()
    shown = frame(finding(0), finding(1, shadow=True))
    memory.note(shown)
    found = told(shown, memory)
    assert found["neuron_finding_active"] == [("0", 1)]
    assert found["neuron_finding_shadow"] == [("1", 1)]
    assert memory.found == {("fault", "critical"): 1}


def test_what_began_to_fire_is_counted_once() -> None:
    """However often a frame is taken; gone and back again is another one."""
    memory = Memory()
    begun = frame(finding(0), finding(1, State.PENDING))
    for shown in (begun, begun, frame(finding(0, State.RECOVERING)), frame(finding(0))):
        memory.note(shown)
    assert memory.found == {("fault", "critical"): 1}
    for shown in (frame(finding(0, State.RESOLVED)), begun, frame(finding(0), finding(1))):
        memory.note(shown)
    assert memory.found == {("fault", "critical"): 3}


def test_a_serial_that_becomes_known_is_no_new_finding() -> None:
    """The register that tells it may be read after the finding began."""
    memory = Memory()
    first = finding(0)
    memory.note(frame(first))
    memory.note(frame(first._replace(entity=first.entity._replace(serial="11f00"))))
    assert memory.found == {("fault", "critical"): 1}


def test_on_the_page() -> None:
    """A counter, by finding and severity, also of frames that nobody scraped."""
    feed = OneFrame(frame())
    page = Page(feed, ManualClock(monotonic=0.0))
    page.note(frame(finding(3)))
    page.note(feed.frame or frame())
    text = page.render().decode()
    assert 'neuron_findings_total{finding="fault",severity="critical"} 1' in text
    assert "neuron_finding_active{" not in text


def test_parts_that_are_not_healthy() -> None:
    """A core by device and number, a port and a link by name, each a StateSet."""
    parts = (
        PartHealth(Entity("core", device=3, core=1), Verdict.UNHEALTHY, ""),
        PartHealth(Entity("port", port="rdmap16s25/1"), Verdict.DEGRADED, ""),
    )
    shown = frame_of(health=Health(Verdict.UNHEALTHY, "", parts=parts))
    families = judged(shown, {}, Memory(), too_old=False)
    core = [(dict(of.labels), of.value) for of in families[PART_HEALTH["core"].name]]
    assert (
        {"neuron_device": "3", "neuron_core": "1", "neuron_core_health": "unhealthy"},
        1,
    ) in core
    assert len(core) == 4
    port = [(dict(of.labels), of.value) for of in families[PART_HEALTH["port"].name]]
    assert ({"port": "rdmap16s25/1", "neuron_port_health": "degraded"}, 1) in port
    assert families[PART_HEALTH["link"].name] == []


_STATES = st.sampled_from(list(State))


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), _STATES), max_size=3), max_size=8))
def test_the_count_never_falls(frames: list[list[tuple[int, State]]]) -> None:
    """Whatever comes and goes; and what is active was counted."""
    memory, before = Memory(), 0
    for one in frames:
        shown = frame(*(finding(device, state) for device, state in dict(one).items()))
        memory.note(shown)
        count = sum(memory.found.values())
        active = len(told(shown, memory)["neuron_finding_active"])
        assert count >= max(before, active > 0)
        before = count


def with_jobs(scan: JobScan | None = SCAN) -> Frame:
    """A frame with a job of eight ranks on two devices."""
    shown = frame()
    job = torch_job(8, TRN2, SLURM_JOB_ID="4242")._replace(name='a "name"')
    return shown._replace(snapshot=shown.snapshot._replace(jobs=(job,), job_scan=scan))


def test_job_labels_are_asked_for() -> None:
    """A series a device and job, escaped as any label; none unless it is asked for."""
    shown = with_jobs()
    page = Page(OneFrame(shown), ManualClock(monotonic=0.0), job_labels=True).render().decode()
    lines = [line for line in page.splitlines() if line.startswith("neuron_job_info{")]
    assert len(lines) == 2
    assert all(f'neuron_job="{shown.snapshot.jobs[0].id}"' in line for line in lines)
    assert all('job_name="a \\"name\\""' in line and 'slurm_job="4242"' in line for line in lines)
    assert "\nneuron_observer_job_labels_left_out 0\n" in page
    silent = Page(OneFrame(shown), ManualClock(monotonic=0.0)).render().decode()
    assert "neuron_job_info" not in silent
    assert "left_out" not in silent


def test_job_labels_of_a_map_that_is_not_known() -> None:
    """No series at all: an empty map would say that no job runs."""
    shown = with_jobs(None)
    page = Page(OneFrame(shown), ManualClock(monotonic=0.0), job_labels=True).render().decode()
    assert JOB.name not in page
    assert JOBS_OVER.name not in page


def test_a_registry_has_job_labels_too() -> None:
    """The same series by prometheus_client."""
    feed, clock = OneFrame(with_jobs()), ManualClock(monotonic=0.0)
    for asked, series in ((True, 2), (False, 0)):
        found = NeuronCollector(feed, clock, job_labels=asked).collect()
        assert sum(len(one.samples) for one in found if one.name == JOB.name) == series


def test_suppressed_findings_have_a_family_of_their_own() -> None:
    """No alarm rings for them, and everybody can see that they are there."""
    memory = Memory()
    shown = frame(finding(0), finding(1, State.SUPPRESSED))
    memory.note(shown)
    found = told(shown, memory)
    assert found["neuron_finding_active"] == [("0", 1)]
    assert found["neuron_finding_suppressed"] == [("1", 1)]
    assert memory.found == {("fault", "critical"): 1}


def test_what_an_earlier_run_found_is_not_found_again() -> None:
    """The counter tells what began to fire since this program started."""
    memory = Memory()
    shown = frame(finding(0)._replace(first_seen=-1.0), finding(1))
    memory.note(shown._replace(snapshot=shown.snapshot._replace(at=5.0)))
    assert memory.found == {("fault", "critical"): 1}
