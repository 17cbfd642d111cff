"""Reports of neuron-monitor, as captured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.model import Missing, Why
from neuron_observer.parsers.monitor import parse_report
from neuron_observer.parsers.monitor_report import Activity, MonitorReport, Runtime, rate

CASES = Path(__file__).parents[1] / "cases"
EXPECTED: dict[str, Any] = {
    row["id"]: row["expect"] for row in json.loads((CASES / "A/index.json").read_text())
}


def text(case: str) -> str:
    """A case file as it is."""
    return next((CASES / "A").glob(f"{case}-*")).read_text()


def report(line: str | bytes) -> MonitorReport:
    """A line that must be a report."""
    parsed = parse_report(line)
    assert isinstance(parsed, MonitorReport)
    return parsed


def runtimes(of: MonitorReport) -> tuple[Runtime, ...]:
    """Its runtimes, which must be known."""
    assert not isinstance(of.runtimes, Missing)
    return of.runtimes


def percent(of: MonitorReport, core: int) -> list[float]:
    """Utilisation of a core in each runtime, in percent to three digits."""
    found = []
    for runtime in runtimes(of):
        assert not isinstance(runtime.cores, Missing)
        use = runtime.cores[core].utilization
        assert isinstance(use, float)
        found.append(round(use * 100, 3))
    return found


def test_a01_training_with_many_generic_errors() -> None:
    """Three reports: the same tally each time, a large generic count, ECC 0."""
    expect = EXPECTED["A01"]
    reports = [report(line) for line in text("A01").splitlines()]
    assert [percent(one, 0)[0] for one in reports] == expect["core_utilization_percent"]["0"]
    assert [percent(one, 1)[0] for one in reports] == expect["core_utilization_percent"]["1"]
    executions = [runtimes(one)[0].executions for one in reports]
    completed = [done.outcomes["completed"] for done in executions]
    assert completed == expect["completed_per_report"]
    assert [done.errors["generic"] for done in executions] == [23654, 23692, 23749]
    assert executions[0].latency["p50"] == 9.5367431640625e-05
    for one in reports:
        assert one.hardware.devices == expect["devices"]
        assert not isinstance(one.ecc, Missing)
        assert one.ecc[0].mem_uncorrected == expect["ecc_uncorrected"]
        assert one.ecc[0].sram_uncorrected == expect["ecc_uncorrected"]
        assert (one.errors, one.unknown) == ((), ())
        assert one.activity is Activity.BUSY


def test_a01_memory_models_and_host() -> None:
    """The other groups: memory by use and core, loaded models, CPUs, instance."""
    first = report(text("A01").splitlines()[0])
    memory = runtimes(first)[0].memory
    assert (memory.host, memory.neuron_device) == (610705408, 102298328)
    assert memory.host_categories["dma_buffers"] == 1048576
    assert memory.cores[0]["model_code"] == 101125344
    model = memory.models[0]
    assert (model.model_id, model.running, len(memory.models)) == (10002, False, 2)
    part = model.subgraphs[0]
    assert (part.name, part.device, part.core, part.neuron_device) == ("sg_00", 0, 0, 151936)
    assert part.categories["neuron_device"]["constants"] == 98304
    assert first.cpu.average["idle"] == pytest.approx(0.8008)
    assert first.cpu.cpus[7]["irq"] == 0
    assert first.cpu.context_switches == 84801
    assert first.memory.total == 33117732864
    assert first.instance["instance_type"] == "trn1.2xlarge"
    assert "instance_name" not in first.instance  # an empty text says nothing


def test_a02_four_runtimes_with_one_tag() -> None:
    """Told apart by pid; a group in error gives no value although it carries zeros."""
    expect, found = EXPECTED["A02"], report(text("A02"))
    assert [runtime.pid for runtime in runtimes(found)] == expect["runtimes"]
    assert {runtime.tag for runtime in runtimes(found)} == {"1"}
    completed = [runtime.executions.outcomes["completed"] for runtime in runtimes(found)]
    assert sum(count for count in completed if isinstance(count, int)) == expect["completed_total"]
    for core, value in expect["core_utilization_percent"].items():
        assert round(max(percent(found, int(core))), 2) == value
    for runtime in runtimes(found):
        assert isinstance(runtime.cpu_user, Missing)
        assert runtime.cpu_user.why is Why.FAILED
        assert f"/proc/{runtime.pid}/stat" in runtime.cpu_user.detail
    assert [(error.group, error.pid) for error in found.errors] == [
        ("neuron_runtime_vcpu_usage", pid) for pid in expect["runtimes"]
    ]
    assert not isinstance(found.ecc, Missing)
    assert found.ecc[0].mem_uncorrected == expect["ecc_uncorrected"]
    assert found.hardware.devices == expect["devices"]


def test_a03_idle_is_neither_broken_nor_zero() -> None:
    """No runtime with valid hardware is idle; a missing group is unknown."""
    expect, found = EXPECTED["A03"], report(text("A03"))
    assert found.activity.value == expect["state"]
    assert found.hardware.devices == expect["devices"]
    assert found.hardware.cores_per_device == len(expect["cores"])
    assert found.hardware.lnc == expect["lnc"]
    assert (found.hardware.device_type, found.hardware.core_version) == ("trainium", "v2")
    assert found.hardware.device_memory == 32 << 30
    assert isinstance(found.ecc, Missing)
    assert isinstance(found.cpu.average["user"], Missing)


def test_a03_no_rate_from_half_a_millisecond() -> None:
    """The first report's period gives no rate; a usual one does."""
    found = report(text("A03"))
    assert found.memory.period == 0.00047258
    refused = rate(1000, found.memory.period)
    assert isinstance(refused, Missing)
    assert refused.why is Why.NOT_YET
    assert rate(260, 2.0) == 130


