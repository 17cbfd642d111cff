"""`daemon`: read the host all the time and serve what was read."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from neuron_observer import __version__
from neuron_observer.checks.judging import judge_by
from neuron_observer.cli.configured import default_file, sources_of
from neuron_observer.cli.hosts import open_reader, rules_of
from neuron_observer.cli.options import (
    host_options,
    is_of_this_machine,
    kubelet_option,
    monitor_feed,
    rules_option,
)
from neuron_observer.clock import SystemClock
from neuron_observer.collectors.own import LastReload
from neuron_observer.config import read
from neuron_observer.config.web_config import load
from neuron_observer.daemon import Daemon
from neuron_observer.daemon.activation import inherited_sockets
from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.listening import listening, places, warning
from neuron_observer.daemon.notify import Notifier
from neuron_observer.daemon.reload import Reloader, Running, lanes, put_in_force
from neuron_observer.daemon.signals import hangups, stopped_by_signals
from neuron_observer.errors import InputError
from neuron_observer.exporters.http import Limits
from neuron_observer.exporters.listener import parse_address
from neuron_observer.exporters.series import DETAILS
from neuron_observer.exporters.web import Web
from neuron_observer.history import History
from neuron_observer.loop import Loop

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from queue import SimpleQueue

    from neuron_observer.config import Config, Loaded, Sources
    from neuron_observer.config.layers import Flags
    from neuron_observer.live import MonitorFeed

_KEYS = {
    "--detail": "export.detail",
    "--job-labels": "export.job_labels",
    "--socket": "socket",
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
    kubelet: bool,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
) -> None:
    """Read and judge this host until SIGTERM or Ctrl-C; answer Prometheus from the last frame.

    Nobody but this machine can ask unless --listen names another address; then --web-config says
    by TLS and with which passwords. Says on standard error where it listens, and then nothing
    unless something is wrong. SIGHUP reads the configuration and the rules anew; what is wrong then
    changes nothing. An option wins over a variable, and that over a file (docs/config.md).
    """
    faulthandler.enable(2)  # a watchdog's SIGABRT then tells where each thread stood
    notifier = Notifier.of(os.environ, os.getpid(), SystemClock())
    inherited = inherited_sockets(os.environ, os.getpid())
    switches = {"--job-labels": job_labels, "--kubelet": kubelet, "--all-devices": all_devices}
    texts = {"--detail": detail, "--socket": path, "--web-config": web_config}
    if config_file is None and is_of_this_machine(host_root):
        config_file = default_file()  # it may come to be there until a reload
    sources = sources_of(config_file)._replace(flags=_flags(addresses, texts, switches))
    with hangups() as asked:
        loaded = read(sources)
        local = _socket(loaded, host_root)
        with listening(loaded.config.listen, local, inherited=inherited) as listeners:
            _run(loaded, sources, listeners, Call(host_root, extra, asked, notifier))
    _say("stopped")
    gc.freeze()  # what is left goes with the process; to look through it first takes long


class Call(NamedTuple):
    """What a call says beside the configuration."""

    host_root: str
    extra: tuple[str, ...]  # rules
    asked: SimpleQueue[None]  # to read the configuration anew
    notifier: Notifier


def _run(loaded: Loaded, sources: Sources, listeners: Sequence[socket.socket], call: Call) -> None:
    config, notifier = loaded.config, call.notifier
    notifier.status("looks at the host for the first time")
    file, clock = config.web.config_file, SystemClock()
    web = Web(lambda: load(file), clock, _say) if file else None
    rules = rules_of(config, call.extra)
    judge = judge_by(rules, trust_untested_driver=config.trust_untested_driver)
    last = LastReload(clock)
    reader = open_reader(
        call.host_root,
        config,
        lasting=True,
        kernel_log=config.kernel_log,
        monitor=_monitor(config, call.host_root),
        reload=last,
    )
    history = History(window=config.history.window, limit=config.history.max_bytes)
    loop = Loop(reader, schedule=lanes(config), judge=judge, history=history, explain=judge.explain)
    answers = Answers(
        loop.feed,
        reader.clock,
        period=lambda: loop.schedule.periods["normal"],
        topology=lambda: reader.topology,
    )
    daemon = Daemon(
        loop,
        listeners,
        reader.clock,
        detail=config.export.detail,
        job_labels=config.export.job_labels,
        limits=_limits(config),
        notifier=notifier,
        web=web,
        say=_say,
        answers=answers,
    )
    loop.each_pass(notifier.beat)
    reloader = Reloader(
        Running(loaded, rules),
        lambda: _anew(sources, call),
        [partial(put_in_force, loop, judge, daemon.page)],
        last,
        _say,
        around=notifier.reloading,
    )
    loop.subscribe(reloader.note)
    with stopped_by_signals(daemon), reloader.answering(call.asked):
        for remark in loaded.remarks:
            _say(remark)
        _say(f"{__version__}: {places(listeners, web)}, host {reader.host.root}")
        if text := warning(listeners, web):
            _say(text)
        daemon.run()


def _anew(sources: Sources, call: Call) -> Running:
    loaded = read(sources)
    return Running(loaded, rules_of(loaded.config, call.extra))


def _socket(loaded: Loaded, host_root: str) -> str:
    """The unix socket: as somebody said, else the usual one where that can be."""
    path = loaded.config.socket
    if ("socket",) in loaded.origins:
        return path
    usual = is_of_this_machine(host_root) and os.access(Path(path).parent, os.W_OK)
    return path if usual else ""


def _limits(config: Config) -> Limits:
    http = config.http
    return Limits(
        connections=http.connections,
        request_bytes=http.request_bytes,
        request_seconds=http.request,
        idle_seconds=http.idle,
        answer_seconds=http.answer,
    )


def _monitor(config: Config, host_root: str) -> MonitorFeed | None:
    try:
        return monitor_feed(config.monitor.file or config.monitor.mode, host_root)
    except InputError as error:
        key = "file" if config.monitor.file else "mode"
        raise InputError(f"monitor.{key}: {error.message}", remedy=error.remedy) from None


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


def _say(text: str) -> None:
    with suppress(OSError, ValueError):  # nobody there to hear it
        print(f"neuron-observer: {text}", file=sys.stderr, flush=True)  # noqa: T201 - narration
