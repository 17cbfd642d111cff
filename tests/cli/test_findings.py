"""`findings`: at a glance, and after a while of watching."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from neuron_observer.checks.judging import judge_by
from neuron_observer.cli.findings import SHORTEST, watch, watched
from neuron_observer.clock import ManualClock
from neuron_observer.errors import UsageError
from neuron_observer.model import Confidence, State, Verdict
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load as load_scenario
from tests.checks.looks import rules
from tests.conftest import tree_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))


def test_at_a_glance(call: Callable[..., Result]) -> None:
    """The verdict, each finding with what to do; the exit code of check."""
    found = call("findings", "--simulate", "sram-error@140", "--instance", "trn2.3xlarge")
    assert found.code == 2
    assert found.out.startswith("UNHEALTHY: sram-uncorrectable")
    assert "What to do: replace the instance" in found.out
    assert call("findings", "--host-root", SMALL).code == 0


def test_watching_lets_windows_decide() -> None:
    """Two reads cannot tell that corrected errors come in a storm; two minutes can."""
    clock = ManualClock()
    scenario = load_scenario("corrected-ecc-storm", instance="trn2.3xlarge", driver="2.30.2")
    reader = HostReader(
        simulate(scenario, clock, begin=99.0),
        clock,
        Options(thorough=False, kernel_log=True, wait_for_firmware=False),
    )
    told: list[str] = []
    frame = watch(reader, judge_by(rules()), 150.0, told.append)
    (storm,) = [one for one in frame.findings if one.id == "ecc-corrected-storm"]
    assert storm.state is State.FIRING
    assert storm.confidence is Confidence.CONFIRMED
    assert any(line.startswith("firing: ecc-corrected-storm: ") for line in told)
    assert frame.snapshot.monotonic >= 1150.0


def test_watching_confirms_and_narrates(capsys: pytest.CaptureFixture[str]) -> None:
    """Registers are read twice in the shortest watch; each change is told on stderr alone."""
    clock = ManualClock()
    scenario = load_scenario("sram-error", instance="trn2.3xlarge", driver="2.30.2")
    host = simulate(scenario, clock, begin=140.0)
    reader = HostReader(host, clock, Options(thorough=False, wait_for_firmware=False))
    assert watched(reader, judge_by(rules()), SHORTEST).verdict is Verdict.UNHEALTHY
    said = capsys.readouterr()
    assert said.out == ""
    assert "watching for 15 s" in said.err
    assert "firing: sram-uncorrectable: " in said.err


@pytest.mark.parametrize("seconds", ["1", "14", "100000", "x"])
def test_a_watch_that_cannot_be(seconds: str, call: Callable[..., Result]) -> None:
    """Too short to confirm anything, or longer than a day."""
    with pytest.raises(click.BadParameter):
        call("findings", "--watch", seconds, "--host-root", SMALL)


def test_a_recording_cannot_be_watched(call: Callable[..., Result]) -> None:
    """It does not go on; that is said at once."""
    with pytest.raises(UsageError, match="a recording does not go on"):
        call("findings", "--watch", "15", "--host-root", SMALL)
