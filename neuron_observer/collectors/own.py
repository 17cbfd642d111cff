"""What this program itself costs: processor time, memory, open files, threads.

Of our own process, as the kernel has it here, so the figures are true whatever root is read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.catalogue.own import OWN_METRICS, RELOAD_METRICS
from neuron_observer.collectors.batching import BatchName
from neuron_observer.collectors.figures import FigureBatch
from neuron_observer.model import Missing, Why
from neuron_observer.parsers.process import stat, uptime

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.clock import Clock
    from neuron_observer.model import Batch, Cell


# Its size is the number of open files since Linux 6.2, and 0 before; listing thousands takes 4 ms.
_DESCRIPTORS = Path("/proc/self/fd")
_STAT = Path("/proc/self/stat")
_UPTIME = Path("/proc/uptime")
_PAGE = os.sysconf("SC_PAGE_SIZE")  # bytes
_NO_GROUP = Missing(Why.UNSUPPORTED, "in no control group of version 2 that is not the root")


class LastReload:
    """How the configuration was read last: whether that went well, and when it last did."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.successful = True
        self.succeeded_at = clock.wall()

    def succeeded(self) -> None:
        """What was read is in force."""
        self.succeeded_at = self._clock.wall()
        self.successful = True

    def failed(self) -> None:
        """What was there before stays in force."""
        self.successful = False


class OwnCollector:
    """Our own cost, in the slow lane; processes that we started and that ended are counted in.

    How the configuration was read last is told in the normal lane, by who can read it again.
    """

    name = "own"
    kept = 0

    def __init__(
        self, clock: Clock, root: Path = Path("/"), reload: LastReload | None = None
    ) -> None:
        """`root` is where our own control group stands, not the host that is read."""
        self._clock = clock
        self._root = root
        self._booted = clock.wall() - (uptime(_UPTIME.read_bytes()) or 0.0)
        self._batch = FigureBatch(BatchName(self.name, "slow"), OWN_METRICS, self._ask)
        self._reload = reload
        name = BatchName("config", "normal")
        self._reloads = FigureBatch(name, RELOAD_METRICS, self._ask_reload) if reload else None

    def poll(self, lanes: Collection[str]) -> list[Batch]:
        """The figures of now, of the lanes that are due."""
        found = [self._batch.poll(self._clock)] if "slow" in lanes else []
        if self._reloads and "normal" in lanes:
            found.append(self._reloads.poll(self._clock))
        return found

    def close(self) -> None:
        """Nothing is held."""

    def _ask_reload(self) -> list[Cell]:
        last = self._reload
        return [int(last.successful), last.succeeded_at] if last else []

    def _ask(self) -> list[Cell]:
        try:
            us, times = stat(_STAT.read_bytes()), os.times()
            descriptors = _DESCRIPTORS.stat().st_size or len(os.listdir(_DESCRIPTORS))  # noqa: PTH208 - names only
        except OSError as error:
            return [Missing(Why.FAILED, str(error))] * len(OWN_METRICS)
        if us is None:
            return [Missing(Why.FAILED, f"{_STAT}: not understood")] * len(OWN_METRICS)
        return [
            times.user + times.children_user,
            times.system + times.children_system,
            us.pages * _PAGE,
            descriptors,
            us.threads,
            self._booted + us.start,
            kernel_memory(self._root),
        ]


def kernel_memory(root: Path) -> Cell:
    """Bytes of kernel memory that our control group is charged with, if it is ours alone.

    A kept sysfs descriptor is charged there and stands nowhere else. Source: the kernel's
    documentation of cgroup-v2, `memory.stat` (`kernel`, since Linux 5.18; `slab` before).
    """
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
        group = next((line[3:] for line in lines if line.startswith("0::")), None)
        if group is None:
            return _NO_GROUP
        folder = root / "sys/fs/cgroup" / group.strip("/")
        stat = dict(
            line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines()
        )
        members = {int(pid) for pid in (folder / "cgroup.procs").read_text("utf-8").split()}
        if not (folder / "memory.current").exists():  # only the root has none
            return _NO_GROUP
    except (OSError, ValueError):
        return _NO_GROUP
    others = members - {os.getpid()} - set(_children())
    if others:
        reason = f"{len(others)} other processes share our control group"
        return Missing(Why.UNSUPPORTED, reason)
    charged = stat.get("kernel") or stat.get("slab") or ""
    return int(charged) if charged.isdecimal() else _NO_GROUP


def _children() -> list[int]:
    """Pids of the processes that we started."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
    except OSError:
        return []
    return [int(pid) for pid in listed.split()]
