"""`explain`: from an alarm to its remedy."""

from __future__ import annotations

import re
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

OWN_RULE = """
rules:
  - id: own
    scope: device
    when: {above: {metric: device.sram.ecc_uncorrected, than: 0}}
    severity: warning
    action: watch
    fact: {grade: source, source: us}
    message: a word of ours
    meaning: what it means
    clears: never
"""


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
        "Runbook: neuron-observer rules runbooks DIR writes it\n",
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


@pytest.mark.parametrize("fault", ["straggler", "hang-unknown", "device-held", "before-we-watched"])
def test_what_no_rule_makes_is_explained_whole(call: Callable[..., Result], fault: str) -> None:
    """It was one paragraph: severity, how sure, steps and what not to do, as of a rule."""
    out = call("explain", fault, "--no-look").out
    assert re.match(rf"{fault}\n\n(information|warning|critical), ", out)
    for head in ("How sure it is, and why:", "What clears it:", "What to do:\n\n1. "):
        assert head in out, head


def test_before_we_watched_shows_what_it_is_told_of(call: Callable[..., Result]) -> None:
    """It is in nearly every output, and `explain` said that there was no such finding."""
    out = call("explain", "before-we-watched", "--simulate", "healthy@140").out
    assert re.search(r"Now:\n- the node: \d+ counters were not 0 when watching began", out)


def test_where_a_page_is(call: Callable[..., Result], tmp_path: Path) -> None:
    """Of a rule of one's own nobody has written one: what writes it is said, or one's own page."""
    own = tmp_path / "own.yaml"
    own.write_text(OWN_RULE)
    writes = f"Runbook: neuron-observer rules runbooks --rules {own} DIR writes it\n"
    assert writes in call("explain", "own", "--rules", str(own), "--no-look").out
    folder = tmp_path / "pages"
    call("rules", "runbooks", "--rules", str(own), str(folder))
    assert (folder / "own.md").read_text().startswith("# own\n")
    own.write_text(OWN_RULE + "    runbook: https://wiki.example/own\n")
    out = call("explain", "own", "--rules", str(own), "--no-look").out
    assert "Runbook: https://wiki.example/own\n" in out
