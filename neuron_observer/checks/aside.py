"""What was kept and could not be used: told for a day, because what people said is gone with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Action, Confidence, Entity, Evidence, Finding, Severity

if TYPE_CHECKING:
    from neuron_observer.model import Snapshot
    from neuron_observer.rules.memory import Memory

STATE_SET_ASIDE = "state-set-aside"
LASTING = 86_400.0  # seconds
_EVENT = "store_set_aside"
MEANING = (
    "What an earlier run kept (findings, baselines, acknowledgements) could not be used: the"
    " file is broken, locked by another program, of a later version or of another machine. It"
    " was renamed, never changed, and a new one begun. Faults that stand are found again; what"
    " people said, and baselines that `set-healthy` stored, are not known any more. If it broke"
    " while the daemon ran, nothing is lost: it was written anew from memory. What to do: look"
    " at the renamed file in the state directory (docs/store.md), and say again what should"
    " hold. It is told for a day."
)


class Aside:
    """Remembers the last time, over restarts too."""

    def __init__(self, memory: Memory | None) -> None:
        kept = memory.findings.items() if memory else ()
        earlier = [one.told for mark, one in kept if mark.rule == STATE_SET_ASIDE and one.told]
        self._told = earlier[-1] if earlier else None

    def __call__(self, snapshot: Snapshot) -> tuple[Finding, ...]:
        """The finding, as long as it is told."""
        for event in snapshot.events:
            if event.kind == _EVENT:
                self._told = _finding(event.message, event.at)
        told = self._told
        if told is None or snapshot.at - (told.evidence[0].at or 0.0) > LASTING:
            return ()
        return (told,)


def _finding(message: str, at: float) -> Finding:
    return Finding(
        id=STATE_SET_ASIDE,
        entity=Entity("node"),
        severity=Severity.INFO,
        confidence=Confidence.CONFIRMED,
        action=Action.NONE,
        message=message,
        evidence=(Evidence("statistic", "hearsay", "state.db", at=at),),
        first_seen=at,
    )
