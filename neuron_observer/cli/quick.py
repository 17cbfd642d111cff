"""The short way of `check`, `status` and `findings`: a daemon's answer without the command line's
library, which takes longer to import than the answer takes.

Only calls that are plain take it; all others, and all that could go wrong, go the whole way.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from neuron_observer.errors import ObserverError
from neuron_observer.locales import ascii_was_said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.client.cached import Told

_FORMS = {
    "check": ("text", "json", "nagios", "npd", "slurm"),
    "status": ("text", "json"),
    "findings": ("text", "json"),
}
_OF_CHECK = ("--fail-on", "--devices")
_FAIL_ON = (None, "warning", "critical")


def answer(arguments: Sequence[str]) -> int | None:
    """The exit code of a call that a daemon answered; None: nothing was said, go the whole way."""
    options = _options(arguments)
    if options is None or (form := _form(arguments[0], options)) is None:
        return None
    try:
        told = _told(form, options)
    except ObserverError:
        return None
    if told is None or told.code is None:
        return None
    try:
        parts = [(1, f"{told.out}\n".encode(_encoding()) if told.out else b"")]
        parts.append((2, f"{told.err}\n".encode(_encoding()) if told.err else b""))
    except (UnicodeEncodeError, LookupError):
        return None
    try:
        for part in parts:
            _write(*part)
    except OSError as error:
        from neuron_observer.cli.group import no_output  # noqa: PLC0415 - rarely needed

        return no_output(error)
    return told.code


def _options(arguments: Sequence[str]) -> dict[str, str] | None:
    """Options by name; None where there is anything else."""
    known = ("--format", "--connect", *(_OF_CHECK if arguments[0] == "check" else ()))
    found: dict[str, str] = {}
    rest = iter(arguments[1:])
    for word in rest:
        name, equals, value = word.partition("=")
        if name not in known or name in found:
            return None
        found[name] = value if equals else next(rest, "")
        if not found[name] or found[name].startswith("-"):
            return None
    return found


def _form(verb: str, options: dict[str, str]) -> str | None:
    form = options.get("--format", "text")
    if form not in _FORMS[verb] or options.get("--fail-on") not in _FAIL_ON:
        return None
    return form if form != "text" or verb == "check" else verb


def _told(form: str, options: dict[str, str]) -> Told | None:
    from neuron_observer.client import Client, address, cached  # noqa: PLC0415 - plain calls only

    query = {"fail_on": options.get("--fail-on"), "devices": options.get("--devices")}
    if "--connect" in options:
        return cached.by(Client(address.parse(options["--connect"])), form, query)
    own = address.local()
    if own is None:
        return None
    root = os.environ.get("NEURON_OBSERVER_HOST_ROOT") or "/"
    return cached.by_own(Client(own, patience=cached.PATIENCE), form, query, root)


def _encoding() -> str:
    if ascii_was_said(os.environ):
        return "ascii"
    return getattr(sys.stdout, "encoding", None) or "ascii"


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
