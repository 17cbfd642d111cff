"""Who answers a verb: a daemon that was named, this machine's daemon where it fits, or nobody.

This machine's daemon is asked without being named only where its answer is the one that a look of
one's own would give: same host, same rules, a fresh frame. Whatever is in doubt is looked at here.
Nothing heavy is imported: a cached answer has 50 ms for the whole process.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from neuron_observer.errors import DaemonError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.client import Client

_OF_A_HOST = {  # parameter → option; each tells how a host is to be read
    "host_root": "--host-root",
    "config_file": "--config",
    "all_devices": "--all-devices",
    "extra": "--rules",
    "monitor": "--monitor",
    "kubelet": "--kubelet",
    "seconds": "--watch",
    "kernel_log": "--kernel-log",
    "skip_expensive": "--skip-expensive",
}
_OF_A_SIMULATION = ("simulated_scenario", "simulated_instance", "simulated_driver")
_FOR_PEOPLE = ("text", "status", "findings")
_SHORT = 2.0  # seconds that this machine's daemon may take before the host is looked at


def named(*, patience: float | None = None) -> Client | None:
    """The daemon of `--connect`; None where there is none. `UsageError` if it is wrong."""
    context = click.get_current_context(silent=True)
    url, ca_file = _asked(context, "connect"), _asked(context, "ca_file")
    if context is None or url is None:
        if ca_file is not None:
            raise UsageError("--ca-file belongs to --connect", remedy="Add it.")
        return None
    other = next(_about_a_host(context), None)
    if other or _asked(context, "direct"):
        raise UsageError(
            f"--connect and {other or '--direct'} exclude each other",
            remedy="What a daemon reads, and how, is said where it is started.",
        )
    from neuron_observer.client import PATIENCE, Client  # noqa: PLC0415 - where it is asked
    from neuron_observer.client.address import parse  # noqa: PLC0415 - the same

    return Client(parse(url, ca_file), patience=patience or PATIENCE)


def here() -> Client | None:
    """This machine's daemon, where it may stand for a look of one's own."""
    context = click.get_current_context(silent=True)
    if context is None or _asked(context, "direct"):
        return None
    if any(option != "--host-root" for option in _about_a_host(context)):
        return None
    from neuron_observer.client.address import local  # noqa: PLC0415 - where it may be asked

    address = local()
    if address is None:
        return None
    from neuron_observer.client import Client  # noqa: PLC0415 - where it is asked

    return Client(address, patience=_SHORT)


def _asked(context: click.Context | None, name: str) -> str | None:
    told = context.meta.get(f"neuron_observer.{name}") if context else None
    return told if isinstance(told, str) else None


def _about_a_host(context: click.Context) -> Iterator[str]:
    """The options on the command line that say which host is read, or how."""
    for name, option in _OF_A_HOST.items():
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            yield option
    if any(_asked(context, name) for name in _OF_A_SIMULATION):
        yield "--simulate"


def judged(form: str, query: Mapping[str, str | None], host_root: str) -> int | None:
    """The daemon's check, printed in a form; its exit code. None: look at the host yourself."""
    asked = {"format": None if form == "json" else form, **query}
    client = named()
    if client is not None:
        return _print(client.get("check", asked), form)
    document = _from_here(form, asked, host_root)
    return None if document is None else _print(document, form)


def _from_here(form: str, asked: Mapping[str, str | None], host_root: str) -> dict[str, Any] | None:
    """What this machine's daemon says, if it is about this host, now."""
    client = here()
    if client is None:
        return None
    try:
        document = client.get("check", asked)
    except UsageError:
        return None  # a look of one's own says what is wrong, in its own words
    except DaemonError as error:
        if not error.absent:
            _narrate(form, f"{error.message}: reading directly")
        return None
    if document.get("host_root") not in (host_root, os.path.realpath(host_root)):
        return None
    frame = document.get("frame")
    if not isinstance(frame, dict) or frame.get("stale") is not False:
        _narrate(form, f"the daemon's last frame is {_age(frame)} old: reading directly")
        return None
    return document


def _print(document: Mapping[str, Any], form: str) -> int:
    code, output, narration = (document.get(name) for name in ("exit_code", "output", "narration"))
    if not isinstance(code, int) or not 0 <= code <= 3:
        raise DaemonError("the daemon's answer has no exit code")
    if form == "json":
        import json  # noqa: PLC0415 - only for JSON

        click.echo(json.dumps(document, indent=1))
        return code
    if not isinstance(output, str) or not isinstance(narration, str):
        raise DaemonError("the daemon's answer has no lines to print")
    if output:
        click.echo(harmless(output))
    if narration:
        click.echo(harmless(narration), err=True)
    _narrate(form, f"told by the daemon, from a frame {_age(document.get('frame'))} old")
    return code


def harmless(text: str) -> str:
    """Text of another program without what a terminal would take for a command."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in text)


def _narrate(form: str, text: str) -> None:
    """Say on standard error who answered; monitors and schedulers get their one line alone."""
    if form in _FOR_PEOPLE:
        click.echo(f"neuron-observer: {text}", err=True)


def _age(frame: object) -> str:
    age = frame.get("age") if isinstance(frame, dict) else None
    return f"{age:.1f} s" if isinstance(age, (int, float)) else "of unknown age,"
