"""One line of neuron-monitor's JSON stream → `MonitorReport`; total, and none of it is guessed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from neuron_observer.model import Missing, Why
from neuron_observer.parsers.monitor_group import Group
from neuron_observer.parsers.monitor_report import (
    ERRORS,
    OUTCOMES,
    PERCENTILES,
    CoreUse,
    EccCounts,
    Executions,
    GroupError,
    Hardware,
    HostCpu,
    HostMemory,
    LoadedModel,
    MemoryUse,
    MonitorReport,
    Named,
    Pod,
    Runtime,
    Subgraph,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU_KINDS = ("user", "nice", "system", "idle", "io_wait", "irq", "soft_irq")
INSTANCE_KEYS = (
    "instance_name",
    "instance_id",
    "instance_type",
    "instance_availability_zone",
    "instance_availability_zone_id",
    "instance_region",
    "ami_id",
    "subnet_id",
)
MAX_UNKNOWN = 100

# two spellings: the guide says `flops`, runtime 2.30.51 writes `effective_flops`
_FLOPS = ("effective_flops", "flops")
_SPELLINGS = {"numerical": ("numerical", "numeric")}


def parse_report(line: str | bytes) -> MonitorReport | Missing:
    """A whole report; Missing if the line is no JSON object or holds none of the groups."""
    try:
        document = json.loads(line, parse_constant=str)
    except (ValueError, RecursionError) as error:
        return Missing(Why.FAILED, f"no valid JSON: {error}"[:200])
    if not isinstance(document, dict):
        return Missing(Why.FAILED, "the line is no JSON object")
    if not document.keys() & {"neuron_runtime_data", "system_data", "neuron_hardware_info"}:
        return Missing(Why.FAILED, "the JSON is no report of neuron-monitor")
    return _report(Group(document))


def _report(top: Group) -> MonitorReport:
    errors: list[GroupError] = []
    runtimes = _runtimes(top, errors)
    system = top.group("system_data")
    ecc, cpu, memory = (
        _checked(system.group(name), errors)
        for name in ("neuron_hw_counters", "vcpu_usage", "memory_info")
    )
    instance, hardware = (
        _checked(top.group(name), errors) for name in ("instance_info", "neuron_hardware_info")
    )
    pods = _checked(top.group("neuron_k8s_info"), errors)
    core_pods = {key: _pod(group) for key, group in pods.group("neuroncores_k8s_info").numbered()}
    device_pods = {
        key: _pod(group) for key, group in pods.group("neurondevices_k8s_info").numbered()
    }
    return MonitorReport(
        runtimes,
        ecc.period,
        _ecc(ecc),
        _host_cpu(cpu),
        _host_memory(memory),
        {key: value for key in INSTANCE_KEYS if (value := instance.text(key))},
        _hardware(hardware),
        core_pods,
        device_pods,
        tuple(errors),
        tuple(sorted(set(top.unknown()))[:MAX_UNKNOWN]),
    )


def _checked(group: Group, errors: list[GroupError], pid: int | None = None) -> Group:
    if group.error:
        errors.append(GroupError(group.path.rsplit(".", 1)[-1], pid, group.error))
    return group


def _runtimes(top: Group, errors: list[GroupError]) -> tuple[Runtime, ...] | Missing:
    entries = top.listed("neuron_runtime_data")
    if isinstance(entries, Missing):
        return entries
    return tuple(_each_runtime(entries, errors))


def _each_runtime(entries: list[Group], errors: list[GroupError]) -> Iterator[Runtime]:
    seen: set[int] = set()
    for entry in entries:
        pid = entry.identity("pid")
        if pid is None or pid in seen:
            errors.append(GroupError("neuron_runtime_data", pid, "no pid, or the same one twice"))
            continue
        seen.add(pid)
        yield _runtime(pid, entry, errors)


def _runtime(pid: int, entry: Group, errors: list[GroupError]) -> Runtime:
    _checked(entry, errors, pid)
    report = _checked(entry.group("report"), errors, pid)
    cores, executions, memory, cpu = (
        _checked(report.group(name), errors, pid)
        for name in (
            "neuroncore_counters",
            "execution_stats",
            "memory_used",
            "neuron_runtime_vcpu_usage",
        )
    )
    usage = cpu.group("vcpu_usage")
    in_use = cores.group("neuroncores_in_use")
    return Runtime(
        pid,
        tag=entry.text("neuron_runtime_tag"),
        address=entry.text("address"),
        cores_period=cores.period,
        cores=in_use.missing or {core: _core(group) for core, group in in_use.numbered()},
        executions=_executions(executions),
        memory=_memory(memory),
        cpu_period=cpu.period,
        cpu_user=usage.share("user"),
        cpu_system=usage.share("system"),
        failed=bool(entry.error),
    )


def _core(group: Group) -> CoreUse:
    subcores = group.group("v3d").entries()
    return CoreUse(
        group.ratio("neuroncore_utilization"),
        group.number(*_FLOPS),
        {name: sub.ratio("neuroncore_utilization") for name, sub in subcores},
    )


def _executions(group: Group) -> Executions:
    errors, outcomes = group.group("error_summary"), group.group("execution_summary")
    latency = group.group("latency_stats")
    return Executions(
        group.period,
        {name: errors.count(*_SPELLINGS.get(name, (name,))) for name in ERRORS},
        outcomes.counts(OUTCOMES),
        _latency(latency.group("total_latency")),
        _latency(latency.group("device_latency")),
    )


def _latency(group: Group) -> Named:
    return {name: group.number(name) for name in PERCENTILES}


def _memory(group: Group) -> MemoryUse:
    used = group.group("neuron_runtime_used_bytes")
    breakdown = used.group("usage_breakdown")
    cores = breakdown.group("neuroncore_memory_usage").numbered()
    models = group.listed("loaded_models")
    return MemoryUse(
        group.period,
        used.count("host"),
        used.count("neuron_device"),
        breakdown.group("host").counts(),
        {core: categories.counts() for core, categories in cores},
        () if isinstance(models, Missing) else tuple(_model(model) for model in models),
    )


def _model(group: Group) -> LoadedModel:
    return LoadedModel(
        group.text("name"),
        group.text("uuid"),
        group.count("model_id"),
        group.flag("is_running"),
        tuple(_subgraph(name, below) for name, below in group.group("subgraphs").entries()),
    )


def _subgraph(name: str, group: Group) -> Subgraph:
    used = group.group("memory_used_bytes")
    breakdown = used.group("usage_breakdown").entries()
    return Subgraph(
        name,
        group.identity("neuron_device_index"),
        group.identity("neuroncore_index"),
        used.count("host"),
        used.count("neuron_device"),
        {kind: categories.counts() for kind, categories in breakdown},
    )


def _ecc(group: Group) -> dict[int, EccCounts] | Missing:
    devices = group.listed("neuron_devices")
    if isinstance(devices, Missing):
        return devices
    found: dict[int, EccCounts] = {}
    for device in devices:
        index = device.identity("neuron_device_index")
        counts = device.counts(
            (
                "mem_ecc_corrected",
                "mem_ecc_uncorrected",
                "sram_ecc_corrected",
                "sram_ecc_uncorrected",
            )
        )
        if index is not None:
            found[index] = EccCounts(*counts.values())
    return found


def _host_cpu(group: Group) -> HostCpu:
    cpus = group.group("usage_data").numbered()
    return HostCpu(
        group.period,
        group.group("average_usage").ratios(CPU_KINDS),
        {cpu: usage.ratios(CPU_KINDS) for cpu, usage in cpus},
        group.count("context_switch_count"),
    )


def _host_memory(group: Group) -> HostMemory:
    return HostMemory(
        group.period,
        group.count("memory_total_bytes"),
        group.count("memory_used_bytes"),
        group.count("swap_total_bytes"),
        group.count("swap_used_bytes"),
    )


def _hardware(group: Group) -> Hardware:
    return Hardware(
        group.text("neuron_device_type"),
        group.text("neuron_device_version"),
        group.text("neuroncore_version"),
        group.count("neuron_device_count"),
        group.count("neuron_device_memory_size"),
        group.count("neuroncore_per_device_count"),
        group.count("logical_neuroncore_config"),
    )


def _pod(group: Group) -> Pod:
    return Pod(group.text("pod_name"), group.text("namespace"), group.texts("container_name"))
