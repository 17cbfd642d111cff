"""`/proc/PID/cgroup`: which pod, container and Slurm step a process is in.

Forms: cgroup v2 (`0::/PATH`) and v1 (`ID:CONTROLLERS:/PATH`), each with the kubelet's systemd and
cgroupfs drivers; containerd, CRI-O, Docker and Podman; Slurm's cgroup plugins v1 and v2.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from neuron_observer.parsers.process import plain

_UID: Final = r"[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}"
_POD: Final = re.compile(rf"pod({_UID}|[0-9a-f]{{32}})(?:\.slice|/|:|$)")
_CONTAINER: Final = re.compile(
    r"(?:^|[/:])(?:cri-containerd-|crio-|docker-|libpod-|cri-containerd:)?"
    r"([0-9a-f]{64})(?:\.scope)?(?:/|$)"
)
_SLURM: Final = re.compile(r"/(?:slurm(?:_[^/]+)?|[^/]*slurmstepd\.scope)(?:/uid_\d+)?/job_(\d+)")
_STEP: Final = re.compile(r"/step_([0-9A-Za-z_]+)")
_DELETED: Final = " (deleted)"


class Membership(NamedTuple):
    """Where a process belongs; None: nowhere of that kind, as far as its path tells."""

    path: str | None = None
    pod: str | None = None  # uid of the Kubernetes pod, with dashes
    container: str | None = None  # 64 hex digits
    slurm_job: str | None = None
    slurm_step: str | None = None
    deleted: bool = False  # the group is gone: a zombie, or a pod or step that was cleared away


def cgroup(raw: bytes) -> Membership:
    """The deepest path counts for `path`; the first that tells a thing counts for that thing."""
    paths = [path for row in raw.split(b"\n") if (path := _path(row))]
    whole = max(paths, key=lambda path: path.count("/") if path != "/" else 0, default=None)
    found = Membership(
        path=whole.removesuffix(_DELETED) if whole else None,
        deleted=bool(paths) and any(path.endswith(_DELETED) for path in paths),
    )
    for path in (one.removesuffix(_DELETED) for one in paths):
        job = _SLURM.search(path)
        step = _STEP.search(path, job.end()) if job else None
        pod, container = _POD.search(path), _CONTAINER.search(path)
        found = found._replace(
            pod=found.pod or (pod.group(1).replace("_", "-") if pod else None),
            container=found.container or (container.group(1) if container else None),
            slurm_job=found.slurm_job or (job.group(1) if job else None),
            slurm_step=found.slurm_step or (step.group(1) if step else None),
        )
    return found


def _path(row: bytes) -> str:
    fields = row.split(b":", 2)
    return plain(fields[2], 1024) if len(fields) == 3 and fields[2].startswith(b"/") else ""
