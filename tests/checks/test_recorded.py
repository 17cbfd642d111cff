from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks.play import play
from neuron_observer.checks.recorded import recorded
from neuron_observer.checks.timeline import read_timelines
from neuron_observer.cli.group import exit_code
from neuron_observer.errors import ConfigError, InputError
from tests.conftest import tree_file
from tests.recordings import record, rules

if TYPE_CHECKING:
    from pathlib import Path

TIMELINE = """
fault: hbm-uncorrectable
timelines:
  - name: as it was reported
    recording: bug
    expect:
      - {at: 0, findings: []}
      - {at: 11, findings: [{entity: {kind: core, device: 0}}], others: [hbm-unrepairable]}
"""


def test_a_bug_report_is_a_test_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recipe of CONTRIBUTING.md: the recording beside a timeline; what is not so fails."""
    record(tmp_path / "bug.nobs.gz", "hbm-unrepairable", 12.0, begin=98.0)
    good = tmp_path / "good.yaml"
    good.write_text(TIMELINE)
    assert exit_code(["rules", "test", str(good)]) == 0
    assert "ok   hbm-uncorrectable: as it was reported" in capsys.readouterr().out
    bad = tmp_path / "bad.yaml"
    bad.write_text(TIMELINE.replace("at: 0, findings: []", "at: 11, findings: []"))
    assert exit_code(["rules", "test", str(bad)]) == 2
    assert "at 11 s: a finding too many" in capsys.readouterr().out
    assert exit_code(["rules", "test", str(tmp_path / "bug.nobs.gz")]) == 0
    assert "hbm-uncorrectable (critical" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "code", "confidence"),
    [(12.0, 1, "probable"), (20.0, 1, "probable"), (21.0, 2, "confirmed"), (28.0, 2, "confirmed")],
)
def test_registers_that_were_recorded_once_are_no_two_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float, code: int, confidence: str
) -> None:
    """The fault came after 5 s; registers were read at 0, 10 and 20: `check` is as sure as replay.

    They answer when they do, and what a file shows meanwhile is what was read before.
    """
    file = tmp_path / "sram.nobs.gz"
    record(file, "sram-error", seconds, begin=95.0)
    for verb in (["check", "--host-root"], ["replay"]):
        assert exit_code([*verb, str(file), "--format", "json"]) == code
        document = json.loads(capsys.readouterr().out)
        found = {one["id"]: one["confidence"] for one in document["findings"]}
        assert found["sram-uncorrectable"] == confidence
        assert "efa-missing" not in found  # what a recording begins with is not all of the host


def test_a_capture_is_a_fixture_too(tmp_path: Path) -> None:
    """A listing by its name."""
    file = tmp_path / "t.yaml"
    file.write_text(
        "fault: sram-uncorrectable\ntimelines:\n"
        "  - {name: worn, recording: inf2.48xlarge-2.30.2-worn, expect: [{at: 0, findings:"
        " [{entity: {kind: device}}]}]}\n"
    )
    (timeline,) = read_timelines(file, (tree_file("inf2.48xlarge-2.30.2-worn").parent,))
    assert play(timeline, rules()).problems == ()


@pytest.mark.parametrize("key", ["host: x", "wall: 2026-08-29T10:40:30Z", "steps: []"])
def test_nothing_is_done_to_a_recording(tmp_path: Path, key: str) -> None:
    """What would be is told with the timeline's name."""
    file = tmp_path / "t.yaml"
    file.write_text(f"fault: f\ntimelines:\n  - {{name: n, recording: bug, {key}, expect: []}}\n")
    with pytest.raises(ConfigError, match="n: a recording is played as it is"):
        read_timelines(file)


def test_a_damaged_recording_is_no_test(tmp_path: Path) -> None:
    """What it says until then counts for nothing."""
    file = tmp_path / "bug.nobs.gz"
    record(file, "healthy", 1.0)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged"):
        list(recorded(str(file), rules()))
