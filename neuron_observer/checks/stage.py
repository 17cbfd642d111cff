"""A host on which a timeline is played: a listing whose bytes change, and registers that hang."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING

from neuron_observer.errors import InputError
from neuron_observer.sources.filesets import EachFile
from neuron_observer.sources.hostfs import Space
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass
from neuron_observer.sources.workers import DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from neuron_observer.checks.timeline import Deed
    from neuron_observer.clock import Clock, ManualClock
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Answer, Request

KERNEL_LOG = "dev/kmsg"
_UPTIME = "proc/uptime"
_RECORD = re.compile(r"\d+,\d+,\d+,", re.ASCII)


class Stage(ListingFs):
    """The listing, and what a timeline does to it."""

    def __init__(self, listing: Listing, clock: ManualClock) -> None:
        base = listing.passes[0]
        begin = Pass(0.0, base.nodes, list(base.kernel), list(base.monitor))
        super().__init__(Listing(listing.header, [begin]), "timeline")
        self._base = base.nodes
        self._clock = clock
        self._hung: set[str] = set()
        self._spaces: dict[str, Space] = {}
        self._sequence = 1000
        self.touched: list[str] = []  # paths, as they were changed

    def do(self, deeds: Iterable[Deed], at: float) -> None:
        """Do what a step says."""
        for deed in deeds:
            here = Pass(at)
            if deed.what in ("kernel", "monitor"):
                lines = here.kernel if deed.what == "kernel" else here.monitor
                lines.append(self._record(deed.value) if deed.what == "kernel" else deed.value)
            elif deed.path == KERNEL_LOG:
                self._log(deed)
            elif deed.what == "hang":
                self._hung.add(deed.path)
            elif deed.what == "space":
                self._spaces[deed.path] = Space(*deed.value)
            else:
                here.nodes.update(self._nodes_of(deed))
            self.touched += here.nodes
            if here.nodes or here.kernel or here.monitor:
                self.listing.passes.append(here)
                self.advance()

    def space(self, mount: str) -> Space | None:
        """How full a file system is, as a timeline told it."""
        return self._spaces.get(mount)

    def tell_time(self) -> None:
        """Let the host's own clock go on."""
        node = Node("file", 0o444, b"%.2f 0.00\n" % self._clock.monotonic())
        if _UPTIME not in self._nodes:
            self._register(_UPTIME, "file")
        self._nodes[_UPTIME] = node
        self.touched.append(_UPTIME)

    def file_set(
        self, base: str, names: Sequence[str], limits: Sequence[int], *, keep: bool
    ) -> EachFile:
        """Files below `base`, read anew only once something below it was changed."""
        each = super().file_set(base, names, limits, keep=keep)
        return StageFiles(self, f"{base}/" if base else "", each)

    def _record(self, line: str) -> str:
        """A line as /dev/kmsg gives it, of now; a whole record is left as it is."""
        if _RECORD.match(line):
            return line
        self._sequence += 1
        return f"3,{self._sequence},{int(self._clock.monotonic() * 1e6)},-;{line}"

    def _log(self, deed: Deed) -> None:
        if deed.what == "fail":
            self.unreadable["kernel"] = os.strerror(deed.value)
        elif deed.what == "restore":
            self.unreadable.pop("kernel", None)

    def _nodes_of(self, deed: Deed) -> dict[str, Node]:
        path = deed.path
        if deed.what == "link":
            return {path: Node("link", 0o777, target=deed.value)}
        if deed.what == "remove":
            return {at: Node("file", error=errno.ENOENT) for at in self._below(self._nodes, path)}
        if deed.what == "restore":
            return self._restored(path)
        if deed.what == "fail":
            found = self._below(self._nodes, path) or [path]
            return {at: Node("file", self._mode(at), error=deed.value) for at in found}
        content = deed.value if deed.what == "write" else self._sum(path, deed.value)
        return {path: Node("file", self._mode(path), content)}

    def _below(self, nodes: dict[str, Node], path: str) -> list[str]:
        """A path and all that stands below it; links are no way."""
        return [at for at in nodes if at == path or at.startswith(f"{path}/")]

    def _mode(self, path: str) -> int:
        node = self._nodes.get(path) or self._base.get(path)
        return node.mode if node else 0o444

    def _restored(self, path: str) -> dict[str, Node]:
        self._hung = {at for at in self._hung if at != path and not at.startswith(f"{path}/")}
        gone = {at: Node("file", error=errno.ENOENT) for at in self._below(self._nodes, path)}
        return gone | {at: self._base[at] for at in self._below(self._base, path)}

    def _sum(self, path: str, amount: int) -> bytes:
        node = self._nodes.get(path)
        try:
            return b"%d\n" % (int(node.content if node else b"") + amount)
        except ValueError:
            raise InputError(f"add: {path} holds no whole number") from None

    def hangs(self, folder: str, names: Iterable[str]) -> bool:
        """Whether reading one of these files does not return."""
        if not self._hung:
            return False
        paths = [f"{folder}/{name}" if folder else name for name in names]
        return any(at == path or at.startswith(f"{path}/") for path in self._hung for at in paths)


class StageFiles(EachFile):
    """Files read together; as nothing else changes them, only what a timeline touched is news."""

    def __init__(self, stage: Stage, below: str, each: EachFile) -> None:
        self._stage = stage
        self._below = below
        self._each = each
        self._known = -1
        self._contents: list[Content] = []

    def read(self) -> list[Content]:
        """Each file's bytes or error."""
        touched, known = self._stage.touched, self._known
        if known < 0 or any(path.startswith(self._below) for path in touched[known:]):
            self._contents = self._each.read()
        self._known = len(touched)
        return self._contents


class StageWorkers(DirectWorkers):
    """Reads of firmware registers that may not come back until what hangs is restored."""

    def __init__(self, stage: Stage, clock: Clock) -> None:
        super().__init__(stage, clock)
        self._stage = stage
        self._owed: dict[int, Request] = {}

    def submit(self, device: int, request: Request) -> bool:
        """Read now, or never."""
        if device in self._owed:
            return False
        if self._stage.hangs(request.folder, request.names):
            self._owed[device] = request
            return True
        return super().submit(device, request)

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """The answers that are there; of those that hung once nothing hangs any more."""
        for device, request in list(self._owed.items()):
            if not self._stage.hangs(request.folder, request.names):
                del self._owed[device]
                super().submit(device, request)
        return super().gather(devices, seconds)


def workers(host: HostFs, clock: Clock, _blocking: bool) -> StageWorkers:  # noqa: FBT001 - a port
    """The workers of a stage, as a reader asks for them."""
    if not isinstance(host, Stage):
        raise TypeError("only a stage has them")
    return StageWorkers(host, clock)
