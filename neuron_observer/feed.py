"""Feed: the port through which exporters and screens read; they know nothing else of us."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Event, Finding, Frame, Health, Place, Value

CONNECTION = "connection"  # the run in a frame that tells how a connection is; its seconds: until
# the next try


class Feed(Protocol):
    """Where frames come from: this process, a daemon's socket, a recording, a simulation."""

    def latest(self) -> Frame | None:
        """The last complete frame, or None before the first."""
        ...

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """Values of one metric over the last `seconds`, oldest first; gaps stay gaps."""
        ...

    def events(self, seconds: float) -> Sequence[Event]:
        """Events of the last `seconds`, oldest first."""
        ...

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding in plain text; empty if the id is unknown."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """A feed that finds one value of an earlier time without all that came since."""

    def last(self, metric: str, place: Place, begin: float, end: float) -> Value | None:
        """What was read last between two instants (monotonic); None if nothing is held of them."""
        ...


def last_of(feed: Feed, metric: str, place: Place, begin: float, end: float) -> Value | None:
    """The same of any feed."""
    if isinstance(feed, Recalling):
        return feed.last(metric, place, begin, end)
    values = feed.history(metric, place, inf)
    return next((one for one in reversed(values) if begin <= one.read_time <= end), None)


class Glance(NamedTuple):
    """What is told of one node among several; times are monotonic, of the clock of here."""

    name: str
    instance_type: str | None = None
    health: Health | None = None  # None: nothing came yet
    findings: tuple[Finding, ...] = ()
    at: float = 0.0  # when the frame was made that this is about
    problem: str = ""  # why nothing comes now
    again: float = 0.0  # when it is asked next, while there is a problem


class Node(Protocol):
    """One node of several: a glance always, its frames while somebody looks at it."""

    name: str

    def glance(self) -> Glance:
        """What is known of it now; never waits."""
        ...

    def open(self) -> Feed:
        """Its frames, from now on."""
        ...

    def leave(self) -> None:
        """Nobody looks at its frames any more."""
        ...


@runtime_checkable
class Transport(Protocol):
    """What a feed of a recording can do besides; seconds are recorded ones since its beginning."""

    speed: float  # recorded seconds a second; 0: as fast as it goes
    paused: bool

    @property
    def position(self) -> float:
        """Where it is."""
        ...

    @property
    def span(self) -> float:
        """How long it is."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing comes any more."""
        ...

    @property
    def note(self) -> str:
        """What there is to say of it: where it is damaged; empty if nothing."""
        ...

    def seek(self, seconds: float) -> None:
        """Go to an instant."""
        ...

    def step(self, frames: int = 1) -> None:
        """Go on by so many frames, or back."""
        ...
