"""What can be configured: one field a key, with its default, its bounds and what it means.

The reader of files, `config init`, `config print`, docs/config.md and the loaded value all come
from these structs. Durations are seconds, sizes bytes, shares ratios.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

Form: TypeAlias = Literal[
    "flag",
    "count",
    "choice",
    "duration",
    "size",
    "share",
    "text",
    "path",
    "paths",
    "addresses",
    "map",
    "mapped",  # a value of a map
]


def key_meta(form: Form, text: str, **more: Any) -> Meta:
    """What a key means. `restart`: only a restart takes a change; `secret`: never shown."""
    bounds = {name: more.pop(name) for name in ("ge", "le") if name in more}
    return Meta(description=text, extra={"form": form, **more}, **bounds)


def _flag(text: str, **more: Any) -> Meta:
    return key_meta("flag", text, **more)


def _duration(text: str, ge: float, le: float, **more: Any) -> Meta:
    return key_meta("duration", text, ge=ge, le=le, **more)


def _size(text: str, ge: int, le: int, **more: Any) -> Meta:
    return key_meta("size", text, ge=ge, le=le, **more)


_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_KB, _MB, _GB = 10**3, 10**6, 10**9


class Web(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """TLS and passwords of the TCP listeners."""

    config_file: Annotated[
        str | None,
        key_meta(
            "path",
            "TLS and basic authentication, in the form of the exporter toolkit's web-config.yml;"
            " null: neither.",
            restart=True,
        ),
    ] = None


class Http(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What clients of the HTTP server may cost."""

    connections: Annotated[
        int,
        key_meta("count", "Connections at a time; others get 503.", ge=1, le=10_000, restart=True),
    ] = 256
    idle: Annotated[
        float,
        _duration(
            "How long a connection may say nothing between requests.", 1.0, _HOUR, restart=True
        ),
    ] = 30.0
    request: Annotated[
        float,
        _duration("How long a client may take to send a request.", 0.1, 5 * _MINUTE, restart=True),
    ] = 5.0
    answer: Annotated[
        float,
        _duration("How long a client may take to take an answer.", 0.1, 5 * _MINUTE, restart=True),
    ] = 10.0
    request_bytes: Annotated[
        int, _size("The longest request, its headers included.", _KB, _MB, restart=True)
    ] = 16_384


class Export(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Prometheus page."""

    detail: Annotated[
        Literal["node", "device", "core", "full"],
        key_meta(
            "choice", "How many series a page has: each word has those of the ones before it."
        ),
    ] = "core"
    job_labels: Annotated[
        bool,
        _flag("Also a series a device and job (neuron_job_info); it ends with the job."),
    ] = False


class Log(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the daemon says on standard error."""

    format: Annotated[
        Literal["auto", "keyvalue", "json", "journal"],
        key_meta(
            "choice",
            "auto: with the journal's priorities where systemd reads, else key=value.",
        ),
    ] = "auto"
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        key_meta("choice", "The least important that is said."),
    ] = "info"


