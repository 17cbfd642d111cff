"""One line for Nagios, Node Problem Detector and Slurm: bounds, characters, codes."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.checks import plugins
from neuron_observer.checks.verdict import Checked, check
from neuron_observer.model import Confidence, Entity, Severity, Verdict
from tests.checks.test_verdict import finding, frame

_TEXT = st.text(max_size=400)


def faulty(message: str = "", id_: str = "sram-uncorrectable", **other: object) -> Checked:
    """A node with one critical, confirmed fault on device 3."""
    return check(frame(finding(3)._replace(id=id_, message=message, **other)))  # type: ignore[arg-type]


def test_nagios() -> None:
    """Word, what, where, how sure, what to do, and figures with their ranges."""
    assert plugins.nagios(faulty()) == (
        "NEURON CRITICAL - sram-uncorrectable on device 3 (confirmed): reboot"
        " | devices_healthy=3;;;0;4 critical=1;;;0 warning=0;;;0 decided=8;;;0;8"
        " not_covered=0;;;0 time=0.000s;;;0"
    )
    assert plugins.nagios(check(frame())).startswith("NEURON OK - nothing found; 8 required")


@pytest.mark.parametrize(
    ("severity", "confidence", "word"),
    [
        (Severity.CRITICAL, Confidence.PROBABLE, "WARNING"),
        (Severity.WARNING, Confidence.CONFIRMED, "WARNING"),
        (Severity.INFO, Confidence.CONFIRMED, "OK"),
    ],
)
def test_nagios_words(severity: Severity, confidence: Confidence, word: str) -> None:
    """What is not both critical and certain is a warning."""
    line = plugins.nagios(check(frame(finding(1, severity, confidence=confidence))))
    assert line.startswith(f"NEURON {word} - ")


def test_slurm() -> None:
    """A reason with our prefix and whose problem it is."""
    assert plugins.slurm(faulty()) == (
        "neuron-observer: [node_problem] sram-uncorrectable on device 3 (confirmed): reboot"
    )
    held = faulty(entity=Entity("device", device=3, job="train"), id_="device-held")
    assert plugins.slurm(held).startswith("neuron-observer: [user_problem] device-held")


@pytest.mark.parametrize(("code", "npd", "slurm"), [(0, 0, 0), (1, 1, 1), (2, 1, 1), (3, 2, 0)])
def test_codes(code: int, npd: int, slurm: int) -> None:
    """NPD knows one kind of problem; what is unknown drains no node."""
    assert plugins.npd_code(code) == npd
    assert plugins.slurm_code(code) == slurm


def test_npd_names_the_finding_first() -> None:
    """The line is cut at its end, so what stays the same is what it begins with."""
    line = plugins.npd(faulty(entity=Entity("port", port="rdmap16s25/1" * 9)))
    assert line.startswith("sram-uncorrectable on port rdmap16s25/1")
    assert line.endswith("...")
    assert len(line) == 80


@given(_TEXT, st.sampled_from(list(Verdict)), _TEXT)
def test_bounds_hold_for_any_text(reason: str, verdict: Verdict, id_: str) -> None:
    """One line of ASCII each, within its bound; nothing in a reason is anything to a shell."""
    checked = faulty(id_=id_)._replace(reason=reason, verdict=verdict)
    for line, most in (
        (plugins.nagios(checked), 4095),
        (plugins.npd(checked), 80),
        (plugins.slurm(checked), 255),
    ):
        assert len(line.encode()) <= most
        assert line.isascii()
        assert line.isprintable()
    text, bar, data = plugins.nagios(checked).partition(" | ")
    assert bar
    assert "|" not in text
    assert all(re.fullmatch(r"\w+=[\d.]+s?;;;0(;\d+)?", part) for part in data.split())
    assert not set(plugins.slurm(checked)) & set("\"'`$\\|&~^\n")
    assert shlex.split(f'"{plugins.slurm(checked)}"') == [plugins.slurm(checked)]
