"""Whole jobs, from the bytes of their ranks to a finding: who, what kind, and when nobody."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli.job import lines as report_lines
from neuron_observer.cli.jobs import lines as jobs_lines
from neuron_observer.client.frames import frame
from neuron_observer.contract import snapshot_document
from neuron_observer.jobs.report import JobTally
from neuron_observer.loop import PERIODS
from neuron_observer.loop.schedule import Schedule
from neuron_observer.model import Confidence, Severity
from neuron_observer.stragglers.alerts import alert
from tests.live_jobs import LIVE, Bench, Training, Work, device

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Finding

DUMPS = Path(__file__).parent / "parsers/flight_recorder"
LEARNED = 80  # steps after which a job's usual times are known


def slow(*ranks: int, ratio: float = 1.3, at: int = LEARNED) -> Callable[[int, int], Work]:
    """These ranks compute longer from a step on."""

    def work(rank: int, step: int) -> Work:
        return Work(0.6 * ratio) if rank in ranks and step >= at else Work()

    return work


def only(found: list[Finding], name: str) -> Finding:
    """The one finding of this id."""
    (one,) = [finding for finding in found if finding.id == name]
    return one


def test_a_slow_rank_is_named() -> None:
    """One of 64 ranks computes a fifth longer; it and nobody else is named, and why."""
    job = Training(ranks=64, world=512, first=128, work=slow(137, ratio=1.2))
    bench = Bench(job, seconds=3)
    found = bench.run(90)
    one = only(found, "straggler")
    assert (one.entity.kind, one.entity.rank, one.severity) == ("rank", 137, Severity.WARNING)
    assert one.evidence[0].fields["class"] == "compute"
    assert {item.trust for item in one.evidence} == {"hearsay"}
    assert (one.confidence, one.blames_hardware) == (Confidence.PROBABLE, False)
    assert one.evidence[0].value == pytest.approx(1.2, abs=0.02)
    marked = [rank.rank for rank in bench.watched.ranks if rank.pace and rank.pace.straggler]
    assert marked == [137]
    pace = bench.watched.pace
    assert pace is not None
    assert (pace.slowest, pace.heard, pace.source) == (137, 64, "hook")
    text = alert(one)
    assert "rank 137" in text
    assert "448 more are not seen from here" in text
    assert "rank-seconds lost a step over 512 ranks" in text
    assert "job-slow" in {finding.id for finding in found}


def test_it_ends_when_the_rank_recovers() -> None:
    """A finding is over when its rank is as fast as it was, and is told as resolved once."""
    job = Training(work=lambda r, s: Work(0.9 if r == 3 and LEARNED <= s < 110 else 0.6))
    bench = Bench(job)
    bench.run(85)
    assert only(bench.standing, "straggler").entity.rank == 3
    bench.run(35)
    assert bench.standing == []
    assert bench.told.count("straggler resolved") == 1


def test_a_job_is_no_part_of_the_node_s_health() -> None:
    """Slow or standing still, a job drains no node: neither verdict nor devices change."""
    bench = Bench(Training(devices=True, work=slow(5)), driver=LIVE)
    before = bench.run(60)
    health = bench.frame.health
    assert before == []
    bench.run(60)
    assert {one.id for one in bench.standing} == {"straggler", "job-slow"}
    after = bench.frame.health
    assert (after.verdict, after.reason, after.devices) == (*health[:2], health.devices)


def test_a_device_whose_memory_errors_rise_is_blamed() -> None:
    """Four ranks of one device and its ECC count: the chip, confirmed by its own register."""
    bench = Bench(Training(ranks=16, devices=True, work=slow(4, 5, 6, 7)), driver=LIVE)
    bench.run(58)
    for look in range(60):
        bench.host.put(f"{device(1)}/stats/hardware/mem_ecc_corrected", b"%d\n" % (look * 5))
        bench.run(1)
    one = only(bench.standing, "straggler")
    assert (one.entity.kind, one.entity.device) == ("job", 1)
    assert one.evidence[0].fields["class"] == "chip"
    assert one.evidence[0].fields["ranks"] == "4,5,6,7"
    assert (one.confidence, one.blames_hardware) == (Confidence.CONFIRMED, True)
    assert {item.trust for item in one.evidence} == {"hearsay", "hardware"}


def test_a_rank_that_waits_for_a_processor_is_its_host_s() -> None:
    """Its run queue explains what it takes longer: the host, not the device."""
    bench = Bench(Training(work=slow(2)))
    bench.run(58)
    for look in range(60):
        bench.waits(2, look * 0.25)
        bench.run(1)
    one = only(bench.standing, "straggler")
    assert (one.entity.rank, one.evidence[0].fields["class"]) == (2, "host")
    assert one.action.value == "fix_program"


def test_a_rank_that_waits_for_data_is_input_slow() -> None:
    """Busy times are as ever, one data loader is not."""
    work = lambda r, s: Work(0.6, 0.3 if r == 1 and s >= LEARNED else 0.02)  # noqa: E731
    found = Bench(Training(work=work)).run(110)
    one = only(found, "straggler")
    assert (one.entity.rank, one.evidence[0].fields["class"]) == (1, "input")


def test_all_ranks_waiting_for_data_is_the_storage() -> None:
    """Nobody in particular: the job is slow, and it is the data."""
    found = Bench(Training(work=lambda _, s: Work(0.6, 0.3 if s >= LEARNED else 0.02))).run(110)
    one = only(found, "job-slow")
    assert "straggler" not in {finding.id for finding in found}
    assert (one.entity.kind, one.entity.rank) == ("job", None)
    assert one.evidence[0].fields["class"] == "input"
    assert "shared storage" in one.message


class Fabric(Training):
    """A job whose transfers take longer from a step on."""

    @property
    def transfer(self) -> float:
        """Seconds."""
        return 0.1 if self.steps < LEARNED else 0.4

    @transfer.setter
    def transfer(self, _: float) -> None:
        pass


def test_slow_transfers_are_the_network_s_where_all_ranks_are_seen() -> None:
    """The shortest collective of all rose and nobody computes longer."""
    one = only(Bench(Fabric()).run(110), "job-slow")
    assert one.evidence[0].fields["class"] == "network"
    assert one.action.value == "look_at_other_workers"


def test_slow_transfers_are_nobody_s_where_ranks_are_not_seen() -> None:
    """One of another node may simply come late: said so, and nothing concluded."""
    one = only(Bench(Fabric(world=16)).run(110), "job-slow")
    assert one.evidence[0].fields["class"] == "unknown"
    assert "8 ranks that nobody sees may be late" in one.message


def test_a_slower_job_is_told_where_all_ranks_are() -> None:
    """Another batch size, or the whole node: nobody is named."""
    bench = Bench(Training(work=lambda _, s: Work(0.6 if s < LEARNED else 0.8)))
    found = bench.run(120)
    assert [one.id for one in found] == ["job-slow"]
    assert "nobody can be named: all ranks became slower alike" in found[0].message
    pace = bench.watched.pace
    assert pace is not None
    assert pace.ratio == pytest.approx(1.27, abs=0.03)
    assert pace.slowest is None


def test_a_heavy_stage_is_the_work() -> None:
    """A whole pipeline stage becomes slower: how the work is split, never a warning."""
    job = Training(ranks=24, role=lambda r: f"stage-{r // 8}", work=slow(*range(8, 16), ratio=1.2))
    one = only(Bench(job).run(110), "imbalance")
    assert (one.severity, one.blames_hardware) == (Severity.INFO, False)
    assert one.entity.kind == "job"


def test_a_stage_that_is_always_heavier_is_no_slow_machine() -> None:
    """E49: stage 3 computes 1.6 times as long in every step; ranks are compared within a stage."""
    job = Training(
        ranks=16,
        role=lambda r: f"stage-{r // 4}",
        work=lambda r, _: Work(1.0 if r >= 12 else 0.6),
    )
    bench = Bench(job, seconds=4)
    bench.run(120)
    assert bench.told == []


def test_another_rank_in_each_step_is_the_data() -> None:
    """E50: the slowest of a step takes 1.3 to 2 times as long, and it is another one each time."""
    draw = Random(3)  # noqa: S311 - noise
    late = [(draw.randrange(16), 0.6 * draw.uniform(1.3, 2.0)) for _ in range(1000)]
    job = Training(ranks=16, work=lambda r, s: Work(late[s][1] if late[s][0] == r else 0.6))
    bench = Bench(job, seconds=4)
    bench.run(240)
    assert not [one for one in bench.told if "firing" in one]


@pytest.mark.parametrize(
    ("flags", "source", "why"),
    [
        (3 + 8, 0, "collectives return before they end (async_op=True)"),
        (3 + 16, 0, "the step is compiled"),
        (1, 0, "no collective is seen"),
    ],
)
def test_without_the_time_in_collectives_nobody_is_named(flags: int, source: int, why: str) -> None:
    """Asynchronous handles, a compiled step, no wrapping: the job is slow, and that is all."""
    bench = Bench(Training(flags=flags, source=source, work=slow(5)))
    found = bench.run(110)
    assert [one.id for one in found] == ["job-slow"]
    assert why in found[0].message
    assert all(rank.pace and rank.pace.busy is None for rank in bench.watched.ranks)
    assert bench.watched.pace
    assert why in bench.watched.pace.detail


def test_ranks_without_the_hook_are_said_to_be_unseen() -> None:
    """The slow one among those that tell is named; how many do not is said."""
    job = Training(hooked=lambda r: r not in (1, 6), devices=True, work=slow(5))
    bench = Bench(job, driver=LIVE)
    one = only(bench.run(110), "straggler")
    assert one.entity.rank == 5
    assert bench.watched.pace
    assert (bench.watched.pace.heard, bench.watched.pace.detail) == (
        6,
        "2 ranks have no step hook",
    )
    assert bench.rank(1).pace is None


# -- standing still


def hang(rank: int, at: int = 40, **how: object) -> Callable[[int, int], Work]:
    """One rank stops at a step."""

    def work(one: int, step: int) -> Work:
        return Work(None, inside=False, **how) if one == rank and step >= at else Work()  # type: ignore[arg-type]

    return work


def stalled(bench: Bench, seconds: float = 125) -> Finding:
    """The only finding of a job that has stood still long enough."""
    found = bench.run(seconds)
    (one,) = found
    assert bench.watched.pace
    assert bench.watched.pace.phase == "stalled"
    return one


def test_who_does_not_come_is_named() -> None:
    """E51: no line, no error: rank 2 never entered the collective in which seven wait."""
    bench = Bench(Training(work=hang(2)))
    bench.run(85)
    assert bench.standing == []  # 55 s of standing still
    one = only(bench.run(12), "hang-host")
    assert (one.entity.rank, one.severity) == (2, Severity.CRITICAL)
    assert one.action.value == "fix_program"
    behind = bench.rank(2).pace
    waiting = bench.rank(3).pace
    assert behind is not None
    assert waiting is not None
    assert behind.inside is None
    assert waiting.inside == "all_reduce"
    assert (waiting.inside_for or 0) > 55
    assert waiting.entered - behind.entered == 1


def test_a_rank_that_waits_for_its_data_for_ever() -> None:
    """The data loader was asked and has not answered."""
    one = stalled(Bench(Training(work=hang(4, input=inf))))
    assert (one.id, one.entity.rank) == ("hang-input", 4)


def test_all_inside_the_same_collective_is_nobody_s_fault_here() -> None:
    """The transport, or a rank elsewhere: look at the other workers, blame no device."""
    one = stalled(Bench(Training(world=16, work=lambda _, s: Work(None if s >= 40 else 0.6))))
    assert (one.id, one.entity.kind, one.entity.rank) == ("hang-collective", "job", None)
    assert one.action.value == "look_at_other_workers"
    assert not one.blames_hardware
    assert any("other nodes" in step for step in one.confirm_by)


def test_ranks_in_different_collectives_is_the_program() -> None:
    """The same number, another operation: no machine."""
    job = Training(work=lambda _, s: Work(None if s >= 40 else 0.6), code=lambda r: 7 + (r == 3))
    one = stalled(Bench(job))
    assert (one.id, one.entity.rank, one.action.value) == ("hang-desync", 3, "fix_program")


@pytest.mark.parametrize(("ended", "how"), [(False, "it died"), (True, "it ended by itself")])
def test_a_rank_that_is_gone_is_named(ended: bool, how: str) -> None:
    """Its process is no longer there, nor are its figures (E02), and the others wait for it."""
    bench = Bench(Training(work=hang(6)))
    bench.run(35)
    bench.kill(6, ended=ended)
    one = stalled(bench, 85)
    assert (one.id, one.entity.rank) == ("hang-crashed-peer", 6)
    assert how in one.message
    assert one.action.value == "restart_job"
    assert 6 not in {rank.rank for rank in bench.watched.ranks}


def test_a_hang_is_over_when_the_job_moves_or_goes() -> None:
    """What stood still goes on, or its processes end: the finding is resolved."""
    bench = Bench(Training(work=hang(2)))
    assert stalled(bench).id == "hang-host"
    bench.stop()
    bench.run(15)
    assert bench.standing == []
    assert bench.told.count("hang-host resolved") == 1


def test_the_flight_recorder_names_whom_the_hook_does_not_see() -> None:
    """Collectives that the hook does not wrap: torch's own dumps say who did not come."""
    bench = Bench(Training(flags=1, source=0, work=hang(1)))
    bench.run(85)
    for rank in range(8):
        dump = DUMPS / f"rank{1 if rank == 1 else 0}.json"
        name = f"rank-{4000 + rank}-{94_000 + rank}.fr.json"
        bench.host.put(f"run/neuron-observer-ranks/{name}", dump.read_bytes())
    one = only(bench.run(20), "hang-host")
    assert one.entity.rank == 1
    assert "flight recorders (group 0, in gloo:all_reduce" in str(one.evidence[0].fields["basis"])


