"""What a daemon keeps on the disk, read without disturbing it: also while none runs."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.bundle import rows
from neuron_observer.config import examine
from neuron_observer.contract import instant
from neuron_observer.recording.dumps import FOLDER
from neuron_observer.recording.encoding import SUFFIX
from neuron_observer.rules.memory import Memory
from neuron_observer.store.database import Database
from neuron_observer.store.files import NAME
from neuron_observer.store.origin import origin_of
from neuron_observer.store.queries import Past

if TYPE_CHECKING:
    from neuron_observer.bundle.contents import Contents
    from neuron_observer.bundle.redaction import Redactor
    from neuron_observer.bundling import Asked
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.store.origin import Origin

MOST_RECORDINGS = 3
_UNPACKED = 256 << 20  # bytes of one recording
_WRONG = (sqlite3.Error, ValueError, TypeError, KeyError)


class Kept(NamedTuple):
    """The state of a node; empty where there is none or it cannot be read."""

    memory: Memory = Memory()
    origin: Origin | None = None  # where it was kept; None: nothing was
    at: float | None = None  # wall clock of what was written last
    past: Past | None = None
    acts: list[dict[str, Any]] = []  # noqa: RUF012 - a NamedTuple's default, never changed
    folder: Path | None = None

    def is_of_another(self, host: HostFs) -> bool:
        """Whether it was kept on another machine for certain."""
        return self.origin is not None and origin_of(host).is_other_machine(self.origin)

    @classmethod
    def of(cls, asked: Asked, contents: Contents) -> Kept:
        """What a state directory holds; what cannot be read is told."""
        folder = _folder(asked)
        if folder is None:
            return cls()
        file = folder / NAME
        try:
            if not file.exists():
                contents.leave_out("state of the daemon", "nothing is kept in the state directory")
                return cls(folder=folder)
            database = Database(file, writable=False)
            try:
                saved = database.load()
            finally:
                database.close()
            past = Past(file)
            acts = [one._asdict() | {"at": instant(one.at)} for one in past.acts()]
        except OSError as error:
            contents.leave_out(
                "state of the daemon", f"{error.strerror}; root or its user may read it"
            )
            return cls()
        except _WRONG as error:
            denied = (
                "" if os.access(folder, os.R_OK | os.X_OK) else "; root or its user may read it"
            )
            contents.leave_out("state of the daemon", f"cannot be read: {error}{denied}")
            return cls(folder=folder)
        return cls(saved.memory, saved.origin, saved.at, past, acts, folder)


def _folder(asked: Asked) -> Path | None:
    if asked.state is not None:
        return Path(asked.state)
    if not asked.machine or asked.remote:
        return None
    loaded = examine(asked.sources).loaded
    if loaded is None:
        return None
    named = ("state", "directory") in loaded.origins
    folder = Path(loaded.config.state.directory)
    return folder if named or folder.is_dir() else None


def recordings(asked: Asked, contents: Contents, redactor: Redactor, kept: Kept) -> None:
    """The newest dumps of the flight recorder."""
    if kept.folder is None:
        return
    folder = kept.folder / FOLDER
    try:
        found = [one for one in folder.iterdir() if _is_recording(one)]
        found.sort(key=lambda one: one.stat().st_mtime, reverse=True)
    except FileNotFoundError:
        return
    except OSError as error:
        contents.leave_out(
            "recordings", f"{error.strerror}; root or the daemon's user may read them"
        )
        return
    since = asked.narrow.since
    found = [one for one in found if since is None or one.stat().st_mtime >= since]
    for number, file in enumerate(found):
        if number >= MOST_RECORDINGS:
            contents.leave_out(f"{len(found) - number} older recordings", "the newest are here")
            return
        _recording(file, contents, redactor)


def _is_recording(file: Path) -> bool:
    """Whether it is one, and finished; links lead anywhere."""
    return file.name.endswith(SUFFIX) and file.is_file() and not file.is_symlink()


def _recording(file: Path, contents: Contents, redactor: Redactor) -> None:
    name = redactor.text(file.name)
    try:
        data = rows.packed(redactor, rows.lines_of(file.read_bytes(), _UNPACKED))
    except (OSError, ValueError) as error:
        contents.leave_out(f"recording {name}", str(error))
        return
    contents.add(f"{FOLDER}/{name}", "the minutes around a finding: replay reads it", data)
