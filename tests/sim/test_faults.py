"""Each fault changes what the driver shows, where and as long as it is asked to."""

from __future__ import annotations

import pytest

from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.state import COMPONENTS
from tests.sim.worlds import Bench, bench, fault

HEALTH = "stats/hardware/health_status/"
NEURONS = "sys/devices/virtual/neuron_device"
CLASS = "sys/class/neuron_device"


def names(host: Bench, folder: str) -> list[str]:
    """What a folder holds."""
    return [entry.name for entry in host.host.entries(folder)]


def neighbours(host: Bench) -> set[str]:
    """Lists of connected devices, as all directories show them."""
    paths = [f"{NEURONS}/{name}/connected_devices" for name in names(host, NEURONS)]
    return {host.host.read(path).decode() for path in paths}


def test_storm_counts_corrected_errors() -> None:
    """Five a second, in HBM or SRAM, until it is over."""
    host = bench(
        fault("corrected_ecc_storm", 10.0, 20.0, rate=5.0),
        fault("corrected_ecc_storm", 10.0, 12.0, rate=1.0, where="sram"),
    )
    host.go(60.0)
    assert host.number("stats/hardware/mem_ecc_corrected") == 50
    assert host.number("stats/hardware/sram_ecc_corrected") == 2
    assert host.number("stats/hardware/mem_ecc_uncorrected") == 0


@pytest.mark.parametrize(
    ("name", "counter", "kind"),
    [
        ("sram_error", "hw_nc_ue_error", "SRAM_UNCORRECTABLE_ERROR"),
        ("nc_error", "hw_nc_ue_error", "NC_UNCORRECTABLE_ERROR"),
        ("hbm_unrepairable", "hw_hbm_ue_error", "HBM_UNCORRECTABLE_ERROR"),
        ("dma_abort", "hw_dma_abort_error", "DMA_ERROR"),
    ],
)
@pytest.mark.parametrize("driver", ["2.24.7", "2.30.2"])
def test_hardware_error_of_a_job(name: str, counter: str, kind: str, driver: str) -> None:
    """The runtime counts it, has a line printed, and its process ends: then all drivers show it."""
    host = bench(fault(name, 10.0), driver=driver)
    host.go(5.0)
    path = f"neuron_core0/stats/status/{counter}/total"
    assert host.number(path) == 0
    host.go(10.0)
    assert host.number(path) == 1
    serial = host.text("info/serial_number").strip()
    assert f";NEURON_HW_ERR={kind} " in host.log()
    assert f" nd-id=0 nc-id=0 serial-num={serial} action=TERMINATE_INSTANCE" in host.log()
    assert "npid_detach" in host.log()
    assert host.number("neuron_core0/stats/memory_usage/device_mem/total") == 0


def test_error_of_a_job_that_goes_on() -> None:
    """Before 2.30.2 nothing is shown as long as the process does not end."""
    for driver, expected in (("2.28", 0), ("2.30.2", 3)):
        host = bench(fault("nc_error", 10.0, count=3, ends_job=False), driver=driver)
        host.go(30.0)
        assert host.number("neuron_core0/stats/status/hw_nc_ue_error/total") == expected


def test_error_without_a_job_is_counted_by_nobody() -> None:
    """No process runs, so none counts; the line is there all the same."""
    host = bench(fault("nc_error", 10.0), jobs=())
    host.go(30.0)
    assert host.number("neuron_core0/stats/status/hw_nc_ue_error/total") == 0
    assert "NC_UNCORRECTABLE_ERROR" in host.log()


def test_dma_abort_has_the_drivers_line() -> None:
    """The time-out line names device and engine."""
    host = bench(fault("dma_abort", 10.0, core=2))
    host.go(30.0)
    assert "DMA completion timeout on nd00 for UDMA_ENG_2 q0 desc count 64" in host.log()


