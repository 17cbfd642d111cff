"""Lines folded into facts: equal messages of one place are one fact, however often they come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Action

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.model import EvidenceKind, Scalar
    from neuron_observer.rules.pattern import Pattern
    from neuron_observer.triage.heads import Head

MAX_FACTS = 5000  # different facts; what comes after them is counted by pattern alone
MAX_NOVEL = 40  # different unknown lines that are kept
TEXT = 300  # characters of a line that are kept
PIDS = 16
BESIDE = 2  # lines between a message and the one that excuses it

_NO_DIGITS = bytes.maketrans(b"0123456789", b"#" * 10)

_KINDS: dict[str, EvidenceKind] = {
    "kernel": "kernel_line",
    "host": "kernel_line",
    "runtime": "runtime_line",
    "monitor": "monitor",
    "listing": "monitor",
}


class Sighting(NamedTuple):
    """One message seen once."""

    pattern: Pattern
    source: int  # index of the input
    line: int
    text: bytes
    head: Head
    device: int | None = None
    core: int | None = None
    code: str | None = None
    fields: dict[str, Scalar] = {}  # noqa: RUF012 - a NamedTuple's default, never changed
    start: int = 0  # where the message begins in `text`

    def words(self, start: int = 0) -> str:
        """The text from `start` on, as far as it is kept."""
        return self.text[start : start + TEXT].decode("utf-8", "backslashreplace").strip()


@dataclass(slots=True)
class Fact:
    """One message of one place, seen `count` times; text, time and fields are the first one's."""

    pattern: Pattern
    source: int
    node: str | None
    device: int | None
    core: int | None
    code: str | None
    line: int
    text: str
    at: float | None
    by_kernel: bool | None
    fields: dict[str, Scalar]
    job: str | None
    rank: int | None
    order: int  # how many facts were there before it
    said: str = ""  # the message without what stands before it
    count: int = 0
    excused: int = 0
    last_line: int = 0
    last_at: float | None = None
    pids: list[int] = field(default_factory=list)

    @property
    def kind(self) -> EvidenceKind:
        """What kind of evidence its lines are."""
        return _KINDS[self.pattern.where]

    @property
    def action(self) -> Action:
        """What its lines ask for by themselves."""
        excused = self.harmless and not self.pattern.quiet
        return Action.WATCH if excused else self.pattern.action

    @property
    def harmless(self) -> bool:
        """Whether every line of it is normal, or was excused by the line beside it."""
        return self.pattern.quiet or self.count == self.excused


@dataclass(slots=True)
class Novel:
    """A line of the driver or the runtime that no pattern knows; never an alarm."""

    source: int
    line: int
    text: str
    count: int = 0


class Folder:
    """Takes sightings one by one; holds a bounded number of facts."""

    def __init__(self) -> None:
        self.facts: dict[tuple[object, ...], Fact] = {}
        self.novel: dict[bytes, Novel] = {}
        self.novel_lines = 0
        self._beside: dict[int, tuple[int, Fact]] = {}  # by input: line and fact seen last

    def __iter__(self) -> Iterator[Fact]:
        """Facts in the order in which they were first seen."""
        return iter(self.facts.values())

    def add(self, seen: Sighting) -> None:
        """Count one sighting."""
        self._count(self._fact(seen), seen.source, seen.line, seen.head)

    def again(self, key: tuple[object, ...], source: int, line: int, head: Head) -> bool:
        """Count one more sighting of a fact; False if there is none of this key yet."""
        fact = self.facts.get(key)
        if fact is not None:
            self._count(fact, source, line, head)
        return fact is not None

    def _count(self, fact: Fact, source: int, line: int, head: Head) -> None:
        fact.count += 1
        fact.last_line = line
        if head.at is not None:
            fact.last_at = head.at
        pid = head.pid
        if pid is not None and len(fact.pids) < PIDS and pid not in fact.pids:
            fact.pids.append(pid)
        self._excuse(source, line, fact)

    def count(self, pattern: Pattern, source: int, line: int) -> bool:
        """Count one more line of a quiet pattern; False if it is the first of this input."""
        fact = self.facts.get((pattern.id, source))
        if fact is None:
            return False
        fact.count += 1
        fact.last_line = line
        if pattern.excuses:
            self._excuse(source, line, fact)
        return True

    def _fact(self, seen: Sighting) -> Fact:
        key: tuple[object, ...] = (seen.pattern.id, seen.source)
        if not seen.pattern.plain and len(self.facts) < MAX_FACTS:
            key = (*key, seen.head.node, seen.device, seen.core, seen.code, seen.head.rank)
        fact = self.facts.get(key)
        if fact is None:
            fact = self.facts[key] = Fact(
                seen.pattern, seen.source, seen.head.node, seen.device, seen.core, seen.code,
                seen.line, seen.words(), seen.head.at, seen.head.by_kernel,
                dict(seen.fields), seen.head.job, seen.head.rank, len(self.facts),
                seen.words(seen.start),
            )  # fmt: skip
        return fact

    def _excuse(self, source: int, line: int, fact: Fact) -> None:
        """A line and the one that excuses it may stand in either order."""
        before_line, before = self._beside.get(source, (line - BESIDE - 1, fact))
        self._beside[source] = (line, fact)
        if line - before_line > BESIDE or not (fact.pattern.excuses or before.pattern.excuses):
            return
        for one, other in ((fact, before), (before, fact)):
            if one.pattern.excuses is not None and one.pattern.excuses == other.pattern.finding:
                other.excused += 1
                del self._beside[source]  # one line excuses one
                return

    def add_novel(self, source: int, line: int, text: bytes) -> None:
        """Count a line that nobody knows; lines that differ in digits only are one."""
        self.novel_lines += 1
        shape = text[-TEXT:].translate(_NO_DIGITS)
        found = self.novel.get(shape)
        if found is None and len(self.novel) < MAX_NOVEL:
            found = self.novel[shape] = Novel(
                source, line, text[:TEXT].decode("utf-8", "backslashreplace")
            )
        if found:
            found.count += 1