def test_a07_logical_cores_over_physical_ones() -> None:
    """`v3d` sub-cores stand below their core; `flops` is read; null latencies are no value."""
    expect, found = EXPECTED["A07"], report(text("A07"))
    runtime = runtimes(found)[0]
    assert not isinstance(runtime.cores, Missing)
    subcores = {str(core): list(use.subcores) for core, use in runtime.cores.items()}
    assert subcores == expect["subcores"]
    flops = {str(core): use.flops for core, use in runtime.cores.items()}
    assert flops == expect["flops"]
    assert found.hardware.devices == expect["devices"]
    assert found.hardware.cores_per_device == expect["logical_cores_per_device"]
    assert found.hardware.lnc == expect["lnc"]
    assert runtime.executions.outcomes["completed"] == expect["completed"]
    latencies = [*runtime.executions.latency.values(), *runtime.executions.device_latency.values()]
    assert {cell.why for cell in latencies if isinstance(cell, Missing)} == {Why.NOT_YET}
    assert len(latencies) == 14
    assert all(isinstance(cell, Missing) for cell in latencies)
    assert not isinstance(found.ecc, Missing)
    assert list(found.ecc) == [0]  # the other fifteen devices are unknown


def test_hardware_spellings_give_the_same_values() -> None:
    """E32: `effective_flops` and `numeric` are the same things as `flops` and `numerical`."""
    other = text("A07").replace('"flops"', '"effective_flops"').replace('"numerical"', '"numeric"')
    assert report(other) == report(text("A07"))
    assert report(other).unknown == ()


def test_unknown_keys_are_told_by_path() -> None:
    """A later version may add keys anywhere; the values that we know stay."""
    document = json.loads(text("A03"))
    document["neuron_links"] = {"period": 1}
    document["neuron_hardware_info"]["fans"] = 2
    document["system_data"]["memory_info"]["huge_pages"] = 0
    found = report(json.dumps(document))
    assert found.unknown == (
        "neuron_hardware_info.fans",
        "neuron_links",
        "system_data.memory_info.huge_pages",
    )
    assert found.hardware.devices == 1


def test_kubernetes_group() -> None:
    """Pods of cores and devices."""
    document = json.loads(text("A03"))
    pod = {"pod_name": "train-0", "namespace": "ml", "container_name": ["a", "b"]}
    document["neuron_k8s_info"] = {
        "period": 5,
        "neuroncores_k8s_info": {"1": pod},
        "neurondevices_k8s_info": {"0": pod | {"container_name": "a"}},
        "error": "",
    }
    found = report(json.dumps(document))
    assert found.core_pods[1].containers == ("a", "b")
    assert (found.device_pods[0].name, found.device_pods[0].containers) == ("train-0", ("a",))


