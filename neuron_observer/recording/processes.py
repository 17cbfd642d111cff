"""The processes that hold devices, as rows of a capture: what the job map needs and nothing else.

Of an environment only the variables of the job map are written, of a command line what looks
like a secret is masked; of a table of descriptors the devices only.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import TYPE_CHECKING

from neuron_observer.collectors.holders import ANCESTORS, COMMAND_BYTES, ENVIRON_BYTES
from neuron_observer.collectors.processes import ProcessScanner
from neuron_observer.jobs.identity import ENVIRONMENT
from neuron_observer.parsers import process as parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.processes import Holding
    from neuron_observer.sources.hostfs import HostFs

_AS_THEY_ARE = ("stat", "status", "schedstat")
_COMMON = ("proc/1/comm", "proc/2/comm")


class ProcessRows:
    """Rows of the holders of now, by path."""

    def __init__(self, host: HostFs, clock: Clock, scrub: Callable[[str], str]) -> None:
        self._host = host
        self._scrub = scrub
        self._scanner = ProcessScanner(host, clock)

    def rows(self) -> dict[str, str]:
        """Path → row; of processes that may not be looked into, that they may not."""
        found: dict[str, str] = {}
        for path in _COMMON:
            found |= self._file(path)
        for pid, holding in self._scanner.scan().items():
            folder = f"proc/{pid}/{holding.alive}"
            for path in (*(f"proc/{pid}/{name}" for name in _AS_THEY_ARE), f"{folder}cgroup"):
                found |= self._file(path)
            found |= self._command(folder) | self._environment(folder)
            found |= dict(self._descriptors(pid, holding))
            found |= self._ancestors(pid)
        for pid in self._scanner.refused:
            path = f"proc/{pid}/fd"
            found[path] = f"#error {json.dumps([path, '0500', 'EACCES'])}"
        return found

    def _file(self, path: str, limit: int = 16384) -> dict[str, str]:
        try:
            raw = self._host.read(path, limit)
        except OSError as error:
            return _unreadable(path, error)
        return {path: _row(path, "0444", raw.decode("utf-8", "surrogateescape"))}

    def _command(self, folder: str) -> dict[str, str]:
        path = f"{folder}cmdline"
        try:
            words = parse.masked(parse.arguments(self._host.read(path, COMMAND_BYTES)))
        except OSError as error:
            return _unreadable(path, error)
        return {path: _row(path, "0444", "".join(f"{self._scrub(word)}\0" for word in words))}

    def _environment(self, folder: str) -> dict[str, str]:
        """Nothing, which reads as unknown, where it is none or was cut; else at least `_`."""
        path = f"{folder}environ"
        try:
            raw = self._host.read(path, ENVIRON_BYTES)
        except OSError as error:
            return _unreadable(path, error)
        kept = parse.environ(raw, ENVIRONMENT, cut=len(raw) >= ENVIRON_BYTES)
        pairs = {} if kept is None else {"_": "", **kept}
        text = "".join(f"{name}={self._scrub(value)}\0" for name, value in pairs.items())
        return {path: _row(path, "0400", text)}

    def _descriptors(self, pid: int, holding: Holding) -> Iterator[tuple[str, str]]:
        if not any(number.startswith("fd/") for number in holding.descriptors):
            yield f"proc/{pid}/fd", _row(f"proc/{pid}/fd", "d", "")  # of a zombie: its threads hold
        for number, (link, _) in holding.descriptors.items():
            path = f"proc/{pid}/{number}"
            yield path, _row(path, "l", link)
            node = f"proc/{pid}/root/{link.lstrip('/')}"
            try:
                status = self._host.lstat(node)
            except OSError:
                continue
            if stat.S_ISCHR(status.st_mode):
                numbers = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
                yield node, _row(node, f"{status.st_mode:07o}", numbers)

    def _ancestors(self, pid: int) -> dict[str, str]:
        found: dict[str, str] = {}
        for _ in range(ANCESTORS):
            known = self._stat(pid)
            if known is None or known.parent <= 0:
                break
            pid = known.parent
            found |= self._file(f"proc/{pid}/stat") | self._command(f"proc/{pid}/")
        return found

    def _stat(self, pid: int) -> parse.Stat | None:
        try:
            return parse.stat(self._host.read(f"proc/{pid}/stat"))
        except OSError:
            return None


def _row(path: str, mode: str, text: str) -> str:
    return f"#host {json.dumps([path, mode, text])}"


def _unreadable(path: str, error: OSError) -> dict[str, str]:
    """What vanished meanwhile is not there; anything else is told."""
    if error.errno in (errno.ENOENT, errno.ESRCH):
        return {}
    name = errno.errorcode.get(error.errno or 0, "EIO")
    return {path: f"#error {json.dumps([path, '0400', name])}"}
