"""Programs that installing calls: systemd's own, and the interpreter that the service will run."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATIENCE = 150  # seconds; a service has 90 to be ready
_ASK = (
    "import json, sys, neuron_observer as package;"
    "print(json.dumps([[path for path in sys.path if path], package.__file__]))"
)


class Imports(NamedTuple):
    """What an interpreter runs: the folders that it imports from, and where our package is."""

    folders: tuple[str, ...]
    package: str


def systemd_runs() -> bool:
    """Whether systemd is the init of this machine; sd_booted(3)."""
    return Path("/run/systemd/system").is_dir()


def systemd_version() -> int | None:
    """The version of the systemd that is installed; None if there is none."""
    try:
        said = run(("systemctl", "--version"))
    except HostError:
        return None
    found = re.match(r"systemd (\d+)", said)
    return int(found[1]) if found else None


def is_active(unit: str) -> bool:
    """Whether a unit runs or is on its way."""
    try:
        return run(("systemctl", "show", "--property=ActiveState", "--value", unit)).strip() in (
            "active",
            "activating",
            "reloading",
        )
    except HostError:
        return False


def imports_of(interpreter: str) -> Imports:
    """What `INTERPRETER -I` would run; `HostError` if it does not find our package."""
    try:
        said = run((interpreter, "-I", "-c", _ASK))
    except HostError as error:
        raise HostError(
            f"{interpreter} -I does not find the package neuron_observer",
            remedy="Install it there (python -m venv, pip install); PYTHONPATH does not count.",
        ) from error
    folders, package = json.loads(said)
    return Imports(tuple(folders), str(Path(package).parent))


def run(command: Sequence[str]) -> str:
    """Standard output of a command; `HostError` with its own words if it fails."""
    named = " ".join(command)
    try:
        done = subprocess.run(  # noqa: S603 - one of the few above and in the plan
            list(command), capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{named}: {error}") from None
    if done.returncode != 0:
        raise HostError(
            f"{named}: exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}",
            remedy="systemctl status neuron-observer and journalctl -u neuron-observer say more.",
        )
    return done.stdout
