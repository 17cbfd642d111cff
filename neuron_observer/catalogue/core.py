"""Rows of scope core: everything below `neuronN/neuron_coreM`.

Source: driver 2.24.7 and 2.30.2 `neuron_sysfs_metrics.c` (tables of counters and their order),
`neuron_ds.c` (when the runtime's counters move), `vc/neuron_dhal_vc.c` (PE array).
"""

from __future__ import annotations

from neuron_observer.catalogue.chips import ECC_CHIPS, LIVE_SINCE
from neuron_observer.catalogue.spec import Kind, MetricSpec, Source

# Above this a 64-bit count is no count: the driver reduces unsigned numbers without a check.
COUNT_LIMIT = (1 << 63) - 1

# (file, id, what it counts); the order is the driver's
STATUSES = (
    ("success", "success", "that succeeded"),
    ("failure", "failure", "that failed, any cause"),
    ("timeout", "timeout", "that timed out (NRT 5)"),
    ("exec_bad_input", "bad_input", "refused for bad input (NRT 1002)"),
    ("hw_error", "hardware_error", "that ended in a hardware error (NRT 6)"),
    ("execute_completed_with_error", "completed_with_error", "completed with errors (NRT 1004)"),
    (
        "execute_completed_with_num_error",
        "completed_with_numerical_error",
        "completed with numerical errors (NRT 1003)",
    ),
    (
        "generic_error",
        "generic_error",
        "notifications of underflow, infinity and overflow; no fault by themselves",
    ),
    ("resource_error", "resource_error", "refused for lack of a resource (NRT 4)"),
    ("resource_nc_error", "core_resource_error", "refused for lack of a core (NRT 9)"),
    ("execute_failed_to_queue", "failed_to_queue", "not queued: back-pressure (NRT 7)"),
    ("invalid_error", "invalid_error", "refused as invalid (NRT 2)"),
    ("unsupported_neff_version", "unsupported_neff", "refused for the NEFF's version (NRT 10)"),
    ("oob_error", "out_of_bounds", "that accessed memory out of bounds (NRT 1006)"),
    (
        "hw_collectives_error",
        "collectives_error",
        "that hung in collectives, often because of another worker (NRT 1200)",
    ),
    ("hw_hbm_ue_error", "hbm_uncorrected", "hit by an uncorrected HBM error (NRT 1201)"),
    ("hw_nc_ue_error", "core_uncorrected", "hit by an uncorrected core error (NRT 1202)"),
    ("hw_dma_abort_error", "dma_abort", "hit by a DMA abort (NRT 1203)"),
    ("execute_sw_nq_overflow", "queue_overflow", "whose notification queue ran over (NRT 1204)"),
    ("execute_sw_semaphore_error", "semaphore_error", "with a semaphore error of the program"),
    ("execute_sw_event_error", "event_error", "with an event error of the program"),
    ("execute_sw_psum_collision", "psum_collision", "with a PSUM collision of the program"),
    ("execute_sw_sequencer_fatal", "sequencer_fatal", "with a fatal sequencer error"),
    (
        "hw_repairable_hbm_ue_error",
        "hbm_repairable_uncorrected",
        "hit by a repairable uncorrected HBM error (NRT 1205)",
    ),
)

# What of these a page shows of each core unless all is asked for: 24 of 128 cores would be more
# series than everything else. `failure` counts every cause; causes told by another counter of
# the device (HBM) are left to that one.
SHOWN = {"failure", "timeout", "collectives_error", "core_uncorrected", "dma_abort"}

HBM_CATEGORIES = (
    ("model_code", "model code"),
    ("tensors", "tensors"),
    ("constants", "constants"),
    ("model_shared_scratchpad", "scratchpad shared by models"),
    ("runtime_memory", "the runtime"),
    ("driver_memory", "the driver"),
    ("collectives", "collectives"),
    ("nonshared_scratchpad", "scratchpad not shared"),
    ("notifications", "notifications"),
    ("dma_rings", "DMA rings"),
    ("uncategorized", "anything else"),
)


def _status(file: str, name: str, what: str) -> MetricSpec:
    return MetricSpec(
        id=f"core.execution.{name}",
        scope="core",
        kind=Kind.COUNTER,
        unit="executions",
        help=f"Executions {what}",
        sources=(
            Source(
                "core",
                f"stats/status/{file}/total",
                live_since=LIVE_SINCE,
                fact="neuron_sysfs_metrics.c; nrt_status.h",
            ),
        ),
        lane="normal",
        family="execution_status_total",
        labels=(("status", name),),
        clearable=True,
        detail="core" if name in SHOWN else "full",
        limit=COUNT_LIMIT,
    )


# what screens call a row where its name would be too long
_HEADINGS = {
    "core.hbm.used": "HBM",
    "core.hbm.peak": "HBM peak",
    "core.hbm.model_code": "Code",
    "core.hbm.model_shared_scratchpad": "Shared scratch",
    "core.hbm.nonshared_scratchpad": "Scratch",
    "core.hbm.runtime_memory": "Runtime",
    "core.hbm.driver_memory": "Driver",
    "core.hbm.uncategorized": "Other",
    "core.host_memory.used": "Host mem",
    "core.host_memory.peak": "Host peak",
}