# -- what must never alarm


@pytest.mark.parametrize("phase", ["checkpoint", "evaluation", "compile"])
def test_a_planned_pause_is_no_alarm(phase: str) -> None:
    """Ten minutes of it after a hundred steps: neither slow nor hung, and steps go on after."""
    bench = Bench(Training(phase=lambda now: phase if 1080 < now < 1680 else "training"), seconds=5)
    bench.run(800)
    assert bench.told == []
    assert bench.job is not None
    assert bench.job.steps > 200


def test_compiling_before_the_first_step_is_no_alarm() -> None:
    """E51: forty minutes until the first step."""
    bench = Bench(Training(phase=lambda now: "training" if now > 3400 else "compile"), seconds=5)
    bench.run(2500)
    assert bench.told == []
    assert bench.watched.pace
    assert bench.watched.pace.phase in ("compile", "training", "init")


def test_a_compiler_that_runs_is_no_hang() -> None:
    """A recompilation that nobody announced: the compiler's process tells."""
    bench = Bench(Training(work=lambda _, s: Work(None if s >= 40 else 0.6)))
    bench.host.put(
        "proc/7000/stat", b"7000 (neuronx-cc) R 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 1"
    )
    bench.host.put("proc/7000/comm", b"neuronx-cc\n")
    bench.run(300)
    assert bench.told == []
    bench.host.drop("proc/7000")
    assert only(bench.run(90), "hang-collective")


