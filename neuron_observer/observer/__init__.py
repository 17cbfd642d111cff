"""Reading a host: collectors, each fenced, their latest batches joined into a snapshot."""

from __future__ import annotations

import resource
from contextlib import nullcontext
from typing import TYPE_CHECKING

from neuron_observer.collectors.batching import GONE
from neuron_observer.collectors.firmware import FirmwareCollector
from neuron_observer.collectors.identity import Bearings, tells_another_identity
from neuron_observer.collectors.node import NodeCollector
from neuron_observer.collectors.plan import Plan, reads_can_block
from neuron_observer.collectors.sysfs import SysfsCollector, count_kept, plan_devices
from neuron_observer.collectors.topology import Topology, read_topology
from neuron_observer.derive import Deriver, falls, only_rose
from neuron_observer.model import NODE, Event, Missing, Place, Run, Snapshot
from neuron_observer.observer import parts
from neuron_observer.observer.options import ALL_LANES, Options
from neuron_observer.readings import columns
from neuron_observer.sources.choice import choose_workers
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.tapped import Tapped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.kmsg import Cursor
    from neuron_observer.model import Batch, Device, Job
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Workers

__all__ = ["ALL_LANES", "HostReader", "Options"]

_IDENTITY_LANES = ("slow", "firmware")  # names, serial numbers, neighbours
DEADLINE = 10.0  # seconds that firmware registers may take
JOBS_DEADLINE, JOBS_PATIENCE = 10.0, 0.1  # seconds that /proc may take: of a command, a daemon
BLOCKING_DEADLINE = 60.0  # the same on drivers whose reads block


