"""`daemon`: read the host all the time and serve what was read."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from neuron_observer import __version__
from neuron_observer.cli.hosts import make_judge, open_host, open_reader
from neuron_observer.cli.options import host_options, kubelet_option, rules_option
from neuron_observer.clock import SystemClock
from neuron_observer.daemon import Daemon
from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.listening import listening, places, warning
from neuron_observer.daemon.signals import stopped_by_signals
from neuron_observer.daemon.web_config import load
from neuron_observer.exporters.series import DETAILS
from neuron_observer.exporters.web import Web
from neuron_observer.loop import Loop
from neuron_observer.store import open_store

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import Detail


@click.command()
@click.option(
    "--listen",
    "addresses",
    default=("127.0.0.1:9744",),
    multiple=True,
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve /metrics, /healthz, /readyz and /api; may be repeated.",
)
@click.option("--socket", metavar="PATH", default="", help="Also a unix socket.")
@click.option(
    "--web-config",
    metavar="FILE",
    help="TLS and passwords, in the form of Prometheus's exporters.",
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
@click.option(
    "--state",
    metavar="DIR",
    help="Where findings, baselines and events outlive this process; else in memory only.",
)
@kubelet_option
@host_options
@rules_option
def command(  # noqa: PLR0913 - one an option
    *,
    addresses: tuple[str, ...],
    socket: str,
    web_config: str | None,
    detail: Detail,
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
    by TLS and with which passwords. Says on standard error where it listens, and then nothing
    unless something is wrong.
    """
    with listening(addresses, socket) as listeners:
        host = open_host(host_root)
        store = open_store(state, host, SystemClock())
        judge = make_judge(config_file, extra, one_shot=False, memory=store.load())
        reader = open_reader(
            host_root,
            config_file,
            all_devices=all_devices,
            lasting=True,
            kernel_log=True,
            kernel_cursor=store.cursor,
            host=host,
            kubelet=kubelet,
        )
        web = Web(lambda: load(web_config), reader.clock, _say) if web_config else None
        loop = Loop(reader, judge=judge, explain=judge.explain)
        keeper = store.keep(judge, tell=loop.tell, cursor=lambda: reader.kernel_cursor)
        reader.beside.append(("store", keeper.figures))
        answers = Answers(
            loop.feed,
            reader.clock,
            period=lambda: loop.schedule.periods["normal"],
            topology=lambda: reader.topology,
            past=store.past,
            submit=keeper.submit,
        )
        daemon = Daemon(
            loop,
            listeners,
            reader.clock,
            detail=detail,
            job_labels=job_labels,
            web=web,
            keeper=keeper,
            say=_say,
            answers=answers,
        )
        with stopped_by_signals(daemon):
            _say(f"{__version__}: {places(listeners, web)}, host {reader.host.root}")
            if text := warning(listeners, web):
                _say(text)
            if state and store.problem:
                _say(f"what is found is kept in memory only: {store.problem}")
            daemon.run()
    _say("stopped")


def _say(text: str) -> None:
    with suppress(OSError, ValueError):  # nobody there to hear it
        print(f"neuron-observer: {text}", file=sys.stderr, flush=True)  # noqa: T201 - narration
