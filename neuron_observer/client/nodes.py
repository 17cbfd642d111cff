"""Several daemons side by side: of each a glance all the time, of the one that is looked at all.

Each is asked in a thread of its own, so one that does not answer keeps nobody waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.client.feed import ConnectedFeed
from neuron_observer.client.frames import finding, health, understood
from neuron_observer.client.polling import Polling
from neuron_observer.feed import Glance

if TYPE_CHECKING:
    from neuron_observer.client import Client
    from neuron_observer.clock import Clock
    from neuron_observer.errors import ObserverError
    from neuron_observer.feed import Feed

PERIOD = 2.0  # seconds between two questions for a glance
MOST = 16  # nodes side by side


class ConnectedNode:
    """One of them."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self.name = client.address.short
        self._client = client
        self._clock = clock
        self._glance = Glance(self.name)
        self._tag = ""
        self._feed: ConnectedFeed | None = None
        self._polling = Polling(self.poll, self._lost, PERIOD)
        self.look = self._polling.look

    def start(self) -> None:
        """Go on asking until `close`, from now on."""
        self._polling.start(at_once=True)

    def close(self) -> None:
        """Stop asking; a question that is under way is left behind."""
        self._polling.close(wait=0.0)
        self.leave()

    def poll(self) -> None:
        """Ask once; `ObserverError` where nothing is to be had."""
        begin = self._clock.monotonic()
        reply = self._client.fetch("findings", {"shadow": "false"}, tag=self._tag)
        if reply.document is None:
            self._glance = self._glance._replace(problem="")
            return
        with understood():
            document = reply.document
            self._glance = Glance(
                self.name,
                document["instance_type"],
                health({**document, "devices": [], "parts": []}),
                tuple(finding(one) for one in document["findings"]),
                begin - float(document["frame"]["age"]),
            )
        self._tag = reply.tag

    def _lost(self, error: ObserverError) -> None:
        again = self._clock.monotonic() + self._polling.pause
        why = error.message.removeprefix(f"{self._client.address}: ")
        self._glance = self._glance._replace(problem=why, again=again)

    def glance(self) -> Glance:
        """What is known of it now."""
        return self._glance

    def open(self) -> Feed:
        """Its frames; the first one comes as soon as it answers."""
        if self._feed is None:
            self._feed = ConnectedFeed(self._client, self._clock)
            self._feed.start(at_once=True)
        return self._feed

    def leave(self) -> None:
        """Its frames are no longer asked for."""
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.close(wait=0.0)
