"""`daemon`: read the host all the time and serve what was read."""

from __future__ import annotations

import faulthandler
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.assembly import Call, run
from neuron_observer.cli.configured import default_file, sources_of
from neuron_observer.cli.options import (
    host_options,
    is_of_this_machine,
    kubelet_option,
    rules_option,
)
from neuron_observer.clock import SystemClock
from neuron_observer.config import read
from neuron_observer.daemon.activation import inherited_sockets
from neuron_observer.daemon.heap import share_one_heap
from neuron_observer.daemon.listening import listening
from neuron_observer.daemon.notify import Notifier
from neuron_observer.daemon.signals import hangups
from neuron_observer.exporters.listener import parse_address
from neuron_observer.exporters.series import DETAILS
from neuron_observer.log import open_log

if TYPE_CHECKING:
    from neuron_observer.config import Loaded
    from neuron_observer.config.layers import Flags

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
    faulthandler.enable(2)  # a watchdog's SIGABRT then tells where each thread stood
    share_one_heap()
    clock = SystemClock()
    notifier = Notifier.of(os.environ, os.getpid(), clock)
    inherited = inherited_sockets(os.environ, os.getpid())
    switches = {"--job-labels": job_labels, "--kubelet": kubelet, "--all-devices": all_devices}
    texts = {"--detail": detail, "--socket": path, "--state": state}
    texts["--web-config"] = web_config
    if config_file is None and is_of_this_machine(host_root):
        config_file = default_file()  # it may come to be there until a reload
    sources = sources_of(config_file)._replace(flags=_flags(addresses, texts, switches))
    with hangups() as asked:
        loaded = read(sources)
        local = _socket(loaded, host_root)
        with listening(loaded.config.listen, local, inherited=inherited) as listeners:
            lines = open_log(clock, loaded.config.log.format, loaded.config.log.level)
            call = Call(host_root, extra, asked, notifier, lines, clock)
            run(loaded, sources, listeners, call)
    lines.info("stopped", "stopped")
    lines.close()
    gc.freeze()  # what is left goes with the process; to look through it first takes long


def _socket(loaded: Loaded, host_root: str) -> str:
    """The unix socket: as somebody said, else the usual one where that can be."""
    path = loaded.config.socket
    if ("socket",) in loaded.origins:
        return path
    usual = is_of_this_machine(host_root) and os.access(Path(path).parent, os.W_OK)
    return path if usual else ""


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
