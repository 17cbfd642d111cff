"""Rows of scope device: everything directly below `neuronN`.

Source: driver 2.24.7, 2.25.4, 2.26.5 and 2.30.2 `neuron_cdev.c`, `neuron_sysfs_metrics.c`,
`neuron_fw_io.c`, `neuron_metrics.c`; 2.29.0 `neuron_power.c`; 2.28 and 2.29 `health_status`.
"""

from __future__ import annotations

from neuron_observer.catalogue.chips import ECC_CHIPS, HEALTH_CHIPS
from neuron_observer.catalogue.core import COUNT_LIMIT
from neuron_observer.catalogue.spec import Kind, MetricSpec, Source

HOST_CATEGORIES = (
    ("dma_buffers", "DMA buffers"),
    ("tensors", "tensors"),
    ("constants", "constants"),
    ("application_memory", "applications"),
    ("driver_memory", "the driver"),
    ("notifications", "notifications"),
    ("dma_rings", "DMA rings"),
    ("uncategorized", "anything else"),
)

POWER_STATUSES = tuple(f"POWER_STATUS_{name}" for name in ("VALID", "NO_DATA", "INVALID", "MAX"))


_HEADINGS = {"name": "Chip", "core_count": "Cores", "firmware.build": "Firmware"}


def _identity(name: str, path: str, text: str, form: str = "word", **known: object) -> MetricSpec:
    return MetricSpec(
        id=f"device.{name}",
        scope="device",
        kind=Kind.INFO,
        unit="",
        help=text,
        sources=(Source("device", path, form, **known),),  # type: ignore[arg-type]
        lane="firmware" if form in ("serial", "firmware") else "slow",
        family="device_identity_info",  # neuron_device_info is another exporter's
        detail="device",
        column=_HEADINGS.get(name),
    )


def _host_memory() -> list[MetricSpec]:
    rows = []
    for name, what in HOST_CATEGORIES:
        for leaf, suffix, text, family in (
            ("total", "", f"Host memory held now for {what}", "host_memory_category_bytes"),
            ("peak", "_peak", f"Most host memory held for {what}", "host_memory_peak_bytes"),
        ):
            rows.append(
                MetricSpec(
                    id=f"device.host_memory.{name}{suffix}",
                    scope="device",
                    kind=Kind.GAUGE,
                    unit="bytes",
                    help=text,
                    sources=(
                        Source(
                            "device",
                            f"stats/memory_usage/host_mem/{name}/{leaf}",
                            fact="neuron_sysfs_metrics.c",
                        ),
                    ),
                    lane="normal" if leaf == "total" else "slow",
                    family=f"device_{family}",
                    labels=(("category", name),),
                    clearable=True,
                    detail="full",
                    limit=COUNT_LIMIT,
                )
            )
    return rows


def _power_part(
    part: str, kind: Kind, unit: str, text: str, column: str | None = None
) -> MetricSpec:
    ratio = unit == "percent"
    return MetricSpec(
        id=f"device.power.{part}",
        scope="device",
        kind=kind,
        unit=unit,
        help=text,
        sources=(
            Source(
                "device",
                "stats/power/utilization",
                "power",
                part=part,
                since=(2, 21, 37),
                fact="neuron_power.c: percent of maximum power with the baseline taken out",
            ),
        ),
        lane="slow",
        family="device_power_utilization_ratio"
        if ratio
        else f"device_power_{part}" + ("_seconds" if part == "epoch" else ""),
        labels=(("statistic", part),) if ratio else (),
        scale=0.01 if ratio else 1.0,
        detail="full" if part == "epoch" else "device",  # the age says it in fewer words
        column=column,
        states=POWER_STATUSES if part == "status" else (),
    )


def _dies() -> list[MetricSpec]:
    rows = []
    for die in range(2):
        for part, unit, text in (
            ("util_bips", "basis points", f"Power of die {die} now, share of the maximum"),
            ("counter", "samples", f"Sample number of die {die}'s power"),
        ):
            ratio = part == "util_bips"
            rows.append(
                MetricSpec(
                    id=f"device.power.die{die}.{'utilization' if ratio else 'sample'}",
                    scope="device",
                    kind=Kind.GAUGE if ratio else Kind.STATE,
                    unit=unit,
                    help=text,
                    sources=(
                        Source(
                            "device",
                            "stats/power/utilization_raw",
                            "power_dies",
                            part=f"{die}.{part}",
                            since=(2, 29, 0),
                            chips=HEALTH_CHIPS if die else (),
                            fact="2.29.0 neuron_power.c, npower_format_raw",
                        ),
                    ),
                    lane="normal",
                    family="device_die_power_utilization_ratio"
                    if ratio
                    else "device_die_power_sample",
                    labels=(("die", str(die)),),
                    scale=0.0001 if ratio else 1.0,
                    detail="device" if ratio else "full",
                    heartbeat=not ratio,
                    column=f"Die {die}" if ratio else None,
                )
            )
    return rows


DEVICE_METRICS: tuple[MetricSpec, ...] = (
    _identity("name", "info/architecture/device_name", "Chip"),
    _identity("family", "info/architecture/instance_type", "Family of instances"),
    _identity("arch", "info/architecture/arch_type", "Architecture; inf2 and trn2 share NDv3"),
    _identity(
        "serial",
        "info/serial_number",
        "Serial number of the chip",
        "serial",
        since=(2, 15, 9),
        chips=ECC_CHIPS,
        fact="neuron_sysfs_metrics.c: empty where unreadable",
    ),
    _identity("core_count", "core_count", "Physical cores", "count"),
    _identity(
        "connected_devices",
        "connected_devices",
        "Neighbours by the driver's table; no measurement except on inf1",
        "line",
    ),
    _identity(
        "firmware.api_version", "fw_api_version", "Firmware interface", "firmware", since=(2, 30, 2)
    ),
    _identity("firmware.build", "fw_build", "Firmware build", "firmware", since=(2, 30, 2)),
    MetricSpec(
        id="device.state",
        scope="device",
        kind=Kind.STATE,
        unit="",
        help="0 being reset, 1 ready, 2 invalid: the reset at load failed",
        sources=(Source("device", "reset", fact="neuron_cdev.c: readable by root only"),),
        lane="slow",
        family="device_state",
        detail="device",
        limit=2,
    ),
    _power_part("status", Kind.STATE, "", "What the power figures are worth"),
    _power_part(
        "epoch", Kind.STATE, "s since 1970", "Minute of the power figures, seconds since 1970"
    ),
    _power_part(
        "minimum",
        Kind.GAUGE,
        "percent",
        "Least power in the last minute, share of the maximum",
        "Min",
    ),
    _power_part(
        "maximum",
        Kind.GAUGE,
        "percent",
        "Most power in the last minute, share of the maximum",
        "Max",
    ),
    _power_part(
        "mean",
        Kind.GAUGE,
        "percent",
        "Mean power in the last minute, share of the maximum",
        "Power",
    ),
    *_dies(),
    *_host_memory(),
)
