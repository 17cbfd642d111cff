"""Paths of control groups: every form that names a pod, a container or a Slurm step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.cgroup import Membership, cgroup

UID = "0aa5bd3c-6e4b-4a52-9d0c-7f2f3e9b1c11"
DOWN = UID.replace("-", "_")
BOX = "3f" * 32

BURST = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
SLICE = f"/kubepods.slice/kubepods-pod{DOWN}.slice"
OLD = f"/system.slice/containerd.service/kubepods-burstable-pod{DOWN}.slice:cri-containerd"

FORMS = [
    ("v2, systemd driver", f"0::{BURST}{DOWN}.slice/cri-containerd-{BOX}.scope", UID, BOX),
    ("v2, guaranteed", f"0::{SLICE}/cri-containerd-{BOX}.scope", UID, BOX),
    ("v2, cgroupfs driver", f"0::/kubepods/besteffort/pod{UID}/{BOX}", UID, BOX),
    ("v1, cgroupfs driver", f"12:memory:/kubepods/burstable/pod{UID}/{BOX}", UID, BOX),
    ("v1, containerd with systemd", f"3:cpu,cpuacct:{OLD}:{BOX}", UID, BOX),
    ("CRI-O", f"0::{SLICE}/crio-{BOX}.scope", UID, BOX),
    ("nested group", f"0::{SLICE}/cri-containerd-{BOX}.scope/init", UID, BOX),
    ("from another namespace", f"0::/../../kubepods-pod{DOWN}.slice/crio-{BOX}.scope", UID, BOX),
    ("static pod", f"0::/kubepods/pod{'ab' * 16}/{BOX}", "ab" * 16, BOX),
    ("Docker, systemd", f"0::/system.slice/docker-{BOX}.scope", None, BOX),
    ("Docker, cgroupfs", f"4:memory:/docker/{BOX}", None, BOX),
    ("Podman", f"0::/machine.slice/libpod-{BOX}.scope", None, BOX),
    ("ECS", f"9:memory:/ecs/0123456789abcdef0123456789abcdef/{BOX}", None, BOX),
    ("no container", "0::/user.slice/user-1000.slice/session-3.scope", None, None),
    ("a pod without a container", f"0::{SLICE}", UID, None),
]


@pytest.mark.parametrize(
    ("row", "pod", "container"), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS]
)
def test_pods_and_containers(row: str, pod: str | None, container: str | None) -> None:
    """Each form gives the pod's uid with dashes, and the container's id."""
    found = cgroup(f"{row}\n".encode())
    assert (found.pod, found.container) == (pod, container)


@pytest.mark.parametrize(
    ("row", "job", "step"),
    [
        ("6:devices:/slurm/uid_1001/job_42/step_0/task_1", "42", "0"),
        ("6:devices:/slurm_node7/uid_1001/job_42/step_batch", "42", "batch"),
        ("0::/system.slice/slurmstepd.scope/job_42/step_extern/user/task_0", "42", "extern"),
        (
            "0::/system.slice/node7_slurmstepd.scope/job_42/step_interactive/user",
            "42",
            "interactive",
        ),
        ("6:devices:/slurm/uid_1001/job_42", "42", None),
        ("0::/user.slice/job_42/step_0", None, None),
    ],
)
def test_slurm_steps(row: str, job: str | None, step: str | None) -> None:
    """Both cgroup plugins; a user's own group of such a name is none of Slurm's."""
    found = cgroup(f"{row}\n".encode())
    assert (found.slurm_job, found.slurm_step) == (job, step)


def test_several_hierarchies_are_put_together() -> None:
    """In v1 one controller may know the step and another not; the deepest path is shown."""
    raw = b"5:cpuset:/\n4:memory:/slurm/uid_1/job_7/step_0/task_0\n1:name=systemd:/system.slice\n"
    assert cgroup(raw) == Membership("/slurm/uid_1/job_7/step_0/task_0", None, None, "7", "0")


def test_a_deleted_group_is_told() -> None:
    """The kernel marks the group of a zombie that was removed."""
    found = cgroup(f"0::/kubepods/pod{UID}/{BOX} (deleted)\n".encode())
    assert found.deleted
    assert (found.pod, found.container) == (UID, BOX)
    assert found.path == f"/kubepods/pod{UID}/{BOX}"


@given(st.binary(max_size=200) | st.text("0:/pod_-abc\n", max_size=120).map(str.encode))
def test_any_bytes_are_read(raw: bytes) -> None:
    """Nothing raises, and a path may be printed."""
    found = cgroup(raw)
    assert found.path is None or found.path.isprintable()
    assert found.container is None or len(found.container) == 64
