"""The daemon: a loop that reads, a page that shows its last frame, and HTTP over both.

The loop and each client have threads of their own; the main thread waits for a signal. Nothing that
a client asks for touches a device.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from neuron_observer import __version__
from neuron_observer.contract import jobs_document
from neuron_observer.errors import HostError
from neuron_observer.exporters.http import Limits, Server
from neuron_observer.exporters.message import Response, plain
from neuron_observer.exporters.page import Page
from neuron_observer.exporters.scrape import metrics_handler

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.clock import Clock
    from neuron_observer.exporters.http import Handler
    from neuron_observer.exporters.message import Request
    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame

PERIOD = 1.0  # seconds; of the lane that most readings are in
READY_WITHIN = 3 * PERIOD
ALIVE_WITHIN = 30.0  # seconds since the last frame, or since the start if there is none yet
# Seconds that a thread may keep the interpreter while another waits: at Python's 5 ms a scrape that
# comes while the loop reads waits several times as long as it works.
SWITCH = 0.0002
# Seconds in which a signal is heard that another thread got: after SIGSTOP any thread may.
_LONGEST_WAIT = 1.0
_LAST_WAIT = 1.0  # seconds for the loop to end; a read that hangs is left behind
_NAMES = ("/metrics", "/healthz", "/readyz", "/api/v1/jobs")


class Looping(Protocol):
    """What the daemon needs of a loop."""

    @property
    def feed(self) -> Feed:
        """Its frames."""
        ...

    def run(self) -> None:
        """Tick until stopped."""
        ...

    def stop(self) -> None:
        """End `run`."""
        ...

    def close(self) -> None:
        """Give back what was held."""
        ...

    def subscribe(self, listener: Callable[[Frame], None]) -> None:
        """Call a function after each frame."""
        ...


class Daemon:
    """One loop and its listener, from `run` to `stop`."""

    def __init__(
        self,
        loop: Looping,
        listener: socket.socket,
        clock: Clock,
        *,
        detail: Detail = "core",
        job_labels: bool = False,
        limits: Limits | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.loop = loop
        self.clock = clock
        self.page = Page(loop.feed, clock, detail=detail, job_labels=job_labels)
        loop.subscribe(self.page.note)
        self._ended: SimpleQueue[str] = SimpleQueue()  # a signal handler may put to it
        self._started = clock.monotonic()
        self._thread = Thread(target=self._loop, name="loop", daemon=True)
        routes: dict[str, Handler] = {
            "/metrics": metrics_handler(self.page),
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/api/v1/jobs": self._jobs,
            "/": self._index,
        }
        self._server = Server(listener, routes, limits=limits, report=say)

    def run(self) -> None:
        """Serve until `stop`; `HostError` if the loop ends by itself: then a restart is due."""
        self._started = self.clock.monotonic()
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        self._server.start()
        self._thread.start()
        try:
            failure = self._end()
        finally:
            sys.setswitchinterval(before)
            self.loop.stop()
            self._server.close()
            self._thread.join(_LAST_WAIT)
            if not self._thread.is_alive():  # else what it reads with is still in use
                self.loop.close()
        if failure:
            raise HostError(failure, remedy="This is an error of the observer; please report it.")

    def stop(self) -> None:
        """End `run`; from any thread or signal handler."""
        self._ended.put("")

    def _end(self) -> str:
        while True:
            with suppress(Empty):
                return self._ended.get(timeout=_LONGEST_WAIT)

    def _loop(self) -> None:
        failure = "the loop ended by itself"
        try:
            self.loop.run()
        except Exception as error:  # noqa: BLE001 - it fences its parts; this must still be told
            failure = f"the loop broke: {type(error).__name__}: {error}"
        self._ended.put(failure)

    def _age(self) -> float | None:
        frame = self.loop.feed.latest()
        return None if frame is None else self.clock.monotonic() - frame.snapshot.monotonic

    def _healthz(self, _: Request) -> Response:
        """The loop runs; what it reads is no part of the answer."""
        age = self._age()
        since = self.clock.monotonic() - self._started if age is None else age
        if since <= ALIVE_WITHIN:
            return plain(200, "ok")
        what = "no frame since the start" if age is None else "no new frame"
        return plain(503, f"the loop hangs: {what}, {since:.0f} s")

    def _readyz(self, _: Request) -> Response:
        """A frame is younger than three periods."""
        age = self._age()
        if age is None:
            return plain(503, "not ready: the first frame is not there yet")
        if age > READY_WITHIN:
            return plain(503, f"not ready: the last frame is {age:.1f} s old")
        return plain(200, "ready")

    def _jobs(self, _: Request) -> Response:
        """The jobs of the last frame, in the form of `jobs --format json`."""
        frame = self.loop.feed.latest()
        if frame is None:
            return plain(503, "not ready: the first frame is not there yet")
        body = json.dumps(jobs_document(frame.snapshot)).encode()
        return Response(body, content_type="application/json")

    def _index(self, _: Request) -> Response:
        lines = [f"neuron-observer {__version__}", ""]
        frame, age = self.loop.feed.latest(), self._age()
        if frame is None or age is None:
            lines.append("no frame yet")
        else:
            snapshot, health = frame.snapshot, frame.health
            driver = f"driver {snapshot.driver.version or 'unknown'} ({snapshot.driver.state})"
            kind = snapshot.instance_type or "instance type unknown"
            lines += [
                f"{kind}, {driver}, {len(snapshot.devices)} devices",
                f"verdict {health.verdict.value}: {health.reason}",
                f"read {age:.1f} s ago",
            ]
        return Response("\n".join([*lines, "", *_NAMES, ""]).encode())


@contextmanager
def stopped_by_signals(daemon: Daemon) -> Iterator[None]:
    """SIGTERM and SIGINT stop a daemon instead of ending the process where it stands."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: daemon.stop()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
