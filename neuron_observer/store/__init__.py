"""What the observer remembers: findings, baselines, counters, events, and what people said.

`open_store` reads what an earlier run left, before there is a judge; `Store.keep` then keeps up
with a judge and its loop. docs/store.md tells what is kept, for how long, and what a kill or a
power cut may cost.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.store.files import Directory
from neuron_observer.store.keeper import Keeper
from neuron_observer.store.opening import Opened, open_state
from neuron_observer.store.origin import origin_of
from neuron_observer.store.queries import Past
from neuron_observer.store.retention import Retention
from neuron_observer.store.transaction import Change
from neuron_observer.store.writer import Writer

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.kmsg import Cursor
    from neuron_observer.model import Event
    from neuron_observer.rules.memory import Memory
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.store.acts import Judging

NO_DIRECTORY = "no state directory was given"

__all__ = ["NO_DIRECTORY", "Keeper", "Retention", "Store", "open_store"]


class Store:
    """An opened state directory, or memory only."""

    def __init__(
        self,
        directory: Directory | None,
        opened: Opened,
        host: HostFs,
        clock: Clock,
        retention: Retention,
    ) -> None:
        self._directory, self._opened = directory, opened
        self._host, self._clock, self._retention = host, clock, retention
        self.past = Past(directory.database) if directory else None

    @property
    def cursor(self) -> Cursor | None:
        """How far the kernel log was read; of another boot it says nothing."""
        return self._opened.saved.cursor

    @property
    def problem(self) -> str:
        """Why nothing is written; empty if it is."""
        return self._opened.problem

    def load(self) -> Memory:
        """What an earlier run left, made fit for this boot."""
        return self._opened.saved.memory

    def save(self, memory: Memory) -> None:
        """Keep a memory by itself, without a loop; `sqlite3.Error`."""
        database = self._opened.database
        if database is not None:
            at, origin = self._clock.wall(), origin_of(self._host)
            change = Change(memory, origin, at, self.cursor, synchronous=True)
            stored = database.write(self._opened.stored, change)
            self._opened = self._opened._replace(stored=stored)

    def keep(
        self,
        judge: Judging,
        *,
        tell: Callable[[Event], None],
        cursor: Callable[[], Cursor | None] = lambda: None,
    ) -> Keeper:
        """Who listens to the loop of a judge from now on; `tell` puts events into its frames."""
        writer = Writer(
            self._directory, self._opened, self._clock, retention=self._retention, tell=tell
        )
        origin = partial(origin_of, self._host)
        return Keeper(writer, judge, self._clock, origin=origin, cursor=cursor)

    def close(self) -> None:
        """Give it up without having kept anything."""
        if self._opened.database is not None:
            self._opened.database.close()
        if self._directory is not None:
            self._directory.release()


def open_store(
    path: str | os.PathLike[str] | None,
    host: HostFs,
    clock: Clock,
    retention: Retention = Retention(),  # noqa: B008 - immutable
) -> Store:
    """The state in a directory; in memory only where there is none or it cannot be used."""
    if path is None:
        opened = Opened(problem=NO_DIRECTORY, final=True)
        return Store(None, opened, host, clock, retention)
    directory = Directory(path)
    opened = open_state(directory, origin_of(host), clock.wall())
    return Store(directory, opened, host, clock, retention)