class State(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What outlives a restart."""

    directory: Annotated[
        str,
        key_meta(
            "path",
            "Where it is kept. Unless it is named: only if it is there and this machine is read;"
            " else in memory only.",
            restart=True,
        ),
    ] = "/var/lib/neuron-observer"
    retention: Annotated[
        float, _duration("How long it is kept.", _HOUR, 3660 * _DAY, restart=True)
    ] = 30 * _DAY
    max_bytes: Annotated[
        int,
        _size("The most that it may take; the oldest goes first.", _MB, 100 * _GB, restart=True),
    ] = 64 * _MB


class History(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last readings, in memory."""

    window: Annotated[float, _duration("How far back it reaches.", _MINUTE, _DAY, restart=True)] = (
        900.0
    )
    max_bytes: Annotated[
        int,
        _size("The most that it may take; the window gets shorter then.", _MB, _GB, restart=True),
    ] = 8 * _MB


class Lanes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often what is read."""

    fast: Annotated[
        float,
        _duration(
            "Error counters and states; not read by time where the driver announces.", 0.1, 10
        ),
    ] = 0.25
    normal: Annotated[
        float, _duration("Counters of cores and devices, the host, EFA ports.", 0.5, 10)
    ] = 1.0
    slow: Annotated[
        float,
        _duration("What seldom changes: names, space on disks, our own cost.", 5, 10 * _MINUTE),
    ] = 10.0
    firmware: Annotated[
        float, _duration("Registers that the device's firmware answers for.", 5, _MINUTE)
    ] = 10.0
    jobs: Annotated[float, _duration("The processes that hold devices.", 0.5, _MINUTE)] = 2.0


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reading less while somebody works."""

    quiet: Annotated[bool, _flag("Longer lanes while a job runs on the devices.")] = True


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the daemon may cost; over it the lanes get longer, and it says so."""

    cpu: Annotated[float, key_meta("share", "Of one processor; 0%: no limit.", ge=0.0, le=1.0)] = (
        0.05
    )
    memory: Annotated[int, _size("Resident memory; 0B: no limit.", 0, 10 * _GB)] = 80 * _MB


class Monitor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reports of neuron-monitor, which attaches to the devices: off unless asked for."""

    mode: Annotated[
        Literal["off", "pipe", "file", "child"],
        key_meta(
            "choice",
            "pipe: from standard input; file: from monitor.file; child: started by the daemon.",
            restart=True,
        ),
    ] = "off"
    file: Annotated[
        str | None,
        key_meta("path", "The file or FIFO that neuron-monitor is written to.", restart=True),
    ] = None


class Jobs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Running jobs."""

    heartbeats: Annotated[
        str | None,
        key_meta(
            "path",
            "Folder into which the step hook writes a file a rank, as the host names it; null:"
            " none is read.",
            restart=True,
        ),
    ] = "/run/neuron-observer-ranks"


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules beside the shipped ones."""

    directories: Annotated[
        tuple[str, ...],
        key_meta(
            "paths",
            "Folders whose `*.yaml` add rules or change those of their id; the default one may be"
            " missing.",
        ),
    ] = ("/etc/neuron-observer/rules.d",)


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration; each field has the default of a missing key."""

    path_map: Annotated[
        dict[str, str],
        key_meta(
            "map",
            "Metric id → path below its device, where a driver moved a file; {core} stands for the"
            " core's number.",
            restart=True,
        ),
    ] = {}
    listen: Annotated[
        tuple[str, ...],
        key_meta(
            "addresses",
            "HOST:PORT of each TCP listener, one or a list; [] for none.",
            restart=True,
        ),
    ] = ("127.0.0.1:9744",)
    socket: Annotated[
        str, key_meta("path", 'The Unix socket of the command line; "" for none.', restart=True)
    ] = "/run/neuron-observer/observer.sock"
    web: Web = Web()
    http: Http = Http()
    export: Export = Export()
    log: Log = Log()
    state: State = State()
    history: History = History()
    lanes: Lanes = Lanes()
    profile: Profile = Profile()
    budget: Budget = Budget()
    monitor: Monitor = Monitor()
    jobs: Jobs = Jobs()
    kernel_log: Annotated[
        bool, _flag("Read the kernel log, where the system allows it.", restart=True)
    ] = True
    rules: Rules = Rules()
    kubelet: Annotated[
        bool,
        _flag(
            "Ask the kubelet's pod-resources socket for names of pods (needs"
            " neuron-observer[kubernetes]).",
            restart=True,
        ),
    ] = False
    all_devices: Annotated[
        bool, _flag("Devices too that have no /dev node in this container.", restart=True)
    ] = False
    trust_untested_driver: Annotated[
        bool,
        _flag("Let registers of a driver that nobody has tested make a node unhealthy."),
    ] = False
