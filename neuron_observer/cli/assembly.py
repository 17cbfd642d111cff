"""What a daemon is put together from, by its configuration."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer import __version__
from neuron_observer.checks.judging import judge_by
from neuron_observer.cli.hosts import open_host, open_reader, rules_of
from neuron_observer.cli.options import is_of_this_machine, monitor_feed
from neuron_observer.collectors.own import LastReload
from neuron_observer.config import read
from neuron_observer.config.web_config import load
from neuron_observer.daemon import Daemon
from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.dumping import Dumping
from neuron_observer.daemon.listening import places, warning
from neuron_observer.daemon.pace import Pace
from neuron_observer.daemon.reload import (
    Reloader,
    Running,
    budget,
    lanes,
    log_by,
    put_in_force,
    record_by,
    recorder_limits,
)
from neuron_observer.daemon.signals import stopped_by_signals
from neuron_observer.errors import InputError
from neuron_observer.exporters.http import Limits
from neuron_observer.exporters.web import Web
from neuron_observer.history import History
from neuron_observer.loop import Loop
from neuron_observer.recording.dumps import Dumps
from neuron_observer.recording.figures import RecorderFigures
from neuron_observer.recording.flight import FlightRecorder
from neuron_observer.sources.listing import ListingFs
from neuron_observer.sources.tapped import tapped
from neuron_observer.store import open_store
from neuron_observer.store.retention import Retention

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from queue import SimpleQueue

    from neuron_observer.clock import Clock
    from neuron_observer.config import Config, Loaded, Sources
    from neuron_observer.daemon.notify import Notifier
    from neuron_observer.live import MonitorFeed
    from neuron_observer.log import Log
    from neuron_observer.sources.hostfs import HostFs


class Call(NamedTuple):
    """What a call says beside the configuration."""

    host_root: str
    extra: tuple[str, ...]  # rules
    asked: SimpleQueue[None]  # to read the configuration anew
    notifier: Notifier
    log: Log
    clock: Clock


def run(loaded: Loaded, sources: Sources, listeners: Sequence[socket.socket], call: Call) -> None:
    """Read, judge and serve until a signal comes."""
    config, lines, last = loaded.config, call.log, LastReload(call.clock)
    call.notifier.status("looks at the host for the first time")
    web = _web(config, call)
    rules = rules_of(config, call.extra)
    host = open_host(call.host_root)
    state = _state(loaded, call.host_root)
    store = open_store(state, host, call.clock, _retention(config))
    judge = judge_by(rules, trust_untested_driver=config.trust_untested_driver, memory=store.load())
    recorder = _recorder(config, state, host)
    reader = open_reader(
        call.host_root,
        config,
        host=tapped(host, recorder.tape) if recorder else host,
        kernel_cursor=store.cursor,
        lasting=True,
        kernel_log=config.kernel_log,
        monitor=_monitor(config, call.host_root),
        reload=last,
    )
    history = History(window=config.history.window, limit=config.history.max_bytes)
    loop = Loop(reader, schedule=lanes(config), judge=judge, history=history, explain=judge.explain)
    pace = Pace(loop, reader.clock, lines, quiet=config.profile.quiet, budget=budget(config))
    loop.subscribe(pace.note)
    keeper = store.keep(judge, tell=loop.tell, cursor=lambda: reader.kernel_cursor)
    reader.beside.append(("store", keeper.figures))
    if recorder:
        _record(recorder, loop)
    answers = Answers(
        loop.feed,
        reader.clock,
        period=lambda: loop.schedule.periods["normal"],
        topology=lambda: reader.topology,
        past=store.past,
        submit=Dumping(recorder, keeper.submit),
    )
    loop.each_pass(call.notifier.beat)
    daemon = Daemon(
        loop,
        listeners,
        reader.clock,
        detail=config.export.detail,
        job_labels=config.export.job_labels,
        limits=_limits(config),
        notifier=call.notifier,
        web=web,
        keeper=keeper,
        answers=answers,
        log=lines,
    )
    reloader = Reloader(
        Running(loaded, rules),
        lambda: _anew(sources, call),
        [
            partial(put_in_force, loop, judge, daemon.page, pace),
            partial(log_by, lines),
            *([partial(record_by, recorder)] if recorder else []),
        ],
        last,
        lines,
        around=call.notifier.reloading,
    )
    loop.subscribe(reloader.note)
    with stopped_by_signals(daemon), reloader.answering(call.asked):
        for remark in loaded.remarks:
            lines.warning("configuration", remark, about=remark)
        where, root = places(listeners, web), reader.host.root
        lines.info("started", f"reads {root} and serves {where}", version=__version__, url=where)
        if text := warning(listeners, web):
            lines.warning("open_to_others", text)
        if store.problem:
            say = lines.warning if state else lines.info
            say("kept_in_memory", f"kept in memory only: {store.problem}")
        daemon.run()
    if recorder:
        recorder.close()


def _recorder(config: Config, state: str | None, host: HostFs) -> FlightRecorder | None:
    """The flight recorder, unless it is off; without a state directory it writes nothing.

    A recording that is read needs none.
    """
    if not config.recorder.enabled or isinstance(host, ListingFs):
        return None
    limits = recorder_limits(config)
    dumps = Dumps(state, limits.disk_bytes) if state else None
    told = {"trust_untested_driver": config.trust_untested_driver}
    return FlightRecorder(limits, dumps, options=told)


def _record(recorder: FlightRecorder, loop: Loop) -> None:
    """Have it hear what the loop reads."""
    recorder.tell = loop.tell
    recorder.begin(loop.reader)
    loop.subscribe(lambda frame: recorder.note(frame, loop.schedule.periods))
    figures = RecorderFigures(recorder.status, loop.reader.clock)
    loop.reader.beside.append((figures.name, figures.poll))


def _state(loaded: Loaded, host_root: str) -> str | None:
    """Where what is found is kept: as somebody said, else the usual place for this very host."""
    directory = loaded.config.state.directory
    if ("state", "directory") in loaded.origins:
        return directory
    usual = is_of_this_machine(host_root) and Path(host_root).resolve() == Path("/")
    return directory if usual and Path(directory).is_dir() else None


def _retention(config: Config) -> Retention:
    return Retention(config.state.retention, config.state.max_bytes)


def _web(config: Config, call: Call) -> Web | None:
    file = config.web.config_file
    if not file:
        return None
    return Web(lambda: load(file), call.clock, partial(_warn, call.log))


def _warn(lines: Log, text: str) -> None:
    lines.warning("web_config", text, about=text)


def _anew(sources: Sources, call: Call) -> Running:
    loaded = read(sources)
    return Running(loaded, rules_of(loaded.config, call.extra))


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
