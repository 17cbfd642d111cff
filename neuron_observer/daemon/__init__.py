"""The daemon: a loop that reads, a page that shows its last frame, and HTTP over both.

The loop and the server have a thread each; the main thread waits for a signal. Nothing that
a client asks for touches a device.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from neuron_observer.daemon.answers import Answers
from neuron_observer.daemon.notify import Notifier
from neuron_observer.daemon.reporting import FrameLog
from neuron_observer.daemon.signals import Bell
from neuron_observer.errors import HostError
from neuron_observer.exporters.http import Limits, Server
from neuron_observer.exporters.page import Page
from neuron_observer.exporters.scrape import COMPAT, compat_handler, metrics_handler
from neuron_observer.log import silent

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.clock import Clock
    from neuron_observer.exporters.message import Handler
    from neuron_observer.exporters.routes import Route
    from neuron_observer.exporters.web import Web
    from neuron_observer.feed import Feed
    from neuron_observer.log import Log
    from neuron_observer.model import Frame

# Seconds that a thread may keep the interpreter while another waits: at Python's 5 ms a scrape that
# comes while the loop reads waits several times as long as it works.
SWITCH = 0.0002
_LONGEST_WAIT = 60.0  # seconds between looks whether it has ended
_LAST_WAIT = 1.0  # seconds for the loop to end; a read that hangs is left behind


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


class Keeping(Protocol):
    """Who remembers what frames bring."""

    def note(self, frame: Frame) -> None:
        """Take a frame in, in the loop's thread."""
        ...

    def start(self) -> None:
        """Write from now on."""
        ...

    def close(self, *, last: bool) -> None:
        """Write the last, unless the loop's thread still runs."""
        ...


class Daemon:
    """One loop and its listeners, from `run` to `stop`."""

    def __init__(  # noqa: PLR0913 - by keyword, one a thing that can be chosen
        self,
        loop: Looping,
        listeners: Sequence[socket.socket],
        clock: Clock,
        *,
        detail: Detail = "core",
        job_labels: bool = False,
        limits: Limits | None = None,
        notifier: Notifier | None = None,
        web: Web | None = None,
        keeper: Keeping | None = None,
        answers: Answers | None = None,
        log: Log | None = None,
    ) -> None:
        self.loop = loop
        self.clock = clock
        self.page = Page(loop.feed, clock, detail=detail, job_labels=job_labels)
        answers = answers or Answers(loop.feed, clock)
        loop.subscribe(self.page.note)
        self._keeper = keeper
        loop.subscribe(answers.note)
        if keeper is not None:
            loop.subscribe(keeper.note)  # it answers who then asks for this frame
        self._notifier = notifier or Notifier(clock, None)
        loop.subscribe(self._notifier.note)
        self._log = log or silent(clock)
        loop.subscribe(FrameLog(self._log).note)
        self._ended: SimpleQueue[str] = SimpleQueue()  # a signal handler may put to it
        self.bell = Bell()  # rung when it has ended, and by every signal
        self._thread = Thread(target=self._loop, name="loop", daemon=True)
        routes: dict[str, Handler | Route] = {
            "/metrics": metrics_handler(self.page),
            f"{COMPAT}*": compat_handler({}),
            **answers.routes(),
        }
        self._server = Server(listeners, routes, limits=limits, web=web, report=self._report)

    def run(self) -> None:
        """Serve until `stop`; `HostError` if the loop ends by itself: then a restart is due."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        self._server.start()
        if self._keeper is not None:
            self._keeper.start()
        self._thread.start()
        try:
            failure = self._end()
        finally:
            sys.setswitchinterval(before)
            self._notifier.stopping()
            self.loop.stop()
            self._server.close()
            self._thread.join(_LAST_WAIT)
            if self._keeper is not None:
                self._keeper.close(last=not self._thread.is_alive())
            if not self._thread.is_alive():  # else what it reads with is still in use
                self.loop.close()
        if failure:
            raise HostError(failure, remedy="This is an error of the observer; please report it.")

    def stop(self) -> None:
        """End `run`; from any thread or signal handler."""
        self._ended.put("")
        self.bell.ring()

    def _report(self, text: str) -> None:
        self._log.error("request_failed", text, about=text)

    def _end(self) -> str:
        while True:
            with suppress(Empty):
                return self._ended.get_nowait()
            self.bell.wait(_LONGEST_WAIT)

    def _loop(self) -> None:
        failure = "the loop ended by itself"
        try:
            self.loop.run()
        except Exception as error:  # noqa: BLE001 - it fences its parts; this must still be told
            failure = f"the loop broke: {type(error).__name__}: {error}"
        self._ended.put(failure)
        self.bell.ring()
