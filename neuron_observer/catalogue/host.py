"""Rows of scope node and disk: processor, memory, pressure, descriptors, disks of the host.

Source: the kernel's documentation of `/proc/stat`, `/proc/meminfo`, `/proc/loadavg`,
`/proc/pressure`, `/proc/sys/fs/file-nr` and `/sys/block/DISK/stat`.
"""

from __future__ import annotations

from typing import Any

from neuron_observer.catalogue.spec import Format, Kind, MetricSpec, Source

CPU_MODES = (
    ("user", "in programs, guests included"),
    ("nice", "in programs of low priority"),
    ("system", "in the kernel"),
    ("idle", "with nothing to do"),
    ("iowait", "idle while a task waits for a disk; can fall"),
    ("irq", "in interrupts"),
    ("softirq", "in deferred interrupts"),
    ("steal", "taken by the hypervisor"),
)

# Of each: line of /proc/meminfo (or a difference of two), name, what
MEMORY = (
    ("MemTotal", "total", "Memory of the host"),
    ("MemFree", "free", "Memory not used at all"),
    ("MemAvailable", "available", "Memory that programs can get without swapping"),
    ("MemTotal-MemAvailable", "used", "Memory that programs cannot get: total less available"),
    ("Buffers", "buffers", "Block buffers"),
    ("Cached", "cached", "Page cache, shared memory included"),
    ("Shmem", "shared", "Shared memory and tmpfs, such as /dev/shm"),
    ("AnonPages", "anonymous", "Memory of programs not backed by a file"),
    ("Dirty", "dirty", "Written, not yet on the disk"),
    ("Writeback", "writeback", "On the way to the disk"),
    ("Slab", "slab", "Memory of the kernel's own objects"),
    ("SUnreclaim", "slab_unreclaimable", "The part of slab that cannot be freed on demand"),
    ("SwapTotal", "swap_total", "Swap space"),
    ("SwapFree", "swap_free", "Swap space not used"),
    ("SwapTotal-SwapFree", "swap_used", "Swap space in use"),
)

# Of each: part of /sys/block/DISK/stat, name, unit, what, scale to the base unit, family
DISK = (
    ("reads", "reads", "requests", "Read requests completed", 1.0, "reads_total"),
    ("read_sectors", "read", "sectors", "Sectors of 512 bytes read", 512.0, "read_bytes_total"),
    ("read_ticks", "read_time", "milliseconds", "Time of all reads", 1e-3, "read_seconds_total"),
    ("writes", "writes", "requests", "Write requests completed", 1.0, "writes_total"),
    (
        "write_sectors",
        "written",
        "sectors",
        "Sectors of 512 bytes written",
        512.0,
        "written_bytes_total",
    ),
    (
        "write_ticks",
        "write_time",
        "milliseconds",
        "Time of all writes",
        1e-3,
        "write_seconds_total",
    ),
    ("in_flight", "in_flight", "requests", "Requests under way", 1.0, "in_flight"),
    (
        "io_ticks",
        "busy_time",
        "milliseconds",
        "Time with a request under way",
        1e-3,
        "busy_seconds_total",
    ),
)

MOUNTS = (("/", "root"), ("/tmp", "tmp"), ("/dev/shm", "shm"))  # noqa: S108 - looked at, not used


def _host(
    name: str, path: str, form: Format, part: str, kind: Kind, text: str, **known: Any
) -> MetricSpec:
    family = known.pop("family", name.replace(".", "_"))
    total = "_total" if kind is Kind.COUNTER else ""
    fields: dict[str, Any] = {"unit": "", "lane": "normal", "detail": "node", **known}
    return MetricSpec(
        id=f"host.{name}",
        scope="node",
        kind=kind,
        help=text,
        sources=(Source("proc", path, form, part=part, fact="the kernel's proc documentation"),),
        family=f"host_{family}{total}",
        **fields,
    )


def _stat(name: str, part: str, kind: Kind, text: str, **known: Any) -> MetricSpec:
    return _host(name, "stat", "cpu_stat", part, kind, text, **known)


def _cpu(mode: str, what: str) -> MetricSpec:
    return _host(
        f"cpu.{mode}",
        "stat",
        "cpu_stat",
        f"cpu.{mode}",
        Kind.COUNTER,
        f"Processor time {what}",
        unit="ticks",
        family="cpu_seconds",
        labels=(("mode", mode),),
        scale=0.01,  # USER_HZ is 100 on every Linux that runs a Neuron device
    )


