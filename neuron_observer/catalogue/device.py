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

COMPONENTS = (
    "hbm",
    "firmware_service_api",
    "firmware_service_processor",
    "sram",
    "link_intraserver",
    "link_host",
    "link_efa",
    "link_interserver",
    "link_switch",
    "axi_fabric",
)

POWER_STATUSES = tuple(f"POWER_STATUS_{name}" for name in ("VALID", "NO_DATA", "INVALID", "MAX"))

FIELD_LIMIT = 65534  # 16-bit fields; 65535 is what a chip that fell off the bus reads


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


def _ecc(name: str, file: str, text: str, memory: str, error: str) -> MetricSpec:
    corrected = file.endswith("_corrected") and "uncorrected" not in file
    sources = (
        Source(
            "device",
            f"stats/hardware/{file}",
            since=(2, 30, 2) if corrected else (2, 23, 9) if "repairable" in file else (2, 14, 5),
            chips=ECC_CHIPS,
            fact="neuron_sysfs_metrics.c, neuron_fw_io.c: an unreadable register prints 0",
        ),
    )
    return MetricSpec(
        id=f"device.{name}",
        scope="device",
        kind=Kind.COUNTER,
        unit="errors",
        help=text,
        sources=sources,
        lane="firmware",
        family="device_ecc_errors_total",
        labels=(("memory", memory), ("error", error)),
        detail="device",
        column="ECC",
        limit=FIELD_LIMIT if memory == "sram" or corrected else 4 * 65535,
        constant_on=("Trainium1", "Inferentia2") if "repairable" in file else (),
    )


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
                )
            )
    return rows


def _health(name: str, file: str, form: str, kind: Kind, text: str, **known: object) -> MetricSpec:
    return MetricSpec(
        id=f"device.health.{name}",
        scope="device",
        kind=kind,
        unit="events" if kind is Kind.COUNTER else "",
        help=text,
        sources=(
            Source(
                "device",
                f"stats/hardware/health_status/{file}",
                form,  # type: ignore[arg-type]
                chips=HEALTH_CHIPS,
                fact="neuron_sysfs_metrics.c, neuron_metrics.c: a cache, refreshed every 50 ms",
                **known,  # type: ignore[arg-type]
            ),
        ),
        lane="fast",
        family=f"device_health_{name}" + ("_total" if kind is Kind.COUNTER else ""),
        detail="device",
        limit=255 if name == "heartbeat" else (1 << 32) - 1,
        heartbeat=name == "heartbeat",
        states=COMPONENTS if form == "components" else (),
    )


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
    _ecc(
        "sram.ecc_uncorrected",
        "sram_ecc_uncorrected",
        "SRAM errors not corrected",
        "sram",
        "uncorrected",
    ),
    _ecc(
        "hbm.ecc_uncorrected",
        "mem_ecc_uncorrected",
        "HBM errors not corrected; which of them depends on driver, chip and firmware",
        "hbm",
        "uncorrected",
    ),
    _ecc(
        "hbm.ecc_repairable_uncorrected",
        "mem_ecc_repairable_uncorrected",
        "HBM errors that a driver reload or reboot repairs; always 0 on trn1 and inf2",
        "hbm",
        "repairable_uncorrected",
    ),
    _ecc("sram.ecc_corrected", "sram_ecc_corrected", "SRAM errors corrected", "sram", "corrected"),
    _ecc("hbm.ecc_corrected", "mem_ecc_corrected", "HBM errors corrected", "hbm", "corrected"),
    _health(
        "unhealthy_components",
        "unhealthy_components",
        "components",
        Kind.STATE,
        "Components that the firmware calls unhealthy; empty when healthy",
        since=(2, 30, 2),
    ),
    _health(
        "heartbeat",
        "healthcheck_heartbeat",
        "heartbeat",
        Kind.STATE,
        "Heartbeat of the firmware, 0 to 255; healthy only if seen to move",
        since=(2, 30, 2),
    ),
    _health(
        "error_events",
        "hw_error_event",
        "count",
        Kind.COUNTER,
        "Changes of the component register, recoveries included: look, not failed",
        since=(2, 28, 0),
    ),
    _health(
        "hbm_errors",
        "hbm_ecc_err_count",
        "count",
        Kind.COUNTER,
        "HBM errors not repairable, cached",
        since=(2, 28, 0),
        until=(2, 29, 99),
    ),
    _health(
        "hbm_repairable_errors",
        "repairable_hbm_ecc_err_count",
        "count",
        Kind.COUNTER,
        "HBM errors repairable, cached",
        since=(2, 28, 0),
        until=(2, 29, 99),
    ),
    _health(
        "sram_errors",
        "sram_ecc_err_count",
        "count",
        Kind.COUNTER,
        "SRAM errors, cached",
        since=(2, 28, 0),
        until=(2, 29, 99),
    ),
    _power_part("status", Kind.STATE, "", "What the power figures are worth"),
    _power_part(
        "epoch", Kind.STATE, "s since 1970", "Minute of the power figures, seconds since 1970"
    ),
    _power_part(
        "minimum", Kind.GAUGE, "percent", "Least power in the last minute, share of the maximum"
    ),
    _power_part(
        "maximum", Kind.GAUGE, "percent", "Most power in the last minute, share of the maximum"
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

FIRMWARE_METRICS: tuple[MetricSpec, ...] = (
    MetricSpec(
        id="device.firmware.read_seconds",
        scope="device",
        kind=Kind.GAUGE,
        unit="seconds",
        help="Longest read of a firmware register in the last round; a slow read is itself a sign",
        sources=(Source("derived", "read time of serial_number, *_ecc_*, fw_*"),),
        lane="derived",
        family="device_firmware_read_seconds",
        detail="device",
    ),
    MetricSpec(
        id="device.firmware.answering",
        scope="device",
        kind=Kind.STATE,
        unit="",
        help="1 if the firmware's registers were read in time and the serial number reads back",
        sources=(Source("derived", "read time and serial_number"),),
        lane="derived",
        family="device_firmware_answering",
        detail="device",
    ),
)
