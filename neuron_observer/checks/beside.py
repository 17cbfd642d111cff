"""The life of findings that no rule tells: since when they stand, and what was said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.checks.aside import STATE_SET_ASIDE
from neuron_observer.model import Place, State
from neuron_observer.rules.findings import BEFORE_WATCHED
from neuron_observer.stragglers.names import OF_JOBS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from neuron_observer.model import Entity, Finding
    from neuron_observer.rules.engine import Engine
    from neuron_observer.rules.memory import Kept, Mark, Memory, Word

IDS = frozenset({"device-held", "cores-missing", STATE_SET_ASIDE, *OF_JOBS})
_Whose: TypeAlias = "tuple[str, Entity]"


class Beside:
    """Each stands for as long as it is told, and is over when it is told no more."""

    def __init__(self, engine: Callable[[], Engine], memory: Memory | None) -> None:
        """`engine` gives the one that judges now: another one follows it when rules change."""
        self._engine = engine
        kept = memory.findings.items() if memory else ()
        earlier = [one for mark, one in kept if mark.rule in IDS and one.told]
        self._stands: dict[_Whose, Finding] = {
            _whose(one.told): one.told for one in earlier if one.told
        }
        self._earlier = set(self._stands)  # of an earlier run, and not told since
        self._said: dict[_Whose, Word] = {
            _whose(one.told): one.word for one in earlier if one.told and one.word
        }

    def __call__(
        self,
        findings: Iterable[Finding],
        now: float,
        *,
        certain: bool,
        learning: Container[str] = (),
    ) -> tuple[Finding, ...]:
        """The findings of now with their times and states, and those that just ended.

        Until it is certain what there is now, those of an earlier run stand; those about a job
        while its usual times are learned.
        """
        stands: dict[_Whose, Finding] = {}
        findings = tuple(findings)
        for one in findings:
            whose = _whose(one)
            before = self._stands.get(whose)
            since = before.first_seen if before else one.first_seen or now
            stands[whose] = self._told(one._replace(first_seen=since, last_seen=now))
        missed = {whose: one for whose, one in self._stands.items() if whose not in stands}
        over = {
            whose: one
            for whose, one in missed.items()
            if certain and not (whose in self._earlier and one.entity.job in learning)
        }
        stands |= {whose: one for whose, one in missed.items() if whose not in over}
        self._earlier &= stands.keys() - {_whose(one) for one in findings}
        self._stands = stands
        self._said = {whose: word for whose, word in self._said.items() if whose in stands}
        hush = self._engine().hush
        shown = list(stands.values())
        if hush.suppressions:
            shown = [hush(one, self._engine().scene.keys) for one in shown]
        return (*shown, *(one._replace(state=State.RESOLVED) for one in over.values()))

    def _told(self, finding: Finding) -> Finding:
        word = self._said.get(_whose(finding))
        if word is None:
            return finding
        from neuron_observer.rules.findings import noted  # noqa: PLC0415 - rarely needed

        return finding._replace(state=State.ACKNOWLEDGED, note=noted("acknowledged", word))

    def acknowledge(self, finding_id: str, device: int | None, word: Word) -> int:
        """Somebody knows of these findings; how many there are."""
        found = [
            whose
            for whose, one in self._stands.items()
            if one.id == finding_id and device in (None, one.entity.device)
        ]
        for whose in found:
            self._said[whose] = word
            self._stands[whose] = self._told(self._stands[whose])
        return len(found)

    def kept(self) -> dict[Mark, Kept]:
        """As a later run must know them."""
        if not self._stands:
            return {}
        from neuron_observer.rules.lifecycle import Life  # noqa: PLC0415 - rarely needed
        from neuron_observer.rules.memory import Kept, Mark  # noqa: PLC0415 - the same

        keys = self._engine().scene.keys
        found = {}
        for whose, one in self._stands.items():
            who = one.entity
            key = who.serial or (keys.get(who.device, "") if who.device is not None else "")
            label = who.port or who.job or ""
            label = label if who.rank is None else f"{label}#{who.rank}"
            mark = Mark(one.id, key, Place(None, who.core, label))
            begun = one.first_seen or 0.0
            life = Life(one.state, None, begun, one.last_seen or begun, whose in self._said)
            found[mark] = Kept(life, word=self._said.get(whose), told=one)
        return found


def _whose(finding: Finding) -> _Whose:
    return finding.id, finding.entity._replace(serial=None)  # it may become known on the way


def explain_beside(finding_id: str, findings: Iterable[Finding]) -> str:
    """What a finding of no rule means and what shows it now; empty if the id is none of these."""
    if finding_id not in IDS and finding_id != BEFORE_WATCHED:
        return ""
    from neuron_observer.checks.inventory import MEANINGS  # noqa: PLC0415 - rarely needed
    from neuron_observer.stragglers.alerts import told  # noqa: PLC0415 - the same

    standing = [one for one in findings if one.id == finding_id and one.state is not State.RESOLVED]
    now = [told(one) for one in standing] or ["Now: no such finding."]
    return "\n\n".join([finding_id, MEANINGS[finding_id], *now]) + "\n"
