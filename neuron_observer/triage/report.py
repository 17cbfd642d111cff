"""`triage`: from inputs to a report of findings, facts and what was not understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from neuron_observer.contract import findings_document, instant
from neuron_observer.rules.matcher import Matcher
from neuron_observer.rules.patterns import load
from neuron_observer.triage.causes import causes
from neuron_observer.triage.facts import Folder
from neuron_observer.triage.inputs import Input
from neuron_observer.triage.judge import finding, ordered, verdict
from neuron_observer.triage.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.model import Coverage, Finding, Verdict
    from neuron_observer.triage.causes import Cause
    from neuron_observer.triage.facts import Fact, Novel

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Report:
    """What was handed over, what was found, and what follows."""

    inputs: tuple[Input, ...]
    verdict: Verdict
    coverage: Coverage
    causes: tuple[Cause, ...]  # in the order of `findings`
    findings: tuple[Finding, ...]
    facts: tuple[Fact, ...]
    novel: tuple[Novel, ...]
    novel_lines: int

    def document(self) -> dict[str, Any]:
        """The findings document, with `inputs`, `facts` and `novel` beside."""
        names = [source.name for source in self.inputs]
        return findings_document(self.verdict, self.findings, self.coverage) | {
            "inputs": [_input(source) for source in self.inputs],
            "facts": [_fact(fact, names) for fact in self.facts],
            "novel": {
                "lines": self.novel_lines,
                "examples": [
                    {"source": names[item.source], "line": item.line, "count": item.count,
                     "text": item.text} for item in self.novel
                ],
            },
        }  # fmt: skip


def triage(
    names: Sequence[str],
    *,
    streams: Mapping[str, BinaryIO] | None = None,
    matcher: Matcher | None = None,
) -> Report:
    """Read the named files (a name in `streams` is read from there) and judge them."""
    matcher = matcher or Matcher(load())
    folder, inputs = Folder(), [Input(_name(name)) for name in names]
    for index, (name, source) in enumerate(zip(names, inputs, strict=True)):
        Reader(source, index, matcher, folder).run((streams or {}).get(name))
    return judge(folder, inputs)


def judge(folder: Folder, inputs: Sequence[Input]) -> Report:
    """The report on facts that were folded already."""
    facts = tuple(folder)
    found = ordered(causes(facts))
    results = [finding(cause, inputs) for cause in found]
    outcome, coverage = verdict(results, inputs, len(facts))
    return Report(
        tuple(inputs), outcome, coverage, tuple(found), tuple(results), facts,
        tuple(folder.novel.values()), folder.novel_lines,
    )  # fmt: skip


def _name(name: str) -> str:
    return "standard input" if name == STDIN else name


def _input(source: Input) -> dict[str, Any]:
    return {
        "name": source.name,
        "kinds": sorted(source.kinds),
        "lines": source.lines,
        "bytes": source.bytes,
        "partial": source.partial,
        "failed": source.failed,
        "notes": source.notes,
    }


def _fact(fact: Fact, names: Sequence[str]) -> dict[str, Any]:
    return {
        "pattern": fact.pattern.id,
        "class": fact.pattern.verdict,
        "meaning": fact.pattern.meaning,
        "node": fact.node,
        "device": fact.device,
        "core": fact.core,
        "code": fact.code,
        "count": fact.count,
        "source": names[fact.source],
        "line": fact.line,
        "last_line": fact.last_line,
        "at": instant(fact.at),
        "by_kernel": fact.by_kernel,
        "pids": fact.pids,
        "job": fact.job,
        "rank": fact.rank,
        "text": fact.text,
        "fields": fact.fields,
        "action": fact.action.value,
        "ours": fact.pattern.ours,
        "excused": fact.excused,
    }
