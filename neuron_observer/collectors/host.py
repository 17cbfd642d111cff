"""The host itself: processor, memory, swap, pressure, open files, disks, space.

All but the space comes from files, so a capture and a simulation give it too. A disk is an entry
of `/sys/block` with a device behind it: no loop, RAM or mapped ones, which would count twice.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from neuron_observer.catalogue.host import DISK_METRICS, HOST_METRICS, MOUNTS
from neuron_observer.collectors.batching import (
    CPU_STAT_BYTES,
    Absent,
    BatchName,
    FileBatch,
    FileRead,
    Target,
    missing_for,
)
from neuron_observer.collectors.figures import FigureBatch
from neuron_observer.collectors.probing import names_in, real_path, word_at
from neuron_observer.model import NODE, Missing, Place, Why
from neuron_observer.parsers.mounts import writable_beneath
from neuron_observer.parsers.tables import TABLES
from neuron_observer.sources.hostfs import MeasuredHost, Space
from neuron_observer.sources.tapped import Tapped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from neuron_observer.catalogue.spec import MetricSpec
    from neuron_observer.clock import Clock
    from neuron_observer.model import Batch, Cell
    from neuron_observer.sources.hostfs import HostFs

BLOCK_FOLDER = "sys/block"
MOUNTS_BYTES = 1 << 20  # a node with many pods has thousands of mounts
ANOTHER_ROOT = Missing(Why.UNSUPPORTED, "needs a system call, which only the running host answers")
READ_ONLY = Missing(Why.UNSUPPORTED, "mounted to be read only, so nothing fills it")
_FILE_METRICS = tuple(spec for spec in HOST_METRICS if spec.sources[0].where == "proc")
_SPACE_METRICS = tuple(spec for spec in HOST_METRICS if spec.sources[0].where == "filesystem")


class HostCollector:
    """Reads the host in the normal and slow lanes."""

    name = "host"

    def __init__(self, host: HostFs, clock: Clock, *, keep: bool = False) -> None:
        self._host = host
        self._keep = keep
        self._clock = clock
        self._files = [_plan(host, "normal", keep=keep), _plan(host, "slow", keep=False)]
        self._space = FigureBatch(BatchName("filesystem", "slow"), _SPACE_METRICS, self._spaces)
        self.disks = find_disks(host)
        self._disk_batch = _disk_batch(host, self.disks, keep=keep)

    @property
    def kept(self) -> int:
        """Descriptors held between reads."""
        return sum(batch.kept for batch in (*self._files, self._disk_batch))

    def poll(self, lanes: Collection[str]) -> list[Batch]:
        """Read the lanes that are due; the slow lane also looks for disks that came or went."""
        batches = [one.poll(self._clock) for one in self._files if one.name.lane in lanes]
        if "slow" in lanes:
            batches.append(self._space.poll(self._clock))
            self._look_for_disks()
        if "normal" in lanes:
            batches.append(self._disk_batch.poll(self._clock))
        return batches

    def close(self) -> None:
        """Give the descriptors back."""
        for batch in (*self._files, self._disk_batch):
            batch.close()

    def _spaces(self) -> list[Cell]:
        usage = {mount: _usage(self._host, mount) for mount, _ in MOUNTS}
        if isinstance(self._host, Tapped):
            for mount, cells in usage.items():
                self._host.tape.space(mount, _space(cells))
        return [usage[spec.sources[0].path][spec.sources[0].part] for spec in _SPACE_METRICS]

    def _look_for_disks(self) -> None:
        disks = find_disks(self._host)
        if disks != self.disks:
            self.disks = disks
            self._disk_batch.close()
            self._disk_batch = _disk_batch(self._host, disks, keep=self._keep)


def _plan(host: HostFs, lane: str, *, keep: bool) -> FileBatch:
    targets: dict[str, list[Target]] = {}
    absent: list[Absent] = []
    known: dict[str, frozenset[str] | Missing | None] = {}
    for spec in _FILE_METRICS:
        source = spec.sources[0]
        if spec.lane != lane:
            continue
        if source.path not in known:
            known[source.path] = _parts(host, spec)
        parts = known[source.path]
        if isinstance(parts, Missing):
            absent.append(Absent(spec, NODE, parts))
        elif parts and source.part not in parts:
            gone = Missing(Why.UNSUPPORTED, f"not in this kernel's /proc/{source.path}")
            absent.append(Absent(spec, NODE, gone))
        else:
            targets.setdefault(source.path, []).append(Target(spec, source, NODE, spec.limit))
    files = [FileRead(path, tuple(some)) for path, some in targets.items()]
    name = BatchName("host", lane)
    return FileBatch(name, host, "proc", files, absent=absent, keep=keep)


def _parts(host: HostFs, spec: MetricSpec) -> frozenset[str] | Missing | None:
    """Which parts a file has; why it will never be there; None where time will tell."""
    source = spec.sources[0]
    try:
        raw = host.read(f"proc/{source.path}", CPU_STAT_BYTES)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return Missing(Why.UNSUPPORTED, f"no /proc/{source.path} here")
        if error.errno == errno.EOPNOTSUPP:
            return Missing(Why.UNSUPPORTED, f"/proc/{source.path}: switched off at boot")
        return None
    parse = TABLES.get(source.format)
    return frozenset(parse(raw)) if parse else None


def find_disks(host: HostFs) -> tuple[tuple[str, str], ...]:
    """Name and real directory of each disk."""
    disks = []
    for name in names_in(host, BLOCK_FOLDER):
        path = real_path(host, f"{BLOCK_FOLDER}/{name}")
        inside = names_in(host, path)
        if "device" in inside and "stat" in inside and word_at(host, f"{path}/hidden") != "1":
            disks.append((name, path))
    return tuple(disks)


def _disk_batch(host: HostFs, disks: tuple[tuple[str, str], ...], *, keep: bool) -> FileBatch:
    files = [
        FileRead(
            f"{path.removeprefix('sys/')}/stat",
            tuple(
                Target(spec, spec.sources[0], Place(label=name), spec.limit)
                for spec in DISK_METRICS
            ),
        )
        for name, path in disks
    ]
    return FileBatch(BatchName("disk", "normal"), host, "sys", files, keep=keep)


def _usage(host: HostFs, mount: str) -> Mapping[str, Cell]:
    if isinstance(host, MeasuredHost):
        space = host.space(mount)
        if space is None:
            return dict.fromkeys(Space._fields, ANOTHER_ROOT)
        available = READ_ONLY if space.available is None else space.available
        return {"size": space.size, "available": available}
    if host.root != "/":
        return dict.fromkeys(Space._fields, ANOTHER_ROOT)
    try:
        found = os.statvfs(mount)
    except OSError as error:
        return dict.fromkeys(Space._fields, missing_for(error))
    image = bool(found.f_flag & os.ST_RDONLY) and not _fillable(host, mount)
    return usage_of(found, image=image)


def _space(cells: Mapping[str, Cell]) -> Space | None:
    """What was found, for a recording; None where nobody knows."""
    size, available = cells["size"], cells["available"]
    if not isinstance(size, int):
        return None
    return Space(size, available if isinstance(available, int) else None)


def _fillable(host: HostFs, mount: str) -> bool:
    """Whether others may fill what we see read-only: a sandbox of ours makes it so."""
    try:
        return writable_beneath(host.read("proc/self/mountinfo", MOUNTS_BYTES), mount)
    except OSError:
        return False


def usage_of(found: os.statvfs_result, *, image: bool) -> dict[str, Cell]:
    """Size and what a user can still fill, in bytes; an image that is only read is always full."""
    size = found.f_blocks * found.f_frsize
    if image:
        return {"size": size, "available": READ_ONLY}
    return {"size": size, "available": found.f_bavail * found.f_frsize}
