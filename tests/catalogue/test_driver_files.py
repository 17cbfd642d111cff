"""The catalogue against the driver's own tables and against the trees of its files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from neuron_observer.catalogue import METRICS, Kind
from tests.conftest import TREES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.catalogue import MetricSpec
    from neuron_observer.sources.listing import ListingFs

NAMES = sorted(path.name.split(".tsv")[0] for path in TREES.glob("*.tsv*"))

# driver 2.24.7, neuron_sysfs_metrics.c: counters and categories in their order
STATUSES = """
success failure timeout exec_bad_input hw_error execute_completed_with_error
execute_completed_with_num_error generic_error resource_error resource_nc_error
execute_failed_to_queue invalid_error unsupported_neff_version oob_error hw_collectives_error
hw_hbm_ue_error hw_nc_ue_error hw_dma_abort_error execute_sw_nq_overflow
execute_sw_semaphore_error execute_sw_event_error execute_sw_psum_collision
execute_sw_sequencer_fatal hw_repairable_hbm_ue_error
"""
HBM = """
model_code tensors constants model_shared_scratchpad runtime_memory driver_memory collectives
nonshared_scratchpad notifications dma_rings uncategorized
"""
HOST = """
dma_buffers tensors constants application_memory driver_memory notifications dma_rings
uncategorized
"""
RUNTIME = "model_load_count inference_count flop_count nc_time_in_use"
DRIVER = "reset_req_count reset_fail_count"

# driver 2.30.2, neuron_sysfs_metrics.c; 2.28 and 2.29 had the last three
HARDWARE = """
sram_ecc_uncorrected mem_ecc_uncorrected mem_ecc_repairable_uncorrected sram_ecc_corrected
mem_ecc_corrected
"""
OLD_HEALTH = "hbm_ecc_err_count repairable_hbm_ecc_err_count sram_ecc_err_count"
HEALTH = f"unhealthy_components healthcheck_heartbeat hw_error_event {OLD_HEALTH}"

# drivers 2.24.7 and 2.30.2, neuron_cdev.c
CLASS = """
node_id_2 node_id_4 server_id_2 server_id_4 ultraserver_mode hbm_7200_capable
current_perf_profile node_id node_cnt reservation_id
"""


def sources(where: str) -> dict[str, list[MetricSpec]]:
    """Path → the rows that read it, for one kind of place."""
    found: dict[str, list[MetricSpec]] = {}
    for spec in METRICS.values():
        for source in spec.sources:
            if source.where == where:
                found.setdefault(source.path, []).append(spec)
    return found


def tree_rows() -> Iterator[tuple[str, MetricSpec]]:
    """Path below its device or core, and row, of everything that is read there."""
    for where in ("device", "core"):
        for path, rows in sources(where).items():
            for spec in rows:
                yield path, spec


def test_every_counter_of_a_core_has_a_row() -> None:
    """24 status counters, 11 categories of HBM, six others, two memories, the PE array."""
    assert [len(names.split()) for names in (STATUSES, HBM, HOST)] == [24, 11, 8]
    expected = {f"stats/status/{name}/total" for name in STATUSES.split()}
    expected |= {f"stats/other_info/{name}/total" for name in f"{RUNTIME} {DRIVER}".split()}
    expected |= {"stats/tensor_engine/pe_cntrs", "info/architecture/arch_type"}
    for leaf in ("total", "peak"):
        expected |= {f"stats/memory_usage/device_mem/{name}/{leaf}" for name in HBM.split()}
        expected |= {f"stats/memory_usage/{kind}_mem/{leaf}" for kind in ("device", "host")}
    assert set(sources("core")) == expected


def test_every_file_of_a_device_has_a_row() -> None:
    """Attributes, identity, 8 categories of host memory, ECC, health of both forms, power."""
    expected = {"reset", "core_count", "connected_devices", "fw_api_version", "fw_build"}
    expected |= {f"info/architecture/{n}" for n in ("arch_type", "instance_type", "device_name")}
    expected |= {"info/serial_number", "stats/power/utilization", "stats/power/utilization_raw"}
    expected |= {f"stats/hardware/{name}" for name in HARDWARE.split()}
    expected |= {f"stats/hardware/health_status/{name}" for name in HEALTH.split()}
    for leaf in ("total", "peak"):
        expected |= {f"stats/memory_usage/host_mem/{name}/{leaf}" for name in HOST.split()}
    assert set(sources("device")) == expected


def test_every_class_attribute_has_a_row() -> None:
    """Those of UltraServers of each form, and of all from 2.28 on."""
    assert set(sources("class")) == set(CLASS.split())


def test_nothing_reads_present() -> None:
    """`present` is the last change, not what is: no row reads it (driver 2.24.7 to 2.30.2)."""
    assert not [path for path, _ in tree_rows() if "present" in path]


def leaves(host: ListingFs) -> Iterator[tuple[str, str]]:
    """Where and path of every file below the devices, the class and the module."""
    device = re.compile(r"sys/devices/virtual/neuron_device/neuron\d+/(?:(neuron_core)\d+/)?(.+)")
    other = re.compile(r"sys/(class|module)/neuron(?:_device)?/(.+)")
    for path, node in host.listing.passes[0].nodes.items():
        below, beside = device.fullmatch(path), other.fullmatch(path)
        if node.kind == "file" and below:
            yield "core" if below.group(1) else "device", below.group(2)
        elif node.kind == "file" and beside:
            yield beside.group(1), beside.group(2)


@pytest.mark.parametrize("name", NAMES)
def test_every_leaf_of_the_trees_is_read_or_named(
    tree: Callable[[str], ListingFs], name: str
) -> None:
    """At its documented path; `present`, the global switch and the kernel's own are left out."""
    known = {where: set(sources(where)) for where in ("device", "core", "class", "module")}
    exceptions = re.compile(r"(?:.*/)?(?:present|uevent|dev)|info/notify_delay|power/\w+")
    found = list(leaves(tree(name)))
    assert len(found) > 800
    assert {
        (where, path)
        for where, path in found
        if path not in known[where] and not exceptions.fullmatch(path)
    } == set()