@pytest.mark.parametrize(
    ("change", "activity"),
    [
        ({"neuron_runtime_data": None}, Activity.UNKNOWN),
        ({"neuron_runtime_data": "none"}, Activity.UNKNOWN),
        ({"neuron_hardware_info": {"error": "no driver"}}, Activity.UNKNOWN),
        ({"neuron_hardware_info": {"neuron_device_count": 0, "error": ""}}, Activity.UNKNOWN),
        ({"neuron_runtime_data": [{"pid": 1, "error": "gone", "report": {}}]}, Activity.UNKNOWN),
        ({"neuron_runtime_data": [{"pid": 1, "error": "", "report": {}}]}, Activity.BUSY),
    ],
)
def test_idle_needs_an_empty_list_and_sound_hardware(
    change: dict[str, Any], activity: Activity
) -> None:
    """A monitor that failed is unknown, never idle."""
    assert report(json.dumps(json.loads(text("A03")) | change)).activity is activity


@pytest.mark.parametrize("utilization", [-1, 101, "9", True, float("nan"), 1e999, 10**400, [], {}])
def test_values_out_of_bounds_are_failed(utilization: Any) -> None:
    """A percentage above the whole, a negative one, a text: no value, and no zero."""
    document = json.loads(text("A07"))
    cores = document["neuron_runtime_data"][0]["report"]["neuroncore_counters"]
    cores["neuroncores_in_use"]["0"]["neuroncore_utilization"] = utilization
    found = runtimes(report(json.dumps(document)))[0].cores
    assert not isinstance(found, Missing)
    cell = found[0].utilization
    assert isinstance(cell, Missing)
    assert cell.why is Why.FAILED
    assert found[1].utilization == pytest.approx(0.4202)


def test_the_same_pid_twice_and_none_are_told() -> None:
    """The first entry stands; what cannot be told apart is an error of the list."""
    entries = [{"pid": 7, "neuron_runtime_tag": "a"}, {"pid": 7}, {"neuron_runtime_tag": "b"}]
    found = report(json.dumps({"neuron_runtime_data": entries}))
    assert [runtime.tag for runtime in runtimes(found)] == ["a"]
    assert [(error.group, error.pid) for error in found.errors] == [
        ("neuron_runtime_data", 7),
        ("neuron_runtime_data", None),
    ]


@pytest.mark.parametrize(
    "line",
    ["", "[]", "7", "{}", '{"a": 1}', '{"neuron_runtime_data": [', "[" * 100_000, b"\xff\xfe\x00"],
)
def test_what_is_no_report_is_missing(line: str | bytes) -> None:
    """Cut lines, other JSON and binary give a reason, not an empty report."""
    parsed = parse_report(line)
    assert isinstance(parsed, Missing)
    assert parsed.why is Why.FAILED


def test_rate_without_tally_or_period() -> None:
    """A rate is as missing as what it is made of."""
    gone = Missing(Why.FAILED, "error")
    assert rate(gone, 1.0) is gone
    assert rate(5, gone) is gone
    assert isinstance(rate(5, 1e9), Missing)
    assert isinstance(rate("5", 1.0), Missing)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PATHS: list[tuple[str | int, ...]] = [
    ("neuron_runtime_data",),
    ("neuron_runtime_data", 0),
    ("neuron_runtime_data", 0, "pid"),
    ("neuron_runtime_data", 0, "report"),
    ("neuron_runtime_data", 0, "report", "neuroncore_counters", "neuroncores_in_use"),
    ("neuron_runtime_data", 0, "report", "neuroncore_counters", "neuroncores_in_use", "0"),
    ("neuron_runtime_data", 0, "report", "execution_stats", "error_summary"),
    ("neuron_runtime_data", 0, "report", "execution_stats", "period"),
    ("neuron_runtime_data", 0, "report", "execution_stats", "latency_stats"),
    ("system_data",),
    ("system_data", "neuron_hw_counters", "neuron_devices"),
    ("system_data", "neuron_hw_counters", "neuron_devices", 0),
    ("instance_info",),
    ("neuron_hardware_info", "neuron_device_count"),
    ("neuron_hardware_info", "error"),
    ("neuron_k8s_info",),
]


@given(st.sampled_from(PATHS), json_values)
def test_no_value_anywhere_makes_it_raise(path: tuple[str | int, ...], value: Any) -> None:
    """Each place of the report may hold anything JSON can, and all text can be printed."""
    document = json.loads(text("A07"))
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    shown = str(report(json.dumps(document)))
    assert shown.encode().decode() == shown


@given(st.binary() | st.text(st.characters()))
def test_no_line_makes_it_raise(line: str | bytes) -> None:
    """Any line is a report or a reason."""
    found = parse_report(line)
    assert isinstance(found, MonitorReport) or found.detail
