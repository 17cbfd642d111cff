"""What a row of the catalogue says about a metric."""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

Version: TypeAlias = "tuple[int, ...]"

Scope: TypeAlias = Literal[
    "node",
    "device",
    "core",
    "pci",
    "port",
    "efa",
    "sensor",
    "disk",
    "runtime",  # a process that uses devices, by pid
    "logical_core",  # as the runtime counts them; never mixed with physical ones
]
Lane: TypeAlias = Literal["fast", "normal", "slow", "firmware", "expensive", "derived"]
Detail: TypeAlias = Literal["node", "device", "core", "full"]
Format: TypeAlias = Literal[
    "count",  # unsigned decimal, 64 bits
    "number",  # signed decimal
    "word",  # one line of text, not empty
    "line",  # one line of text, may be empty
    "serial",  # 16 hex digits; empty, zeros and all ones are no serial
    "hex",  # 16 hex digits, zeros mean none
    "components",  # names joined by commas; empty means healthy
    "heartbeat",  # count or device_unreachable
    "firmware",  # 32-bit count or busy
    "class_number",  # signed decimal, busy or init_error
    "class_hex",  # 16 hex digits or busy
    "class_line",  # text or busy
    "power",  # status,epoch,minimum,maximum,mean
    "power_dies",  # die,util_bips,counter
    "pe_array",  # xrow_grp,mm_active,wl_active,idle
    "decimal",  # decimal with or without a fraction, unit stripped
    "millidegrees",  # hwmon: thousandths of a degree Celsius
    "temperature",  # a temp* leaf of unknown form
    "port_state",  # "4: ACTIVE"
    "aer",  # "NAME count" lines
    "lines",  # NAME value lines, by part
    "cpu_stat",  # /proc/stat
    "memory",  # /proc/meminfo
    "load",  # /proc/loadavg
    "pressure",  # /proc/pressure/*
    "descriptors",  # /proc/sys/fs/file-nr
    "block",  # /sys/block/*/stat
]


class Kind(str, Enum):
    """How the values of a metric behave over time."""

    COUNTER = "counter"  # only grows until it is reset
    GAUGE = "gauge"
    INFO = "info"  # identity; may stand in labels
    STATE = "state"  # one of a few words or numbers


Where: TypeAlias = Literal[
    "device",  # below neuronN
    "core",  # below neuronN/neuron_coreM
    "class",  # /sys/class/neuron_device
    "module",  # /sys/module/neuron
    "dmi",  # /sys/devices/virtual/dmi/id
    "pci",  # a PCI function's directory
    "port",  # /sys/class/infiniband/DEVICE/ports/N
    "efa",  # /sys/class/infiniband/DEVICE
    "proc",  # /proc
    "sensor",  # hwmon and thermal zones
    "block",  # /sys/block/DISK
    "filesystem",  # what statvfs says of a mount point
    "process",  # our own process
    "monitor",  # neuron-monitor's report
    "kernel_log",  # the lines of the kernel log
    "derived",  # computed from other rows
]


class Source(NamedTuple):
    """One place where a metric can be read; a row lists them best first."""

    where: Where
    path: str  # below the place that `where` names; neuron-monitor: the JSON field
    format: Format = "count"
    part: str = ""  # which part of a longer file
    since: Version | None = None  # driver that first has it; None: all known ones
    until: Version | None = None  # last driver that has it; None: still there
    live_since: Version | None = None  # driver from which it moves while a job runs
    chips: tuple[str, ...] = ()  # device_name values that have it; empty: all
    fact: str = ""  # driver file or document that says so


class MetricSpec(NamedTuple):
    """One metric: where it comes from, what it means, how it is exported."""

    id: str
    scope: Scope
    kind: Kind
    unit: str  # as read: bytes, executions, microseconds, percent, …
    help: str
    sources: tuple[Source, ...]
    lane: Lane
    family: str  # Prometheus name without the prefix neuron_
    labels: tuple[tuple[str, str], ...] = ()  # constant; a value that changes is never a label
    scale: float = 1.0  # from `unit` to Prometheus' base unit
    clearable: bool = False  # a write to the file zeroes it: a person can clear it
    detail: Detail = "core"  # exported from this detail on
    column: str | None = None  # heading on a screen
    limit: int | None = None  # the largest value that can be true
    wraps_at: int | None = None  # modulus, where a wrap can be told from a reset
    heartbeat: bool = False  # compare for change only
    constant_on: tuple[str, ...] = ()  # chips on which the driver always prints 0
    states: tuple[str, ...] = ()  # words of a state; several may stand joined by commas
