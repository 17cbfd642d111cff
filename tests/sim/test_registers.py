"""Signatures of devices that do not answer, by driver and chip, as in the driver's source."""

from __future__ import annotations

import pytest

from tests.sim.worlds import Bench, bench, fault

HARDWARE = "stats/hardware/"


def values(host: Bench, *names: str) -> list[str]:
    """Contents of files of the device, without their newline."""
    return [host.text(name).removesuffix("\n") for name in names]


ECC = tuple(
    HARDWARE + name
    for name in ("sram_ecc_uncorrected", "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected")
)


@pytest.mark.parametrize(
    ("instance", "driver", "expected"),
    [
        ("trn1.2xlarge", "2.24.7", ["65535", "131070", "0"]),
        ("trn2.3xlarge", "2.24.7", ["65535", "0", "0"]),
        ("inf2.xlarge", "2.28", ["65535", "30", "0"]),
        ("trn2.3xlarge", "2.28", ["65535", "60", "16380"]),
        ("trn1.2xlarge", "2.30.2", ["65535", "30", "0"]),
        ("trn3sn.3xlarge", "2.30.2", ["65535", "60", "16380"]),
    ],
)
def test_all_ones_off_the_bus(instance: str, driver: str, expected: list[str]) -> None:
    """The table of signatures: a device that fell off the bus."""
    host = bench(fault("off_the_bus", 10.0), instance=instance, driver=driver)
    host.go(20.0)
    assert values(host, *ECC) == expected
    assert values(host, "info/serial_number") == ["f" * 16]


def test_newest_driver_off_the_bus() -> None:
    """Corrected counts, firmware version, power and health of driver 2.30.2 off the bus."""
    host = bench(fault("off_the_bus", 10.0))
    host.go(61.0)
    assert values(
        host,
        HARDWARE + "sram_ecc_corrected",
        HARDWARE + "mem_ecc_corrected",
        "fw_api_version",
        HARDWARE + "health_status/healthcheck_heartbeat",
    ) == ["65535", "65535", "4294967295", "255"]
    names = host.text(HARDWARE + "health_status/unhealthy_components").strip().split(",")
    assert len(names) == 10
    assert (names[0], names[-1]) == ("hbm", "axi_fabric")
    rows = host.text("stats/power/utilization_raw").split("\n")
    assert rows[1:3] == ["0,bogus(65535),65535", "1,bogus(65535),65535"]
    assert "Invalid power utilization value: 65535" in host.log()


@pytest.mark.parametrize("driver", ["2.24.7", "2.28", "2.30.2"])
def test_dead_firmware(driver: str) -> None:
    """0xdeadbeef: an empty serial number and ECC 0, whatever was counted before."""
    host = bench(fault("sram_error", 5.0), fault("firmware_dead", 10.0, 100.0), driver=driver)
    host.go(20.0)
    assert values(host, *ECC, "info/serial_number") == ["0", "0", "0", ""]
    host.go(120.0)
    assert values(host, ECC[0]) == ["1"]
    assert len(host.text("info/serial_number")) == 17


def test_dead_firmware_with_the_newest_driver() -> None:
    """busy, device_unreachable, bogus(48879), and an event when it goes and when it comes."""
    host = bench(fault("firmware_dead", 10.0, 40.0))
    host.go(20.0)
    assert values(host, "fw_api_version", "fw_build") == ["busy", "busy"]
    health = HARDWARE + "health_status/"
    assert (
        values(host, health + "unhealthy_components", health + "healthcheck_heartbeat")
        == ["device_unreachable"] * 2
    )
    assert "0,bogus(48879),57005\n" in host.text("stats/power/utilization_raw")
    assert host.number(health + "hw_error_event") == 1
    host.go(30.0)
    assert host.number(health + "hw_error_event") == 2
    assert host.text(health + "unhealthy_components") == "\n"


