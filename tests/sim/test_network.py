"""Adapters: how many, where, what they carry, and their faults."""

from __future__ import annotations

import pytest

from neuron_observer.sim.chips import INSTANCES
from tests.sim.worlds import Bench, bench, fault

IB = "sys/class/infiniband"


def counters(host: Bench, number: int = 0) -> dict[str, int]:
    """Counters of an adapter and its port, by name."""
    port = host.world.node.ports[number]
    folder = f"sys/devices/pci0000:00/{port.address}/infiniband/{port.name}"
    found = {}
    for where in ("hw_counters", "ports/1/hw_counters"):
        for entry in host.host.entries(f"{folder}/{where}"):
            if entry.name != "lifespan":
                found[entry.name] = int(host.host.read(f"{folder}/{where}/{entry.name}"))
    return found


@pytest.mark.parametrize("instance", [name for name in INSTANCES if INSTANCES[name].adapters])
def test_adapters_are_distinct(instance: str) -> None:
    """As many as the type is given, each with its own name and address."""
    host = bench(instance=instance, driver="2.30.2")
    links = host.host.entries(IB)
    assert len(links) == INSTANCES[instance].adapters
    addresses = {port.address for port in host.world.node.ports}
    assert len(addresses) == len(links)
    assert not addresses & {device.address for device in host.world.node.devices}


def test_traffic_of_a_job_over_several_devices() -> None:
    """Bytes and packets rise both ways; nothing is sent again."""
    host = bench(instance="trn2en.24xlarge")
    host.go(10.0)
    before = counters(host)
    host.go(30.0)
    after = counters(host)
    for name in ("tx_bytes", "rx_bytes", "tx_pkts", "rdma_write_bytes", "rdma_write_recv_bytes"):
        assert after[name] > before[name]
    assert after["retrans_pkts"] == after["rx_drops"] == after["cmds_err"] == 0


def test_retransmits() -> None:
    """Each second so many, until it is over; adapters of the first generation do not count them."""
    wrong = fault("efa_retransmits", 10.0, 20.0, packets=100, timeouts=2, drops=1)
    host = bench(wrong, instance="trn2en.24xlarge")
    host.go(60.0)
    found = counters(host)
    assert (found["retrans_pkts"], found["retrans_timeout_events"], found["rx_drops"]) == (
        1000,
        20,
        10,
    )
    assert counters(host, 1)["retrans_pkts"] == 0
    old = bench(wrong, instance="trn1.32xlarge")
    old.go(60.0)
    assert "retrans_pkts" not in counters(old)


def test_port_down() -> None:
    """The state says so and nothing is carried."""
    host = bench(fault("port_down", 10.0, 40.0, port=2), instance="trn2en.24xlarge")
    host.go(20.0)
    port = host.world.node.ports[2]
    state = f"sys/devices/pci0000:00/{port.address}/infiniband/{port.name}/ports/1/state"
    assert host.host.read(state) == b"1: DOWN\n"
    before = counters(host, 2)
    host.go(15.0)
    carried = [name for name in before if name.startswith(("tx_", "rx_", "rdma_"))]
    assert {n: counters(host, 2)[n] for n in carried} == {n: before[n] for n in carried}
    host.go(30.0)
    assert host.host.read(state) == b"4: ACTIVE\n"
    assert counters(host, 2)["tx_bytes"] > before["tx_bytes"]


def test_lost_commands() -> None:
    """One without an answer, then failures."""
    host = bench(fault("efa_lost_commands", 10.0, 31.0), instance="trn2en.24xlarge")
    host.go(60.0)
    found = counters(host)
    assert found["no_completion_cmds"] == 1
    assert found["submitted_cmds"] == found["completed_cmds"] + 1
    assert found["cmds_err"] == 4


def test_adapter_missing() -> None:
    """Gone from the class and from PCI, and back."""
    host = bench(fault("adapter_missing", 10.0, 40.0, port=1), instance="trn2en.24xlarge")
    host.go(20.0)
    assert len(host.host.entries(IB)) == 3
    assert len(host.host.entries("sys/bus/pci/drivers/efa")) == 3
    host.go(30.0)
    assert len(host.host.entries(IB)) == 4
