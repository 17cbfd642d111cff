"""What a log line means, as values; `rules.patterns` reads them from files and tells the keys."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from neuron_observer.model import Action, Severity

RULES = Path(__file__).parent / "default"
_RULE_ID = re.compile(r"^  - id: (\S+)$", re.MULTILINE)

Where: TypeAlias = Literal["kernel", "runtime", "host", "monitor", "listing"]
Class: TypeAlias = Literal[
    "hw_fault", "suspect", "victim", "app_error", "capacity", "benign", "info"
]
Grade: TypeAlias = Literal["source", "document", "capture", "inferred"]

REPORTED = frozenset({"monitor", "listing"})
QUIET = frozenset({"benign", "info"})


class Fact(NamedTuple):
    """Where the knowledge in a row comes from, and how good it is."""

    grade: Grade
    source: str


class Pattern(NamedTuple):
    """One row: a message and what it means."""

    id: str
    where: Where
    verdict: Class
    meaning: str
    action: Action
    fact: Fact
    severity: Severity
    finding: str
    match: tuple[str, ...] = ()
    if_confirmed: Action | None = None
    confirm_by: tuple[str, ...] = ()
    code: str | None = None
    blames_hardware: bool = False
    weak: bool = False
    excuses: str | None = None
    ours: bool = False

    @property
    def quiet(self) -> bool:
        """Whether the line is normal, or documented noise."""
        return self.verdict in QUIET

    @property
    def plain(self) -> bool:
        """Whether its lines are only counted, wherever they are from."""
        return self.quiet and self.finding == self.id

    @property
    def runbook(self) -> str:
        """The page of its finding; empty if no rule makes such a finding."""
        return f"docs/runbooks/{self.finding}.md" if self.finding in _with_page() else ""

    @property
    def shadow(self) -> bool:
        """Whether the row rests on an inferred fact, so that it is shown and never counted."""
        return self.fact.grade == "inferred"


@cache
def _with_page() -> frozenset[str]:
    """Findings of the shipped rules, without reading all that the rules say."""
    texts = (file.read_text("utf-8") for file in RULES.glob("*.yaml"))
    return frozenset(id_ for text in texts for id_ in _RULE_ID.findall(text))
