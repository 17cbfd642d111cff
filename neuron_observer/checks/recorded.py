"""Recordings and captures played to rules: what stands after each of their ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.checks.judging import judge_by
from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neuron_observer.model import Finding, Health
    from neuron_observer.rules.rule import Rule


def recorded(
    file: str, rules: Sequence[Rule], until: float = float("inf")
) -> Iterator[tuple[float, tuple[Finding, ...], Health]]:
    """Seconds since the first tick, findings and health; InputError for a file that is damaged."""
    from neuron_observer.recording.reader import opened  # noqa: PLC0415 - where it is needed
    from neuron_observer.replay import Player  # noqa: PLC0415 - the same: it imports us

    recording = opened(file)
    trusted = bool(recording.options.get("trust_untested_driver", False))
    player = Player(
        recording,
        lambda one_shot: judge_by(rules, one_shot=one_shot, trust_untested_driver=trusted),
    )
    try:
        while (frame := player.step()) is not None and player.position <= until:
            yield player.position, frame.findings, frame.health
    finally:
        player.close()
    if recording.note:
        raise InputError(f"{file}: {recording.note}")
