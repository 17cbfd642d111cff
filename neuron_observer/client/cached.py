"""`check`, `status` and `findings` as the daemon tells them: what to print, and the exit code.

Whoever did not name a daemon gets its answer only where a look of his own would tell the same: of
the same host, from a fresh frame.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from neuron_observer.errors import DaemonError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.client import Client

    Query: TypeAlias = Mapping[str, str | None]

PATIENCE = 1.0  # seconds that this machine's daemon may take before the host is looked at
_FOR_PEOPLE = ("text", "status", "findings")


class Told(NamedTuple):
    """What goes to standard output and standard error; no code: look at the host yourself."""

    code: int | None
    out: str = ""
    err: str = ""


def by(client: Client, form: str, query: Query) -> Told:
    """What a daemon says that was named; `DaemonError`, `UsageError`."""
    return _told(client.get("check", _asked(form, query)), form)


def by_own(client: Client, form: str, query: Query, host_root: str) -> Told:
    """What this machine's daemon says, if it is about this host, now."""
    try:
        document = client.get("check", _asked(form, query))
    except UsageError:
        return Told(None)  # a look of one's own says what is wrong, in its own words
    except DaemonError as error:
        return Told(None, err="" if error.absent else _narrated(form, _instead(error.message)))
    if document.get("host_root") not in (host_root, os.path.realpath(host_root)):
        return Told(None)
    frame = document.get("frame")
    if not isinstance(frame, dict) or frame.get("stale") is not False:
        why = f"the daemon's last frame is {_age(frame)} old"
        return Told(None, err=_narrated(form, _instead(why)))
    if document.get("settled") is not True:
        return Told(None, err=_narrated(form, _instead("the daemon has not decided yet")))
    return _told(document, form)


def _asked(form: str, query: Query) -> Query:
    return {"format": None if form == "json" else form, **query}


def _told(document: Mapping[str, Any], form: str) -> Told:
    code, output, narration = (document.get(name) for name in ("exit_code", "output", "narration"))
    if not isinstance(code, int) or not 0 <= code <= 3:
        raise DaemonError("the daemon's answer has no exit code")
    if form == "json":
        return Told(code, json.dumps(document, indent=1))
    if not isinstance(output, str) or not isinstance(narration, str):
        raise DaemonError("the daemon's answer has no lines to print")
    age = _age(document.get("frame"))
    source = _narrated(form, f"told by the daemon, from a frame {age} old")
    return Told(code, harmless(output), harmless(narration) or source)


def harmless(text: str) -> str:
    """Text of another program without what a terminal would take for a command."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in text)


def _instead(why: str) -> str:
    return f"{why}: reading directly"


def _narrated(form: str, text: str) -> str:
    """Who answered, for people; monitors and schedulers get their one line alone."""
    return f"neuron-observer: {text}" if form in _FOR_PEOPLE else ""


def _age(frame: object) -> str:
    age = frame.get("age") if isinstance(frame, dict) else None
    return f"{age:.1f} s" if isinstance(age, (int, float)) else "of unknown age,"
