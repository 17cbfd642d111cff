"""What every answer is made from: the last frame, its age, and the log of what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer import contract
from neuron_observer.daemon.changes import Changes
from neuron_observer.daemon.layouts import Layouts
from neuron_observer.daemon.over import Over

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame
    from neuron_observer.store.queries import Past

PERIOD = 1.0  # seconds; of the lane that most readings are in
STALE_PERIODS = 3


class Aged(NamedTuple):
    """A frame and how old it is."""

    frame: Frame
    age: float  # seconds
    stale_after: float  # seconds

    @property
    def stale(self) -> bool:
        """Whether it is too old to speak of now."""
        return self.age > self.stale_after

    @property
    def document(self) -> dict[str, Any]:
        """FRAME: what every document says of the frame that it is made from."""
        return {
            "at": contract.instant(self.frame.snapshot.at),
            "age": round(self.age, 3),
            "stale": self.stale,
            "stale_after": self.stale_after,
            "id": frame_id(self.frame),
        }


def frame_id(frame: Frame) -> str:
    """What names a frame among those of its host."""
    snapshot = frame.snapshot
    return f"{round(snapshot.at * 1000)}-{round(snapshot.monotonic * 1e6)}"


class Standing:
    """The daemon's last words: a feed, a clock, and what changed."""

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        *,
        period: Callable[[], float] = lambda: PERIOD,
        topology: Callable[[], Topology | None] = lambda: None,
        past: Past | None = None,
    ) -> None:
        """`period`: seconds of the normal lane now; `topology`: what stands in the machine."""
        self.feed = feed
        self.clock = clock
        self.started = clock.monotonic()
        self.changes = Changes()
        self.over = Over()
        self.period = period
        self.topology = topology
        self.layouts = Layouts()
        self.past = past  # None: nothing is kept of earlier times

    def last(self) -> Aged | None:
        """The last frame and its age now; None before the first."""
        frame = self.feed.latest()
        if frame is None:
            return None
        age = max(self.clock.monotonic() - frame.snapshot.monotonic, 0.0)
        return Aged(frame, age, STALE_PERIODS * self.period())
