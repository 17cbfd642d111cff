"""Feed: the port through which exporters and screens read; they know nothing else of us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Event, Frame, Place, Value


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