def _pressure(resource: str, share: str) -> tuple[MetricSpec, MetricSpec]:
    who = "at least one task waits" if share == "some" else "all tasks wait"
    labels = (("resource", resource), ("share", share))
    name, path = f"pressure.{resource}.{share}", f"pressure/{resource}"
    return (
        _host(
            name,
            path,
            "pressure",
            f"{share}.total",
            Kind.COUNTER,
            f"Time in which {who} for {resource}",
            unit="microseconds",
            family="pressure_seconds",
            labels=labels,
            scale=1e-6,
        ),
        _host(
            f"{name}_10s",
            path,
            "pressure",
            f"{share}.avg10",
            Kind.GAUGE,
            f"Share of the last 10 s in which {who} for {resource}",
            unit="percent",
            family="pressure_ratio",
            labels=labels,
            scale=0.01,
        ),
    )


def _disk(part: str, name: str, unit: str, text: str, scale: float, family: str) -> MetricSpec:
    total = family.endswith("_total")
    return MetricSpec(
        id=f"disk.{name}",
        scope="disk",
        kind=Kind.COUNTER if total else Kind.GAUGE,
        unit=unit,
        help=text,
        sources=(Source("block", "stat", "block", part=part, fact="block/stat.rst"),),
        lane="normal",
        family=f"disk_{family}",
        scale=scale,
        detail="full",
    )


def _filesystem(mount: str, word: str, part: str, text: str) -> MetricSpec:
    return MetricSpec(
        id=f"host.filesystem.{word}.{part}",
        scope="node",
        kind=Kind.GAUGE,
        unit="bytes",
        help=f"{text} {mount}",
        sources=(Source("filesystem", mount, part=part, fact="statvfs(3)"),),
        lane="slow",
        family=f"host_filesystem_{part}_bytes",
        labels=(("mountpoint", mount),),
        detail="node",
    )


HOST_METRICS: tuple[MetricSpec, ...] = (
    *(_cpu(*row) for row in CPU_MODES),
    _stat("cpus", "cpus", Kind.GAUGE, "Processors in use, hyperthreads counted"),
    _stat("context_switches", "ctxt", Kind.COUNTER, "Context switches", unit="switches"),
    _stat("interrupts", "intr", Kind.COUNTER, "Interrupts served", unit="interrupts"),
    _stat("forks", "processes", Kind.COUNTER, "Processes and threads made", unit="forks"),
    _stat(
        "boot_time",
        "btime",
        Kind.GAUGE,
        "When the kernel booted, seconds since 1970",
        unit="s since 1970",
        family="boot_time_seconds",
    ),
    *(
        _host(
            f"processes.{state}",
            "stat",
            "cpu_stat",
            f"procs_{state}",
            Kind.GAUGE,
            text,
            family="processes",
            labels=(("state", state),),
        )
        for state, text in (
            ("running", "Tasks that run or could run"),
            ("blocked", "Tasks that wait uninterruptibly for a disk or a driver"),
        )
    ),
    *(
        _host(
            f"load.{window}",
            "loadavg",
            "load",
            window,
            Kind.GAUGE,
            f"Tasks that run or are blocked, mean of {window}",
            family="load_average",
            labels=(("window", window),),
        )
        for window in ("1m", "5m", "15m")
    ),
    _host(
        "tasks.total",
        "loadavg",
        "load",
        "tasks",
        Kind.GAUGE,
        "Tasks, threads counted singly",
        family="tasks",
    ),
    _host(
        "tasks.limit",
        "sys/kernel/threads-max",
        "count",
        "",
        Kind.GAUGE,
        "Most tasks the kernel allows",
        lane="slow",
    ),
    *(
        _host(
            f"memory.{name}",
            "meminfo",
            "memory",
            line,
            Kind.GAUGE,
            text,
            unit="bytes",
            family=f"memory_{name}_bytes",
        )
        for line, name, text in MEMORY
    ),
    _host(
        "huge_pages.total",
        "meminfo",
        "memory",
        "HugePages_Total",
        Kind.GAUGE,
        "Huge pages",
        family="huge_pages",
    ),
    _host(
        "huge_pages.free", "meminfo", "memory", "HugePages_Free", Kind.GAUGE, "Huge pages not used"
    ),
    *(
        spec
        for resource in ("cpu", "memory", "io")
        for share in ("some", "full")
        for spec in _pressure(resource, share)
    ),
    _host(
        "descriptors.used",
        "sys/fs/file-nr",
        "descriptors",
        "used",
        Kind.GAUGE,
        "Open files of all processes",
    ),
    _host(
        "descriptors.limit",
        "sys/fs/file-nr",
        "descriptors",
        "limit",
        Kind.GAUGE,
        "Most open files the kernel allows; about 2⁶³ means no limit",
    ),
    *(
        _filesystem(mount, word, part, text)
        for mount, word in MOUNTS
        for part, text in (
            ("size", "Size of the file system at"),
            ("available", "Space that a user can still fill at"),
        )
    ),
)

DISK_METRICS: tuple[MetricSpec, ...] = tuple(_disk(*row) for row in DISK)
