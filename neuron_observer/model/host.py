"""A host: its devices, readings in batches, events, and the snapshot that joins them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.model.jobs import Job, JobScan
    from neuron_observer.model.judgement import Finding

Scalar: TypeAlias = "int | float | str"

NO_FIELDS: Mapping[str, Scalar] = MappingProxyType({})


class Why(str, Enum):
    """Why a reading is missing."""

    UNSUPPORTED = "unsupported"  # this chip, driver or kernel does not offer it
    DENIED = "denied"  # it is there and this user may not read it
    FAILED = "failed"  # it was read and is no valid value, or reading failed
    STALE = "stale"  # it is too old, or its reader did not answer in time
    NOT_YET = "not_yet"  # it will come: driver loading, first of two reads


class Missing(NamedTuple):
    """The absence of a value; never a number."""

    why: Why
    detail: str = ""


class Value(NamedTuple):
    """A value and the monotonic time at which it was read."""

    value: Scalar
    read_time: float


Reading: TypeAlias = "Value | Missing"
Cell: TypeAlias = "Scalar | Missing"


class Place(NamedTuple):
    """Where a reading belongs: the node, a device, a core, a port or a PCI function.

    `label` tells the port (`rdmap16s25/1`), the PCI address or the host sensor; empty otherwise.
    """

    device: int | None = None
    core: int | None = None
    label: str = ""


NODE = Place()


class Column(NamedTuple):
    """The rows of one metric in a batch: `cells[start : start + len(places)]`."""

    metric: str
    start: int
    places: tuple[Place, ...]


class Layout(NamedTuple):
    """What the rows of a batch are; one object for as long as the files stay the same."""

    columns: dict[str, Column]
    sources: Sequence[str]  # by row: path below /sys or /proc, `PATH#part` for a part
    rows: Mapping[tuple[str, Place], int]  # (metric, place) → row


class Batch(NamedTuple):
    """What one lane read of one device (or of the node) at one instant."""

    collector: str
    lane: str
    device: int | None
    layout: Layout
    cells: list[Cell]  # by row; never changed once published
    read_at: float  # monotonic
    seconds: float = 0.0  # how long the read took
    changed: tuple[int, ...] = ()  # rows that differ from the batch before


@dataclass(frozen=True, slots=True)
class Device:
    """One Inferentia or Trainium chip."""

    index: int
    name: str | None  # device_name, e.g. Trainium2
    arch: str | None  # arch_type, e.g. NDv3; not unique to a chip
    serial: str | None
    key: str  # serial, or instance id and index; identifies the chip across restarts
    pci: str | None = None
    numa: int | None = None
    neighbours: tuple[int, ...] | None = None  # None: not readable; (): none
    cores: tuple[Core, ...] = ()


@dataclass(frozen=True, slots=True)
class Core:
    """One physical NeuronCore."""

    device: int
    index: int
    arch: str | None = None  # e.g. NCv3


class Driver(NamedTuple):
    """The kernel module as loaded."""

    version: str | None
    state: str  # absent, coming, live, going, unknown


class Run(NamedTuple):
    """One run of a collector."""

    collector: str
    ok: bool
    seconds: float
    error: str = ""


class Event(NamedTuple):
    """Something that happened at an instant: a driver reload, a counter reset, a kernel line."""

    kind: str
    place: Place
    at: float  # wall clock
    message: str
    fields: Mapping[str, Scalar] = NO_FIELDS


class Snapshot(NamedTuple):
    """All that was read of one host, in batches.

    Rates are taken over batch times, never over `at`, which only labels the snapshot.
    """

    at: float  # wall clock
    monotonic: float
    host_root: str
    instance_type: str | None
    driver: Driver
    devices: tuple[Device, ...]
    batches: tuple[Batch, ...]
    events: tuple[Event, ...] = ()
    runs: tuple[Run, ...] = ()
    jobs: tuple[Job, ...] = ()
    job_scan: JobScan | None = None  # None: nobody looked for jobs
    job_findings: tuple[Finding, ...] = ()  # what the straggler detector says, not yet judged
