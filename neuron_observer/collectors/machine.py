"""What stands around the Neuron devices: EFA adapters, the host, temperatures, our own cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.collectors.efa import EfaCollector
from neuron_observer.collectors.host import HostCollector
from neuron_observer.collectors.own import OwnCollector
from neuron_observer.collectors.thermal import ThermalCollector
from neuron_observer.model import Missing, Why
from neuron_observer.sources.background import Background
from neuron_observer.sources.hostfs import DirectoryFs, LoggingHost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.own import LastReload
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Batch
    from neuron_observer.sources.hostfs import HostFs

EFA_DEADLINE = 2.0  # seconds; an admin command without an answer blocks its reader for 30


class MachineReader:
    """The collectors that look past the driver's tree."""

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        topology: Topology,
        *,
        keep: bool,
        reload: LastReload | None = None,
    ) -> None:
        self._clock = clock
        self.efa = EfaCollector(host, clock, topology.functions, keep=keep)
        self.host = HostCollector(host, clock, keep=keep)
        self.thermal = ThermalCollector(host, clock, topology)
        live = isinstance(host, (DirectoryFs, LoggingHost))  # a recording is of another program
        self._own = OwnCollector(clock, reload=reload) if live else None
        self._background: Background[list[Batch]] | None = (
            Background("efa") if isinstance(host, DirectoryFs) else None
        )
        self._adapters: list[Batch] = []  # as last read, by lane
        self._owed_since: float | None = None

    def readers(self, lanes: Collection[str]) -> list[tuple[str, Callable[[], list[Batch]]]]:
        """Name and read of each collector, to be fenced one by one."""
        readers: list[tuple[str, Callable[[], list[Batch]]]] = [
            ("efa", lambda: self._read_efa(lanes)),
            ("host", lambda: self.host.poll(lanes)),
            ("thermal", lambda: self.thermal.poll(lanes)),
        ]
        own = self._own
        if own:
            readers.append(("own", lambda: own.poll(lanes)))
        return readers

    def _read_efa(self, lanes: Collection[str]) -> list[Batch]:
        """The adapters' batches; stale ones while a read hangs."""
        idle = not self.efa.found.efa and "slow" not in lanes  # nothing to read, nothing can hang
        if self._background is None or idle:
            return self.efa.poll(lanes)
        begin = self._clock.monotonic()
        found = self._background.run(lambda: self.efa.poll(lanes), EFA_DEADLINE)
        if found is not None:
            self._owed_since = None
            fresh = {(batch.collector, batch.lane) for batch in found}
            older = [b for b in self._adapters if (b.collector, b.lane) not in fresh]
            self._adapters = [*older, *found]
            return found
        self._owed_since = begin if self._owed_since is None else self._owed_since
        waited = self._clock.monotonic() - self._owed_since
        late = Missing(Why.STALE, f"no answer for {waited:.0f} s")
        return [b._replace(cells=[late] * len(b.cells), changed=()) for b in self._adapters]

    @property
    def kept(self) -> int:
        """Descriptors held between reads."""
        return self.efa.kept + self.host.kept

    def close(self) -> None:
        """Give descriptors back; a hanging read of an adapter keeps its own."""
        if self._owed_since is None:
            self.efa.close()
        self.host.close()
        self.thermal.close()