@pytest.mark.parametrize("ranks", [8, 4])
def test_a_restart_or_a_resize_begins_anew(ranks: int) -> None:
    """All ranks again, with as many ranks or fewer: what was learned is forgotten."""
    bench = Bench(Training())
    bench.run(70)
    bench.stop()
    bench.run(25)
    heavier = lambda _r, _s: Work(0.9)  # noqa: E731
    bench.start(Training(ranks=ranks, restart=1, pid=5000, work=heavier))
    bench.run(100)
    assert bench.told == []
    assert bench.watched.restarts == 1
    assert bench.watched.pace
    assert (bench.watched.pace.heard, bench.watched.pace.phase) == (ranks, "training")


def test_the_wall_clock_moves_no_judgement() -> None:
    """It jumps an hour in the midst of a healthy run, and of a slow one."""
    bench = Bench(Training(work=slow(5, at=120)))
    bench.run(60)
    bench.clock.step_wall(3600.0)
    bench.run(20)
    assert bench.told == []
    bench.run(10)
    bench.clock.step_wall(-7200.0)
    assert only(bench.run(35), "straggler").entity.rank == 5


def test_healthy_ranks_are_never_named() -> None:
    """Six minutes of a job with 2 % of noise and chips that differ by 3 %."""
    spread = [0.6 * (1 + 0.004 * (rank % 8)) for rank in range(16)]
    job = Training(ranks=16, noise=0.02, work=lambda r, _: Work(spread[r]))
    bench = Bench(job, seconds=5)
    bench.run(400)
    assert bench.told == []


