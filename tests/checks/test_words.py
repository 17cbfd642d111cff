"""A check in words: what is grouped, what is told once, what fits a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.checks import words
from neuron_observer.checks.scope import Scope
from neuron_observer.checks.verdict import check
from neuron_observer.model import Action, Confidence, Entity, Gap, Severity, State
from tests.checks.test_verdict import finding, frame


def test_the_same_at_several_places_is_told_once() -> None:
    """Six devices with one fault: one block, four of them named."""
    lines = words.findings([finding(n) for n in range(6)])
    assert lines[0] == (
        "CRITICAL  fault: device 0, device 1, device 2, device 3 and 2 more (confirmed)"
    )
    assert len([line for line in lines if line.startswith("CRITICAL")]) == 1


def test_what_is_sure_and_what_is_not_stand_apart() -> None:
    """One fault, certain on one device and probable on another, are two blocks."""
    found = [finding(0), finding(1, confidence=Confidence.PROBABLE)]
    assert len(words.grouped(found)) == 2


def test_an_action_and_what_confirms_it() -> None:
    """What to do now, what to do once it is certain, and how to get there."""
    sure = finding(0, if_confirmed=Action.REPLACE_INSTANCE, confirm_by=("the same after it",))
    one = sure._replace(confidence=Confidence.PROBABLE)
    text = " ".join(" ".join(words.findings([one])).split())
    assert "What to do: reboot. Once confirmed: replace the instance" in text
    assert "Confirmed by: the same after it." in text
    assert "neuron-observer explain fault" in text
    text = " ".join(" ".join(words.findings([sure])).split())
    assert "What to do: reboot. More: neuron-observer explain fault" in text


def test_an_information_asks_for_nothing() -> None:
    """No action stands below it."""
    assert not any("What to do" in line for line in words.findings([finding(0, Severity.INFO)]))


def test_what_does_not_count_is_said_to() -> None:
    """Contradicted or pending findings are shown and marked."""
    pending = finding(0, state=State.PENDING)
    assert "(confirmed, pending, not counted)" in words.findings([pending])[0]
    against = finding(0, confidence=Confidence.CONTRADICTED)
    assert "(contradicted, not counted)" in words.findings([against])[0]


def test_what_is_missing_is_bounded_and_reasons_are_told_once() -> None:
    """Eight of ten missing signals by name; rules that are not covered by their reason."""
    gaps = tuple(Gap(f"rule-{n}", "denied", Entity("device", device=1)) for n in range(10))
    checked = check(frame(missing=gaps[:4]))
    uncovered = (Gap("a", "no port here"), Gap("b", "no port here"), Gap("c", "no log"))
    coverage = checked.coverage._replace(missing=gaps, not_covered=uncovered)
    lines = words.cover(checked._replace(coverage=coverage))
    assert sum(line.startswith("  missing: ") for line in lines) == 8
    assert "  and 2 more are missing" in lines
    assert lines[-3:] == ["Not covered here: 3 rules", "  no port here: a, b", "  no log: c"]


def test_status_is_four_lines() -> None:
    """Verdict and reason, devices, findings, coverage."""
    checked = check(frame(finding(1), finding(2, Severity.WARNING), finding(0, shadow=True)))
    assert words.status(checked) == [
        "UNHEALTHY: fault (critical, confirmed): what it says",
        "devices:  2 of 4 healthy: 1 unhealthy, 2 degraded",
        "findings: 1 critical, 1 warning, 0 info; 0 not counted, 1 in shadow",
        "coverage: 8 of 8 required signals decided, 0 rules not covered",
    ]


def test_the_scope_is_told() -> None:
    """Which devices were judged stands below the verdict."""
    lines = words.report(check(frame(), Scope(frozenset({0}), "devices 0")))
    assert lines[1] == "Judged: devices 0"


@given(st.text(max_size=300), st.integers(60, 160))
def test_lines_fit_and_move_no_cursor(message: str, width: int) -> None:
    """Whatever a line of a log says, nothing but printable text comes out."""
    lines = words.report(check(frame(finding(0, message=message))), width=width)
    assert all(line.isprintable() for line in lines)
    assert all(len(line) <= width or " " not in line.strip() for line in lines)
