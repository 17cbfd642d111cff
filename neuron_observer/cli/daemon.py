"""`daemon`: read the host all the time and serve what was read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.configured import default_file, sources_of
from neuron_observer.cli.hosts import open_host
from neuron_observer.cli.options import (
    host_options,
    is_of_this_machine,
    kubelet_option,
    rules_option,
    simulation_asked,
)
from neuron_observer.cli.planning import planned
from neuron_observer.daemon.signals import hangups
from neuron_observer.errors import ObserverError
from neuron_observer.exporters.listener import parse_address
from neuron_observer.exporters.series import DETAILS

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.config.layers import Flags
    from neuron_observer.daemon.plan import Plan

_KEYS = {
    "--detail": "export.detail",
    "--job-labels": "export.job_labels",
    "--socket": "socket",
    "--state": "state.directory",
    "--web-config": "web.config_file",
}


@click.command()
@click.option(
    "--listen",
    "addresses",
    multiple=True,
    metavar="HOST:PORT",
    help="Where to serve /metrics, /healthz, /readyz and /api; may be given again."
    "  [default: 127.0.0.1:9744]",
)
@click.option(
    "--socket",
    "path",
    metavar="PATH",
    help="The unix socket of this machine's own programs.  [default: in /run/neuron-observer]",
)
@click.option(
    "--web-config",
    metavar="FILE",
    help="TLS and passwords, in the form of Prometheus's exporters.",
)
@click.option(
    "--detail", type=click.Choice(DETAILS), help="How many series a page has.  [default: core]"
)
@click.option(
    "--job-labels",
    is_flag=True,
    help="Also a series a device and job (neuron_job_info); it ends with the job.",
)
@click.option(
    "--state",
    metavar="DIR",
    help="Where findings, baselines and events outlive this process.  [default:"
    " /var/lib/neuron-observer if it is there and this machine is read, else in memory only]",
)
@kubelet_option
@host_options
@rules_option
def command(  # noqa: PLR0913 - one an option
    *,
    addresses: tuple[str, ...],
    path: str | None,
    web_config: str | None,
    detail: str | None,
    job_labels: bool,
    state: str | None,
    kubelet: bool,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
) -> None:
    """Read and judge this host until SIGTERM or Ctrl-C; answer Prometheus from the last frame.

    Nobody but this machine can ask unless --listen names another address; then --web-config says
    by TLS and with which passwords. Says on standard error where it listens, and then only what
    begins, ends or goes wrong. SIGHUP reads the configuration and the rules anew; what is wrong
    then changes nothing. An option wins over a variable, and that over a file (docs/config.md).
    """
    switches = {"--job-labels": job_labels, "--kubelet": kubelet, "--all-devices": all_devices}
    texts = {"--detail": detail, "--socket": path, "--state": state}
    texts["--web-config"] = web_config
    if config_file is None and is_of_this_machine(host_root):
        config_file = default_file()  # it may come to be there until a reload
    sources = sources_of(config_file)._replace(flags=_flags(addresses, texts, switches))
    read = partial(planned, sources, extra, host_root)
    hand_over = click.get_current_context().obj
    if hand_over is None:
        _serve_here(read)
    else:
        _tell(read, hand_over)


def _tell(
    read: Callable[[], Plan], hand_over: Callable[[Plan | ObserverError | None], None]
) -> None:
    """The daemon is another process, unless its host can only be had in this one."""
    try:
        hand_over(None if simulation_asked() else read())
    except ObserverError as error:
        hand_over(error)


def _serve_here(read: Callable[[], Plan]) -> None:
    from neuron_observer.cli.assembly import Ways, serve  # noqa: PLC0415 - in this process alone

    with hangups() as asked:
        serve(read(), Ways(open_host, asked, lambda: read().in_force))


def _flags(
    addresses: tuple[str, ...], texts: dict[str, str | None], switches: dict[str, bool]
) -> Flags:
    """What options say about keys, under the options' names."""
    found: dict[str, tuple[str, str | tuple[str, ...]]] = {}
    for address in addresses:
        parse_address(address)  # what is wrong with it is an error of the call
    if addresses:
        found["listen"] = "--listen", addresses
    for flag, text in texts.items():
        if text is not None:
            found[_KEYS[flag]] = flag, text
    for flag, given in switches.items():
        if given:
            found[_KEYS.get(flag, flag.strip("-").replace("-", "_"))] = flag, "true"
    return found
