"""Runs of healthy nodes, and which alarms they made."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from benchmarks.judgement.changes import NoisyNode
from benchmarks.judgement.drive import Drive
from benchmarks.judgement.grid import shipped
from benchmarks.judgement.watch import STANDING
from neuron_observer.loop import PERIODS
from neuron_observer.model import Severity, Verdict
from neuron_observer.rules.engine import Engine
from neuron_observer.sim.chips import choose
from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.faults.kind import Fault
from neuron_observer.sim.job import Job
from neuron_observer.sim.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.model import Entity, Finding, Snapshot
    from neuron_observer.sim.chips import Instance
    from neuron_observer.sim.faults.kind import Setting

NODE_TYPES = (("trn2.3xlarge", "2.30.2"), ("inf2.8xlarge", "2.24.7"), ("trn3sn.3xlarge", "2.30.2"))
WARM_UP = 62.0
DAY = 86_400.0


class Alarms:
    """Critical findings and warnings, each once a firing."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._standing: set[tuple[str, Entity]] = set()

    def look(self, findings: Iterable[Finding], verdict: Verdict) -> None:
        """Take a frame's."""
        standing = set()
        for one in findings:
            if one.severity is Severity.INFO or one.shadow or one.state not in STANDING:
                continue
            key = (one.id, one.entity)
            standing.add(key)
            if key not in self._standing:
                self.counts[one.severity.value, f"{one.id} ({one.message})"] += 1
        if verdict is Verdict.UNHEALTHY and not standing:
            self.counts["critical", "unhealthy without a finding"] += 1
        self._standing = standing


@cache
def first_snapshot() -> Snapshot:
    """What the real reader makes of a simulated node at work."""
    instance, driver = choose("trn2.3xlarge", "2.30.2")
    jobs = (Job(at=1.0, devices=(0,)),)
    drive = Drive(Scenario("", instance, driver, jobs=jobs, warm_up=WARM_UP), ())
    snapshot = [frame.snapshot for _, frame in drive.frames(WARM_UP + 11.0)][-1]
    drive.close()
    return snapshot._replace(events=(), runs=())


def week(seed: int, days: float) -> tuple[Counter[tuple[str, str]], int]:
    """The alarms of one node as a stream of changes, and how many looks there were."""
    node, alarms = NoisyNode(first_snapshot(), seed), Alarms()
    engine = Engine(shipped())
    end, looks = first_snapshot().monotonic + days * DAY, 0
    while True:
        snapshot = node.step()
        if snapshot.monotonic > end:
            return alarms.counts, looks
        if node.restarts:
            node.restarts = False
            engine = Engine(shipped(), memory=engine.memory())
        findings, health = engine(snapshot)
        alarms.look(findings, health.verdict)
        looks += 1


# (fault, times a day, seconds that it lasts at most, parameters)
_NOISE: tuple[tuple[str, float, float, dict[str, Setting]], ...] = (
    ("driver_reload", 4, 0, {}),
    ("job_restart", 12, 900, {}),
    ("job_hang", 4, 1800, {}),
    ("reset_loop", 8, 1, {"every": 3600.0}),
    ("counter_cleared", 12, 0, {"counter": "success"}),
    ("counter_cleared", 4, 0, {"counter": "reset_req_count"}),
    ("counter_cleared", 4, 0, {"counter": "device_mem"}),
    ("corrected_ecc_storm", 4, 2, {"rate": 1.0}),
    ("throttled_core", 4, 300, {"pace": 0.8}),
    ("power_flat", 6, 60, {}),
    ("power_starved", 4, 55, {}),
    ("hanging_read", 4, 60, {"seconds": 0.08}),
    ("efa_retransmits", 12, 2, {"packets": 400, "timeouts": 1, "drops": 10}),
    ("memory_leak", 4, 30, {"rate": 10.0}),
    ("status_errors", 6, 0, {"counter": "failure"}),
    ("kernel_lines", 6, 0, {"text": "usb 1-1: new high-speed USB device number 4 using xhci_hcd"}),
)


def _faults(instance: Instance, hours: float, random: Random) -> Iterator[Fault]:
    """Things of the simulation that are no fault, at times of their own."""
    for name, daily, longest, changed in _NOISE:
        kind = FAULTS[name]
        if kind.scope == "port" and not instance.adapters:
            continue
        for _ in range(round(daily * hours / 24)):
            at = WARM_UP + random.uniform(60, hours * 3600 - 60)
            until = at + random.uniform(longest / 2, longest) if longest else None
            if until is None and kind.ends and name not in ("status_errors", "kernel_lines"):
                until = at + 1.0
            values = {one.name: one.default for one in kind.parameters} | changed
            core = random.randrange(instance.chip.cores) if kind.scope == "core" else 0
            yield Fault(kind, at, until, 0, core, 0, values)


def day(
    instance_name: str, driver_name: str, hours: float, fast: float, seed: int = 0
) -> tuple[Counter[tuple[str, str]], int]:
    """The alarms of one simulated node through the whole pipeline, and how many frames."""
    random = Random(f"{seed}/{instance_name}")  # noqa: S311 - a benchmark, not a secret
    instance, driver = choose(instance_name, driver_name)
    scenario = Scenario(
        "",
        instance,
        driver,
        jobs=(Job(at=1.0, devices=tuple(range(instance.devices))),),
        faults=tuple(_faults(instance, hours, random)),
        warm_up=WARM_UP,
        seed=seed,
    )
    drive, alarms, frames = (
        Drive(scenario, shipped(), periods=PERIODS | {"fast": fast}),
        Alarms(),
        0,
    )
    now, end = WARM_UP, WARM_UP + hours * 3600
    while now < end:
        now = min(now + random.uniform(600, 3600), end)
        for _, frame in drive.frames(now):
            alarms.look(frame.findings, frame.health.verdict)
            frames += 1
        _disturb(drive, random)
    drive.close()
    return alarms.counts, frames


def _disturb(drive: Drive, random: Random) -> None:
    """The observer starts anew or stands still, or the clock is set."""
    what = random.randrange(4)
    if what == 0:
        drive.restart()
    elif what == 1:
        drive.clock.advance(random.uniform(1, 600))
    elif what == 2:
        drive.clock.step_wall(random.choice((-0.7, 0.4, 3.0, -3600.0, 3600.0)))