def test_every_row_of_the_driver_is_in_some_tree(tree: Callable[[str], ListingFs]) -> None:
    """A path that no listing has is a misspelling, but for the files of 2.28 and 2.29."""
    shown = {leaf for name in NAMES for leaf in leaves(tree(name))}
    rows = {(where, path) for where in ("device", "core") for path in sources(where)}
    assert {path.rpartition("/")[2] for _, path in rows - shown} == set(OLD_HEALTH.split())


def test_counters_of_the_runtime_are_live_since_2_30_2() -> None:
    """Before, they moved when a process exited; resets and memory are the driver's own."""
    live = {f"stats/other_info/{name}/total" for name in RUNTIME.split()}
    for path, spec in tree_rows():
        runtime = path.startswith("stats/status/") or path in live
        here = next(source for source in spec.sources if source.path == path)
        assert here.live_since == ((2, 30, 2) if runtime else None), path


def test_what_a_write_zeroes_is_told() -> None:
    """Status, other and memory files can be cleared; ECC, health, power and identity cannot."""
    for path, spec in tree_rows():
        zeroed = path.startswith(("stats/status/", "stats/other_info/", "stats/memory_usage/"))
        assert spec.clearable is zeroed, path


@pytest.mark.parametrize(
    ("where", "path", "since", "until"),
    [
        ("device", "stats/hardware/sram_ecc_uncorrected", (2, 14, 5), None),
        ("device", "stats/hardware/mem_ecc_uncorrected", (2, 14, 5), None),
        ("device", "stats/hardware/mem_ecc_repairable_uncorrected", (2, 23, 9), None),
        ("device", "stats/hardware/sram_ecc_corrected", (2, 30, 2), None),
        ("device", "stats/hardware/mem_ecc_corrected", (2, 30, 2), None),
        ("device", "info/serial_number", (2, 15, 9), None),
        ("device", "fw_api_version", (2, 30, 2), None),
        ("device", "fw_build", (2, 30, 2), None),
        ("device", "stats/hardware/health_status/unhealthy_components", (2, 30, 2), None),
        ("device", "stats/hardware/health_status/healthcheck_heartbeat", (2, 30, 2), None),
        ("device", "stats/hardware/health_status/hw_error_event", (2, 28, 0), None),
        ("device", "stats/hardware/health_status/hbm_ecc_err_count", (2, 28, 0), (2, 29)),
        ("device", "stats/hardware/health_status/sram_ecc_err_count", (2, 28, 0), (2, 29)),
        ("device", "stats/power/utilization", (2, 21, 37), None),
        ("device", "stats/power/utilization_raw", (2, 29, 0), None),
        ("core", "stats/tensor_engine/pe_cntrs", (2, 23, 9), None),
        ("core", "stats/other_info/nc_time_in_use/total", (2, 21, 37), None),
        ("core", "stats/other_info/flop_count/total", None, None),
        ("class", "node_id_2", (2, 23, 9), None),
        ("class", "hbm_7200_capable", (2, 28, 0), None),
        ("class", "reservation_id", (2, 28, 0), None),
    ],
)
def test_drivers_that_have_a_file(
    where: str, path: str, since: tuple[int, ...] | None, until: tuple[int, ...] | None
) -> None:
    """First and last driver, by the table of driver versions; all parts of a file alike."""
    for spec in sources(where)[path]:
        source = spec.sources[0]
        assert source.since == since
        assert (source.until[:2] if source.until else None) == until


