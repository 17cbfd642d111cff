"""What the patterns say of a line of the kernel log, in the words of an event."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.collectors.kmsg import Classified
from neuron_observer.model import NODE, Place
from neuron_observer.rules.matcher import Matcher

if TYPE_CHECKING:
    from neuron_observer.model import Scalar
    from neuron_observer.parsers.kernel_record import KernelRecord
    from neuron_observer.rules.matcher import Match
    from neuron_observer.rules.pattern import Pattern

TEXT = 500  # characters of a line that an event keeps


@cache
def _shipped() -> Matcher:
    """The shipped patterns; to compile them takes longer than to look around a host."""
    from neuron_observer.rules.patterns import load  # noqa: PLC0415 - costs yaml

    return Matcher(load())


class LineClassifier:
    """The patterns as the kernel log collector wants them; counts what it has seen.

    A line of the driver that no pattern knows is *novel*: shown, counted, never an alarm.
    """

    def __init__(self, matcher: Matcher | None = None) -> None:
        self.matcher = matcher or _shipped()
        self.known = 0
        self.novel = 0
        self._told: dict[str, dict[str, Scalar]] = {}  # by pattern: what is the same in each event

    def __call__(self, record: KernelRecord, /) -> Classified | None:
        """The meaning of a record; of several messages in one line the worst, else the first."""
        matches: list[Match] = []
        novel = False
        for hit in self.matcher.scan(record.message.encode("utf-8", "backslashreplace")):
            matches += hit.matches
            novel |= hit.novel
        if matches:
            self.known += 1
            worst = matches[0] if len(matches) == 1 else min(matches, key=_rank)
            return self._meaning(worst, record.message[:TEXT])
        if not novel:
            return None
        self.novel += 1
        return Classified("novel", NODE, record.message[:TEXT], dict(_NOVEL))

    def _meaning(self, match: Match, text: str) -> Classified:
        pattern, details = match.pattern, match.details()
        told = self._told.get(pattern.id)
        if told is None:
            told = self._told[pattern.id] = _told(pattern)
        fields = told.copy()
        if details.code is not None:
            fields["code"] = details.code
        for name, value in details.fields.items():
            fields[f"line.{name}"] = value
        label = next((details.fields[name] for name in _LABELS if name in details.fields), "")
        return Classified(pattern.id, Place(*details.place, label), text, fields)


_LABELS = ("adapter", "function")  # an EFA's name, a PCI function's address
_NOVEL: dict[str, Scalar] = {"verdict": "novel", "severity": "info", "action": "none"}
_SEVERITIES = ("critical", "warning", "info")


def _rank(match: Match) -> tuple[bool, int]:
    pattern = match.pattern
    return pattern.shadow, _SEVERITIES.index(pattern.severity.value)


def _told(pattern: Pattern) -> dict[str, Scalar]:
    """What an event says of its pattern."""
    fields: dict[str, Scalar] = {
        "finding": pattern.finding,
        "verdict": pattern.verdict,
        "severity": pattern.severity.value,
        "action": pattern.action.value,
        "grade": pattern.fact.grade,
        "blames_hardware": int(pattern.blames_hardware),
        "may_be_ours": int(pattern.ours),
        "meaning": pattern.meaning,
    }
    if pattern.if_confirmed:
        fields["if_confirmed"] = pattern.if_confirmed.value
    return fields