@pytest.mark.parametrize(
    ("instance", "name", "seconds"),
    [
        ("trn2.3xlarge", "stats/hardware/sram_ecc_uncorrected", 15.0),
        ("trn2.3xlarge", "stats/hardware/mem_ecc_uncorrected", 15.0),
        ("trn1.2xlarge", "stats/hardware/mem_ecc_uncorrected", 30.0),
        ("trn1.2xlarge", "stats/hardware/mem_ecc_repairable_uncorrected", 0.0),
        ("trn2.3xlarge", "info/serial_number", 15.0),
        ("trn2.3xlarge", "stats/power/utilization", 0.0),
    ],
)
def test_reads_block_with_the_old_driver(instance: str, name: str, seconds: float) -> None:
    """On 2.24.7 a read waits for a register that reads 0xdeadbeef; newer ones never wait."""
    for driver, expected in (("2.24.7", seconds), ("2.28", 0.0)):
        host = bench(fault("firmware_dead", 10.0), instance=instance, driver=driver)
        host.go(20.0)
        before = host.clock.monotonic()
        host.text(name)
        assert host.clock.monotonic() - before == expected


def test_profile_of_a_node_with_a_dead_device() -> None:
    """-1: not all of them can be read; the check of indexes finds nothing."""
    host = bench(fault("firmware_dead", 10.0))
    host.go(20.0)
    assert host.host.read("sys/class/neuron_device/current_perf_profile") == b"-1\n"
    assert host.host.read("sys/class/neuron_device/hbm_7200_capable") == b"0\n"


def test_own_reads_leave_lines() -> None:
    """Who reads the serial number of dead firmware has the driver print a line."""
    host = bench(fault("firmware_dead", 10.0))
    host.go(20.0)
    assert "serial number from FWIO" not in host.log()
    host.text("info/serial_number")
    assert "sysfs failed to read serial number from FWIO" in host.log()


@pytest.mark.parametrize(
    ("instance", "driver", "pending", "failed"),
    [
        # uncorrected, repairable: with three errors of an old firmware, a sum that moves
        ("trn2.3xlarge", "2.24.7", ["0", "3"], ["3", "0"]),
        ("trn1.2xlarge", "2.24.7", ["3", "0"], ["3", "0"]),
        ("trn2.3xlarge", "2.28", ["0", "3"], ["1", "3"]),
        ("inf2.xlarge", "2.28", ["0", "0"], ["0", "0"]),
        ("trn2.3xlarge", "2.30.2", ["0", "3"], ["1", "3"]),
    ],
)
def test_hbm_repair(instance: str, driver: str, pending: list[str], failed: list[str]) -> None:
    """A repair that is pending, then failed, by driver and chip."""
    host = bench(fault("hbm_repair", count=3, fails_after=30.0), instance=instance, driver=driver)
    host.go(20.0)
    assert values(host, *ECC[1:]) == pending
    host.go(30.0)
    assert values(host, *ECC[1:]) == failed


@pytest.mark.parametrize(("driver", "expected"), [("2.24.7", "2"), ("2.28", "2"), ("2.30.2", "2")])
def test_unrepairable_hbm(driver: str, expected: str) -> None:
    """Two errors count two with every driver whose firmware is of its time."""
    host = bench(fault("hbm_unrepairable", count=2), driver=driver)
    host.go(20.0)
    assert values(host, ECC[1]) == [expected]


def test_new_firmware_with_an_old_driver() -> None:
    """A driver that does not know the split adds up all 16 bits."""
    host = bench(fault("hbm_unrepairable", count=1), driver="2.24.7")
    host.world.node.devices[0].firmware.api = 6
    host.go(20.0)
    assert values(host, ECC[1]) == ["4096"]


def test_old_health_files() -> None:
    """2.28 counts errors in health_status, and an event for each change."""
    host = bench(
        fault("hbm_repair", 10.0, count=3, fails_after=20.0),
        fault("sram_error", 15.0),
        driver="2.28",
    )
    health = HARDWARE + "health_status/"
    names = [health + f"{n}_err_count" for n in ("hbm_ecc", "repairable_hbm_ecc", "sram_ecc")]
    host.go(12.0)
    assert values(host, *names) == ["0", "4", "0"]
    assert host.number(health + "hw_error_event") == 1
    host.go(28.0)
    assert values(host, *names) == ["1", "3", "1"]
    assert host.number(health + "hw_error_event") == 3