@pytest.mark.parametrize("component", COMPONENTS)
def test_component(component: str) -> None:
    """Named while it lasts; an event when it comes and when it goes."""
    host = bench(fault("component", 10.0, 30.0, component=component))
    host.go(20.0)
    assert host.text(HEALTH + "unhealthy_components") == f"{component}\n"
    assert host.number(HEALTH + "hw_error_event") == 1
    host.go(20.0)
    assert host.text(HEALTH + "unhealthy_components") == "\n"
    assert host.number(HEALTH + "hw_error_event") == 2


def test_two_components() -> None:
    """Names in the order of their bits."""
    host = bench(
        fault("component", 10.0, component="axi_fabric"), fault("component", 11.0, component="hbm")
    )
    host.go(20.0)
    assert host.text(HEALTH + "unhealthy_components") == "hbm,axi_fabric\n"


def test_heartbeat() -> None:
    """Moves, wraps at 256, stands still while it is stuck."""
    host = bench(fault("heartbeat_stuck", 300.0, 400.0))
    seen = set()
    for _ in range(290):
        host.go(1.0)
        seen.add(host.number(HEALTH + "healthcheck_heartbeat"))
    assert seen == set(range(256))
    host.go(15.0)
    stuck = host.number(HEALTH + "healthcheck_heartbeat")
    host.go(80.0)
    assert host.number(HEALTH + "healthcheck_heartbeat") == stuck
    host.go(20.0)
    assert host.number(HEALTH + "healthcheck_heartbeat") != stuck


def test_hanging_read() -> None:
    """Firmware files take their seconds, others none, and both are there afterwards."""
    host = bench(fault("hanging_read", 10.0, 60.0, seconds=7.0))
    host.go(20.0)
    host.text("neuron_core0/stats/status/success/total")
    assert host.clock.monotonic() == 1_020.0
    assert host.text("stats/hardware/sram_ecc_uncorrected") == "0\n"
    assert host.clock.monotonic() == 1_027.0


def test_missing_device_leaves_a_gap() -> None:
    """No directory, node, function; lists empty; the class check finds the gap."""
    host = bench(fault("device_missing", 10.0, 60.0, device=3), instance="trn1.32xlarge")
    host.go(5.0)
    assert len(neighbours(host)) == 16
    assert host.host.read(f"{CLASS}/current_perf_profile") == b"0\n"
    host.go(10.0)
    assert "neuron3" not in names(host, NEURONS)
    assert "neuron15" in names(host, NEURONS)
    assert "neuron3" not in names(host, "dev")
    assert len(names(host, "sys/bus/pci/drivers/neuron-driver")) == 15
    assert neighbours(host) == {"\n"}
    assert host.host.read(f"{CLASS}/hbm_7200_capable") == b"init_error\n"
    host.go(60.0)
    assert len(neighbours(host)) == 16


def test_last_device_missing_is_not_found_by_the_class_check() -> None:
    """An uncounted device with the highest index leaves no gap."""
    host = bench(fault("device_missing", 0.0, device=15), instance="trn1.32xlarge")
    host.go(5.0)
    assert host.host.read(f"{CLASS}/hbm_7200_capable") == b"0\n"
    assert neighbours(host) == {"\n"}


def test_missing_device_of_inf1_shifts_the_others() -> None:
    """Numbers run on: the last directory is gone, whichever device is missing."""
    host = bench(fault("device_missing", 0.0, device=1), instance="inf1.6xlarge", driver="2.24.7")
    host.go(5.0)
    assert names(host, NEURONS) == ["neuron0", "neuron1", "neuron2"]


@pytest.mark.parametrize(("name", "lists"), [("unbound", {"\n"}), ("init_error", None)])
def test_function_without_a_device(name: str, lists: set[str] | None) -> None:
    """The function is there and unbound; counted (lists stay) only if its probe failed."""
    host = bench(fault(name, 0.0, device=3), instance="trn1.32xlarge")
    host.go(5.0)
    assert len(names(host, "sys/bus/pci/drivers/neuron-driver")) == 15
    assert (
        len([n for n in names(host, "sys/bus/pci/devices") if n.endswith((":1c.0", ":1d.0"))]) == 16
    )
    assert "neuron3" not in names(host, NEURONS)
    assert host.host.read(f"{CLASS}/hbm_7200_capable") == b"init_error\n"
    assert lists is None or neighbours(host) == lists
    assert lists is not None or len(neighbours(host)) == 15
    assert ("create device node failed" in host.log()) == (name == "init_error")


