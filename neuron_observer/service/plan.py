"""What installing and removing the service would do, as steps that can be told and taken."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import UsageError
from neuron_observer.service import units
from neuron_observer.service.commands import run

if TYPE_CHECKING:
    from collections.abc import Collection

_FILE_MODE = 0o644
_FOLDER_MODE = 0o755


class Step(NamedTuple):
    """One thing to do: a file to write (`text`), to remove, or a command."""

    what: str  # "write", "replace", "keep", "remove" or "run"
    target: str  # a path, or the command
    text: str = ""
    command: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether it changes a file."""
        return self.what in ("write", "replace", "remove")


def installing(root: Path, interpreter: str, drop_ins: Collection[str] | None) -> list[Step]:
    """The files to write; `drop_ins` None keeps those that are there."""
    wanted = units.texts(interpreter)
    steps = []
    for name in units.DROP_INS:
        path = units.drop_in_path(name)
        there = (root / path).exists()
        if name in (drop_ins or ()) or (drop_ins is None and there):
            wanted[path] = units.drop_in(name)
        elif there:
            steps.append(_removal(root, path))
    steps = [_writing(root, path, text) for path, text in wanted.items()] + steps
    if (root / units.ENVIRONMENT).exists():
        steps.append(Step("keep", str(root / units.ENVIRONMENT)))
    else:
        steps.append(Step("write", str(root / units.ENVIRONMENT), units.environment()))
    return steps


def activating(steps: Collection[Step], *, active: bool) -> list[Step]:
    """The commands that put them in force on this machine."""
    changed = [step for step in steps if step.changes]
    replaced = {Path(step.target).name for step in changed if step.what == "replace"}
    commands: list[tuple[str, ...]] = [
        ("systemd-sysusers", f"/{units.SYSUSERS}"),
        ("systemd-tmpfiles", "--create", f"/{units.TMPFILES}"),
    ]
    if changed:
        commands.append(("systemctl", "daemon-reload"))
    if active and replaced.intersection(units.SOCKETS):  # a socket in use is not opened anew
        commands.append(("systemctl", "stop", units.SERVICE, *units.SOCKETS))
    commands.append(("systemctl", "enable", "--now", *units.SOCKETS, units.SERVICE))
    if active and changed:
        commands.append(("systemctl", "restart", units.SERVICE))
    return [Step("run", " ".join(command), command=command) for command in commands]


def removing(root: Path, *, running: bool) -> list[Step]:
    """Our own files; what an administrator wrote, the state and the user stay."""
    paths = [*units.texts(f"{units.PREFIX}/bin/python"), *map(units.drop_in_path, units.DROP_INS)]
    there = [_removal(root, path) for path in paths if (root / path).exists()]
    if not there or not running:
        return there
    stop = ("systemctl", "disable", "--now", *units.SOCKETS, units.SERVICE)
    reload = ("systemctl", "daemon-reload")
    return [
        Step("run", " ".join(stop), command=stop),
        *there,
        Step("run", " ".join(reload), command=reload),
    ]


def take(step: Step) -> None:
    """Do it; OSError or `HostError` if that is not possible."""
    if step.what in ("write", "replace"):
        _write(Path(step.target), step.text)
    elif step.what == "remove":
        Path(step.target).unlink()
        with suppress(OSError):  # a folder of drop-ins that holds others' stays
            Path(step.target).parent.rmdir()
    elif step.what == "run":
        run(step.command)


def _writing(root: Path, path: str, text: str) -> Step:
    target = root / path
    if not target.exists():
        return Step("write", str(target), text)
    before = target.read_text(encoding="utf-8", errors="replace")
    if before == text:
        return Step("keep", str(target))
    _must_be_ours(target, before)
    return Step("replace", str(target), text)


def _removal(root: Path, path: str) -> Step:
    target = root / path
    _must_be_ours(target, target.read_text(encoding="utf-8", errors="replace"))
    return Step("remove", str(target))


def _must_be_ours(target: Path, text: str) -> None:
    if not text.startswith(units.MARK):
        raise UsageError(
            f"{target}: written by somebody else, so it is left alone",
            remedy="Move it away first; changes of your own belong into a drop-in"
            " (systemctl edit neuron-observer), which is never touched.",
        )


def _write(target: Path, text: str) -> None:
    """All of it or nothing, readable for everybody whatever the umask."""
    missing = [folder for folder in target.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        folder.chmod(_FOLDER_MODE)
    import tempfile  # noqa: PLC0415 - brings much along

    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(descriptor, _FILE_MODE)
            os.fsync(descriptor)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
