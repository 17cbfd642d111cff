"""What probes and people ask first: does it live, is it ready, what is here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer import __version__
from neuron_observer.daemon.replies import frame_headers
from neuron_observer.exporters.message import Response, plain
from neuron_observer.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.daemon.standing import Standing
    from neuron_observer.model import Frame

ALIVE_WITHIN = 30.0  # seconds since the last frame, or since the start if there is none yet


class Probes:
    """Answers over what stands; remembers when which collector was last well."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._well: dict[str, float] = {}  # collector → monotonic time of its last good run
        self._broken: dict[str, str] = {}  # collector → its error, while it has one

    def note(self, frame: Frame) -> None:
        """Take a frame's runs; call it with every one."""
        for run in frame.snapshot.runs:
            if run.ok:
                self._well[run.collector] = frame.snapshot.monotonic
                self._broken.pop(run.collector, None)
            else:
                self._broken[run.collector] = run.error

    def healthz(self) -> Response:
        """The loop runs; what it reads is no part of the answer."""
        standing, last = self._standing, self._standing.last()
        since = last.age if last else standing.clock.monotonic() - standing.started
        if since <= ALIVE_WITHIN:
            return plain(200, "ok")
        what = "no new frame" if last else "no frame since the start"
        return plain(503, f"the loop hangs: {what}, {since:.0f} s")

    def readyz(self) -> Response:
        """A frame is younger than three periods; if not, which collectors are behind."""
        last = self._standing.last()
        if last is None:
            lines = ["not ready: the first frame is not there yet"]
        elif last.stale:
            lines = [f"not ready: the last frame is {last.age:.1f} s old"]
        else:
            return self._aged(plain(200, "ready"))
        return self._aged(plain(503, "\n".join([*lines, *self._behind()])))

    def _behind(self) -> Iterable[str]:
        now = self._standing.clock.monotonic()
        for collector in sorted(self._well.keys() | self._broken.keys()):
            well, error = self._well.get(collector), self._broken.get(collector)
            when = "never ran well" if well is None else f"last ran well {now - well:.1f} s ago"
            yield f"{collector}: {when}{f', failed since: {printable(error)}' if error else ''}"

    def index(self, paths: Iterable[str]) -> Response:
        """One screen: version, host, verdict, age, and where things are."""
        lines = [f"neuron-observer {__version__}", ""]
        last = self._standing.last()
        if last is None:
            lines.append("no frame yet")
        else:
            snapshot, health = last.frame.snapshot, last.frame.health
            driver = f"driver {snapshot.driver.version or 'unknown'} ({snapshot.driver.state})"
            kind = snapshot.instance_type or "instance type unknown"
            stale = ": stale, no answer speaks of now" if last.stale else ""
            lines += [
                f"{kind}, {driver}, {len(snapshot.devices)} devices",
                f"verdict {health.verdict.value}: {health.reason}",
                f"read {last.age:.1f} s ago{stale}",
            ]
        return self._aged(Response("\n".join([*lines, "", *paths, ""]).encode()))

    def _aged(self, response: Response) -> Response:
        return response._replace(headers=frame_headers(self._standing.last()))
