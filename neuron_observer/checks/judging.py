"""The judge that every verb and the daemon share, and a look at a host that it judges.

The rules judge what was read. Two things that no reading tells count beside them: processes of dead
jobs that still hold a device, and cores that are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.checks.aside import Aside
from neuron_observer.checks.beside import IDS, Beside, explain_beside
from neuron_observer.checks.inventory import cores_missing
from neuron_observer.jobs.impact import Impacts, leftovers
from neuron_observer.model import DeviceHealth, Frame, Severity, Verdict
from neuron_observer.oneshot import let_time_pass, read_anew
from neuron_observer.weight import rank, worst_first

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from neuron_observer.model import Finding, Health, Snapshot
    from neuron_observer.observer import HostReader
    from neuron_observer.rules.engine import Engine
    from neuron_observer.rules.memory import Memory, Word
    from neuron_observer.rules.rule import Rule
    from neuron_observer.rules.scene import History

LANES = ("fast", "normal", "slow", "firmware", "jobs")
MOVING = ("fast", "normal", "jobs", "expensive")


class Look(NamedTuple):
    """What two reads gave: the last frame, both snapshots (one of a single instant), the judge."""

    frame: Frame
    reads: tuple[Snapshot, ...]
    judge: Judge


class Judge:
    """Snapshots in, findings and health out: the rules, and what is told beside them."""

    def __init__(self, engine: Engine, memory: Memory | None = None) -> None:
        self.engine = engine
        self._beside = Beside(lambda: self.engine, memory)
        self._aside = Aside(memory)
        self._impacts = Impacts()
        self._last: tuple[Finding, ...] = ()

    def __call__(
        self, snapshot: Snapshot, history: History | None = None
    ) -> tuple[tuple[Finding, ...], Health]:
        """What is wrong, and how the node is."""
        findings, health = self.engine(snapshot, history)
        beside = (
            *leftovers(snapshot.jobs),
            *cores_missing(snapshot),
            *snapshot.job_findings,
            *self._aside(snapshot),
        )
        learning = {job.id for job in snapshot.jobs if job.pace and not job.pace.learned}
        certain = snapshot.job_scan is not None
        beside = self._beside(beside, snapshot.at, certain=certain, learning=learning)
        if beside:
            findings = tuple(sorted((*findings, *beside), key=worst_first))
            health = worsened(health, findings)
        self._last = self._impacts.add(findings, snapshot)
        return self._last, health

    def renew(self, rules: Sequence[Rule], *, trust_untested_driver: bool) -> None:
        """Judge by other rules from now on; findings that stand go on as they are."""
        self.engine = self.engine.successor(rules, trust_untested_driver=trust_untested_driver)

    def explain(self, finding_id: str) -> str:
        """What a finding means, what shows it now, what to do; empty if the id is unknown."""
        return self.engine.explain(finding_id) or explain_beside(finding_id, self._last)

    @property
    def keys(self) -> Mapping[int, str]:
        """Which chip is where."""
        return self.engine.scene.keys

    def memory(self) -> Memory:
        """What a later run must know."""
        memory = self.engine.memory()
        return memory._replace(findings={**memory.findings, **self._beside.kept()})

    def acknowledge(self, finding_id: str, device: int | None, word: Word) -> int:
        """Somebody knows of these findings; how many there are."""
        by_rules = self.engine.acknowledge(finding_id, device, word)
        return by_rules + self._beside.acknowledge(finding_id, device, word)

    def suppress(self, rule_id: str, device: int | None, until: float, word: Word) -> bool:
        """Have a rule's findings count for nothing until then; False if there is no such rule."""
        severity = Severity.WARNING if rule_id in IDS else None
        return self.engine.suppress(rule_id, device, until, word, severity)

    def unsuppress(self, rule_id: str, device: int | None) -> bool:
        """Have them count again; False if they did."""
        return self.engine.unsuppress(rule_id, device)

    def set_healthy(self, device: int, word: Word) -> bool:
        """Take a device as it is for well; False if there is no such device."""
        if device not in self.engine.scene.keys:
            return False
        self.engine.set_healthy(device, word)
        return True


def worsened(health: Health, findings: Sequence[Finding]) -> Health:
    """The health with all findings, also such that no rule tells; it never gets better by them."""
    from neuron_observer.rules.health import Opinion, opinion  # noqa: PLC0415 - rarely needed

    def worse(before: Opinion, about: Iterable[Finding]) -> Opinion:
        by_findings = opinion(about, (), 1)
        told = by_findings.verdict is not Verdict.HEALTHY
        return by_findings if told and rank(by_findings.verdict) >= rank(before.verdict) else before

    node = worse(Opinion(health.verdict, health.reason), findings)
    devices = []
    for device in health.devices:
        own = (one for one in findings if one.entity.device == device.index)
        devices.append(DeviceHealth(device.index, *worse(Opinion(*device[1:]), own)))
    return health._replace(verdict=node.verdict, reason=node.reason, devices=tuple(devices))


def judge_by(
    rules: Sequence[Rule],
    *,
    one_shot: bool = False,
    trust_untested_driver: bool = False,
    memory: Memory | None = None,
) -> Judge:
    """A judge by some rules; `one_shot`: of two reads, so that nothing can be waited for."""
    from neuron_observer.rules.engine import Engine  # noqa: PLC0415 - see `look`

    engine = Engine(
        rules, memory=memory, one_shot=one_shot, trust_untested_driver=trust_untested_driver
    )
    return Judge(engine, memory)


def load_rules(extra: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The shipped rules, and those of a user: files or directories."""
    from pathlib import Path  # noqa: PLC0415 - with the loader

    from neuron_observer.rules.loader import load  # noqa: PLC0415 - costs yaml

    return load(extra=[Path(one) for one in extra])


def look(reader: HostReader, make: Callable[[], Judge], lanes: Collection[str] = LANES) -> Look:
    """Two reads 300 ms apart, both judged; the rules are loaded while the first one ages.

    What the first read makes suspicious is read again in every lane, so that hardware has its
    second read (architecture, law 5); else only what moves is. Of a recording only that is read
    again which was recorded again; one of an instant is read once.
    """
    first = reader.poll(lanes)
    judge = make()
    findings, health = judge(first)
    if not let_time_pass(reader, first.monotonic):
        return Look(Frame(first, findings, health), (first,), judge)
    suspicious = any(one.severity is not Severity.INFO for one in findings)
    again = read_anew(reader.host, lanes if suspicious else MOVING)
    second = reader.poll([lane for lane in lanes if lane in again])
    findings, health = judge(second)
    broken = tuple(run for run in first.runs if not run.ok)
    both = second._replace(events=first.events + second.events, runs=broken + second.runs)
    return Look(Frame(both, findings, health), (first, both), judge)
