"""Who answers a verb: a daemon that was named, this machine's daemon where it fits, or nobody.

This machine's daemon is asked without being named only where its answer is the one that a look of
one's own would give: same host, same rules, a fresh frame. Whatever is in doubt is looked at here.
Nothing heavy is imported: a cached answer has 50 ms for the whole process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from neuron_observer.cli.options import NODES
from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.client import Client
    from neuron_observer.client.cached import Query, Told

_OF_A_HOST = {  # parameter → option; each tells how a host is to be read
    "host_root": "--host-root",
    "config_file": "--config",
    "all_devices": "--all-devices",
    "extra": "--rules",
    "monitor": "--monitor",
    "kubelet": "--kubelet",
    "seconds": "--watch",
    "skip_expensive": "--skip-expensive",
}
_OF_A_SIMULATION = ("simulated_scenario", "simulated_instance", "simulated_driver")


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


def alone(option: str) -> None:
    """`UsageError` where an option that says what is looked at stands beside others that do."""
    context = click.get_current_context()
    others = [one for one in _about_a_host(context) if one != "--config"]
    others += [f"--{name}" for name in ("connect", "direct") if _asked(context, name)]
    if others:
        raise UsageError(f"{option} and {others[0]} exclude each other", remedy="Leave one out.")


def several() -> list[Client]:
    """The daemons of `--connect`, where it stands more than once; `UsageError` if one is wrong."""
    first = named()
    context = click.get_current_context(silent=True)
    urls = context.meta.get(NODES, ()) if context else ()
    if first is None or len(urls) < 2:
        return []
    from neuron_observer.client import Client  # noqa: PLC0415 - where it is asked
    from neuron_observer.client.address import parse  # noqa: PLC0415 - the same
    from neuron_observer.client.nodes import MOST  # noqa: PLC0415 - the same

    if len(urls) > MOST:
        raise UsageError(
            f"--connect stands {len(urls)} times, {MOST} nodes go side by side",
            remedy="A fleet is watched by Prometheus: docs/http.md.",
        )
    ca_file = first.address.ca_file
    addresses = [parse(url, ca_file if url.startswith("https:") else None) for url in urls]
    if len(set(addresses)) < len(addresses):
        raise UsageError("--connect names a daemon twice", remedy="Once is enough.")
    return [Client(address) for address in addresses]


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
    from neuron_observer.client.cached import PATIENCE  # noqa: PLC0415 - the same

    return Client(address, patience=PATIENCE)


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


def judged(form: str, query: Query, host_root: str) -> int | None:
    """The daemon's check, printed in a form; its exit code. None: look at the host yourself."""
    told = answered(form, query, host_root)
    if told is None:
        return None
    if told.out:
        click.echo(told.out)
    if told.err:
        click.echo(told.err, err=True)
    return told.code


def answered(form: str, query: Query, host_root: str) -> Told | None:
    """The daemon's check in a form; None where there is no daemon to ask."""
    from neuron_observer.client import cached  # noqa: PLC0415 - where one may be asked

    client = named()
    if client is not None:
        return cached.by(client, form, query)
    client = here()
    return None if client is None else cached.by_own(client, form, query, host_root)
