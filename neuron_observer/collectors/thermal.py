"""Heat: sensors of the Neuron devices, should there ever be any, and those of the host.

No driver up to 2.30.2 gives a temperature, so each device says *unsupported*. What is looked for:
`hwmon` below a Neuron PCI function or a device's directory, leaves named `temp*`, `therm*` or
`throttl*` anywhere in a device's tree, and the host's own `hwmon` and thermal zones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.thermal import HWMON, LEAF, THROTTLE_LEAF, ZONE
from neuron_observer.collectors.batching import Absent, BatchName, FileBatch, FileRead, Target
from neuron_observer.collectors.probing import names_in, real_path, word_at
from neuron_observer.model import Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from neuron_observer.catalogue.spec import Source
    from neuron_observer.clock import Clock
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Batch, Cell, Layout
    from neuron_observer.sources.hostfs import HostFs

NO_TEMPERATURE = Missing(Why.UNSUPPORTED, "no driver file gives a temperature")
NO_THROTTLE = Missing(Why.UNSUPPORTED, "no driver file tells of throttling")
WHOSE_IS_IT = Missing(
    Why.UNSUPPORTED,
    "sensors stand below the PCI functions, and nothing tells which function is which device",
)
LOADING = Missing(Why.NOT_YET, "the driver is loading")
NOT_READ = Missing(Why.NOT_YET, "no sensor has been read yet")
SEVERAL = Missing(Why.UNSUPPORTED, "several files of unknown meaning")

_INPUT = re.compile(r"temp(\d{1,3})_input")
_READING = re.compile(
    r"(?:temp|temperature|therm|thermal)(?:_?\d{1,3})?"
    r"(?:_(?:c|celsius|current|now|value|mc|millicelsius|millidegrees))?",
    re.IGNORECASE,
)
_HWMON_FACT = re.compile(r"temp\d{1,3}_[a-z_]+")  # label, limits, alarms: no readings
_ZONE = re.compile(r"thermal_zone\d+")
_BOUNDS = (("sensor.temperature_maximum", "max"), ("sensor.temperature_critical", "crit"))

DEVICE = METRICS["device.thermal.temperature"]
THROTTLE = METRICS["device.thermal.throttle"]
SENSOR = METRICS["sensor.temperature"]


class ThermalCollector:
    """Everything that tells a temperature, in the slow lane.

    `addresses` says which PCI function a device is, where that is known from elsewhere. A host with
    one device and one function needs no telling.
    """

    name = "thermal"
    kept = 0

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        topology: Topology,
        addresses: Mapping[int, str] | None = None,
    ) -> None:
        self._host = host
        self._clock = clock
        self._files: dict[int | None, dict[str, Target]] = {}  # by device; None: the host's own
        self._absent: dict[int | None, list[Absent]] = {}
        self.unread: list[str] = []  # thermal leaves whose meaning cannot be told from their name
        self._addresses = dict(addresses or {})
        if not self._addresses and len(topology.devices) == len(topology.functions) == 1:
            self._addresses[topology.devices[0].number] = topology.functions[0].address
        self._below = {one.address: self._hwmon_below(one.path) for one in topology.functions}
        self._devices(topology)
        self._host_sensors(topology)
        self._batches = [self._batch(device) for device in self._files.keys() | self._absent.keys()]

    def poll(self, lanes: Collection[str]) -> list[Batch]:
        """Read all sensors, if the slow lane is due: a batch a device, and the host."""
        return [batch.poll(self._clock) for batch in self._batches] if "slow" in lanes else []

    def close(self) -> None:
        """Give the descriptors back."""
        for batch in self._batches:
            batch.close()

    def _batch(self, device: int | None) -> FileBatch:
        targets, absent = self._files.get(device, {}), self._absent.get(device, ())
        files = [FileRead(path, (target,)) for path, target in targets.items()]
        name = BatchName(self.name, "slow", device)
        return FileBatch(name, self._host, "sys", files, absent=absent, guard=hottest)

    def _devices(self, topology: Topology) -> None:
        for device in topology.devices:
            mine = self._below.get(self._addresses.get(device.number, ""), []).copy()
            throttles = []
            for core, leaf in device.tree.thermal:
                path, name = f"{device.path}/{leaf}", leaf.rpartition("/")[2]
                place = Place(device.number, core, leaf)
                if name.lower().startswith("throttl"):
                    throttles.append((path, THROTTLE_LEAF))
                elif _INPUT.fullmatch(name):
                    mine.append((path, HWMON, place))
                elif _READING.fullmatch(name):
                    mine.append((path, LEAF, place))
                elif not _HWMON_FACT.fullmatch(name):
                    self.unread.append(path)
            self._temperature(device.number, mine, self._none_because(device.number, topology))
            self._throttle(device.number, throttles)
        for address in sorted(self._below.keys() - set(self._addresses.values())):
            for path, source, place in self._below[address]:
                self._sensor(path, source, place._replace(label=f"{address}/{place.label}"))

    def _temperature(
        self, device: int, sensors: list[tuple[str, Source, Place]], reason: Missing
    ) -> None:
        """One sensor is the device's temperature; of several the guard takes the hottest."""
        if len(sensors) == 1 and sensors[0][2].core is None:
            path, source, _ = sensors[0]
            self._add(path, Target(DEVICE, source, Place(device), None))
            return
        for path, source, place in sensors:
            self._sensor(path, source, place._replace(device=device))
        self._leave(Absent(DEVICE, Place(device), NOT_READ if sensors else reason))

    def _none_because(self, device: int, topology: Topology) -> Missing:
        if topology.loading:
            return LOADING
        unclear = device not in self._addresses and any(self._below.values())
        return WHOSE_IS_IT if unclear else NO_TEMPERATURE

    def _throttle(self, device: int, files: list[tuple[str, Source]]) -> None:
        if len(files) == 1:
            path, source = files[0]
            self._add(path, Target(THROTTLE, source, Place(device), None))
            return
        self.unread += [path for path, _ in files]
        reason = SEVERAL if files else NO_THROTTLE
        self._leave(Absent(THROTTLE, Place(device), reason))

    def _hwmon_below(self, folder: str) -> list[tuple[str, Source, Place]]:
        return [
            (path, HWMON, Place(label=label))
            for name in names_in(self._host, f"{folder}/hwmon")
            for path, label in self._inputs(f"{folder}/hwmon/{name}", name)
        ]

    def _inputs(self, folder: str, prefix: str) -> Iterator[tuple[str, str]]:
        """Each temperature file of a hwmon, with a label: chip, number, and what it measures."""
        chip = word_at(self._host, f"{folder}/name") or ""
        for name in names_in(self._host, folder):
            match = _INPUT.fullmatch(name)
            if match:
                what = word_at(self._host, f"{folder}/temp{match.group(1)}_label") or ""
                parts = (prefix, chip, f"temp{match.group(1)}", what)
                yield f"{folder}/{name}", "/".join(part[:40] for part in parts if part)

    def _host_sensors(self, topology: Topology) -> None:
        taken = [one.path for one in topology.functions] + [one.path for one in topology.devices]
        for name in names_in(self._host, "sys/class/hwmon"):
            folder = real_path(self._host, f"sys/class/hwmon/{name}")
            if any(folder.startswith(f"{path}/") for path in taken):
                continue
            for path, label in self._inputs(folder, name):
                self._sensor(path, HWMON, Place(label=label))
        for name in names_in(self._host, "sys/class/thermal"):
            folder = real_path(self._host, f"sys/class/thermal/{name}")
            if _ZONE.fullmatch(name) and "temp" in names_in(self._host, folder):
                kind = word_at(self._host, f"{folder}/type")
                label = f"{name}/{kind[:40]}" if kind else name
                self._sensor(f"{folder}/temp", ZONE, Place(label=label))

    def _sensor(self, path: str, source: Source, place: Place) -> None:
        self._add(path, Target(SENSOR, source, place, None))
        folder, _, leaf = path.rpartition("/")
        match = _INPUT.fullmatch(leaf)
        names = names_in(self._host, folder) if match else []
        for metric, bound in _BOUNDS:
            name = f"temp{match.group(1)}_{bound}" if match else ""
            if name in names:
                spec = METRICS[metric]
                self._add(f"{folder}/{name}", Target(spec, spec.sources[0], place, None))

    def _add(self, path: str, target: Target) -> None:
        self._files.setdefault(target.place.device, {})[path.removeprefix("sys/")] = target

    def _leave(self, cell: Absent) -> None:
        self._absent.setdefault(cell.place.device, []).append(cell)


def hottest(layout: Layout, cells: list[Cell], _wall: float) -> list[Cell]:
    """Of a device with several sensors, the temperature of the hottest that can be read."""
    sensors, device = layout.columns.get(SENSOR.id), layout.columns.get(DEVICE.id)
    if sensors is None or device is None:
        return cells
    found = cells[sensors.start : sensors.start + len(sensors.places)]
    degrees = [cell for cell in found if isinstance(cell, int | float)]
    filled = cells.copy()
    filled[device.start] = max(degrees) if degrees else found[0]
    return filled
