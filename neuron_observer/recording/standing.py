"""What stands on a host beside its files: directories, links, processes, space, as far as asked."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, TypeAlias

from neuron_observer.recording import encoding
from neuron_observer.recording.heard import process_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from neuron_observer.recording.heard import Hearing

GONE = (errno.ENOENT, errno.ESRCH)
_NOTHING = object()
_Make: TypeAlias = "Callable[[str, Any], str]"
_ROWS: dict[str, _Make] = {
    "dir": encoding.folder_row,
    "link": encoding.link_row,
    "error": encoding.error_row,
    "stat": lambda path, fields: encoding.row("stat", [path, *fields]),
    "space": lambda path, fields: encoding.row("space", [path, *fields]),
}


def row_of(path: str, kind: str, value: Any) -> str:
    """What stands at a path, as a row."""
    return _ROWS[kind](path, value)


class Standing:
    """Answers by path and kind: what is asked again and again is told when it is another."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._values: dict[tuple[str, str], Any] = {}
        self._links: dict[str, set[str]] = {}  # descriptors that are devices, by their folder
        self.processes: set[str] = set()

    def stands(self, path: str, kind: str, value: Any) -> bool:
        """This is the answer now; whether it is another than before."""
        if self._values.get((path, kind), _NOTHING) == value:
            return False
        if kind == "error":
            if value in GONE and process_of(path):
                self.gone(path)
                return True
        else:
            self._values.pop((path, "error"), None)
        self._values[path, kind] = value
        if kind == "link" and "/fd/" in path:
            folder, _, name = path.rpartition("/")
            self._links.setdefault(folder, set()).add(name)
        self._hearing.add(row_of(path, kind, value))
        return True

    def gone(self, path: str) -> None:
        """Nothing stands there any more."""
        known = [kind for kind in (*_ROWS,) if self._values.pop((path, kind), _NOTHING) != _NOTHING]
        if known:
            self._hearing.add(encoding.gone_row(path))

    def descriptors(self, folder: str, names: Sequence[str]) -> None:
        """These a process has open; devices that it has no longer are gone."""
        self._values.pop((folder, "error"), None)
        known = self._links.get(folder)
        if known:
            for name in known.difference(names):
                known.discard(name)
                self.gone(f"{folder}/{name}")

    def listed_processes(self, now: set[str]) -> set[str]:
        """These are there now; those that ended."""
        begun, ended = now - self.processes, self.processes - now
        self.processes = now
        if ended:
            self._forget(lambda path: process_of(path) in ended)
            for pid in ended:
                self._hearing.add(encoding.gone_row(f"proc/{pid}"))
        for pid in sorted(begun, key=int):
            self._hearing.add(encoding.process_row(pid))
        return ended

    def forget_tree(self) -> None:
        """What stood below /sys is asked for anew."""
        self._forget(lambda path: path.startswith("sys/"))

    def _forget(self, which: Callable[[str], bool]) -> None:
        self._values = {key: one for key, one in self._values.items() if not which(key[0])}
        self._links = {folder: some for folder, some in self._links.items() if not which(folder)}

    def rows(self) -> list[str]:
        """All that stands; what was heard late of processes that had ended is forgotten."""
        alive: Collection[str] = self.processes
        self._forget(lambda path: bool(pid := process_of(path)) and pid not in alive)
        processes = [encoding.process_row(pid) for pid in sorted(self.processes, key=int)]
        known = self._values.items()
        return [*processes, *(row_of(path, kind, value) for (path, kind), value in known)]