def _memory(name: str, folder: str, leaf: str, text: str, family: str, category: str) -> MetricSpec:
    return MetricSpec(
        id=name,
        scope="core",
        kind=Kind.GAUGE,
        unit="bytes",
        help=text,
        sources=(
            Source(
                "core",
                f"stats/memory_usage/{folder}/{leaf}",
                fact="neuron_sysfs_metrics.c: total is held now, peak the highest total",
            ),
        ),
        lane="normal" if leaf == "total" else "slow",
        family=family,
        labels=(("category", category),) if category else (),
        clearable=True,
        detail="core" if name == "core.hbm.used" else "full",
        limit=COUNT_LIMIT,
        column=_HEADINGS.get(name),
    )


def _hbm() -> list[MetricSpec]:
    rows = [
        _memory("core.hbm.used", "device_mem", "total", "HBM held now", "core_hbm_used_bytes", ""),
        _memory("core.hbm.peak", "device_mem", "peak", "Most HBM held", "core_hbm_peak_bytes", ""),
    ]
    for name, what in HBM_CATEGORIES:
        for leaf, suffix, text, family in (
            ("total", "", f"HBM held now for {what}", "core_hbm_category_bytes"),
            ("peak", "_peak", f"Most HBM held for {what}", "core_hbm_category_peak_bytes"),
        ):
            rows.append(
                _memory(f"core.hbm.{name}{suffix}", f"device_mem/{name}", leaf, text, family, name)
            )
    return rows


def _other(file: str, name: str, unit: str, text: str, family: str) -> MetricSpec:
    by_driver = file.startswith("reset_")
    return MetricSpec(
        id=f"core.{name}",
        scope="core",
        kind=Kind.COUNTER,
        unit=unit,
        help=text,
        sources=(
            Source(
                "core",
                f"stats/other_info/{file}/total",
                since=(2, 21, 37) if file == "nc_time_in_use" else None,
                live_since=None if by_driver else LIVE_SINCE,
                fact="neuron_sysfs_metrics.c; neuron_ds.c",
            ),
        ),
        lane="normal",
        family=family,
        scale=1e-6 if unit == "microseconds" else 1.0,
        clearable=True,
        detail="core" if name in ("inferences", "time_in_use") else "full",
        # flop_count passes 2⁶³ after about a day of one busy Trainium2 core and wraps at 2⁶⁴
        limit=None if file == "flop_count" else COUNT_LIMIT,
        wraps_at=1 << 64 if file == "flop_count" else None,
    )


def _pe_array() -> list[MetricSpec]:
    rows = []
    for group in range(4):
        for part, name, what in (
            ("mm_active", "matmul", "multiplying"),
            ("wl_active", "weight_load", "loading weights"),
            ("idle", "idle", "idle"),
        ):
            rows.append(
                MetricSpec(
                    id=f"core.pe_array.row_group{group}.{name}_cycles",
                    scope="core",
                    kind=Kind.COUNTER,
                    unit="cycles",
                    help=f"Cycles that row group {group} of the matrix engine spent {what}",
                    sources=(
                        Source(
                            "core",
                            "stats/tensor_engine/pe_cntrs",
                            "pe_array",
                            part=f"{group}.{part}",
                            since=(2, 23, 9),
                            chips=ECC_CHIPS,
                            fact="vc/neuron_dhal_vc.c: 64 bits read as two halves, not atomically",
                        ),
                    ),
                    lane="expensive",
                    family="core_pe_array_cycles_total",
                    labels=(("row_group", str(group)), ("activity", name)),
                    detail="full",
                    wraps_at=None,
                )
            )
    return rows


CORE_METRICS: tuple[MetricSpec, ...] = (
    MetricSpec(
        id="core.arch",
        scope="core",
        kind=Kind.INFO,
        unit="",
        help="Architecture of the core",
        sources=(Source("core", "info/architecture/arch_type", "word"),),
        lane="slow",
        family="core_info",
        labels=(),
        detail="full",
    ),
    *(_status(*row) for row in STATUSES),
    _memory(
        "core.host_memory.used",
        "host_mem",
        "total",
        "Host memory held now, booked on this core",
        "core_host_memory_used_bytes",
        "",
    ),
    _memory(
        "core.host_memory.peak",
        "host_mem",
        "peak",
        "Most host memory held, booked on this core",
        "core_host_memory_peak_bytes",
        "",
    ),
    *_hbm(),
    _other("model_load_count", "model_loads", "loads", "Models loaded", "core_model_loads_total"),
    _other(
        "reset_req_count",
        "reset_requests",
        "resets",
        "Resets asked for; 1 after the driver's load",
        "core_reset_requests_total",
    ),
    _other(
        "reset_fail_count",
        "reset_failures",
        "resets",
        "Resets of the device that failed",
        "core_reset_failures_total",
    ),
    _other(
        "inference_count",
        "inferences",
        "executions",
        "Executions of models",
        "core_inferences_total",
    ),
    _other(
        "flop_count",
        "flops",
        "operations",
        "Floating-point operations: twice the multiply-accumulates",
        "core_flops_total",
    ),
    _other(
        "nc_time_in_use",
        "time_in_use",
        "microseconds",
        "Time spent executing, waiting inside a graph included",
        "core_time_in_use_seconds_total",
    ),
    *_pe_array(),
)
