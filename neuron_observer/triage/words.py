"""The report in words: first what to do, then why, then the lines, then what was not understood."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.contract import EXIT_CODES, instant
from neuron_observer.model import Severity, Verdict
from neuron_observer.text import printable
from neuron_observer.triage import node_words
from neuron_observer.triage.judge import label, place
from neuron_observer.triage.nodes import RANK
from neuron_observer.triage.phrases import DO, KIND, PREFIXES, SPELLED, title, what_to_do

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.model import Finding
    from neuron_observer.triage.causes import Cause
    from neuron_observer.triage.facts import Fact
    from neuron_observer.triage.report import Report

PLACES = 4  # places of one finding that are named in a headline
SHOWN = 12  # lines of evidence
_LABEL = 12


class Group(NamedTuple):
    """Findings that are the same thing at several places."""

    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]


def text(report: Report, *, width: int = 100, explain: bool = False) -> str:
    """The whole report; lines are at most `width` wide, log lines are cut to it."""
    groups = grouped(report)
    first = headline(report)
    lines = [first, ""]
    said = first if len(report.nodes) == 1 else ""  # of several each is told with its own
    for node in report.nodes:
        lines += map(printable, node_words.lines(node, report.inputs, width, said=said))
    for number, group in enumerate(groups):
        loud = group.findings[0].severity is not Severity.INFO
        if loud and number:
            lines.append(f"Also: {_title(report, group)}")
        lines += _wrapped(_full(report, group) if loud else _brief(report, group), width)
        lines.append("")
    lines += _evidence(report, width)
    lines += _normal(report, width)
    lines += _not_understood(report, width)
    lines += _inputs(report, width)
    if explain:
        lines += _explained(report, width)
    return "\n".join(lines) + "\n"


def grouped(report: Report) -> list[Group]:
    """Findings by what they are and what to do, in order."""
    groups: dict[tuple[object, ...], tuple[list[Finding], list[Cause]]] = {}
    for finding, cause in zip(report.logged, report.causes, strict=True):
        key = (finding.id, finding.action, finding.severity, cause.culprit is not None)
        found, causes = groups.setdefault(key, ([], []))
        found.append(finding)
        causes.append(cause)
    return [Group(tuple(found), tuple(causes)) for found, causes in groups.values()]


def headline(report: Report) -> str:
    """One line: what to do, where, how sure."""
    if report.nodes and not _logs_are_worse(report):
        worst = max(report.nodes, key=lambda node: RANK.index(node.verdict))
        return printable(node_words.headline(worst))
    loud = [g for g in grouped(report) if g.findings[0].severity is not Severity.INFO]
    if loud:
        return _title(report, loud[0])
    if report.verdict is Verdict.UNKNOWN and any(s.failed or s.partial for s in report.inputs):
        return "CANNOT TELL: not everything could be read"
    if report.verdict is Verdict.UNKNOWN:
        return "CANNOT TELL: nothing here that is known of Neuron devices"
    return "NO FAULT IN WHAT WAS HANDED OVER"


def _logs_are_worse(report: Report) -> bool:
    """Whether logs that came beside bundles say more than any node does."""
    return report.verdict not in {node.verdict for node in report.nodes}


def _title(report: Report, group: Group) -> str:
    first = group.findings[0]
    blame = (
        "" if first.blames_hardware or first.severity is Severity.INFO else ", hardware not blamed"
    )
    sure = f" ({first.confidence.value}{blame})"
    where = _places(report, group)
    return f"{title(first)} - {_name(first)}{': ' if where else ''}{where}{sure}"


def _name(finding: Finding) -> str:
    """The finding's id in words."""
    words = finding.id.split("-")
    return " ".join(SPELLED.get(word, word) for word in words if word not in PREFIXES)


def _places(report: Report, group: Group) -> str:
    names = list(dict.fromkeys(_place(report, cause) for cause in group.causes))
    names = [name for name in names if name]
    more = f" and {len(names) - PLACES} more" if len(names) > PLACES else ""
    return "; ".join(names[:PLACES]) + more


def _place(report: Report, cause: Cause) -> str:
    if cause.node is None and cause.device is None and len(report.inputs) == 1:
        return "" if cause.core is None else f"core {cause.core}"
    words = place(cause, report.inputs)
    alone = cause.node is None and len(report.inputs) == 1
    return words.split(", ", 1)[1] if alone else words


def _full(report: Report, group: Group) -> Iterator[tuple[str, str]]:
    first = group.findings[0]
    where = _places(report, group)
    yield "What", first.message
    if where:
        yield "Where", where + _serial(group)
    yield "How sure", _sure(group)
    yield "What to do", what_to_do(first)
    if first.confirm_by:
        yield "Confirm by", "; ".join(first.confirm_by)
    if first.if_confirmed not in {None, first.action} and first.if_confirmed is not None:
        yield "If so", DO[first.if_confirmed]
    follows = sum(fact.count for cause in group.causes for f in cause.follows for fact in f.facts)
    if follows:
        yield "Follows", f"{follows} more {_lines(follows)} here only follow from this."


def _brief(report: Report, group: Group) -> Iterator[tuple[str, str]]:
    first = group.findings[0]
    where = _places(report, group)
    name = _name(first)
    yield "Note", f"{name}, {where}. {first.message}" if where else f"{name}. {first.message}"


