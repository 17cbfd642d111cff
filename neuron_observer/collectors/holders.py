"""What the processes that hold devices are: command, owner, environment, group, and what they use.

What does not change is read once a process, and again when its name or parent changes; what moves
is read with every poll. A pid is believed only together with its start time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.jobs.identity import ENVIRONMENT, Ancestor, Holder
from neuron_observer.model import Pod, Process
from neuron_observer.parsers import process as parse
from neuron_observer.parsers.cgroup import Membership, cgroup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.processes import Holding
    from neuron_observer.parsers.process import Stat, Waiting
    from neuron_observer.sources.hostfs import HostFs

ENVIRON_BYTES: Final = 1024 * 1024
COMMAND_BYTES: Final = 16 * 1024
ANCESTORS: Final = 6
POD_FOLDER: Final = "var/log/pods"  # the kubelet's: NAMESPACE_NAME_UID
_LOOK_UP_AGAIN = 30.0  # seconds before names that were not found are looked for again


class _Fixed(NamedTuple):
    """What does not change, as long as name and parent are the same."""

    start: float
    name: str
    parent: int
    arguments: tuple[str, ...]
    command: str
    variables: dict[str, str] | None
    member: Membership
    ancestors: tuple[Ancestor, ...]
    uid: int | None
    own_pid: int | None
    page: int
    unknown: tuple[str, ...]


class _Moved(NamedTuple):
    at: float  # monotonic
    cpu: float
    waited: float | None


class HolderReader:
    """Reads holders, and remembers what does not change."""

    def __init__(self, host: HostFs, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._fixed: dict[int, _Fixed] = {}
        self._moved: dict[int, _Moved] = {}
        self._above: dict[int, tuple[Ancestor, int]] = {}  # of this poll
        self._names = _Names(host, clock)

    def read(
        self,
        holdings: Mapping[int, Holding],
        uptime: float | None,
        look_again: Callable[[int], Holding | None],
    ) -> list[Holder]:
        """The holders that are still there; `look_again` tells what a pid's new owner holds."""
        self._above.clear()
        for kept in (self._fixed, self._moved):
            for pid in kept.keys() - holdings.keys():
                del kept[pid]
        found = []
        for pid, before in list(holdings.items()):
            now, fixed = self.stat(pid), self._fixed.get(pid)
            same = now is None or fixed is None or fixed.start == now.start
            if not same:
                self._moved.pop(pid, None)
            holding = before if same else look_again(pid)
            if now is not None and holding is not None:
                found.append(self._holder(pid, now, holding, uptime))
        return found

    def stat(self, pid: int) -> Stat | None:
        """Its stat line; None where it is gone."""
        raw = self._try(f"proc/{pid}/stat")
        return parse.stat(raw) if isinstance(raw, bytes) else None

    def _holder(self, pid: int, now: Stat, holding: Holding, uptime: float | None) -> Holder:
        fixed = self._fixed.get(pid)
        if fixed is None or (fixed.start, fixed.name, fixed.parent) != (
            now.start,
            now.name,
            now.parent,
        ):
            before = fixed if fixed and fixed.start == now.start else None
            fixed = self._fixed[pid] = self._read_fixed(pid, now, before, holding.alive)
        waiting = self._schedule(pid)
        processors, waited = self._rates(pid, now, waiting)
        unknown = (*fixed.unknown, holding.uncertain) if holding.uncertain else fixed.unknown
        process = Process(
            pid=pid,
            start=now.start,
            name=now.name,
            command=fixed.command or f"[{now.name}]",
            devices=holding.devices,
            state=now.state,
            threads=now.threads,
            uid=fixed.uid,
            user=self._names.user(fixed.uid),
            age=None if uptime is None else max(uptime - now.start, 0.0),
            cpu=now.cpu,
            processors=processors,
            waited=waited,
            rss=None if now.state == "Z" else now.pages * fixed.page,
            cgroup=fixed.member.path,
            container=fixed.member.container,
            pod=self._names.pod(fixed.member.pod),
            own_pid=fixed.own_pid,
            unknown=unknown,
        )
        return Holder(process, fixed.arguments, fixed.variables, fixed.member, fixed.ancestors)

    def _read_fixed(self, pid: int, now: Stat, before: _Fixed | None, alive: str) -> _Fixed:
        """All of it; what an ending process no longer shows stays as it was."""
        unknown: list[str] = []
        status = parse.status(self._bytes(f"proc/{pid}/status", 8192, unknown))
        words = self._words(f"{pid}/{alive}", unknown)
        raw = self._bytes(f"proc/{pid}/{alive}environ", ENVIRON_BYTES, unknown)
        variables = parse.environ(raw, ENVIRONMENT, cut=len(raw) >= ENVIRON_BYTES)
        member = cgroup(self._bytes(f"proc/{pid}/{alive}cgroup", 16384, unknown))
        if before is not None:
            words = words or before.arguments
            variables = before.variables if variables is None else variables
        if variables is None and not any("environ" in reason for reason in unknown):
            unknown.append("environ: empty, written over or too long")
        elif variables is not None:
            unknown = [reason for reason in unknown if not reason.startswith("environ")]
        inner = status.pids[-1] if len(status.pids) > 1 else None
        return _Fixed(
            start=now.start,
            name=now.name,
            parent=now.parent,
            arguments=words,
            command=parse.command_text(words),
            variables=variables,
            member=member,
            ancestors=self._ancestors(now.parent),
            uid=status.uid,
            own_pid=inner,
            page=parse.page_size(status.rss, now.pages),
            unknown=tuple(unknown),
        )

    def _ancestors(self, parent: int) -> tuple[Ancestor, ...]:
        found: list[Ancestor] = []
        while parent > 0 and len(found) < ANCESTORS:
            known = self._above.get(parent)
            if known is None:
                above = self.stat(parent)
                if above is None:
                    break
                words = self._words(f"{parent}/", [])
                known = (Ancestor(parent, above.start, above.name, words), above.parent)
                self._above[parent] = known
            found.append(known[0])
            parent = known[1]
        return tuple(found)

    def _words(self, folder: str, unknown: list[str]) -> tuple[str, ...]:
        """The command line; what looks like a secret in it is not even remembered."""
        raw = self._bytes(f"proc/{folder}cmdline", COMMAND_BYTES, unknown)
        return parse.masked(parse.arguments(raw))

    def _schedule(self, pid: int) -> Waiting | None:
        raw = self._try(f"proc/{pid}/schedstat")
        return parse.schedstat(raw) if isinstance(raw, bytes) else None

    def _rates(
        self, pid: int, now: Stat, waiting: Waiting | None
    ) -> tuple[float | None, float | None]:
        """Processors busy and share of waiting since the read before, both None at the first."""
        at = self._clock.monotonic()
        before = self._moved.get(pid)
        waited = waiting.waiting if waiting else None
        self._moved[pid] = _Moved(at, now.cpu, waited)
        if before is None or at <= before.at or now.cpu < before.cpu:
            return None, None
        passed = at - before.at
        share = None
        if waited is not None and before.waited is not None and waited >= before.waited:
            share = min((waited - before.waited) / passed, 1.0)
        return (now.cpu - before.cpu) / passed, share

    def _bytes(self, path: str, limit: int, unknown: list[str]) -> bytes:
        """The content; nothing, and the reason in `unknown`, where it cannot be read."""
        found = self._try(path, limit)
        if isinstance(found, bytes):
            return found
        unknown.append(f"{path.rpartition('/')[2]}: {os.strerror(found.errno or 0)}")
        return b""

    def _try(self, path: str, limit: int = 4096) -> bytes | OSError:
        try:
            return self._host.read(path, limit)
        except OSError as error:
            return error


