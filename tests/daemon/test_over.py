"""Findings that are over: with a state directory and without one the same of this run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.over import MOST, Over
from neuron_observer.model import State
from neuron_observer.rules import rule as r
from tests.daemon.daemons import document
from tests.daemon.test_changes import FAULT, frame
from tests.exporters.feeds import OneFrame
from tests.rules.scenes import rule
from tests.store.nodes import Node

if TYPE_CHECKING:
    from pathlib import Path

SRAM = "device.sram.ecc_uncorrected"


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_over_is_listed(tmp_path: Path, *, keeps: bool) -> None:
    """Without a directory everything is the same in memory; nothing is listed twice."""
    node = Node(tmp_path / "state" if keeps else None, [rule(r.Above(SRAM, 0))])
    feed = OneFrame(frame())
    answers = Answers(feed, node.clock, past=node.store.past)

    def look(value: int) -> list[dict[str, Any]]:
        shown = node.look(10.0, {SRAM: value})
        feed.frame = frame(node.health, *shown)
        answers.note(feed.frame)
        node.flush()
        found: list[dict[str, Any]] = document(answers, "/api/v1/findings?all=true")["findings"]
        return found

    assert [one["state"] for one in look(1)] == ["firing"]
    look(0)
    for _ in range(3):
        assert [one["state"] for one in look(0)] == ["resolved"]
    assert document(answers, "/api/v1/findings")["findings"] == []
    assert [one["state"] for one in look(1)] == ["firing", "resolved"]
    node.kill()


def test_the_latest_are_held() -> None:
    """Memory is bounded; what stands is not over."""
    over = Over()
    for number in range(MOST + 5):
        ended = FAULT._replace(state=State.RESOLVED, first_seen=float(number))
        over.note(frame(frame().health, FAULT, ended))
    assert [one.first_seen for _, one in over.held()] == [float(n) for n in range(5, MOST + 5)]