# -- without the hook


def outside(executions: Callable[[float], float], seconds: float, driver: str = LIVE) -> Bench:
    """A job without the hook whose cores have executed so often at a time; looks of 5 s."""
    bench = Bench(Training(ranks=16, devices=True, hooked=lambda _: False), driver, seconds=5)
    begin = bench.clock.monotonic()
    while bench.clock.monotonic() < begin + seconds:
        passed = bench.clock.monotonic() - begin
        for index in range(4):
            bench.count(index, int(executions(passed)))
        bench.run(5)
    return bench


def test_from_outside_a_slower_job_is_seen_and_nobody_named() -> None:
    """Executions of all cores fall by a fifth: the job, no rank, and why."""
    bench = outside(lambda t: 8 * min(t, 600) + 6.4 * max(t - 600, 0), 1000)
    (one,) = bench.standing
    assert (one.id, one.entity.kind, one.severity) == ("job-slow", "job", Severity.WARNING)
    assert one.evidence[0].previous == pytest.approx(0.125, rel=0.02)
    assert "no step hook: executions are alike on all ranks" in one.message
    pace = bench.watched.pace
    assert pace is not None
    assert (pace.source, pace.phase) == ("driver", "training")
    assert pace.ratio == pytest.approx(1.25, abs=0.02)