class _Names:
    """Names of users and pods, looked up again at most every half minute."""

    def __init__(self, host: HostFs, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._users: dict[int, str] = {}
        self._pods: dict[str, Pod] = {}
        self._looked: dict[str, float] = {}

    def user(self, uid: int | None) -> str | None:
        """The name that the host's passwd gives; other sources are not asked."""
        if uid is not None and uid not in self._users and self._may_look("users"):
            try:
                self._users = parse.users(self._host.read("etc/passwd", 1024 * 1024))
            except OSError:
                self._users = {}
        return None if uid is None else self._users.get(uid)

    def pod(self, uid: str | None) -> Pod | None:
        """A pod; named where the kubelet's log folders tell its name."""
        if uid is None:
            return None
        if uid not in self._pods and self._may_look("pods"):
            self._pods = self._listed()
        return self._pods.get(uid, Pod(uid))

    def _listed(self) -> dict[str, Pod]:
        try:
            entries = self._host.entries(POD_FOLDER)
        except OSError:
            return {}
        found = {}
        for entry in entries:
            parts = entry.name.split("_")
            if len(parts) == 3 and entry.kind == "dir":
                namespace, name, uid = parts
                found[uid] = Pod(uid, name, namespace)
        return found

    def _may_look(self, what: str) -> bool:
        now = self._clock.monotonic()
        if what in self._looked and now < self._looked[what] + _LOOK_UP_AGAIN:
            return False
        self._looked[what] = now
        return True
