"""The files of `systemd/`, as they are installed for one interpreter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from neuron_observer.errors import HostError

UNITS = "etc/systemd/system"
SERVICE = "neuron-observer.service"
SOCKETS = ("neuron-observer.socket", "neuron-observer-api.socket")
SYSUSERS = "etc/sysusers.d/neuron-observer.conf"
TMPFILES = "etc/tmpfiles.d/neuron-observer.conf"
ENVIRONMENT = "etc/default/neuron-observer"
CONFIGURATION = "etc/neuron-observer"
STATE = "var/lib/neuron-observer"
DROP_INS = ("jobs", "push", "reload")
RELOAD_SINCE = 253  # the first systemd that knows Type=notify-reload
PREFIX = "/opt/neuron-observer"  # where the shipped unit expects us
# Below these the service sees nothing of the host: ProtectHome=, PrivateTmp=
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108 - to refuse them

MARK: Final = "# Written by `neuron-observer install-service`, which overwrites it.\n"
_EXEC = re.compile(rf"^ExecStart={PREFIX}/bin/python ", re.MULTILINE)
# in systemd's command lines: a character that would end or change a word
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9/._+@-]")


def folder() -> Path:
    """Where the files are: inside an installed package, beside it in a checkout."""
    package = Path(__file__).parent.parent
    for place in (package / "systemd", package.parent / "systemd"):
        if (place / SERVICE).is_file():
            return place
    raise HostError("the unit files are missing from this installation", remedy="Install it anew.")


def texts(interpreter: str) -> dict[str, str]:
    """Path below the root → text, of all that is always installed and written anew each time."""
    files = {
        f"{UNITS}/{SERVICE}": _with_interpreter(_read(SERVICE), interpreter),
        **{f"{UNITS}/{name}": _read(name) for name in SOCKETS},
        SYSUSERS: _read("neuron-observer.sysusers"),
        TMPFILES: _read("neuron-observer.tmpfiles"),
    }
    return {path: MARK + text for path, text in files.items()}


def drop_in(name: str) -> str:
    """The text of one of `DROP_INS`."""
    return MARK + _read(f"{SERVICE}.d/{name}.conf")


def drop_in_path(name: str) -> str:
    """Where it is installed."""
    return f"{UNITS}/{SERVICE}.d/{name}.conf"


def environment() -> str:
    """The environment file, which is the administrator's from then on."""
    return _read("neuron-observer.default")


def _read(name: str) -> str:
    return (folder() / name).read_text(encoding="utf-8")


def _with_interpreter(text: str, interpreter: str) -> str:
    if _NOT_PLAIN.search(interpreter):
        raise HostError(
            f"{interpreter}: a path that systemd would not take for one word",
            remedy=f"Install under a path of letters, digits and ._+-, for example {PREFIX}.",
        )
    changed, times = _EXEC.subn(f"ExecStart={interpreter} ", text)
    if times != 1:
        raise HostError(
            f"{SERVICE} has no ExecStart={PREFIX}/bin/python", remedy="Install it anew."
        )
    return changed
