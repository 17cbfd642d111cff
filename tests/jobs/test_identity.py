"""Which processes are one job, and what it is called on every node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.jobs.grouping import Around, group
from neuron_observer.jobs.identity import Ancestor, key_of
from neuron_observer.parsers.cgroup import Membership
from tests.jobs.makers import TORCHRUN, holder, rank_variables

NODE_ENVIRONMENT = {"MASTER_ADDR": "node-0", "TORCHELASTIC_RUN_ID": "llama"}


def test_the_nodes_of_a_job_agree_on_its_id() -> None:
    """Other pids, ranks and launchers, the same run and rendezvous: the same id."""
    one = holder(100, variables=rank_variables(0, 4, **NODE_ENVIRONMENT), above=(TORCHRUN,))
    two = holder(
        7,
        variables=rank_variables(3, 4, **NODE_ENVIRONMENT, GROUP_RANK="1"),
        above=(Ancestor(5, 2.0, "torchrun", ()),),
    )
    assert key_of(one, "training", {}).id == key_of(two, "training", {}).id
    assert key_of(one, "training", {}).id.startswith("llama-")


@pytest.mark.parametrize(
    "change",
    [
        {"TORCHELASTIC_RUN_ID": "other"},
        {"MASTER_ADDR": "node-9"},
        {"MASTER_PORT": "1"},
        {"SLURM_JOB_ID": "7"},
    ],
)
def test_another_run_is_another_job(change: dict[str, str]) -> None:
    """Each part of the rendezvous tells jobs apart."""
    one = holder(variables=rank_variables(0, 4), above=(TORCHRUN,))
    two = holder(variables=rank_variables(0, 4, **change), above=(TORCHRUN,))
    assert key_of(one, "training", {}).id != key_of(two, "training", {}).id


def test_a_restart_is_the_same_job() -> None:
    """An elastic restart counts up and stays the job it was."""
    one = holder(variables=rank_variables(0, 4), above=(TORCHRUN,))
    two = holder(variables=rank_variables(0, 4, TORCHELASTIC_RESTART_COUNT="2"), above=(TORCHRUN,))
    assert key_of(one, "training", {}).id == key_of(two, "training", {}).id


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", ""])
def test_nameless_runs_on_one_node_are_told_by_their_launcher(address: str) -> None:
    """Without a run id two runs one after another look alike but for torchrun's own process."""
    nameless = {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": address}
    later = Ancestor(TORCHRUN.pid, TORCHRUN.start + 60, "torchrun", TORCHRUN.arguments)
    one = holder(variables=rank_variables(0, 4, **nameless), above=(TORCHRUN,))
    two = holder(variables=rank_variables(0, 4, **nameless), above=(later,))
    assert key_of(one, "training", {}).id != key_of(two, "training", {}).id


def test_slurm_is_believed_by_its_cgroup_first() -> None:
    """An exported SLURM_JOB_ID of another job does not move a process there."""
    inside = Membership("/slurm/uid_1/job_42/step_0", slurm_job="42", slurm_step="0")
    found = holder(variables={"SLURM_JOB_ID": "41", "SLURM_STEP_ID": "7"}, member=inside)
    assert (found.slurm_job, found.slurm_step) == ("42", "0")
    assert key_of(found, "unknown", {}).parts == ("42", "0")


def test_a_tool_below_a_job_is_no_part_of_it() -> None:
    """neuron-top in a Slurm step, with the variables of a rank, is its own entry without rank."""
    variables = rank_variables(1, 2, SLURM_JOB_ID="42")
    tool = holder(5, command="/opt/aws/neuron/bin/neuron-top", variables=variables)
    rank = holder(6, variables=variables, above=(TORCHRUN,))
    jobs = {job.kind: job for job in group([tool, rank], Around())}
    assert set(jobs) == {"monitor", "training"}
    assert jobs["monitor"].ranks[0].rank is None
    assert jobs["monitor"].world_size is None
    assert jobs["training"].ranks[0].rank == 1


def test_forked_and_spawned_workers_are_one_job() -> None:
    """A parent that holds a device, one with the same command, and multiprocessing's children."""
    main = holder(10, command="python3 infer.py")
    above = (Ancestor(10, 50.0, "python3", ("python3", "infer.py")),)
    forked = holder(11, (1,), "python3 infer.py", above=above)
    spawned = holder(12, (2,), "python3 -c multiprocessing.spawn", above=above)
    other = holder(13, (3,), "python3 infer.py", above=(Ancestor(1, 1.0, "systemd", ("init",)),))
    jobs = group([main, forked, spawned, other], Around())
    assert [len(job.ranks) for job in jobs] == [3, 1]


def test_a_recycled_parent_is_no_parent() -> None:
    """A pid that began at another time is another process."""
    main = holder(10, command="python3 a.py")
    child = holder(11, (1,), "python3 b.py", above=(Ancestor(10, 51.0, "sh", ("sh",)),))
    assert len(group([main, child], Around())) == 2


def test_the_tensor_parallel_group_of_a_server_is_one_job() -> None:
    """Workers, engine and server in a line; the model is its name."""
    server = Ancestor(50, 1.0, "vllm", ("python3", "/opt/bin/vllm", "serve", "meta/llama"))
    engine = Ancestor(51, 2.0, "VLLM::EngineCor", ("VLLM::EngineCore",))
    workers = [
        holder(60 + n, (n,), f"VLLM::Worker_TP{n}", above=(engine, server)) for n in range(4)
    ]
    jobs = group(workers, Around())
    assert len(jobs) == 1
    assert jobs[0].name == "vllm meta/llama"
    assert [rank.rank for rank in jobs[0].ranks] == [0, 1, 2, 3]


def test_two_servers_are_two_jobs() -> None:
    """Servers that a shell started side by side have no common server above them."""
    shell = Ancestor(40, 0.5, "bash", ("bash",))
    one = Ancestor(50, 1.0, "vllm", ("vllm", "serve", "a"))
    two = Ancestor(51, 1.0, "vllm", ("vllm", "serve", "b"))
    workers = [
        holder(60, (0,), "VLLM::EngineCore", above=(one, shell)),
        holder(61, (1,), "VLLM::EngineCore", above=(two, shell)),
    ]
    assert [job.name for job in group(workers, Around())] == ["vllm a", "vllm b"]


def test_a_worker_that_hides_how_it_was_started_is_its_servers() -> None:
    """Its own command line is a title; the process between it and the server is a spawned one."""
    server = Ancestor(50, 1.0, "vllm", ("python3", "/opt/bin/vllm", "serve", "meta/llama"))
    between = Ancestor(51, 2.0, "python3", ("python3", "-c", "from multiprocessing.spawn import x"))
    workers = [
        holder(60 + n, (n,), f"VLLM::Worker_TP{n}", above=(between, server)) for n in range(4)
    ]
    (job,) = group(workers, Around())
    assert (job.name, len(job.ranks)) == ("vllm meta/llama", 4)


def test_an_id_that_was_made_up_is_no_name() -> None:
    """`torchrun --standalone` invents a run id: it tells runs apart, and says nothing."""
    made_up = "d5434167-2bf6-486a-9533-4b30ab2a2414"
    jobs = [
        group([holder(variables=rank_variables(0, 1, TORCHELASTIC_RUN_ID=run))], Around())[0]
        for run in (made_up, made_up.replace("d", "e"))
    ]
    assert jobs[0].id.startswith("torchrun-")
    assert jobs[0].id != jobs[1].id
    assert (jobs[0].name, jobs[0].run_id) == ("train.py", made_up)


@given(st.text(max_size=40), st.text(max_size=40))
def test_an_id_can_be_typed(run: str, slurm: str) -> None:
    """Whatever a run is called, its id is short and of plain characters."""
    variables = rank_variables(0, 1, TORCHELASTIC_RUN_ID=run, SLURM_JOB_ID=slurm)
    found = key_of(holder(variables=variables), "training", {}).id
    assert len(found) <= 39
    assert all(c.isascii() and (c.isalnum() or c in "-._") for c in found)


def test_workers_with_the_same_tag_are_told_by_their_pids() -> None:
    """Case E03: four serving workers, one NEURON_PROCESS_TAG; a tag tells no jobs apart."""
    tag = {"NEURON_PROCESS_TAG": "1"}
    workers = [holder(pid, (0,), "python3 serve.py", tag) for pid in (20843, 21050, 21411, 21741)]
    jobs = group(workers, Around())
    assert len({job.id for job in jobs}) == 4
    assert sorted(job.ranks[0].process.pid for job in jobs) == [20843, 21050, 21411, 21741]
    assert {job.tag for job in jobs} == {"1"}
