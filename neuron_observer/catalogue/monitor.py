"""Rows that neuron-monitor supplies, and what was made of the kernel log.

Source: neuron-monitor-user-guide.rst (groups, fields, units) and captures of its output. A
runtime's place is `pid1337`; a logical core's `lnc2/core5` (physical cores to a logical one, its
number on the node), so that no logical core is ever taken for a physical one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.spec import Kind, MetricSpec, Source

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import Detail, Scope, Where

_ENDINGS = {"bytes": "_bytes", "ratio": "_ratio", "seconds": "_seconds"}
_CORE = "neuroncore_counters.neuroncores_in_use.N"
_STATS = "execution_stats"
_USED = "memory_used.neuron_runtime_used_bytes"
_TALLY = "the guide: counts of the period; added up over the reports that we saw"

OUTCOMES = {
    "completed": "that completed",
    "completed_with_err": "that completed with errors",
    "completed_with_num_err": "that completed with numerical errors",
    "timed_out": "that timed out",
    "incorrect_input": "refused for bad input",
    "failed_to_queue": "that could not be queued",
}
ERRORS = {
    "generic": "generic errors; many in healthy training",
    "numerical": "numerical errors",
    "transient": "transient errors",
    "model": "errors of the model",
    "runtime": "errors of the runtime",
    "hardware": "hardware errors",
}
PERCENTILES = ("p0", "p1", "p25", "p50", "p75", "p99", "p100")
HOST_USES = ("application_memory", "constants", "dma_buffers", "tensors")
CORE_USES = ("constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors")
ECC = (
    ("mem_ecc_corrected", "hbm", "corrected"),
    ("mem_ecc_uncorrected", "hbm", "uncorrected"),
    ("sram_ecc_corrected", "sram", "corrected"),
    ("sram_ecc_uncorrected", "sram", "uncorrected"),
)
GROUPS = (
    "neuron_runtime_data",
    "report",
    "neuroncore_counters",
    "execution_stats",
    "memory_used",
    "neuron_runtime_vcpu_usage",
    "neuron_hw_counters",
    "vcpu_usage",
    "memory_info",
    "instance_info",
    "neuron_hardware_info",
    "neuron_k8s_info",
)


def _row(  # noqa: PLR0913 - a row of a table
    name: str,
    text: str,
    path: str,
    kind: Kind = Kind.GAUGE,
    unit: str = "",
    *,
    family: str = "",
    labels: tuple[tuple[str, str], ...] = (),
    detail: Detail = "full",
    column: str | None = None,
    where: Where = "monitor",
    fact: str = "",
) -> MetricSpec:
    head: Scope = "node"
    for scope in ("runtime", "logical_core", "device"):
        head = scope if name.startswith(f"{scope}.") else head
    ending = "_total" if kind is Kind.COUNTER else _ENDINGS.get(unit, "")
    return MetricSpec(
        id=name,
        scope=head,
        kind=kind,
        unit=unit,
        help=text,
        sources=(Source(where, path, fact=fact),),
        lane="fast",
        family=(family or name.replace(".", "_")) + ending,
        labels=labels,
        detail=detail,
        column=column,
    )


def _node(name: str, text: str, kind: Kind, unit: str = "", **more: object) -> MetricSpec:
    return _row(f"node.monitor.{name}", text, name, kind, unit, detail="node", **more)  # type: ignore[arg-type]


def _kernel(name: str, text: str) -> MetricSpec:
    return _row(
        f"host.kernel_log.{name}",
        text,
        name,
        Kind.COUNTER,
        "lines",
        where="kernel_log",
        detail="node",
    )


MONITOR_NODE_METRICS: tuple[MetricSpec, ...] = (
    _node("state", "Off, waiting, busy, idle, unknown or stale", Kind.STATE)._replace(
        states=("off", "waiting", "busy", "idle", "unknown", "stale")
    ),
    _node("report_age", "Age of the last report", Kind.GAUGE, "seconds"),
    _node("reports", "Reports read", Kind.COUNTER, "reports"),
    _node(
        "bad", "Lines that are no report", Kind.COUNTER, "lines", family="node_monitor_bad_lines"
    ),
    _node(
        "refused", "Reports dropped because they were too long or cut off", Kind.COUNTER, "reports"
    ),
    _node("ended", "Runtimes that are no longer reported", Kind.COUNTER, "runtimes"),
    _node(
        "restarts",
        "Times neuron-monitor was started or its file opened again",
        Kind.COUNTER,
        "starts",
    ),
    *(
        _node(
            f"group_errors.{group}",
            f"Times the group {group} began to report an error",
            Kind.COUNTER,
            "errors",
            family="node_monitor_group_errors",
            labels=(("group", group),),
        )
        for group in GROUPS
    ),
)

MONITOR_DEVICE_METRICS: tuple[MetricSpec, ...] = tuple(
    _row(
        f"device.reported.{field}",
        f"{'HBM' if memory == 'hbm' else 'SRAM'} errors {error} as neuron-monitor reports them",
        f"neuron_hw_counters.neuron_devices[].{field}",
        unit="errors",
        family="device_reported_ecc_errors",
        labels=(("memory", memory), ("error", error)),
        detail="device",
        fact="no document says whether it is a total or a count of the period",
    )
    for field, memory, error in ECC
)

LOGICAL_CORE_METRICS: tuple[MetricSpec, ...] = (
    _row(
        "logical_core.utilization",
        "Utilisation of a logical core over all runtimes",
        f"{_CORE}.neuroncore_utilization",
        unit="ratio",
        detail="core",
        column="Util",
    ),
    _row(
        "logical_core.flop_rate",
        "Floating-point operations a second of a logical core",
        f"{_CORE}.flops",
        unit="operations/s",
        detail="core",
    ),
    _row(
        "logical_core.part_utilization",
        "Utilisation of one physical core of a logical core, by the report's name for it",
        f"{_CORE}.v3d.NAME.neuroncore_utilization",
        unit="ratio",
    ),
    *(
        _row(
            f"logical_core.memory.{use}",
            f"Device memory held on a logical core over all runtimes: {use.replace('_', ' ')}",
            f"{_USED}.usage_breakdown.neuroncore_memory_usage.N.{use}",
            unit="bytes",
            family="logical_core_memory_used",
            labels=(("use", use),),
        )
        for use in CORE_USES
    ),
)

RUNTIME_METRICS: tuple[MetricSpec, ...] = (
    _row(
        "runtime.tag",
        "Name of the application: NEURON_PROCESS_TAG as its process was started with, or the pid",
        "neuron_runtime_tag",
        Kind.INFO,
        family="runtime_identity_info",
    ),
    *(
        _row(
            f"runtime.latency.{side}_{percentile}",
            f"Latency of an execution {words}, percentile {percentile[1:]} of the period",
            f"{_STATS}.latency_stats.{side}_latency.{percentile}",
            unit="seconds",
            family="runtime_latency",
            labels=(("side", side), ("percentile", percentile[1:])),
        )
        for side, words in (("total", "as its caller waited"), ("device", "on the device"))
        for percentile in PERCENTILES
    ),
    *(
        _row(
            f"runtime.executions.{outcome}{ending}",
            f"Executions {words}" + (" a second" if ending else ", since we watch"),
            f"{_STATS}.execution_summary.{outcome}",
            Kind.GAUGE if ending else Kind.COUNTER,
            "executions/s" if ending else "executions",
            family="runtime_execution_rate" if ending else "runtime_executions",
            labels=(("outcome", outcome),),
            fact=_TALLY,
        )
        for outcome, words in OUTCOMES.items()
        for ending in ("_rate", "")
    ),
    *(
        _row(
            f"runtime.errors.{error}{ending}",
            f"Executions that met {words}" + (", a second" if ending else ", since we watch"),
            f"{_STATS}.error_summary.{error}",
            Kind.GAUGE if ending else Kind.COUNTER,
            "errors/s" if ending else "errors",
            family="runtime_error_rate" if ending else "runtime_errors",
            labels=(("type", error),),
            fact=_TALLY,
        )
        for error, words in ERRORS.items()
        for ending in ("_rate", "")
    ),
    _row("runtime.memory.host", "Host memory of a runtime", f"{_USED}.host", unit="bytes"),
    _row(
        "runtime.memory.device",
        "Device memory of a runtime",
        f"{_USED}.neuron_device",
        unit="bytes",
    ),
    *(
        _row(
            f"runtime.host_memory.{use}",
            f"Host memory of a runtime: {use.replace('_', ' ')}",
            f"{_USED}.usage_breakdown.host.{use}",
            unit="bytes",
            family="runtime_host_memory_used",
            labels=(("use", use),),
        )
        for use in HOST_USES
    ),
    *(
        _row(
            f"runtime.cpu.{mode}",
            f"Processor share of a runtime, {mode} mode, as neuron-monitor tells it",
            f"neuron_runtime_vcpu_usage.vcpu_usage.{mode}",
            unit="ratio",
            family="runtime_cpu",
            labels=(("mode", mode),),
        )
        for mode in ("user", "system")
    ),
)

KERNEL_LOG_METRICS: tuple[MetricSpec, ...] = (
    _kernel("read", "Kernel log lines read"),
    _kernel("known", "Kernel log lines whose meaning is known"),
    _kernel("novel", "Lines of the Neuron driver whose meaning is not known; never an alarm"),
    _kernel("ours", "Kernel log lines that our own reads caused"),
    _kernel("lost", "Kernel log lines overwritten before they could be read"),
    _kernel("dropped", "Kernel log lines dropped by us for lack of room"),
    _kernel("cut", "Kernel log lines shortened or refused for their length"),
    _kernel("suppressed", "Kernel log lines counted and not shown, because equal ones were"),
)
