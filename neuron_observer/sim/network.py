"""Elastic Fabric Adapters: their counters and the traffic of jobs.

Counter names: the kernel's `efa_verbs.c` and AWS's page on monitoring an EFA. Which adapter sits
where is made up, but for the documented two per pair of devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.chips import TRN1, pci_address
from neuron_observer.sim.state import Port

if TYPE_CHECKING:
    from random import Random

    from neuron_observer.sim.chips import Instance

PORT_COUNTERS = (
    *("rdma_read_bytes", "rdma_read_resp_bytes", "rdma_read_wr_err", "rdma_read_wrs"),
    *("rdma_write_bytes", "rdma_write_recv_bytes", "rdma_write_wr_err", "rdma_write_wrs"),
    *("recv_bytes", "recv_wrs", "rx_bytes", "rx_drops", "rx_pkts", "send_bytes", "send_wrs"),
    *("tx_bytes", "tx_pkts"),
)
SRD_COUNTERS = (  # Nitro v4 and later
    *("retrans_bytes", "retrans_pkts", "retrans_timeout_events"),
    *("unresponsive_remote_events", "impaired_remote_conn_events"),
)
DEVICE_COUNTERS = (
    *("submitted_cmds", "completed_cmds", "cmds_err", "no_completion_cmds", "keep_alive_rcvd"),
    *("alloc_pd_err", "alloc_ucontext_err", "create_qp_err", "create_cq_err", "create_ah_err"),
    *("reg_mr_err", "mmap_err"),
)
PACKET = 8_928  # bytes of an SRD packet at the usual MTU


def make_ports(instance: Instance, random: Random) -> list[Port]:
    """The adapters, spread over the buses of the devices."""
    old = instance.chip is TRN1 and instance.name != "trn1n.32xlarge"
    names = PORT_COUNTERS[:4] + PORT_COUNTERS[8:] if old else PORT_COUNTERS + SRD_COUNTERS
    ports = []
    for number in range(instance.adapters):
        device = number * instance.devices // instance.adapters
        address, numa = pci_address(instance, device)
        bus = address.split(":")[1]
        slot = 0x10 + number % 2 if not old else 0x19 + number % 2
        commands = random.randrange(300, 600)
        counters = dict.fromkeys(DEVICE_COUNTERS, 0)
        counters |= {"submitted_cmds": commands, "completed_cmds": commands, "keep_alive_rcvd": 700}
        ports.append(
            Port(
                name=f"rdmap{int(bus, 16)}s{slot}",
                address=f"0000:{bus}:{slot:02x}.0",
                numa=numa,
                counters=dict.fromkeys(names, 0),
                device_counters=counters,
            )
        )
    return ports


def keep_alive(ports: list[Port]) -> None:
    """What an adapter does that nobody uses: signs of life, and commands that read counters."""
    for port in ports:
        counters = port.device_counters
        counters["keep_alive_rcvd"] += 1
        if not counters["no_completion_cmds"]:  # else the driver has closed the queue
            counters["submitted_cmds"] += 2
            counters["completed_cmds"] += 2


def carry(port: Port, size: int) -> None:
    """A step's traffic: as much is written to others as others write here."""
    if not port.present or not port.state.startswith("4"):
        return
    counters, packets = port.counters, -(-size // PACKET)
    for name in ("tx_bytes", "rx_bytes", "rdma_write_bytes", "rdma_write_recv_bytes"):
        if name in counters:
            counters[name] += size
    if "rdma_write_bytes" not in counters:
        counters["send_bytes"] += size
        counters["recv_bytes"] += size
        counters["send_wrs"] += packets // 16 + 1
        counters["recv_wrs"] += packets // 16 + 1
    else:
        counters["rdma_write_wrs"] += packets // 16 + 1
    counters["tx_pkts"] += packets
    counters["rx_pkts"] += packets
