"""Which job a process belongs to: by its launcher's variables, its cgroup, its ancestors.

Only the variables named here are ever kept of a process's environment. torchrun puts its own into
the environment that a rank starts with (torch.distributed.elastic), Slurm into that of each task.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32  # hashlib costs 4 MB of memory

from neuron_observer.jobs.kinds import signs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.model import JobKind, Process
    from neuron_observer.parsers.cgroup import Membership

ENVIRONMENT: Final = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "ROLE_NAME",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "TORCHELASTIC_RESTART_COUNT",
        "SLURM_JOB_ID",
        "SLURM_STEP_ID",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_NODEID",
        "SLURM_NTASKS",
        "NEURON_PROCESS_TAG",
        "NEURON_RT_VISIBLE_CORES",
        "NEURON_RT_NUM_CORES",
        "NEURON_RT_VIRTUAL_CORE_SIZE",
        "NEURON_LOGICAL_NC_CONFIG",
    }
)
_LOOPBACK: Final = ("", "localhost", "::1", "0.0.0.0")  # noqa: S104 - compared, nothing is bound
_WORKER: Final = re.compile(r"VLLM::Worker_TP(\d{1,4})")
_SPAWNED: Final = ("multiprocessing.spawn", "multiprocessing.forkserver")
_MADE_UP: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Ancestor(NamedTuple):
    """A parent, or a parent's parent."""

    pid: int
    start: float
    name: str
    arguments: tuple[str, ...]


class Holder(NamedTuple):
    """A process that holds devices, with what tells its job."""

    process: Process
    arguments: tuple[str, ...]
    variables: Mapping[str, str] | None  # of ENVIRONMENT; None: could not be read
    member: Membership
    ancestors: tuple[Ancestor, ...]  # the parent first; empty where that is not known

    def variable(self, *names: str) -> str | None:
        """The first of these variables that is set."""
        for name in names if self.variables else ():
            if value := (self.variables or {}).get(name):
                return value
        return None

    def number(self, *names: str) -> int | None:
        """The same as a natural number."""
        text = self.variable(*names)
        return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else None

    @property
    def slurm_job(self) -> str | None:
        """Slurm's own cgroup before the environment, which anybody may set."""
        return self.member.slurm_job or self.variable("SLURM_JOB_ID")

    @property
    def slurm_step(self) -> str | None:
        """The step as Slurm names it: a number, batch, interactive."""
        if self.member.slurm_job:
            return self.member.slurm_step
        return self.variable("SLURM_STEP_ID")

    @property
    def launched(self) -> bool:
        """Whether a launcher made it a rank."""
        return self.number("RANK") is not None and self.number("WORLD_SIZE") is not None


RANKING: Final = ("torchrun", "ranks", "slurm")  # launchers that give ranks


class Key(NamedTuple):
    """What all processes of a job have in common."""

    launcher: str | None
    parts: tuple[str, ...]
    label: str  # what the job's id begins with

    @property
    def id(self) -> str:
        """Short, and the same wherever the parts are."""
        text = "\0".join((self.launcher or "", *self.parts))
        return f"{self.label}-{crc32(text.encode()) & 0xFFFFFF:06x}"


def key_of(holder: Holder, kind: JobKind, holders: Mapping[int, Holder]) -> Key:
    """The job of one process; monitors and profilers are never part of another's job."""
    if kind not in ("monitor", "profiler", "test"):
        if holder.launched:
            return _torch_key(holder, leftover=kind == "leftover")
        if holder.slurm_job:
            return _slurm_key(holder)
    top = _anchor(holder, kind, holders)
    launcher = "kubernetes" if holder.member.pod else None
    return Key(launcher, (str(top.pid), f"{top.start:.2f}"), f"pid{top.pid}")


