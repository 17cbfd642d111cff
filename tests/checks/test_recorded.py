from __future__ import annotations

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
