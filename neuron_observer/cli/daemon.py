"""`daemon`: read the host all the time and serve what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from neuron_observer import __version__
from neuron_observer.cli.hosts import make_judge, open_reader
from neuron_observer.cli.options import host_options, kubelet_option, rules_option
from neuron_observer.clock import SystemClock
from neuron_observer.daemon import Daemon
from neuron_observer.daemon.pace import Pace
from neuron_observer.daemon.signals import stopped_by_signals
from neuron_observer.exporters.listener import bound, listen, parse_address
from neuron_observer.exporters.series import DETAILS
from neuron_observer.log import open_log
from neuron_observer.loop import Loop

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import Detail


@click.command()
@click.option(
    "--listen",
    "address",
    default="127.0.0.1:9744",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve /metrics, /healthz and /readyz.",
)
@click.option(
    "--detail",
    type=click.Choice(DETAILS),
    default="core",
    show_default=True,
    help="How many series a page has.",
)
@click.option(
    "--job-labels",
    is_flag=True,
    help="Also a series a device and job (neuron_job_info); it ends with the job.",
)
@kubelet_option
@host_options
@rules_option
def command(  # noqa: PLR0913 - one an option
    *,
    address: str,
    detail: Detail,
    job_labels: bool,
    kubelet: bool,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
) -> None:
    """Read and judge this host until SIGTERM or Ctrl-C; answer Prometheus from the last frame.

    Nobody but this machine can ask unless --listen names another address; there is no password.
    Says on standard error where it listens, and then only what begins, ends or goes wrong.
    """
    lines = open_log(SystemClock())
    listener = listen(parse_address(address))
    with listener:
        judge = make_judge(config_file, extra, one_shot=False)
        reader = open_reader(
            host_root,
            config_file,
            all_devices=all_devices,
            lasting=True,
            kernel_log=True,
            kubelet=kubelet,
        )
        loop = Loop(reader, judge=judge, explain=judge.explain)
        loop.subscribe(Pace(loop, reader.clock, lines).note)
        daemon = Daemon(
            loop, listener, reader.clock, detail=detail, job_labels=job_labels, log=lines
        )
        with stopped_by_signals(daemon):
            url, root = f"http://{bound(listener)}/metrics", reader.host.root
            lines.info("started", f"reads {root} and serves {url}", version=__version__, url=url)
            daemon.run()
    lines.info("stopped", "stopped")
    lines.close()
