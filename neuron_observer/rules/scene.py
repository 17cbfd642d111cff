"""What predicates look at: the latest cells, what happened, how values went, and the baselines."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from neuron_observer.model import Missing, Why
from neuron_observer.rules.outcome import Outcome, Sight, unknown
from neuron_observer.rules.trust import is_register, is_reported, kind, trust

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.model import Place, Scalar, Value
    from neuron_observer.rules.memory import Word
    from neuron_observer.rules.occurrences import Occurrences
    from neuron_observer.rules.peers import Crowds
    from neuron_observer.rules.view import Seen, View


@lru_cache(maxsize=256)
def _unwatched(seconds: float) -> tuple[Missing]:
    return (Missing(Why.NOT_YET, f"needs {seconds:g} s of watching"),)


class History(Protocol):
    """How values went."""

    def values(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """Values of the last `seconds`, oldest first; gaps stay gaps."""
        ...


class Scene:
    """One instant, as the predicates see it."""

    def __init__(self, view: View, occurrences: Occurrences, crowds: Crowds) -> None:
        self.view = view
        self.occurrences = occurrences
        self.crowds = crowds
        self.history: History | None = None
        self.now = 0.0  # monotonic
        self.wall = 0.0  # the same instant on the wall clock
        self.wall_before = 0.0  # of the instant before
        self.unwatched = 0.0  # seconds in which nobody read, since the beginning
        self.baselines: dict[tuple[str, str], int] = {}  # (device key, metric) → count
        self.stored: Mapping[tuple[str, str, Place], int] = {}  # counters of an earlier run
        self.counters: dict[str, dict[Place, int]] = {}  # as read last, by metric
        self.departed: dict[tuple[str, str, Place], int] = {}  # and of chips that are not here
        # all of them as they were asked for last, and which moved since
        self._asked: dict[tuple[str, str, Place], int] | None = None
        self._moved: set[tuple[str, Place]] = set()
        self.settled: dict[str, Word] = {}  # devices that were declared healthy, by key
        self.before_watched: dict[tuple[str, Place], Sight] = {}  # edges, not 0 at first sight
        self.keys: dict[int, str] = {}  # of devices, by index

    def follow(self, before: Scene) -> None:
        """Go on from another scene of the same host and clock."""
        self.view.follow(before.view)
        self.occurrences.follow(before.occurrences)
        self.now, self.wall, self.unwatched = before.now, before.wall, before.unwatched
        self.before_watched, self.keys = before.before_watched, before.keys

    @property
    def driver(self) -> str | None:
        """The version of the driver."""
        return self.view.snapshot.driver.version if self.view.snapshot else None

    def key(self, place: Place) -> str:
        """The key of the device that a place is part of; empty without one."""
        return self.keys.get(place.device, "") if place.device is not None else ""

    def chip(self, place: Place) -> str | None:
        """The name of the chip that a place is part of."""
        return self.view.chip(place)

    def baseline(self, metric: str, place: Place) -> int:
        """What a count stood at when the device was declared healthy."""
        return self.baselines.get((self.key(place), metric), 0) if self.baselines else 0

    def hole(self, metric: str, place: Place, reason: Missing) -> Outcome:
        """Unknown, because a reading is missing; what will never come leaves the denominator."""
        never = (
            reason.why is Why.UNSUPPORTED
            or (reason.why is Why.DENIED and not self.view.was_read(metric, place))
            or is_reported(metric)
        )
        return unknown(reason, open=never)

    def early(self, seconds: float, again: float) -> Outcome:
        """Unknown, because it has not been watched for so long; not covered until `again`."""
        return Outcome(None, holes=_unwatched(seconds), open=True, again=again)

    def note(self, metric: str, place: Place, value: int) -> int | None:
        """Keep what a counter shows; what it showed when an earlier run ended."""
        self.counters.setdefault(metric, {})[place] = value
        if self._asked is not None:
            self._moved.add((metric, place))
        return self.stored.get(self._mark(metric, place)) if self.stored else None

    def _mark(self, metric: str, place: Place) -> tuple[str, str, Place]:
        return self.key(place), metric, place._replace(device=None)

    def depart(self, device: int) -> None:
        """Put the counters of a chip aside, by its key: another one takes its index."""
        self._asked = None
        for metric, values in self.counters.items():
            for place in [place for place in values if place.device == device]:
                self.departed[self._mark(metric, place)] = values.pop(place)

    def rekey(self, before: str, key: str) -> None:
        """A chip has another key from now on: its serial number became known."""
        self._asked = None
        self.departed = {_named(mark, before, key): v for mark, v in self.departed.items()}
        self.stored = {_named(mark, before, key): v for mark, v in self.stored.items()}
        self.baselines = {
            (key if k == before else k, metric): v for (k, metric), v in self.baselines.items()
        }

    def all_counters(self) -> dict[tuple[str, str, Place], int]:
        """As read last, of all chips by their keys."""
        if self._asked is None:
            self._asked = self.departed | {
                self._mark(metric, place): value
                for metric, values in self.counters.items()
                for place, value in values.items()
            }
        else:
            moved = {
                self._mark(metric, place): self.counters[metric][place]
                for metric, place in self._moved
            }
            self._asked = self._asked | moved
        self._moved.clear()
        return self._asked

    def shown(
        self,
        metric: str,
        place: Place,
        seen: Seen,
        previous: Scalar | None = None,
        **extra: Scalar,
    ) -> Outcome:
        """True, by this reading."""
        hard = trust(metric) == "hardware"
        if hard and is_register(metric):
            hard = self.view.answers(place.device)
        value = None if isinstance(seen.cell, Missing) else seen.cell
        sight = Sight(
            kind(metric),
            "hardware" if hard else "hearsay",
            metric,
            seen.source or metric,
            place,
            value,
            previous,
            seen.read_at,
            extra,
        )
        return Outcome(truth=True, sights=(sight,), hard=hard, read_at=seen.read_at)


def _named(mark: tuple[str, str, Place], before: str, key: str) -> tuple[str, str, Place]:
    return (key if mark[0] == before else mark[0], mark[1], mark[2])
