"""From the device's queue to a finding: the files of the real hook, read and judged as ever."""

from __future__ import annotations

import struct
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from neuron_observer import hook
from neuron_observer.clock import ManualClock
from tests.heartbeats import BOOT
from tests.hook import stand_in
from tests.hook.test_vectors import Job
from tests.live_jobs import FOLDER, TICKS, Bench, Training

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.model import Finding

RANKS, LOOK = 4, 4  # a look every so many steps of one second: some see a step before its times
TRANSFER, WORK = 0.1, 0.6  # seconds, of the device
LEARNED = 660  # steps: every tenth counts
STEPS = 880


def _jitter(rank: int, step: int) -> float:
    """Some thousandths, another for each rank and step."""
    return 1 + 0.004 * ((rank * 7919 + step * 104729) % 101 / 50 - 1)


def _work(rank: int, step: int, slow: float) -> float:
    ratio = slow if rank == 2 and step >= LEARNED else 1.0
    return WORK * ratio * _jitter(rank, step)


class Watched(Bench):
    """A node whose files were written by the hook, a look at a time."""

    files: list[list[bytes]]

    def write(self) -> None:
        """As they were after so many looks."""
        if self.job is None or not (done := len(self.frames)):
            return
        for rank in self.job.here:
            raw, pid = bytearray(self.files[rank][done - 1]), self.job.pid_of(rank)
            struct.pack_into("<IIQ16siiii", raw, 24, pid, 1000, TICKS + pid, BOOT, rank, 4, rank, 0)
            self.host.put(f"{FOLDER}/rank-{pid}-{TICKS + pid}.hb", bytes(raw))

    def _train(self, job: Training, now: float) -> None:
        """The hook did."""


@pytest.fixture
def hooked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[float, str], list[list[bytes]]]:
    """Four ranks, one after the other: their files after every look."""

    def rank_of(rank: int, slow: float, fault: str) -> list[bytes]:
        made = stand_in.modules()
        for name, module in made.items():
            monkeypatch.setitem(sys.modules, name, module)
        job = Job(made)
        world, device = job.distributed.world, job.distributed.world.device
        world.backend, world.size = "neuron", RANKS
        device.stuck, device.stamps_host = fault == "stuck", fault == "host"
        device.now = device.tail = ManualClock().monotonic()
        clock = SimpleNamespace(monotonic=lambda: device.now, time=lambda: device.now + 1.79e9)
        monkeypatch.setattr(hook, "time", clock)
        assert hook.install(events=True)
        device.work(3.0)
        seen = []
        for step in range(STEPS):
            works = [_work(one, step, slow) for one in range(RANKS)]
            device.work(works[rank])
            wait = max(works) + TRANSFER - works[rank]
            world.during = lambda _, wait=wait: device.work(wait / 2)
            job.step(job.reduce, job.reduce)
            device.now += max(works) + TRANSFER
            if step % LOOK == LOOK - 1:
                seen.append(next(folder.glob("*.hb")).read_bytes())
        hook.uninstall()
        return seen

    return lambda slow, fault: [rank_of(rank, slow, fault) for rank in range(RANKS)]


def _judged(files: list[list[bytes]]) -> tuple[Watched, list[Finding]]:
    watched = Watched(seconds=LOOK * (WORK + TRANSFER))
    watched.files = files
    watched.start(Training(ranks=RANKS))
    return watched, watched.run(watched.look_every * len(files[0]))


def test_a_slow_rank_among_four_is_named(
    hooked: Callable[[float, str], list[list[bytes]]],
) -> None:
    """By every tenth step, each rank's times known some steps after it was read first."""
    watched, found = _judged(hooked(1.3, ""))
    one = next(one for one in found if one.id == "straggler")
    assert one.entity.rank == 2
    assert one.evidence[0].fields["class"] == "compute"
    assert one.evidence[0].value == pytest.approx(1.3, abs=0.02)
    assert {(one.id, one.entity.rank) for one in found if one.id == "straggler"} == {
        ("straggler", 2)
    }
    pace = watched.rank(0).pace
    assert pace is not None
    assert pace.source == "event"
    assert pace.busy == pytest.approx(WORK, rel=0.02)


@pytest.mark.parametrize("fault", ["stuck", "host"])
def test_without_the_devices_times_nobody_is_named(
    hooked: Callable[[float, str], list[list[bytes]]], fault: str
) -> None:
    """The job is slower, as its steps say; its device never is through, or its events lie."""
    watched, found = _judged(hooked(1.3, fault))
    assert [one.id for one in found] == ["job-slow"]
    pace = watched.rank(2).pace
    assert pace is not None
    assert (pace.source, pace.busy) == ("none", None)


def test_healthy_ranks_raise_nothing(hooked: Callable[[float, str], list[list[bytes]]]) -> None:
    """Their samples are compared with each other's of the same step."""
    watched, found = _judged(hooked(1.0, ""))
    assert found == []
    assert watched.told == []