class HostReader:
    """One host, its collectors and what they read last."""

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        options: Options | None = None,
        workers: Callable[[HostFs, Clock, bool], Workers] | None = None,
    ) -> None:
        self.host = host
        self.clock = clock
        self.options = options or Options()
        self._make_workers = workers or choose_workers
        self._tape = host.tape if isinstance(host, Tapped) else None
        self._batches: dict[tuple[str, str, int | None], Batch] = {}
        self._events: list[Event] = []
        self._deriver = Deriver()
        self._counts = False  # whether the counters that ranks are judged by are read
        self._polled = False
        self._gone = False  # a file that was read is no longer there
        self._known: tuple[Device, ...] | None = None  # until an identity reading may differ
        self.news: Callable[[], None] | None = None  # to be called when kernel lines have come
        self.live = parts.live_reader(host, clock, self.options, lambda: self.news)
        self.jobs = parts.job_reader(host, clock, self.options)
        self.ranks = parts.rank_reader(host, clock, self.jobs, self.options)
        # name and read of what others add to the slow lane
        self.beside: list[tuple[str, Callable[[], list[Batch]]]] = []
        self._look_around()

    def _look_around(self) -> None:
        """Read the topology and make the collectors for it."""
        with self._tape.around() if self._tape else nullcontext():
            self._make_collectors()

    def _make_collectors(self) -> None:
        options, host, clock = self.options, self.host, self.clock
        self.topology: Topology = read_topology(
            host, thorough=options.thorough, all_devices=options.all_devices
        )
        if not (options.thorough or self.topology.checked):  # its cores may differ
            self.topology = read_topology(host, all_devices=options.all_devices)
        plans = plan_devices(host, self.topology, options.path_map, options.only)
        # files of which the kernel tells when they change, by path below the root
        self.pollable = parts.pollable(host, plans)
        self.keepable = count_kept(plans)  # files of devices that a daemon keeps open
        blocking = bool(plans) and reads_can_block(self.topology.version)
        self._sysfs = SysfsCollector(host, clock, plans, keep=options.keep)
        self._node = NodeCollector(host, clock, self.topology, options.path_map, options.only)
        self._firmware = FirmwareCollector(
            host,
            clock,
            self._make_workers(host, clock, blocking),
            {
                index: (device, lanes.get("firmware", Plan()))
                for index, (device, lanes) in plans.items()
            },
            deadline=options.firmware_deadline or (BLOCKING_DEADLINE if blocking else DEADLINE),
            period=options.firmware_period,
        )
        self.machine = parts.machine_reader(host, clock, self.topology, options)
        self._bearings = Bearings(host, self.topology, all_devices=options.all_devices)

    def poll(self, lanes: Collection[str] = ALL_LANES, *, derived: bool = True) -> Snapshot:
        """Read the lanes that are due; the other lanes keep their last batches."""
        asked = lanes
        if self._gone or (self._polled and self._to_look_around in lanes):
            lanes = self._notice_reload(lanes)
        begin = self.clock.monotonic()
        runs = [
            self._run("sysfs", lambda: self._sysfs.poll(lanes)),
            self._run("node", lambda: self._node.poll(lanes)),
        ]
        if "firmware" in lanes or not self.options.wait_for_firmware:
            runs.append(self._run("firmware", self._read_firmware))
        if self.live:
            if self._firmware.reading or "expensive" in lanes:
                self.live.note_reads(begin, self._firmware.reading_since)
            runs += [self._run(name, read) for name, read in self.live.readers(self._events)]
        if self.machine:
            runs += [self._run(name, read) for name, read in self.machine.readers(lanes)]
        if "slow" in lanes:
            runs += [self._run(name, read) for name, read in self.beside]
        runs += self._follow_jobs(lanes)
        if "slow" in lanes or ("topology", "derived", None) not in self._batches:
            self._keep([parts.topology_batch(self.topology, self.kept, self.clock)])
        snapshot = self._join(tuple(runs), asked)
        self._polled = True
        if not derived:
            return snapshot
        derivations = self._deriver.batches(snapshot)
        return snapshot._replace(batches=(*snapshot.batches, *derivations))

    @property
    def _to_look_around(self) -> str:
        """The lane with which a change of the devices is looked for: soon while they must come."""
        settled = self.topology.devices and not self.topology.loading
        return "slow" if settled else "normal"

    def _follow_jobs(self, lanes: Collection[str]) -> list[Run]:
        """Who uses the devices, then what their ranks say."""
        runs = []
        if self.jobs and "jobs" in lanes:
            if self.ranks:
                self.ranks.look()
            runs.append(self._run("jobs", self._read_jobs))
        self._counts |= "normal" in lanes
        if self.ranks and ("normal" if self._counts else "jobs") in lanes:
            runs.append(self._run("ranks", self._read_ranks))
        return runs

    def _read_jobs(self) -> list[Batch]:
        if self.jobs:
            if self._known is None:
                self._known = parts.devices_of(self.topology, self._batches.values())
            monitor = self.live.monitor if self.live else None
            patience = JOBS_DEADLINE if self.options.wait_for_firmware else JOBS_PATIENCE
            self._events += self.jobs.poll(
                self._known, monitor.sample if monitor else None, patience
            )
        return []

    def _read_ranks(self) -> list[Batch]:
        if self.ranks:
            batches, driver = tuple(self._batches.values()), self.topology.driver.version
            self._events += self.ranks.poll(self._known or (), batches, driver)
        return []

    def _read_firmware(self) -> list[Batch]:
        return self._firmware.poll(wait=None if self.options.wait_for_firmware else 0.0)

    def pace_firmware(self, seconds: float) -> None:
        """How long a device that answers is left alone before its firmware is asked again."""
        self.options = self.options._replace(firmware_period=seconds)
        self._firmware.period = seconds

    @property
    def kept(self) -> int:
        """Descriptors held between reads."""
        return self._sysfs.kept + (self.machine.kept if self.machine else 0)

    @property
    def kernel_cursor(self) -> Cursor | None:
        """How far the kernel log was read; None where it is not."""
        kernel = self.live.kernel if self.live else None
        return kernel.cursor if kernel else self.options.kernel_cursor

    @property
    def temperatures(self) -> int:
        """How many devices' temperatures were read last."""
        cells = columns(self._batches.values(), "device.thermal.temperature")
        return sum(not isinstance(cell, Missing) for _, _, cell in cells)

    @property
    def descriptor_limit(self) -> int | None:
        """How many descriptors this process may hold; None where the host is a file."""
        if not isinstance(self.host, DirectoryFs):
            return None
        return resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def _keep(self, batches: list[Batch]) -> None:
        for batch in batches:
            key = (batch.collector, batch.lane, batch.device)
            before = self._batches.get(key)
            self._batches[key] = batch
            self._deriver.take(batch)
            if before is not None and before.cells is batch.cells:
                continue  # read again, and nothing is new
            if before is not None and not only_rose(before, batch):
                self._note_falls(before, batch)
                self._gone |= _lost_a_file(before, batch)
            if batch.lane in _IDENTITY_LANES and tells_another_identity(before, batch):
                self._known = None

    def _note_falls(self, before: Batch, now: Batch) -> None:
        fallen = list(falls(before, now))
        if fallen:
            first = fallen[0]
            message = f"{len(fallen)} counters fell: {first.metric} {first.before} → {first.now}"
            more = " and others" if len(fallen) > 1 else ""
            at = self.clock.wall()
            self._events.append(Event("counter_reset", Place(now.device), at, message + more))

    def _run(self, name: str, read: Callable[[], list[Batch]]) -> Run:
        begin = self.clock.monotonic()
        error = ""
        try:
            self._keep(read())
        except Exception as broken:  # noqa: BLE001 - a broken collector costs only itself
            error = f"{type(broken).__name__}: {broken}"
        return Run(name, not error, self.clock.monotonic() - begin, error)

    def _join(self, runs: tuple[Run, ...], asked: Collection[str]) -> Snapshot:
        batches = tuple(self._batches.values())
        if self._known is None:
            self._known = parts.devices_of(self.topology, batches)
        snapshot = Snapshot(
            at=self.clock.wall(),
            monotonic=self.clock.monotonic(),
            host_root=self.host.root,
            instance_type=self.topology.instance_type,
            driver=self.topology.driver,
            devices=self._known,
            batches=batches,
            events=tuple(self._events),
            runs=runs,
            jobs=self._jobs(),
            job_scan=self.jobs.scan if self.jobs else None,
            job_findings=self.ranks.findings if self.ranks else (),
        )
        self._events.clear()
        if self._tape:
            self._tape.tick(snapshot.monotonic, snapshot.at, asked)
        return snapshot

    def _jobs(self) -> tuple[Job, ...]:
        jobs = self.jobs.jobs if self.jobs else ()
        return self.ranks.marked(jobs) if self.ranks else jobs

    def _notice_reload(self, lanes: Collection[str]) -> Collection[str]:
        """Look around anew when the driver, the set of devices or a file's place changed.

        Then nothing that was read before counts any more, so all ordinary lanes are due. A file
        that is merely gone is tried again where it was.
        """
        lost, self._gone = self._gone, False
        departure = self._bearings.departure(lost=lost)
        if departure is None:
            return lanes
        kind, message = departure
        self._events.append(Event(kind, NODE, self.clock.wall(), message))
        self._release()
        self._batches.clear()
        self._deriver = Deriver()
        self._known = None
        places = self._bearings.places
        self._look_around()
        self._bearings.places |= places
        return dict.fromkeys((*lanes, "fast", "normal", "slow", "firmware"))  # in order, always

    def close(self) -> None:
        """Give descriptors and workers back; a child ends."""
        self._release()
        if self.live:
            self.live.close()

    def _release(self) -> None:
        self._sysfs.close()
        self._node.close()
        self._firmware.close()
        if self.machine:
            self.machine.close()


def _lost_a_file(before: Batch, now: Batch) -> bool:
    if before.layout is not now.layout or before.device is None:
        return False
    return any(
        now.cells[row] in GONE and not isinstance(before.cells[row], Missing) for row in now.changed
    )