def test_reload() -> None:
    """Live, gone, coming with devices one by one, live with counters of a fresh driver."""
    reload = fault("driver_reload", 60.0, gone=5.0, coming=17.0, restart_jobs=False)
    host = bench(
        reload, fault("hbm_repair", 30.0, count=2, ends_job=False), instance="trn1.32xlarge"
    )
    host.go(59.0)
    assert host.number("neuron_core0/stats/status/success/total") > 0
    host.go(1.1)
    assert host.host.read("sys/module/neuron/initstate") == b"going\n"
    host.go(1.9)
    assert "neuron" not in names(host, "sys/module")
    assert "neuron_device" not in names(host, "sys/devices/virtual")
    assert "neuron-driver" not in names(host, "sys/bus/pci/drivers")
    counts = []
    for _ in range(17):
        host.go(1.0)
        if "neuron" in names(host, "sys/module"):
            there = [n for n in names(host, "sys/devices/virtual") if n == "neuron_device"]
            counts.append(len(names(host, NEURONS)) if there else 0)
            assert host.host.read("sys/module/neuron/initstate") == b"coming\n"
            assert host.host.read(f"{CLASS}/current_perf_profile") == b"busy\n"
    assert counts == sorted(counts)
    assert len(set(counts)) > 8
    host.go(10.0)
    assert host.host.read("sys/module/neuron/initstate") == b"live\n"
    assert host.number("neuron_core0/stats/status/success/total") == 0
    assert host.number("neuron_core0/stats/other_info/reset_req_count/total") == 1
    assert host.text("stats/power/utilization").startswith("POWER_STATUS_NO_DATA,0,")
    assert host.world.node.devices[0].firmware.repair == 0
    assert "Neuron Driver Started with Version:2.30.2.0-" in host.log()
    assert "at: 2026-Aug-29 " in host.log()  # the clock's day
    assert "** BDF: 10:1c.0 => nd[0] (routing id: 0)" in host.log()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("firmware_dead", "Could not retrieve device index (read timeout)"),
        ("off_the_bus", "Invalid device index 4294967295"),
    ],
)
def test_reload_skips_a_device_that_does_not_answer(name: str, line: str) -> None:
    """It is not counted, so all lists are empty; the others come."""
    host = bench(
        fault(name, 10.0, device=2), fault("driver_reload", 20.0), instance="trn1.32xlarge"
    )
    host.go(60.0)
    assert len(names(host, NEURONS)) == 15
    assert "neuron2" not in names(host, NEURONS)
    assert neighbours(host) == {"\n"}
    assert f";{line}" in host.log()


def test_repair_that_a_reload_has_done_does_not_fail() -> None:
    """Pending, reloaded, repaired: the time of its failure comes and nothing is pending."""
    host = bench(fault("hbm_repair", 10.0, fails_after=60.0), fault("driver_reload", 20.0))
    host.go(100.0)
    assert host.text("stats/hardware/mem_ecc_uncorrected") == "0\n"
    assert host.text("stats/hardware/mem_ecc_repairable_uncorrected") == "0\n"


def test_pending_repair_without_errors() -> None:
    """Counts 1 and has the newest driver print its line."""
    host = bench(fault("hbm_repair", 10.0, count=0))
    host.go(20.0)
    assert host.text("stats/hardware/mem_ecc_repairable_uncorrected") == "1\n"
    assert "[ND 0] HBM pending_repair but no repairable errors" in host.log()


def test_reload_restarts_jobs() -> None:
    """A second after the driver is live."""
    host = bench(fault("driver_reload", 60.0))
    host.go(100.0)
    assert host.number("neuron_core0/stats/status/success/total") > 0


