"""Command lines, environments, control groups: what kind of work it is stays, whose it is goes."""

from __future__ import annotations

import pytest

from neuron_observer.bundle import commands
from neuron_observer.bundle.names import KINDS, Names
from neuron_observer.jobs.kinds import kind_of
from neuron_observer.parsers.cgroup import cgroup


def names() -> Names:
    """A fresh set."""
    return Names(KINDS["ids"])


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "/opt/venv/bin/python -u /home/alice/acme/pretrain.py --lr 0.1 --data /fsx/acme",
            "python -u program-1.py --lr 0.1 --data argument-1",
        ),
        (
            "python3 -m torch.distributed.run --nproc_per_node=8 --id=acme acme.py",
            "python3 -m torch.distributed.run --nproc_per_node=8 --id=argument-1 program-1.py",
        ),
        ("torchrun --standalone acme.py", "torchrun --standalone program-1.py"),
        ("neuron-monitor -c conf", "neuron-monitor -c argument-1"),
        ("/usr/bin/acme_server", "program-1"),
        ("python --password hunter2 x", "python --password *** argument-1"),
        ("", ""),
    ],
)
def test_a_command_line(command: str, told: str) -> None:
    """Interpreters, launchers, options and numbers stay."""
    assert commands.text(names(), command) == told


def test_the_kind_of_a_job_can_still_be_told() -> None:
    """By its launcher and by its module."""
    torchrun = commands.words(names(), ["python", "/x/torchrun", "--nproc-per-node=4", "a.py"])
    assert kind_of(tuple(torchrun), (), ("Trainium2",))[0] == "training"
    server = commands.words(names(), ["python", "-m", "vllm.entrypoints.api", "--model", "acme"])
    assert kind_of(tuple(server), (), ("Trainium2",))[0] == "server"


@pytest.mark.parametrize("level", ["all", "ids", "none"])
def test_an_environment_holds_what_launchers_set_and_nothing_else(level: str) -> None:
    """Whatever is redacted: no other variable of a process is ever in a bundle."""
    raw = "HOME=/home/alice\0AWS_SECRET_ACCESS_KEY=hunter2\0RANK=3\0MASTER_ADDR=trainer-7\0"
    told = commands.environment(Names(KINDS[level]), raw)  # type: ignore[index]
    variables = dict(entry.split("=", 1) for entry in told.rstrip("\0").split("\0"))
    assert variables.keys() == {"_", "RANK", "MASTER_ADDR"}
    assert variables["RANK"] == "3"
    assert variables["MASTER_ADDR"] == ("trainer-7" if level == "none" else "host-1")


def test_values_of_launchers() -> None:
    """Names have pseudonyms, numbers stay, what else there is, is masked."""
    raw = "TORCHELASTIC_RUN_ID=acme\0SLURM_JOB_ID=4711\0NEURON_RT_VISIBLE_CORES=0-3\0"
    raw += "SLURM_STEP_ID=x y\0"
    told = commands.environment(names(), raw)
    assert told == (
        "_=\0TORCHELASTIC_RUN_ID=job-1\0SLURM_JOB_ID=900000002\0NEURON_RT_VISIBLE_CORES=0-3\0"
        "SLURM_STEP_ID=***\0"
    )
    assert commands.environment(names(), "") == ""


def test_control_groups_keep_their_form() -> None:
    """Pod, container and Slurm step are still found, under other names."""
    pod, container = "0a1b2c3d-1111-2222-3333-444455556666", "ab" * 32
    path = (
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod.replace('-', '_')}"
        f".slice/cri-containerd-{container}.scope"
    )
    told = commands.group(names(), path)
    assert pod.replace("-", "_") not in told
    assert container not in told
    member = cgroup(told.encode())
    assert member.pod == "00000000-0000-4000-8000-000000000001"
    assert member.container == f"{1:064x}"
    slurm = commands.group(names(), "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0")
    assert cgroup(slurm.encode()).slurm_job == "900000001"
    assert commands.group(names(), "/system.slice/acme-train.service") == (
        "/system.slice/unit-1.service"
    )
