"""Rows of scope device that tell its health: ECC counts, the firmware's own report, its answers.

Source: driver 2.24.7, 2.25.4, 2.26.5 and 2.30.2 `neuron_sysfs_metrics.c`, `neuron_fw_io.c`,
`neuron_metrics.c`.
"""

from __future__ import annotations

from neuron_observer.catalogue.chips import ECC_CHIPS, HEALTH_CHIPS
from neuron_observer.catalogue.spec import Kind, MetricSpec, Source

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

FIELD_LIMIT = 65534  # 16-bit fields; 65535 is what a chip that fell off the bus reads


_ERRORS = {"uncorrected": "UE", "repairable_uncorrected": "repairable", "corrected": "CE"}
# what screens call a row where its name would be too long
_HEADINGS = {"unhealthy_components": "Components", "heartbeat": "Beat", "error_events": "Events"}


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
        column=f"{memory.upper()} {_ERRORS[error]}",
        limit=FIELD_LIMIT if memory == "sram" or corrected else 4 * 65535,
        constant_on=("Trainium1", "Inferentia2") if "repairable" in file else (),
    )


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
        column=_HEADINGS.get(name),
    )


HEALTH_METRICS: tuple[MetricSpec, ...] = (
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
        column="Read",
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
        column="Answers",
    ),
)