def test_absent_driver_comes_back() -> None:
    """Nothing of it while it lasts."""
    host = bench(fault("driver_absent", 10.0, 30.0))
    host.go(20.0)
    assert "neuron" not in names(host, "sys/module")
    host.go(20.0)
    assert host.host.read("sys/module/neuron/initstate") == b"live\n"


def test_module_parameter() -> None:
    """Another value while it lasts."""
    host = bench(fault("module_parameter", 10.0, 20.0, parameter="no_reset"))
    path = "sys/module/neuron/parameters/no_reset"
    seen = []
    for _ in range(3):
        host.go(9.0)
        seen.append(host.host.read(path))
    assert seen == [b"0\n", b"1\n", b"0\n"]


@pytest.mark.parametrize(("driver", "others"), [("2.24.7", 0), ("2.28", 2), ("2.30.2", 2)])
def test_election_failed(driver: str, others: int) -> None:
    """An UltraServer: member of a server of two and of four, then of none."""
    host = bench(fault("election_failed", 10.0), instance="trn2u.48xlarge", driver=driver)

    def place() -> list[bytes]:
        words = ("node_id_2", "node_id_4", "ultraserver_mode", "server_id_4")
        return [host.host.read(f"{CLASS}/{word}") for word in words]

    host.go(5.0)
    assert place()[:3] == [b"0\n", b"0\n", b"1,3,4\n"]
    assert len(names(host, CLASS)) == 16 + 5 + others
    host.go(10.0)
    assert place() == [b"-1\n", b"-1\n", b"4\n", b"0000000000000000\n"]
    assert "nd00: ultraserver election failed" in host.log()


@pytest.mark.parametrize("fails", [False, True])
def test_reset_loop(fails: bool) -> None:
    """Requests count on all cores; failures too, and then the device is invalid."""
    host = bench(fault("reset_loop", 10.0, 70.0, every=20.0, fails=fails), jobs=())
    host.go(65.0)
    counts = "neuron_core{}/stats/other_info/reset_{}_count/total"
    assert [host.number(counts.format(core, "req")) for core in (0, 7)] == [4, 4]
    assert [host.number(counts.format(core, "fail")) for core in (0, 7)] == [3 * fails, 3 * fails]
    assert host.number("reset") == (2 if fails else 1)
    assert host.log().count("initiating device reset request 4294967295") == 3
    if fails:
        assert "0,unavailable\n" in host.text("stats/power/utilization_raw")
        beat = host.text(HEALTH + "healthcheck_heartbeat")
        host.go(2.0)
        assert host.text(HEALTH + "healthcheck_heartbeat") == beat


def test_counter_cleared() -> None:
    """The number falls to 0 and goes on; others stay."""
    host = bench(fault("counter_cleared", 100.0, core=1, counter="success"))
    path = "neuron_core1/stats/status/success/total"
    host.go(99.0)
    before = host.number(path)
    host.go(2.0)
    assert 0 <= host.number(path) < 10 < before
    assert host.number("neuron_core1/stats/other_info/inference_count/total") > before
    host.go(60.0)
    assert host.number(path) > 100


def test_cleared_memory_wraps_with_the_next_release() -> None:
    """A total that was cleared while memory is held: about 1.8e19."""
    host = bench(fault("counter_cleared", 28.0, counter="device_mem"), fault("nc_error", 29.0))
    host.go(30.0)
    assert host.number("neuron_core0/stats/memory_usage/device_mem/total") > 1 << 63


def test_leak_until_full() -> None:
    """HBM of one core rises a MiB at a time; when full, allocations fail; given back at the end."""
    host = bench(fault("memory_leak", 10.0, 100.0, core=1, rate=256.0))
    path = "neuron_core{}/stats/memory_usage/device_mem/total"
    host.go(21.0)
    ahead = host.number(path.format(1)) - host.number(path.format(0))
    assert ahead > 8 * 256 << 20
    host.go(50.0)
    assert host.number(path.format(1)) <= 12 << 30
    assert host.log().count("Could not allocate") == 1
    host.go(60.0)
    assert abs(host.number(path.format(1)) - host.number(path.format(0))) < 1 << 30