def _serial(group: Group) -> str:
    serials = sorted({f.entity.serial for f in group.findings if f.entity.serial is not None})
    return f" (serial {', '.join(serials)})" if serials else ""


def _sure(group: Group) -> str:
    kinds: dict[str, int] = {}
    for cause in group.causes:
        for fact in cause.facts:
            kinds[KIND[fact.kind]] = kinds.get(KIND[fact.kind], 0) + fact.count
    said = " and ".join(f"{count} {_lines(count)} of {kind}" for kind, count in kinds.items())
    verb = "says" if sum(kinds.values()) == 1 else "say"
    doubt = " Lines can be wrong, and any user can write one; no hardware register was read."
    return f"Probable: {said} {verb} so.{doubt if group.findings[0].blames_hardware else ''}"


def _lines(count: int) -> str:
    return "line" if count == 1 else "lines"


def _wrapped(paragraph: Iterator[tuple[str, str]], width: int) -> Iterator[str]:
    for name, words in paragraph:
        yield textwrap.fill(
            words,
            width,
            initial_indent=f"  {name:<{_LABEL}}",
            subsequent_indent=" " * (_LABEL + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )


def _evidence(report: Report, width: int) -> list[str]:
    facts = [fact for cause in report.causes for fact in _in_order(cause)]
    facts += [fact for cause in report.causes for f in cause.follows for fact in _in_order(f)]
    if not facts:
        return []
    lines = ["Evidence"]
    lines += [_quoted(report, fact, width) for fact in facts[:SHOWN]]
    if len(facts) > SHOWN:
        lines.append(f"  ... and {len(facts) - SHOWN} more kinds of line (--format json has them)")
    return [*lines, ""]


def _in_order(cause: Cause) -> list[Fact]:
    facts = (fact for fact in cause.facts if not fact.harmless)
    return sorted(facts, key=lambda fact: (fact.source, fact.line))


def _quoted(report: Report, fact: Fact, width: int) -> str:
    times = f" x{fact.count}" if fact.count > 1 else ""
    start = f"  {label(fact, report.inputs)}:{fact.line}{times}  "
    return _cut(start + printable(fact.said), width)


def _normal(report: Report, width: int) -> list[str]:
    facts = [fact for fact in report.facts if fact.harmless]
    if not facts:
        return []
    counted: dict[str, list[Fact]] = {}
    for fact in facts:
        counted.setdefault(fact.pattern.id, []).append(fact)
    lines = ["Normal, or known noise"]
    for same in counted.values():
        count = sum(fact.count for fact in same)
        first = same[0]
        meaning = first.said if first.kind == "monitor" else first.pattern.meaning
        if first.excused and not first.pattern.quiet:
            meaning = "Harmless here: the line beside it says that the driver tries again."
        where = f"{label(first, report.inputs)}:{first.line}"
        lines.append(_cut(f"  {where} x{count}  {meaning}", width))
    return [*lines[: SHOWN + 1], ""]


def _not_understood(report: Report, width: int) -> list[str]:
    if not report.novel_lines:
        return []
    kinds, count = len(report.novel), report.novel_lines
    lines = [f"Not understood: {count} {_lines(count)} of the driver or the runtime (no alarm)"]
    for item in report.novel[:SHOWN]:
        times = f" x{item.count}" if item.count > 1 else ""
        source = report.inputs[item.source].name
        lines.append(_cut(f"  {source}:{item.line}{times}  {printable(item.text)}", width))
    if kinds > SHOWN:
        lines.append(f"  ... and {kinds - SHOWN} more kinds")
    return [*lines, ""]


def _inputs(report: Report, width: int) -> list[str]:
    lines = []
    for source in report.inputs:
        kinds = ", ".join(sorted(source.kinds)) or "no kind that is known"
        state = "not read" if source.failed else "partly read" if source.partial else "read"
        told = f": {state}, {source.lines} {_lines(source.lines)}, {kinds}"
        lines.append(_cut(_end_of(source.name, width - len(told)) + told, width))
        lines += [f"  {note}" for note in source.notes]
    if report.verdict is Verdict.HEALTHY and not report.nodes:
        lines.append(
            "A log without a fault does not prove sound hardware: a memory error alone writes no\n"
            "kernel line. Run `neuron-observer check` on the node."
        )
    verdict = report.verdict.value
    return [*lines, f"Verdict: {verdict} (exit code {EXIT_CODES[verdict]})"]


def _explained(report: Report, width: int) -> list[str]:
    lines = ["", "Every kind of line that was understood"]
    seen: dict[str, Fact] = {}
    for fact in report.facts:
        seen.setdefault(fact.pattern.id, fact)
    for fact in seen.values():
        row = fact.pattern
        lines += ["", f"  {row.id}: {row.verdict}, {row.action.value}"]
        fields = ", ".join(f"{key}={value}" for key, value in fact.fields.items())
        when = instant(fact.at)
        parts = [("Meaning", row.meaning), ("Source", f"{row.fact.source} ({row.fact.grade})")]
        if fields:
            parts.append(("Fields", fields))
        if when:
            parts.append(("First", when))
        if row.ours:
            parts.append(("Ours", "our own reads of counters can cause this line"))
        lines += list(_wrapped(iter(parts), width))
    return lines


def _end_of(path: str, width: int) -> str:
    """A path without its beginning, where it is too long: the end tells files apart."""
    room = max(width, 20)
    return path if len(path) <= room else "..." + path[3 - room :]


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 3] + "..."
