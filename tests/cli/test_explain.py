"""`explain`: from an alarm to its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import UsageError
from neuron_observer.model import Action
from neuron_observer.rules.patterns import load as load_patterns
from tests.checks.looks import rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result


def test_from_alarm_to_remedy(call: Callable[..., Result]) -> None:
    """hbm-repair-pending: meaning, how sure, steps with commands, what clears it, what shows it."""
    sick = ("--simulate", "hbm-repair@130", "--instance", "trn2.3xlarge")
    alarm = call("check", *sick)
    assert "More: neuron-observer explain hbm-repair-pending" in alarm.out
    text = call("explain", "hbm-repair-pending", *sick).out
    for part in (
        "What to do: reload the driver",
        "What clears it: ",
        "How sure it is:",
        "sudo modprobe -r neuron && sudo modprobe neuron",
        "What not to do:",
        "Runbook: docs/runbooks/hbm-repair-pending.md",
        "Now:\n- device 0: ",
        "mem_ecc_repairable_uncorrected = ",
    ):
        assert part in text, part


def test_nothing_now(call: Callable[..., Result]) -> None:
    """Where no such finding stands that is said, and why it may not be covered."""
    well = ("--simulate", "healthy@140", "--instance", "trn2.3xlarge")
    assert call("explain", "sram-uncorrectable", *well).out.endswith("Now: no such finding.\n")
    out = call("explain", "device-memory-leak", *well).out
    assert "Not covered here: not yet: needs 600 s of watching" in out


def test_without_a_host(call: Callable[..., Result], tmp_path: Path) -> None:
    """Away from the machine the meaning is told all the same."""
    out = call("explain", "dma-abort", "--host-root", str(tmp_path)).out
    assert "Now: nothing of Neuron is here" in out
    assert "Now:" not in call("explain", "dma-abort", "--no-look").out


def test_an_unknown_id(call: Callable[..., Result]) -> None:
    """The nearest ones are named."""
    with pytest.raises(UsageError, match="hbm-repair-pendig: no such finding") as error:
        call("explain", "hbm-repair-pendig", "--no-look")
    assert "Did you mean hbm-repair-pending" in error.value.remedy


def test_every_finding_can_be_explained(call: Callable[..., Result]) -> None:
    """One of each kind: of a rule, of a line alone, of what is told beside the rules."""
    ruled = {rule.id for rule in rules()}
    lines = {row.finding for row in load_patterns() if row.action is not Action.NONE} - ruled
    for fault in (max(ruled), max(lines), "device-held", "cores-missing"):
        out = call("explain", fault, "--no-look").out
        assert out.startswith(fault)
        assert "What to do:" in out