def test_host_leak() -> None:
    """Available memory of the host falls, and never below 0."""
    host = bench(fault("memory_leak", 10.0, 100.0, where="host", rate=10_000.0))

    def available() -> int:
        rows = host.host.read("proc/meminfo").decode().split("\n")
        return int(next(row for row in rows if row.startswith("MemAvailable")).split()[1])

    host.go(9.0)
    before = available()
    host.go(5.0)
    assert available() < before - 30 * 1024 * 1024
    host.go(60.0)
    assert 0 <= available() < before // 10
    host.go(40.0)
    assert available() == before


def test_hung_job_holds_what_it_has() -> None:
    """Nothing executes, memory stays; it goes on when the hang is over."""
    host = bench(fault("job_hang", 50.0, 100.0))
    path = "neuron_core0/stats/status/success/total"
    host.go(60.0)
    before = host.number(path)
    host.go(30.0)
    assert host.number(path) == before
    assert host.number("neuron_core0/stats/memory_usage/device_mem/total") > 1 << 30
    host.go(30.0)
    assert host.number(path) > before


def test_hung_job_sends_nothing() -> None:
    """Its ranks wait in a collective; the adapters carry on when it does."""
    host = bench(fault("job_hang", 50.0, 100.0), instance="trn1.32xlarge")
    port = host.host.world.node.ports[0]

    def sent() -> int:
        return sum(port.counters.values())

    host.go(45.0)
    before = sent()
    host.go(10.0)
    hung = sent()
    assert hung > before
    host.go(30.0)
    assert sent() == hung
    host.go(30.0)
    assert sent() > hung


def test_job_of_a_lost_device_sends_nothing() -> None:
    """One rank computes no more, so all wait in their next collective."""
    host = bench(fault("off_the_bus", 50.0), instance="trn1.32xlarge")
    port = host.host.world.node.ports[0]
    host.go(45.0)
    running = sum(port.counters.values())
    assert running > 0
    host.go(10.0)
    lost = sum(port.counters.values())
    host.go(60.0)
    assert sum(port.counters.values()) == lost


def test_job_restart() -> None:
    """The job ends and is back at `until`, under another pid."""
    host = bench(fault("job_restart", 50.0, 60.0))
    host.go(55.0)
    assert host.host.read("sys/module/neuron/refcnt") == b"0\n"
    host.go(10.0)
    assert host.host.read("sys/module/neuron/refcnt") == b"1\n"
    assert "pid=40121" in host.log()


def test_status_errors() -> None:
    """Any counter, again and again, in a job or as processes that end at once."""
    for driver in ("2.28", "2.30.2"):
        host = bench(
            fault("status_errors", 10.0, 45.0, core=1, counter="oob_error", count=2, every=10.0),
            driver=driver,
            jobs=(),
        )
        host.go(60.0)
        assert host.number("neuron_core1/stats/status/oob_error/total") == 8
        assert host.number("neuron_core0/stats/status/oob_error/total") == 0


def test_kernel_lines() -> None:
    """Word for word, at their level, as the kernel or a program writes them."""
    host = bench(
        fault("kernel_lines", 10.0, 35.0, text="one\ntwo \\ three", level=3, every=10.0),
        fault("kernel_lines", 11.0, text="NEURON_HW_ERR=forged", level=3, forged=True),
        jobs=(),
    )
    host.go(60.0)
    records = host.log().split("\n")
    assert [record.split(";")[1] for record in records].count("one") == 3
    assert records[0].startswith("3,0,1010000000,-;one")
    assert records[1].endswith(";two \\x5c three")
    assert records[2].startswith("11,2,1011000000,-;NEURON_HW_ERR=forged")


def test_every_kind_of_fault_is_tried_here() -> None:
    """No kind without a test: each name stands in a test of this folder."""
    from pathlib import Path  # noqa: PLC0415 - only here

    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in FAULTS if f'"{name}"' not in texts] == []
