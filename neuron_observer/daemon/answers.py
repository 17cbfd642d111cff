"""What the daemon answers beside its page: always from the last frame, never from a device."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from neuron_observer import __version__
from neuron_observer.contract import jobs_document
from neuron_observer.exporters.message import Response, plain

if TYPE_CHECKING:
    from neuron_observer.clock import Clock
    from neuron_observer.exporters.message import Handler, Request
    from neuron_observer.feed import Feed

PERIOD = 1.0  # seconds; of the lane that most readings are in
READY_WITHIN = 3 * PERIOD
ALIVE_WITHIN = 30.0  # seconds since the last frame, or since the start if there is none yet
_NAMES = ("/metrics", "/healthz", "/readyz", "/api/v1/jobs")


class Answers:
    """Handlers over a feed."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self._started = clock.monotonic()

    def routes(self) -> dict[str, Handler]:
        """Path → handler."""
        return {
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/api/v1/jobs": self._jobs,
            "/": self._index,
        }

    def _age(self) -> float | None:
        frame = self._feed.latest()
        return None if frame is None else self._clock.monotonic() - frame.snapshot.monotonic

    def _healthz(self, _: Request) -> Response:
        """The loop runs; what it reads is no part of the answer."""
        age = self._age()
        since = self._clock.monotonic() - self._started if age is None else age
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
        frame = self._feed.latest()
        if frame is None:
            return plain(503, "not ready: the first frame is not there yet")
        body = json.dumps(jobs_document(frame.snapshot)).encode()
        return Response(body, content_type="application/json")

    def _index(self, _: Request) -> Response:
        lines = [f"neuron-observer {__version__}", ""]
        frame, age = self._feed.latest(), self._age()
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
