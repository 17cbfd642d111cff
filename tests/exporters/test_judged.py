"""Verdicts and findings on the page: what is active, in shadow, counted, and on which part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.exporters.judged import PART_HEALTH, Memory, judged
from neuron_observer.exporters.page import Page
from neuron_observer.model import (
    Action,
    Confidence,
    Entity,
    Finding,
    Frame,
    Health,
    PartHealth,
    Severity,
    State,
    Verdict,
)
from tests.exporters.feeds import OneFrame, frame_of


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