def test_registers_of_the_firmware_have_their_own_lane() -> None:
    """What can block or costs PCIe reads is never read with the others."""
    registers = {"info/serial_number", "fw_api_version", "fw_build"}
    registers |= {f"stats/hardware/{name}" for name in HARDWARE.split()}
    for path, spec in tree_rows():
        assert (spec.lane == "firmware") is (path in registers), path
        assert (spec.lane == "expensive") is path.endswith("pe_cntrs"), path


def test_counts_beyond_63_bits_are_no_counts() -> None:
    """A total that was reduced below 0 reads about 2⁶⁴; only operations truly get that far."""
    for path, spec in tree_rows():
        if path.endswith("flop_count/total"):
            assert (spec.limit, spec.wraps_at) == (None, 1 << 64)
        elif path.endswith(("/total", "/peak")):
            assert (spec.limit, spec.wraps_at) == ((1 << 63) - 1, None), path


def test_what_the_driver_cannot_count_on_a_chip_is_told() -> None:
    """Repairable HBM errors are always 0 on trn1 and inf2: that 0 says nothing."""
    told = {spec.id: set(spec.constant_on) for spec in METRICS.values() if spec.constant_on}
    assert told == {"device.hbm.ecc_repairable_uncorrected": {"Trainium1", "Inferentia2"}}


def test_a_heartbeat_is_compared_for_change_only() -> None:
    """It is no counter: 8 bits, and it wraps."""
    assert METRICS["device.health.heartbeat"].heartbeat
    assert METRICS["device.health.heartbeat"].limit == 255
    assert not any(spec.heartbeat and spec.kind is Kind.COUNTER for spec in METRICS.values())


@pytest.mark.parametrize("chip", ["Trainium1", "Inferentia2", "Trainium2", "Trainium3"])
def test_chips_that_have_a_file(chip: str) -> None:
    """Health files are of trn2 and trn3; ECC and serial numbers of all but inf1."""
    for path, spec in tree_rows():
        here = next(source for source in spec.sources if source.path == path)
        has = not here.chips or chip in here.chips
        second_die = here.part.startswith("1.") and "utilization_raw" in path
        newer = "health_status" in path or second_die
        assert has is (chip in {"Trainium2", "Trainium3"} or not newer), path
        if "hardware/" in path or path in {"info/serial_number", "stats/tensor_engine/pe_cntrs"}:
            assert here.chips, path
            assert "Inferentia" not in here.chips, path
