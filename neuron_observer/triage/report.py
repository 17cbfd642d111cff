"""`triage`: from inputs to a report of findings, facts and what was not understood."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from neuron_observer.contract import findings_document, instant
from neuron_observer.rules.matcher import Matcher
from neuron_observer.rules.patterns import load
from neuron_observer.triage.causes import causes
from neuron_observer.triage.facts import Folder
from neuron_observer.triage.inputs import Input
from neuron_observer.triage.judge import finding, ordered, verdict
from neuron_observer.triage.nodes import folded, nodes
from neuron_observer.triage.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.model import Coverage, Finding, Verdict
    from neuron_observer.triage.causes import Cause
    from neuron_observer.triage.facts import Fact, Novel
    from neuron_observer.triage.nodes import Node

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Report:
    """What was handed over, what was found, and what follows."""

    inputs: tuple[Input, ...]
    verdict: Verdict
    coverage: Coverage
    causes: tuple[Cause, ...]  # in the order of `logged`
    logged: tuple[Finding, ...]  # by lines of logs
    facts: tuple[Fact, ...]
    novel: tuple[Novel, ...]
    novel_lines: int
    nodes: tuple[Node, ...] = ()  # of bundles

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All: those of nodes as they told them, then those by lines of logs."""
        return (*(one for node in self.nodes for one in node.findings), *self.logged)

    def document(self) -> dict[str, Any]:
        """The findings document, with `inputs`, `facts` and `novel` beside."""
        names = [source.name for source in self.inputs]
        return findings_document(self.verdict, self.findings, self.coverage) | {
            "inputs": [_input(source) for source in self.inputs],
            "nodes": [node.document(names[node.source]) for node in self.nodes],
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
    for index, bundle in enumerate(tuple(inputs)):
        for name, data in bundle.logs:
            inputs.append(Input(f"{bundle.name}:{name}", part_of=index))
            Reader(inputs[-1], len(inputs) - 1, matcher, folder).run(io.BytesIO(data))
        bundle.logs = ()
    return judge(folder, inputs)


def judge(folder: Folder, inputs: Sequence[Input]) -> Report:
    """The report on facts that were folded already."""
    facts = tuple(folder)
    told = nodes(inputs, facts)
    found = [
        cause
        for cause in ordered(causes(facts))
        if any(inputs[index].part_of is None for index in cause.sources)
    ]
    results = [finding(cause, inputs) for cause in found]
    plain = [source for source in inputs if source.told is None and source.part_of is None]
    read = [fact for fact in facts if inputs[fact.source].part_of is None]
    outcome, coverage = verdict(results, plain, len(read))
    if told:
        whole = not any(source.partial or source.failed for source in inputs)
        logs = (outcome, coverage) if plain else None
        outcome, coverage = folded(told, logs, whole=whole)
    return Report(
        tuple(inputs), outcome, coverage, tuple(found), tuple(results), facts,
        tuple(folder.novel.values()), folder.novel_lines, told,
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
