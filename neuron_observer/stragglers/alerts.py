"""The text of an alert, from the finding alone: whoever has the finding can print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.stragglers.names import OF_JOBS
from neuron_observer.text import action_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.model import Finding

_HEADS = (("What", "what"), ("Effect", "effect"), ("Class", "cause"), ("Not", "not"))


def alert(finding: Finding) -> str:
    """What, effect, class, what it is not, what to do and what it rests on; a line each."""
    return "\n".join(_lines(finding))


def told(finding: Finding) -> str:
    """The alert of a finding about a job; of any other what it says in one line."""
    return alert(finding) if finding.id in OF_JOBS else finding.message


def _lines(finding: Finding) -> Iterator[str]:
    fields = finding.evidence[0].fields if finding.evidence else {}
    who = finding.entity
    rank = f"  rank {who.rank}" if who.rank is not None else ""
    device = f"  neuron{who.device}" if who.device is not None else ""
    yield f"{finding.severity.value.upper()} {finding.id}  job={who.job}{rank}{device}"
    yield f"        {finding.message}"
    for head, name in _HEADS:
        if name in fields:
            sure = f" (confidence {finding.confidence.value})" if head == "Class" else ""
            yield f"{head + ':':<8}{fields[name]}{sure}"
    if finding.impact:
        yield f"{'Hits:':<8}{finding.impact}"
    steps = [f"{number}) {text}" for number, text in enumerate(finding.confirm_by, 1)]
    then = action_text(finding.if_confirmed) if finding.if_confirmed else ""
    steps += [f"{len(steps) + 1}) if confirmed: {then}"] if then else []
    yield f"{'Do:':<8}{'  '.join(steps) or action_text(finding.action)}"
    if "basis" in fields:
        yield f"{'Basis:':<8}{fields['basis']}"