def test_from_outside_a_hang_is_seen() -> None:
    """No execution on any core, nothing loaded, sent or written: a warning, no more."""
    bench = outside(lambda t: 8 * min(t, 300), 350)
    assert bench.standing == []
    bench.run(30)
    (one,) = bench.standing
    assert (one.id, one.severity, one.entity.rank) == ("hang-unknown", Severity.WARNING, None)
    assert bench.watched.pace
    assert bench.watched.pace.phase == "stalled"


def test_from_outside_a_rank_that_is_gone_is_named() -> None:
    """Its process ended while the others stopped: certain from /proc alone."""
    bench = outside(lambda t: 8 * min(t, 300), 320)
    bench.kill(9)
    bench.run(60)
    (one,) = bench.standing
    assert (one.id, one.entity.rank, one.severity) == ("hang-crashed-peer", 9, Severity.WARNING)


def test_from_outside_a_checkpoint_is_no_hang() -> None:
    """Executions stand still while models are loaded or memory changes."""
    bench = outside(lambda t: 8 * min(t, 300), 320)
    base = f"{device(0)}/neuron_core0/stats"
    for number in range(40):
        bench.host.put(f"{base}/other_info/model_load_count/total", b"%d\n" % number)
        bench.run(5)
    assert bench.told == []


def test_from_outside_memory_of_another_device_is_no_pause() -> None:
    """The job holds devices 0 to 3; what happens on the fourth after them is somebody else's."""
    bench = outside(lambda t: 8 * min(t, 300), 320)
    bench.run(5)
    held = "neuron_core0/stats/memory_usage/device_mem/total"
    for number in range(14):
        bench.host.put(f"{device(4)}/{held}", b"%d\n" % (number << 20))
        bench.run(5)
    assert [one.id for one in bench.standing] == ["hang-unknown"]
    bench = outside(lambda t: 8 * min(t, 300), 320)
    for number in range(14):
        bench.host.put(f"{device(0)}/{held}", b"%d\n" % (number << 20))
        bench.run(5)
    assert bench.standing == []


def test_on_old_drivers_nothing_is_concluded_from_counters_that_stand_still() -> None:
    """They move only when a process exits (driver 2.24.7): said, with what would help."""
    bench = outside(lambda _: 7, 700, driver="2.24.7.0")
    assert bench.told == []
    pace = bench.watched.pace
    assert pace is not None
    assert (pace.phase, pace.source) == ("unknown", "none")
    assert pace.detail.startswith("not observable with driver 2.24.7.0: it needs driver 2.30.2")


# -- how it is told


