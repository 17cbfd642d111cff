"""What people say of findings and devices: each act is carried out, kept and audited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from neuron_observer.errors import UsageError
from neuron_observer.rules.findings import BEFORE_WATCHED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.rules.memory import Memory, Word

Verb: TypeAlias = Literal["ack", "suppress", "unsuppress", "set-healthy", "dump"]
LONGEST = 90 * 86_400.0  # seconds that a suppression may last: what is hidden for ever is forgotten
MOST_REASON = 500  # characters


class Act(NamedTuple):
    """One act of a person."""

    verb: Verb
    word: Word  # who, when, why
    subject: str = ""  # the finding or rule
    device: int | None = None
    until: float | None = None  # wall clock

    def columns(self, keys: Mapping[int, str]) -> tuple[object, ...]:
        """As it is audited: at, who, verb, subject, device, key, until, reason."""
        key = keys.get(self.device, "") if self.device is not None else ""
        word = self.word
        return (
            *(word.at, word.who, self.verb, self.subject),
            *(self.device, key, self.until, word.reason),
        )


class Done(NamedTuple):
    """What became of an act."""

    text: str
    kept: bool  # on the disk
    problem: str = ""  # why it is only in memory


class Judging(Protocol):
    """The judge, as far as people may tell it something; in the loop's thread only."""

    @property
    def keys(self) -> Mapping[int, str]:
        """Which chip is where."""
        ...

    def memory(self) -> Memory:
        """What a later run must know."""
        ...

    def acknowledge(self, finding_id: str, device: int | None, word: Word) -> int:
        """Somebody knows of these findings; how many there are."""
        ...

    def suppress(self, rule_id: str, device: int | None, until: float, word: Word) -> bool:
        """Have a rule's findings count for nothing until then; False if there is no such rule."""
        ...

    def unsuppress(self, rule_id: str, device: int | None) -> bool:
        """Have them count again; False if they did."""
        ...

    def set_healthy(self, device: int, word: Word) -> bool:
        """Take a device as it is for well; False if there is no such device."""
        ...


def check(act: Act) -> None:
    """`UsageError` for an act that cannot be meant so."""
    if act.subject == BEFORE_WATCHED:
        raise UsageError(
            f"{BEFORE_WATCHED} is information that counts for nothing: nothing is to be said of it",
            remedy=f"`neuron-observer explain {BEFORE_WATCHED}` tells what it means.",
        )
    if not act.word.reason.strip():
        raise UsageError("a reason is needed", remedy="Say why: --reason TEXT.")
    if len(act.word.reason) > MOST_REASON:
        raise UsageError(f"the reason is longer than {MOST_REASON} characters")
    if act.verb == "suppress":
        left = (act.until or 0.0) - act.word.at
        if left <= 0:
            raise UsageError("--until must lie ahead", remedy="Give a time or a duration: 2h, 7d.")
        if left > LONGEST:
            raise UsageError(
                f"--until is more than {LONGEST / 86_400:.0f} days ahead",
                remedy="Nobody remembers for so long; suppress it again when it is over.",
            )


def carry_out(act: Act, judge: Judging) -> str:
    """Do it; what was done, in words. `UsageError` where there is nothing to do it to."""
    where = "" if act.device is None else f" of device {act.device}"
    if act.verb == "ack":
        count = judge.acknowledge(act.subject, act.device, act.word)
        if not count:
            raise UsageError(
                f"no finding {act.subject!r}{where} stands",
                remedy="`neuron-observer findings` shows those that do.",
            )
        return f"{act.subject}{where}: acknowledged, {count} finding{'s' if count > 1 else ''}"
    if act.verb == "suppress":
        if not judge.suppress(act.subject, act.device, act.until or 0.0, act.word):
            raise _no_rule(act.subject)
        return f"{act.subject}{where}: suppressed"
    if act.verb == "unsuppress":
        if not judge.unsuppress(act.subject, act.device):
            raise UsageError(f"{act.subject!r}{where} is not suppressed")
        return f"{act.subject}{where}: counts again"
    if act.device is None or not judge.set_healthy(act.device, act.word):
        raise UsageError(f"there is no device {act.device} here")
    return f"device {act.device}: what it counts now is its baseline"


def _no_rule(subject: str) -> UsageError:
    return UsageError(f"no rule is called {subject!r}", remedy="`neuron-observer rules list`.")