def _torch_key(holder: Holder, *, leftover: bool) -> Key:
    """Run id, rendezvous and Slurm job: the same on every node of a job.

    A run without an id whose master is this node would be like the next one: its launcher counts.
    """
    run = holder.variable("TORCHELASTIC_RUN_ID") or "none"
    address = (holder.variable("MASTER_ADDR") or "").lower()
    parts = [run, address, holder.variable("MASTER_PORT") or "", holder.slurm_job or ""]
    local = address in _LOOPBACK or address.startswith("127.")
    if leftover:
        parts.append("leftover")
    elif run == "none" and local and holder.ancestors:
        parent = holder.ancestors[0]
        parts += [str(parent.pid), f"{parent.start:.2f}"]
    launcher = "torchrun" if holder.variable("TORCHELASTIC_RUN_ID") else "ranks"
    label = f"slurm{holder.slurm_job}" if holder.slurm_job else run
    if not was_named(label):
        label = launcher
    return Key(launcher, tuple(parts), _NOT_IN_A_NAME.sub("-", label)[:32])


def _slurm_key(holder: Holder) -> Key:
    job, step = holder.slurm_job or "", holder.slurm_step or ""
    return Key("slurm", (job, step), _NOT_IN_A_NAME.sub("-", f"slurm{job}")[:32])


def was_named(run: str | None) -> bool:
    """Whether somebody gave a run its id; `--standalone` makes one up."""
    return bool(run) and run != "none" and not _MADE_UP.fullmatch(run or "")


class _Top(NamedTuple):
    pid: int
    start: float
    arguments: tuple[str, ...]


def _anchor(holder: Holder, kind: JobKind, holders: Mapping[int, Holder]) -> _Top:
    """The topmost ancestor that is part of the same program: forked, spawned, or a holder too."""
    top = _Top(holder.process.pid, holder.process.start, holder.arguments)
    spawned = _is_spawned(holder.arguments)
    for above in holder.ancestors:
        held = above.pid in holders and holders[above.pid].process.start == above.start
        forked = bool(above.arguments) and above.arguments == top.arguments
        serves = kind == "server" and _serves(above.arguments)
        between = _is_spawned(above.arguments)  # its own parent is the program
        if not (held or forked or spawned or serves or between):
            break
        spawned = between
        top = _Top(above.pid, above.start, above.arguments)
    return top


def _is_spawned(arguments: Sequence[str]) -> bool:
    """Whether Python's multiprocessing started it anew; a title may hide that later."""
    return any(sign in word for word in arguments for sign in _SPAWNED)


def _serves(arguments: Sequence[str]) -> bool:
    shown = signs(arguments)
    return shown.program == "vllm" or shown.module.startswith("vllm") or "VLLM::" in shown.title


def rank_of(holder: Holder, *, ranked: bool) -> tuple[int | None, int | None]:
    """Rank and local rank: of torchrun, else of Slurm, else of a vLLM worker's title.

    `ranked`: whether the launcher of its job gives ranks; a tool inherits variables of others.
    """
    if ranked and holder.launched:
        return holder.number("RANK"), holder.number("LOCAL_RANK")
    worker = _WORKER.fullmatch(holder.arguments[0]) if holder.arguments else None
    if worker:
        return int(worker.group(1)), int(worker.group(1))
    if not ranked:
        return None, None
    return holder.number("SLURM_PROCID"), holder.number("SLURM_LOCALID")


def name_of(holders: Sequence[Holder], run_id: str | None) -> str:
    """What a person calls it: the script or module, a server's model, and the run's own name."""
    named = next((h for h in holders if h.arguments and "::" not in h.arguments[0]), None)
    arguments = named.arguments if named else _served_by(holders)
    shown = signs(arguments)
    name = shown.module or shown.program or holders[0].process.name
    model = _model(arguments) if _serves(arguments) else None
    extra = model or (run_id if was_named(run_id) else None)
    return f"{name} {extra}" if extra else name


def _served_by(holders: Sequence[Holder]) -> tuple[str, ...]:
    above = (a.arguments for h in holders for a in h.ancestors if _serves(a.arguments))
    plain = (words for words in above if "::" not in words[0])
    return next(plain, holders[0].arguments)


def _model(arguments: Sequence[str]) -> str | None:
    for word, following in pairwise(arguments):
        if word in ("serve", "--model") and not following.startswith("-"):
            return following[:80]
    return next((w[8:88] for w in arguments if w.startswith("--model=")), None)
