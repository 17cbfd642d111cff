"""`jobs`: the tree as a person reads it, as JSON, and live on this machine."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli.jobs import cores_text, lines
from neuron_observer.cli.roots import JOB_MAPPING
from neuron_observer.model import Cores
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.text import Footnotes
from tests.conftest import tree_file
from tests.hosts import overlay, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.clock import ManualClock
    from neuron_observer.sources.listing import ListingFs
    from tests.cli.conftest import Result

GOLDEN = Path(__file__).parent.parent / "golden"
# the devices on which each tree's processes run
ON = {
    "proc/torchrun": "trn2.3xlarge-2.30.2-busy",
    "proc/slurm": "trn1.32xlarge-2.24.7-busy",
    "proc/pods": "trn2.48xlarge-2.30.2-busy",
    "proc/vllm": "trn2.48xlarge-2.30.2-busy",
    "proc/notebook": "trn1.32xlarge-2.24.7-busy",
}
WORKER = """
import os, sys
held = open(os.path.join(sys.argv[1], "dev", "neuron" + os.environ["LOCAL_RANK"]))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("name", ON)
def test_tree(name: str, tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """The whole map of each host, with the devices below it, as reviewed."""
    mapping = "/var/run/jobmap" if name == "proc/slurm" else None
    host = overlay(tree(ON[name]), tree(name))
    reader = HostReader(host, clock, Options(job_mapping=mapping))
    text = "\n".join(lines(reader.poll(("slow", "firmware", "jobs")))) + "\n"
    assert text == (GOLDEN / f"jobs-{name.removeprefix('proc/')}.txt").read_text("utf-8")


def test_json(call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """The document: jobs, ranks, cores with their source, and what the map rests on."""
    monkeypatch.setenv(JOB_MAPPING, "/var/run/jobmap")
    found = call("jobs", "--format", "json", "--host-root", str(tree_file("proc/slurm")))
    document = json.loads(found.out)
    assert document["schema"] == "neuron-observer/jobs/1"
    jobs = {job["slurm_job"]: job for job in document["jobs"] if job["kind"] != "monitor"}
    assert set(jobs) == {"4242", "4243"}
    rank = jobs["4242"]["ranks"][1]
    assert (rank["rank"], rank["process"]["pid"]) == (1, 7011)
    assert rank["cores"]["numbers"] == list(range(8, 16))
    assert rank["cores"]["confidence"] == "stated"
    assert document["scan"]["mapped"] == {"0": ["4242"], "8": ["4243", "4299"], "15": []}
    assert document["scan"]["denied"] == 0


def test_a_capture_without_processes_says_so(call: Callable[..., Result]) -> None:
    """Not looked is not none."""
    root = str(tree_file("trn2.3xlarge-2.30.2-busy"))
    assert call("jobs", "--host-root", root).out == (
        "jobs: not known, no processes can be seen here\n"
    )
    assert json.loads(call("jobs", "--format", "json", "--host-root", root).out)["scan"] is None


def test_a_proc_that_cannot_be_read_says_why(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The error stands where the map would."""
    reader = HostReader(FaultyFs(tree("proc/vllm"), {"proc": Fault(error=errno.EIO)}), clock)
    assert list(lines(reader.poll(("jobs",)))) == [
        "jobs: not known, OSError: [Errno 5] Input/output error: 'proc'"
    ]


def test_an_idle_node_and_what_that_rests_on(tmp_path: Path, call: Callable[..., Result]) -> None:
    """Nobody holds a device, as far as a container's /proc tells."""
    for path, text in (("1/comm", "sh\n"), ("1/stat", ""), ("1/cmdline", "sh\0")):
        file = tmp_path / "proc" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    (tmp_path / "proc/1/fd").mkdir()
    out = call("jobs", "--host-root", str(tmp_path)).out
    assert out.startswith("no process holds a Neuron device as far as can be seen\n")
    assert "not the whole host's" in out


def test_an_allocated_device_without_a_process(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The scheduler gave it to a job, and nobody has it open."""
    host = without(tree("proc/slurm"), *(f"proc/{pid}" for pid in (7010, 7011, 7050, 7110, 7111)))
    reader = HostReader(host, clock, Options(job_mapping="/var/run/jobmap"))
    text = list(lines(reader.poll(("jobs",))))
    assert "neuron8: job 4243, 4299 by the scheduler, no process holds it" in text
    assert text[0] == "no process holds a Neuron device"


@pytest.mark.parametrize(
    ("cores", "text", "notes"),
    [
        (Cores(detail="why"), "—a", ["—a  unsupported: why"]),
        (Cores(how_many=2, detail="why"), "any 2 —a", ["—a  unsupported: why"]),
        (Cores((0, 1, 4), 2, None, "monitor", "reported"), "0-1,4 LNC 2 reported", []),
        (Cores((0,), 1, None, "local_rank", "derived"), "0 derived", []),
    ],
)
def test_cores_are_said_with_their_source(cores: Cores, text: str, notes: list[str]) -> None:
    """Numbers and how they are known; else a dash that is explained."""
    footnotes = Footnotes()
    assert cores_text(cores, footnotes) == text
    assert footnotes.lines() == notes


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Path]:
    """Two real processes with torchrun's variables that hold files named as devices."""
    (tmp_path / "proc").symlink_to("/proc")
    (tmp_path / "dev").mkdir()
    workers = []
    for rank in range(2):
        (tmp_path / "dev" / f"neuron{rank}").touch()
        mine = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29400",
            "TORCHELASTIC_RUN_ID": f"live-{os.getpid()}",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "SOME_SECRET": "not-to-be-kept",
        }
        workers.append(
            subprocess.Popen(
                [sys.executable, "-c", WORKER, str(tmp_path)],
                env={**os.environ, **mine},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"ready\n"
        yield tmp_path
    finally:
        for worker in workers:
            worker.communicate(timeout=10)


def test_real_processes_are_mapped(ranks: Path, call: Callable[..., Result]) -> None:
    """Ranks, devices, user and memory of live processes; no other variable of theirs."""
    found = call("jobs", "--format", "json", "--host-root", str(ranks))
    document = json.loads(found.out)
    (job,) = [one for one in document["jobs"] if one["run_id"] == f"live-{os.getpid()}"]
    assert job["world_size"] == 2
    assert [rank["process"]["devices"] for rank in job["ranks"]] == [[0], [1]]
    assert [rank["cores"]["numbers"] for rank in job["ranks"]] == [[0], [1]]
    assert all(rank["process"]["rss"] > 1 << 20 for rank in job["ranks"])
    assert all(0 <= rank["process"]["age"] < 600 for rank in job["ranks"])
    assert all(rank["process"]["processors"] is not None for rank in job["ranks"])
    assert "not-to-be-kept" not in found.out


def test_a_simulated_job_is_mapped(call: Callable[..., Result]) -> None:
    """A simulation is written from the driver's and the kernel's side, not from ours."""
    found = call("jobs", "--format", "json", "--simulate", "training")
    (job,) = json.loads(found.out)["jobs"]
    assert (job["kind"], job["world_size"], job["devices"]) == ("training", 16, list(range(16)))
    for number, rank in enumerate(job["ranks"]):
        assert rank["rank"] == number
        assert rank["process"]["devices"] == [number]
        assert rank["cores"]["numbers"] == list(range(number * 4, number * 4 + 4))


def test_the_report_of_a_simulated_job(call: Callable[..., Result]) -> None:
    """All cores of sixteen devices, all of them executing."""
    (job,) = json.loads(call("jobs", "--format", "json", "--simulate", "training").out)["jobs"]
    found = call("job", "report", job["id"], "--seconds", "0", "--simulate", "training")
    assert f"job {job['id']}  training" in found.out
    assert "devices         neuron0-15, 16 processes" in found.out
