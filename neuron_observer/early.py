"""A first frame that does not wait for everything: a glance now, the loop when there is time.

To look up every file of a trn2.48xlarge and read it takes longer than all else that a screen needs
to begin. So one reader reads what the screen shows, once, and the loop's own reader is made in the
loop's thread, when the first frame has been painted.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from neuron_observer.feed import last_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.feed import Feed
    from neuron_observer.loop import Loop
    from neuron_observer.model import Event, Frame, Place, Value

_LAST_WAIT = 5.0  # seconds for the loop's thread to end


class EarlyFeed:
    """A feed that begins with a frame at hand and goes on with those of a loop."""

    def __init__(self, glance: Feed, make_loop: Callable[[], Loop]) -> None:
        """The loop is made and run by `start`."""
        self._feed = glance
        self._make_loop = make_loop
        self._loop: Loop | None = None
        self._left = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)
        self.error: Exception | None = None  # why there is no loop

    def start(self) -> None:
        """Make the loop and let it run, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop and close the loop; a read that hangs is left behind with what it uses."""
        with self._lock:
            self._left = True
            loop = self._loop
        if loop is not None:
            loop.stop()
        if self._thread.is_alive():
            self._thread.join(_LAST_WAIT)

    def _run(self) -> None:
        try:
            loop = self._make_loop()
        except Exception as error:  # noqa: BLE001 - whoever closes the feed tells it
            self.error = error
            return
        with self._lock:
            self._loop, left = loop, self._left
        if not left:
            loop.subscribe(lambda _: self._take_over(loop.feed))
            loop.run()
        loop.close()

    def _take_over(self, feed: Feed) -> None:
        self._feed = feed

    def latest(self) -> Frame | None:
        """The loop's last frame, before its first one the glance."""
        return self._feed.latest()

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """Values of one metric over the last `seconds`, oldest first."""
        return self._feed.history(metric, place, seconds)

    def last(self, metric: str, place: Place, begin: float, end: float) -> Value | None:
        """What was read last between two instants; None if nothing is held of them."""
        return last_of(self._feed, metric, place, begin, end)

    def events(self, seconds: float) -> Sequence[Event]:
        """Events of the last `seconds`, oldest first."""
        return self._feed.events(seconds)

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding in plain text."""
        return self._feed.explain(finding_id)
