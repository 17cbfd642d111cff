"""One call of neuron-ls."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.collectors.neuron_ls import list_devices
from neuron_observer.parsers.neuron_ls_listing import Outcome
from neuron_observer.sources.child import Children

CASES = Path(__file__).parents[1] / "cases/B"


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        (["cat", str(CASES / "B01-trn1.2xlarge-neuron-ls.json")], Outcome.OK),
        (["cat", str(CASES / "B05-trn2n.48xlarge-lnc2-json-elided.txt")], Outcome.BAD_OUTPUT),
        (["/nowhere/neuron-ls", "-j"], Outcome.TOOL_MISSING),
        (["sh", "-c", "echo 'unknown flag'; exit 1"], Outcome.USAGE_ERROR),
        (["sh", "-c", "echo 'level=fatal error=\"no driver\"' >&2; exit 1"], Outcome.NO_DEVICE),
        (["sh", "-c", "kill -SEGV $$"], Outcome.BAD_OUTPUT),
        (["true"], Outcome.BAD_OUTPUT),
        (["yes"], Outcome.BAD_OUTPUT),
    ],
)
def test_each_ending_has_its_outcome(command: list[str], outcome: Outcome) -> None:
    """From a listing to endless output; nothing raises, nothing is an empty node."""
    found = list_devices(Children(SystemClock()), command=command)
    assert found.outcome is outcome
    assert bool(found.devices) == (outcome is Outcome.OK)


def test_a_call_that_hangs_is_no_answer() -> None:
    """A wedged driver: told within the limit, and no second call piles up on it."""
    children = Children(SystemClock())
    found = list_devices(children, command=["sleep", "60"], seconds=0.1)
    assert found.outcome is Outcome.NO_ANSWER
    assert found.detail == "no answer within 0.1 s"
