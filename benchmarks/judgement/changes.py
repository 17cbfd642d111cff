"""A healthy node as a stream of changes: readings move as those of a node at work do, and all that
happens on sound machines happens to it, too.

It begins with a snapshot that the real reader made of a simulated node. From then on no file is
read: each step changes some cells, and only those. Rates are by day; what they stand for are
habits of fleets, not measurements.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.judgement.harmless import HARMLESS
from neuron_observer.live.classifier import LineClassifier
from neuron_observer.model import NODE, Batch, Driver, Event, Layout, Missing, Place, Why
from neuron_observer.parsers.kernel_record import KernelRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.model import Cell, Device, Snapshot

DAY = 86_400.0
STEP = 30.0  # seconds between two looks
_GIB = 1 << 30
_LOW = 3 * _GIB  # of the host's memory, for a step
_FIRMWARE = ("firmware", "firmware", 0)
Key: TypeAlias = "tuple[str, str, int | None]"  # of a batch


class NoisyNode:
    """One node in time. `step` gives what a loop would give its judge."""

    def __init__(self, first: Snapshot, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a benchmark, not a secret
        self._first = first
        self._now, self._wall = first.monotonic, first.at
        self._classify = LineClassifier()
        self._driver = first.driver
        self._devices: tuple[Device, ...] = first.devices
        self._events: list[Event] = []
        self._gone = False  # the driver is being loaded anew
        self._working, self._stopped_until = True, 0.0
        self._held = 5 * _GIB  # bytes of each core
        self.restarts = False  # the observer was started anew
        self._masked: dict[Key, Missing] = {}  # lanes that tell nothing in the next step
        self._was_masked: dict[Key, Missing] = {}  # and in the one before
        self._quiet = 0.0  # seconds for which the observer itself stands still
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._take(first)
        self.cores = [core.index for core in first.devices[0].cores]
        self.port = next(p for p in self._places("efa.port.rx_drops"))
        self.adapter = next(p for p in self._places("efa.failed_commands"))
        self._habits = self._daily()

    def _take(self, snapshot: Snapshot) -> None:
        self._batches = {(b.collector, b.lane, b.device): b for b in snapshot.batches}
        self._where = {
            spot: (key, row)
            for key, batch in self._batches.items()
            for spot, row in batch.layout.rows.items()
        }
        self._moves: dict[Key, dict[int, Cell]] = {}

    def _places(self, metric: str) -> list[Place]:
        return [place for name, place in self._where if name == metric]

    def get(self, metric: str, place: Place) -> Cell:
        """What it shows now."""
        key, row = self._where[metric, place]
        moved = self._moves.get(key, {})
        return moved[row] if row in moved else self._batches[key].cells[row]

    def put(self, metric: str, place: Place, cell: Cell) -> None:
        """Change a cell."""
        key, row = self._where[metric, place]
        self._moves.setdefault(key, {})[row] = cell

    def add(self, metric: str, place: Place, number: int) -> None:
        """Count."""
        key, row = self._where[metric, place]
        moves = self._moves.setdefault(key, {})
        now = moves[row] if row in moves else self._batches[key].cells[row]
        if isinstance(now, int):
            moves[row] = now + number

    # what happens

    def _daily(self) -> list[tuple[float, Callable[[], None]]]:
        """How often a day, and what."""
        return [
            (6, self._job_ends),
            (1, self._observer_starts_anew),
            (1, self._observer_stands_still),
            (2, self._processes_stop),
            (2, self._counter_is_cleared),
            (4, self._corrected_error),
            (20, self._retransmits),
            (6, self._network_events),
            (1, self._clock_is_set),
            (6, self._late_read),
            (1, self._failed_read),
            (2, self._host_memory_dips),
            (30, self._lines),
            (4, self._full_power),
            (0.5, self._reload),  # the last: afterwards there is nothing to change
        ]

    def _job_ends(self) -> None:
        """And starts again: a reset, a model, memory that grows for a minute."""
        self._working = False
        for core in self.cores:
            self.put("core.hbm.used", Place(0, core), 64 << 20)
        self._at(self.random.uniform(20, 900), self._job_starts)

    def _job_starts(self) -> None:
        if self._gone or self._working:
            return
        for core in self.cores:
            self.add("core.reset_requests", Place(0, core), 1)
            self.add("core.model_loads", Place(0, core), self.random.randint(1, 3))
        held = self.random.randint(2 * _GIB, 8 * _GIB)
        for part in range(1, 5):
            self._at(part * STEP, lambda part=part: self._hold(held * part // 4))  # type: ignore[misc]
        self._working = True

    def _hold(self, size: int) -> None:
        self._held = size
        for core in self.cores:
            self.put("core.hbm.used", Place(0, core), size + self.random.randrange(1 << 24))

    def _reload(self) -> None:
        self._gone, self._working = True, False
        self._driver, self._devices = Driver(None, "absent"), ()
        self._at(STEP / 2, self._driver_comes)

    def _driver_comes(self) -> None:
        self._driver = Driver(self._first.driver.version, "coming")
        self._at(self.random.choice((STEP, STEP, 10 * STEP)), self._driver_is_there)

    def _driver_is_there(self) -> None:
        self._gone = False
        kept = {key: batch for key, batch in self._batches.items() if batch.device is None}
        old = self._batches
        self._take(self._first)
        for key, batch in list(self._batches.items()):
            layout = batch.layout
            fresh = Layout(dict(layout.columns), layout.sources, dict(layout.rows))
            self._batches[key] = kept.get(key) or batch._replace(layout=fresh, read_at=self._now)
        for name in ("device.hbm.ecc_corrected", "device.sram.ecc_corrected"):
            key, row = self._where[name, Place(0)]
            if key in old:
                self.put(name, Place(0), old[key].cells[row])
        for name, place in self._where:
            if name.startswith("core.") and isinstance(self.get(name, place), int):
                self.put(name, place, 1 if name == "core.reset_requests" else 0)
        self._driver, self._devices = self._first.driver, self._first.devices
        event = Event("driver_reloaded", NODE, self._wall, "the driver was loaded anew")
        self._events.append(event)
        self._at(self.random.uniform(10, 600), self._job_starts)

    def _observer_starts_anew(self) -> None:
        self.restarts = True
        self._quiet = self.random.uniform(1, 60)

    def _observer_stands_still(self) -> None:
        self._quiet = self.random.uniform(5, 1200)

    def _processes_stop(self) -> None:
        self._stopped_until = self._now + self.random.uniform(60, 1800)

    def _counter_is_cleared(self) -> None:
        name = self.random.choice(
            (
                "core.execution.success",
                "core.reset_requests",
                "core.time_in_use",
                "core.model_loads",
            )
        )
        self.put(name, Place(0, self.random.choice(self.cores)), 0)

    def _corrected_error(self) -> None:
        name = self.random.choice(("device.hbm.ecc_corrected", "device.sram.ecc_corrected"))
        self.add(name, Place(0), self.random.randint(1, 3))

    def _retransmits(self) -> None:
        packets = self.random.randint(1, 1200)
        self.add("efa.port.retransmitted_packets", self.port, packets)
        self.add("efa.port.retransmitted_bytes", self.port, packets * 8928)

    def _network_events(self) -> None:
        self.add("efa.port.retransmit_timeouts", self.port, self.random.randint(1, 2))
        self.add("efa.port.rx_drops", self.port, self.random.randint(0, 40))
        self.add("efa.port.unresponsive_remotes", self.port, self.random.randint(0, 1))
        self.add("efa.port.impaired_connections", self.port, self.random.randint(0, 1))
        self.add("efa.failed_commands", self.adapter, self.random.randint(0, 2))

    def _clock_is_set(self) -> None:
        self._wall += self.random.choice((-0.7, 0.4, 3.0, -3600.0, 3600.0))

    def _late_read(self) -> None:
        """A lane that is late for a step."""
        keys = [key for key in self._batches if key[1] in ("normal", "fast", "firmware", "slow")]
        self._masked[self.random.choice(keys)] = Missing(Why.STALE, "last read 31 s ago")

    def _failed_read(self) -> None:
        """Firmware that is busy for a step: what it says counts not. Two steps are the fault."""
        if _FIRMWARE not in self._was_masked:
            self._masked[_FIRMWARE] = Missing(Why.FAILED, "empty: busy")

    def _host_memory_dips(self) -> None:
        before = self.get("host.memory.available", NODE)
        if before == _LOW:  # still: what it stays at then is no dip
            return
        self.put("host.memory.available", NODE, _LOW)
        self._at(STEP, lambda: self.put("host.memory.available", NODE, before))

    def _lines(self) -> None:
        for text in self.random.choice(HARMLESS):
            told = self._classify(KernelRecord(text, 6))
            if told:
                event = Event(told.kind, told.place, self._wall, told.message, told.fields)
                self._events.append(event)
        self.add("host.kernel_log.read", NODE, 2)

    def _full_power(self) -> None:
        """A minute at the maximum."""
        self.put("device.power.minimum", Place(0), 97.0)
        self.put("device.power.maximum", Place(0), 100.0)

    # time

    def _at(self, seconds: float, action: Callable[[], None]) -> None:
        self._later.append((self._now + seconds, action))

    def _work(self, seconds: float) -> None:
        """What a job moves, and the heartbeat."""
        self.add("device.health.heartbeat", Place(0), int(seconds))
        minute = int(self._now / 60) != int((self._now - seconds) / 60)
        if minute:
            low = self.random.uniform(20, 80)
            self.put("device.power.minimum", Place(0), round(low, 2))
            self.put("device.power.maximum", Place(0), round(low + 10, 2))
            self.put("device.power.epoch", Place(0), int(self._wall))
        if not self._working or self._now < self._stopped_until:
            return
        for core in self.cores:
            place = Place(0, core)
            self.add("core.execution.success", place, int(4 * seconds))
            self.add("core.time_in_use", place, int(850_000 * seconds))
            self.put("core.flops_per_busy_second", place, 5.9e13 * self.random.gauss(1, 0.02))
        place = Place(0, self.random.choice(self.cores))
        self.put("core.hbm.used", place, self._held + self.random.randrange(1 << 24))
        self.add("efa.port.tx_bytes", self.port, int(2e9 * seconds))
        self.add("efa.port.retransmitted_packets", self.port, self.random.randint(0, 20))

    def step(self) -> Snapshot:
        """Go on by one step, or over the time in which the observer stood still."""
        seconds, self._quiet = STEP + self._quiet, 0.0
        self._now += seconds
        self._wall += seconds
        if not self._gone:
            self._work(seconds)
            for daily, happens in self._habits:
                if self.random.random() < daily * seconds / DAY:
                    happens()
        due = [action for at, action in self._later if at <= self._now]
        self._later = [one for one in self._later if one[0] > self._now]
        for action in due:
            action()
        return self._snapshot()

    def _snapshot(self) -> Snapshot:
        for key, batch in self._batches.items():
            moves = self._moves.get(key)
            if not moves:
                self._batches[key] = Batch(*batch[:5], self._now, batch.seconds)
                continue
            cells = batch.cells.copy()
            for row, cell in moves.items():
                cells[row] = cell
            told = tuple(sorted(moves))
            self._batches[key] = Batch(*batch[:4], cells, self._now, batch.seconds, told)
        self._moves = {}
        events, self._events = tuple(self._events), []
        return self._first._replace(
            at=self._wall,
            monotonic=self._now,
            driver=self._driver,
            devices=self._devices,
            batches=tuple(self._shown()),
            events=events,
        )

    def _shown(self) -> Iterator[Batch]:
        masked, self._masked = self._masked, {}
        self._was_masked = masked
        for key, batch in self._batches.items():
            if self._gone and batch.device is not None:
                continue
            if key in masked:
                cells: list[Cell] = [masked[key]] * len(batch.cells)
                yield batch._replace(cells=cells, changed=tuple(range(len(cells))))
            else:
                yield batch