def test_every_output_tells_the_slow_rank() -> None:
    """The table of jobs, the report of one, the documents and back: the same rank everywhere."""
    bench = Bench(Training(devices=True, work=slow(5)), driver=LIVE)
    tally = JobTally()
    bench.loop.subscribe(tally.add)
    bench.run(110)
    text = "\n".join(jobs_lines(bench.frame.snapshot))
    assert "STRAGGLER 1.30x (compute, warning)" in text
    assert "training; step 901 ms; 1.25x as slow as it was; slowest: rank 5" in text
    assert bench.watched.pace
    assert bench.watched.pace.period == pytest.approx(0.901, rel=0.01)
    report = tally.report(bench.watched.id)
    assert report is not None
    assert report.slowest.startswith("rank 5 (neuron1): busy 1.30x")
    assert "slowest rank    rank 5" in "\n".join(report_lines(report))
    assert report.verdict != "hardware-suspect"
    document = json.loads(json.dumps(snapshot_document(bench.frame)))
    again = frame(document, 0.0)
    assert again.snapshot.jobs == bench.frame.snapshot.jobs
    told = [one for one in again.findings if one.id == "straggler"]
    assert [one.entity.rank for one in told] == [5]
    assert alert(told[0]) == alert(only(bench.standing, "straggler"))
    shown = bench.judge.explain("straggler")
    assert "Class:  compute-slow" in shown
    assert "if confirmed: replace instance" in shown
    assert "Hits:   job" in shown


def test_a_rank_numbered_by_its_hook_alone() -> None:
    """Its environment has no rank, torch.distributed has: the number is the hook's."""
    bench = Bench(Training(work=slow(5)))
    assert bench.job is not None
    for rank in range(8):
        bench.host.put(f"proc/{bench.job.pid_of(rank)}/environ", b"TERM=dumb\0")
    bench.host.put(f"proc/{bench.job.pid - 1}/cmdline", b"python3\0train.py\0")  # it forked them
    one = only(bench.run(110), "straggler")
    assert one.entity.rank == 5
    assert one.impact.endswith("rank 5")
    assert [rank.rank for rank in bench.watched.ranks] == list(range(8))


def test_without_anybody_to_name_the_report_says_why() -> None:
    """Asynchronous handles: no slowest rank, and the reason."""
    bench = Bench(Training(flags=11, source=0, work=slow(5)))
    tally = JobTally()
    bench.loop.subscribe(tally.add)
    bench.run(30)
    report = tally.report(bench.watched.id)
    assert report is not None
    assert report.slowest.startswith("none is named: collectives return before they end")


def _heard(bench: Bench, seconds: float) -> int:
    """How often the ranks were heard in so long."""
    ranks = bench.reader.ranks
    assert ranks is not None
    times = set()
    for _ in range(round(seconds)):
        bench.run(1.0)
        times |= {beat.read_at for beat in ranks.heartbeats.beats}
    return len(times)


def test_calm_ranks_are_heard_every_other_time() -> None:
    """Until they are known, and once one is slow, each time; no step is lost meanwhile."""
    slow = {"from": 10**9}
    job = Training(
        work=lambda rank, step: Work(0.78 if rank == 3 and step >= slow["from"] else 0.6)
    )
    bench = Bench(job)
    assert _heard(bench, 20) >= 20
    bench.run(150)
    assert 9 <= _heard(bench, 20) <= 11
    known = bench.frames[-1].snapshot.jobs[0].ranks[0].pace
    assert known is not None
    assert job.steps - known.step <= 3
    slow["from"] = job.steps
    bench.run(40)
    assert any(one.id == "straggler" and one.entity.rank == 3 for one in bench.standing)
    assert _heard(bench, 10) >= 10


@pytest.mark.parametrize("at", range(4))
def test_calm_ranks_are_heard_at_once_when_somebody_goes(at: int) -> None:
    """A map read anew with other figures is no reason; one without a rank is, at any look."""
    bench = Bench(Training())
    bench.loop.schedule = Schedule({**PERIODS, "jobs": 3.0})
    bench.run(170 + at)
    for rank in range(8):
        bench.waits(rank, 0.01 * rank)
    assert 9 <= _heard(bench, 20) <= 11
    bench.kill(3)
    ranks = bench.reader.ranks
    assert ranks is not None
    before = bench.clock.monotonic()
    while len(bench.watched.ranks) == 8:
        bench.run(1.0)
    assert any(one.at >= before for one in ranks.heartbeats.gone)
