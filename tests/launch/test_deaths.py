"""Who ended first, by real processes with the real hook; and the reader that finds them."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.launch.deaths import Death, Deaths, watching_deaths
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs
from tests.launch.ranks import ranks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLOCK = SystemClock()
PATIENCE = 20.0  # seconds for what must come


@pytest.fixture
def deaths(tmp_path: Path) -> Iterator[Deaths]:
    """Of ranks below this process; what is said is in `found` too."""
    made = Deaths(str(tmp_path), os.getpid(), CLOCK, lambda _: None)
    yield made
    made.close()


def until_found(deaths: Deaths, count: int) -> None:
    """Wait for so many deaths."""
    begin = CLOCK.monotonic()
    while len(deaths.found) < count:
        assert CLOCK.monotonic() - begin < PATIENCE
        deaths.wait(0.05)


def test_the_first_is_told_and_not_those_it_takes_along(deaths: Deaths, tmp_path: Path) -> None:
    """By rank, signal and step; the others end because of it."""
    with ranks(tmp_path, 0, 0, 0) as processes:
        deaths.look()
        processes[1].kill()
        until_found(deaths, 1)
        processes[0].terminate()
        processes[2].kill()
        for process in processes:
            process.wait(PATIENCE)
        deaths.wait(0.2)
    (death,) = deaths.found
    assert deaths.followed == 3
    assert death[1:] == (processes[1].pid, 1, 5, 1, None, signal.SIGKILL, 2)
    assert str(death) == (
        "rank 1 was the first to end after 5 steps: signal 9 (SIGKILL); 2 others were running"
    )


def test_an_exit_code_is_told_and_a_good_end_is_none(deaths: Deaths, tmp_path: Path) -> None:
    """Rank 0 ends well, rank 1 does not."""
    with ranks(tmp_path, 0, 3, 0) as processes:
        deaths.look()
        for process in processes[:2]:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
            deaths.wait(PATIENCE)
    assert [(one.rank, one.exit_code, one.others) for one in deaths.found] == [(1, 3, 1)]


def test_an_end_on_request_and_a_lonely_one_are_none(deaths: Deaths, tmp_path: Path) -> None:
    """SIGTERM is how launchers end ranks; the last of all took nobody along."""
    with ranks(tmp_path, 0, 0) as processes:
        deaths.look()
        processes[0].terminate()
        deaths.wait(PATIENCE)
        processes[1].kill()
        deaths.wait(PATIENCE)
    assert deaths.found == []


def test_an_end_that_was_asked_for_is_none(tmp_path: Path) -> None:
    """Whatever it looks like: a launcher kills what does not end soon enough."""
    deaths = Deaths(str(tmp_path), os.getpid(), CLOCK, lambda _: None, lambda: True)
    with ranks(tmp_path, 0, 0) as processes:
        deaths.look()
        processes[0].kill()
        deaths.wait(PATIENCE)
    deaths.close()
    assert deaths.found == []


def test_how_is_known_also_when_its_parent_was_faster(deaths: Deaths, tmp_path: Path) -> None:
    """From Linux 6.15 on the kernel tells it by the pidfd; before, it is not known."""
    with ranks(tmp_path, 0, 0) as processes:
        deaths.look()
        processes[0].kill()
        processes[0].wait(PATIENCE)
        until_found(deaths, 1)
    (death,) = deaths.found
    version = tuple(int(part) for part in os.uname().release.split(".")[:2])
    assert death.signal == (signal.SIGKILL if version >= (6, 15) else None)
    assert death.rank == 0


def test_the_next_ranks_of_a_job_have_a_first_as_well(deaths: Deaths, tmp_path: Path) -> None:
    """A launcher starts all anew after one died."""
    for count in (1, 2):
        with ranks(tmp_path, 0, 0) as processes:
            deaths.look()
            processes[0].kill()
            until_found(deaths, count)
            processes[1].kill()
            deaths.wait(PATIENCE)
    assert [one.rank for one in deaths.found] == [0, 0]


def test_ranks_of_others_are_left_alone(tmp_path: Path) -> None:
    """In the shared folder write the jobs of everybody; a name may lie."""
    (tmp_path / f"rank-{os.getpid()}-1.hb").touch()
    (tmp_path / "rank-x.hb").touch()
    with ranks(tmp_path, 0, 0) as processes:
        deaths = Deaths(str(tmp_path), processes[0].pid, CLOCK, lambda _: None)
        deaths.look()
        processes[1].kill()
        deaths.wait(0.2)
        deaths.close()
    assert deaths.found == []


def test_watched_in_a_thread(tmp_path: Path) -> None:
    """As `run` does it; a folder that is not there costs nothing."""
    with watching_deaths(str(tmp_path / "none"), os.getpid(), CLOCK, print) as deaths:
        pass
    assert (deaths.found, deaths.followed) == ([], 0)
    said: list[str] = []
    with (
        ranks(tmp_path, 0, 0) as processes,
        watching_deaths(str(tmp_path), os.getpid(), CLOCK, said.append),
    ):
        CLOCK.wait(0.3)  # its first look
        processes[0].kill()
        begin = CLOCK.monotonic()
        while not said:
            assert CLOCK.monotonic() - begin < PATIENCE
            CLOCK.wait(0.02)
    assert said[0].startswith("rank 0 was the first to end after 5 steps: signal 9")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, "rank 3 was the first to end after 7 steps: exit code 2; 4 others were running"),
        (
            {"rank": None, "steps": None, "exit_code": None, "signal": 64},
            "the rank of pid 12 was the first to end: signal 64 (SIGRTMAX); 4 others were running",
        ),
        (
            {"exit_code": None},
            "rank 3 was the first to end after 7 steps: how is not known; 4 others were running",
        ),
    ],
)
def test_in_words(change: dict[str, int | None], told: str) -> None:
    """What is not known is said to be so."""
    death = Death(0.0, 12, 3, 7, 0, 2, None, 4)
    assert str(death._replace(**change)) == told  # type: ignore[arg-type]


def test_what_the_hook_writes_is_what_the_daemon_reads(tmp_path: Path) -> None:
    """Real ranks, the real job map, the real reader of their files: one job and its steps."""
    options = Options(heartbeats=str(tmp_path), machine=False)
    with ranks(tmp_path, 0, 0) as processes:
        reader = HostReader(DirectoryFs("/"), CLOCK, options)
        snapshot = reader.poll(("jobs",))
        reader.close()
    pids = {process.pid for process in processes}
    (job,) = [job for job in snapshot.jobs if pids & {rank.process.pid for rank in job.ranks}]
    assert (job.run_id, job.world_size, job.launcher) == (f"test-{os.getpid()}", 2, "torchrun")
    assert [rank.rank for rank in job.ranks] == [0, 1]
    assert {rank.process.pid for rank in job.ranks} == pids
    for rank in job.ranks:
        pace = rank.pace
        assert pace is not None
        assert (pace.phase, pace.step, pace.entered, pace.completed) == ("training", 5, 6, 5)
        assert (pace.inside, pace.source) == ("all_gather", "blocking")
        assert pace.inside_for is not None
        assert 0 <= pace.inside_for < PATIENCE
    assert job.pace is not None
    assert (job.pace.source, job.pace.heard) == ("hook", 2)
