"""What a daemon is put together from, by its plan; costs none of what reads a configuration."""

from __future__ import annotations

import faulthandler
import gc
import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer import __version__
from neuron_observer.checks.judging import judge_by
from neuron_observer.cli.roots import JOB_MAPPING, enough_descriptors
from neuron_observer.clock import SystemClock
from neuron_observer.collectors.own import LastReload
from neuron_observer.daemon import Daemon
from neuron_observer.daemon.activation import inherited_sockets
from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.dumping import Dumping
from neuron_observer.daemon.heap import share_one_heap
from neuron_observer.daemon.listening import listening, places, warning
from neuron_observer.daemon.notify import Notifier
from neuron_observer.daemon.pace import Pace
from neuron_observer.daemon.reload import Reloader, log_by, put_in_force, record_by
from neuron_observer.daemon.signals import stopped_by_signals
from neuron_observer.exporters.web import Web
from neuron_observer.history import History
from neuron_observer.log import open_log
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.recording.dumps import Dumps
from neuron_observer.recording.figures import RecorderFigures
from neuron_observer.recording.flight import FlightRecorder
from neuron_observer.sources.hostfs import RecordedHost
from neuron_observer.sources.tapped import tapped
from neuron_observer.store import open_store

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from queue import SimpleQueue

    from neuron_observer.clock import Clock
    from neuron_observer.daemon.plan import InForce, Plan
    from neuron_observer.exporters.web.settings import WebSettings
    from neuron_observer.log import Log
    from neuron_observer.sources.hostfs import HostFs


class Ways(NamedTuple):
    """How a daemon comes to its host, and to its configuration when that is to be read anew."""

    open_host: Callable[[str], HostFs]
    asked: SimpleQueue[None]
    anew: Callable[[], InForce]


def serve(plan: Plan, ways: Ways) -> None:
    """Listen, read and judge until a signal comes."""
    faulthandler.enable(2)  # a watchdog's SIGABRT then tells where each thread stood
    share_one_heap()
    clock = SystemClock()
    notifier = Notifier.of(os.environ, os.getpid(), clock)
    inherited = inherited_sockets(os.environ, os.getpid())
    with listening(plan.listen, plan.socket, inherited=inherited) as listeners:
        lines = open_log(clock, *plan.in_force.log)
        _run(plan, listeners, ways, _Spoken(clock, lines, notifier))
    lines.info("stopped", "stopped")
    lines.close()
    gc.freeze()  # what is left goes with the process; to look through it first takes long


class _Spoken(NamedTuple):
    """The time, and who is told of what happens."""

    clock: Clock
    log: Log
    notifier: Notifier


def _run(plan: Plan, listeners: Sequence[socket.socket], ways: Ways, spoken: _Spoken) -> None:
    clock, lines, notifier = spoken
    holds, last = plan.in_force, LastReload(clock)
    notifier.status("looks at the host for the first time")
    web = _web(plan.web_config, clock, lines)
    host = ways.open_host(plan.host_root)
    store = open_store(plan.state, host, clock, plan.retention)
    trust = holds.trust_untested_driver
    judge = judge_by(holds.rules, trust_untested_driver=trust, memory=store.load())
    options = Options(
        path_map=plan.path_map,
        all_devices=plan.all_devices,
        job_mapping=os.environ.get(JOB_MAPPING),
        keep=enough_descriptors(),
        wait_for_firmware=False,
        firmware_period=holds.lanes["firmware"],
        kubelet=plan.kubelet,
        kernel_log=plan.kernel_log,
        kernel_cursor=store.cursor,
        patterns=plan.patterns,
        monitor=plan.monitor,
        heartbeats=plan.heartbeats,
        reload=last,
    )
    recorder = _recorder(plan, host)
    reader = HostReader(tapped(host, recorder.tape) if recorder else host, clock, options)
    history = History(window=plan.window, limit=plan.history_bytes)
    loop = Loop(reader, schedule=holds.lanes, judge=judge, history=history, explain=judge.explain)
    pace = Pace(loop, clock, lines, quiet=holds.quiet, budget=holds.budget)
    loop.subscribe(pace.note)
    keeper = store.keep(judge, tell=loop.tell, cursor=lambda: reader.kernel_cursor)
    reader.beside.append(("store", keeper.figures))
    if recorder:
        _record(recorder, loop)
    answers = Answers(
        loop.feed,
        clock,
        period=lambda: loop.schedule.periods["normal"],
        topology=lambda: reader.topology,
        past=store.past,
        submit=Dumping(recorder, keeper.submit),
    )
    loop.each_pass(notifier.beat)
    daemon = Daemon(
        loop,
        listeners,
        clock,
        detail=holds.detail,
        job_labels=holds.job_labels,
        limits=plan.limits,
        notifier=notifier,
        web=web,
        keeper=keeper,
        answers=answers,
        log=lines,
    )
    reloader = Reloader(
        holds,
        ways.anew,
        [
            partial(put_in_force, loop, judge, daemon.page, pace),
            partial(log_by, lines),
            *([partial(record_by, recorder)] if recorder else []),
        ],
        last,
        lines,
        around=notifier.reloading,
    )
    loop.subscribe(reloader.note)
    with stopped_by_signals(daemon), reloader.answering(ways.asked):
        for remark in holds.remarks:
            lines.warning("configuration", remark, about=remark)
        where, root = places(listeners, web), host.root
        lines.info("started", f"reads {root} and serves {where}", version=__version__, url=where)
        if text := warning(listeners, web):
            lines.warning("open_to_others", text)
        if store.problem:
            say = lines.warning if plan.state else lines.info
            say("kept_in_memory", f"kept in memory only: {store.problem}")
        daemon.run()
    if recorder:
        recorder.close()


def _recorder(plan: Plan, host: HostFs) -> FlightRecorder | None:
    """The flight recorder, unless it is off; without a state directory it writes nothing.

    A recording that is read needs none.
    """
    if not plan.record or isinstance(host, RecordedHost):
        return None
    limits = plan.in_force.recorder
    dumps = Dumps(plan.state, limits.disk_bytes) if plan.state else None
    told = {"trust_untested_driver": plan.in_force.trust_untested_driver}
    return FlightRecorder(limits, dumps, options=told)


def _record(recorder: FlightRecorder, loop: Loop) -> None:
    """Have it hear what the loop reads."""
    recorder.tell = loop.tell
    recorder.begin(loop.reader)
    loop.subscribe(lambda frame: recorder.note(frame, loop.schedule.periods))
    figures = RecorderFigures(recorder.status, loop.reader.clock)
    loop.reader.beside.append((figures.name, figures.poll))


def _web(file: str | None, clock: Clock, lines: Log) -> Web | None:
    if not file:
        return None
    return Web(partial(_settings, file), clock, partial(_warn, lines))


def _settings(file: str) -> WebSettings:
    from neuron_observer.config.web_config import load  # noqa: PLC0415 - costs yaml

    return load(file)


def _warn(lines: Log, text: str) -> None:
    lines.warning("web_config", text, about=text)
