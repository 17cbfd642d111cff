"""Elastic Fabric Adapters: retransmits, drops, lost commands, ports and adapters that are down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults.kind import FaultKind, Parameter, at_end, port_of
from neuron_observer.sim.network import PACKET

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.world import World


def _retransmits(world: World, fault: Fault) -> None:
    counters = port_of(world, fault).counters
    packets, events = fault.whole("packets"), fault.whole("timeouts")

    def more() -> None:
        for name, number in (
            ("retrans_pkts", packets),
            ("retrans_bytes", packets * PACKET),
            ("retrans_timeout_events", events),
            ("unresponsive_remote_events", fault.whole("unresponsive")),
            ("impaired_remote_conn_events", fault.whole("impaired")),
            ("rx_drops", fault.whole("drops")),
        ):
            if name in counters:
                counters[name] += number

    more()
    world.every(1.0, more, until=fault.until)


def _down(world: World, fault: Fault) -> None:
    port = port_of(world, fault)
    before = port.state, port.phys_state
    port.state, port.phys_state = "1: DOWN", "3: Disabled"

    def up() -> None:
        port.state, port.phys_state = before

    at_end(world, fault, up)


def _lost_commands(world: World, fault: Fault) -> None:
    counters = port_of(world, fault).device_counters
    counters["submitted_cmds"] += 1
    counters["no_completion_cmds"] += 1
    world.every(5.0, lambda: _fail_command(counters), until=fault.until)


def _fail_command(counters: dict[str, int]) -> None:
    counters["cmds_err"] += 1


def _gone(world: World, fault: Fault) -> None:
    port, node = port_of(world, fault), world.node
    port.present = False
    node.changed()

    def back() -> None:
        port.present = True
        node.changed()

    at_end(world, fault, back)


FAULTS = (
    FaultKind(
        "efa_retransmits",
        "port",
        "Packets are sent again, each second so many; events as asked for.",
        _retransmits,
        (
            Parameter("packets", 500, "packets sent again a second"),
            Parameter("timeouts", 2, "traffic that took another path, a second"),
            Parameter("unresponsive", 0, "remotes that did not answer, a second"),
            Parameter("impaired", 0, "connections put under a limit, a second"),
            Parameter("drops", 0, "packets received and dropped, a second"),
        ),
    ),
    FaultKind(
        "port_down",
        "port",
        "The port says DOWN and carries nothing (the efa driver itself never says so).",
        _down,
    ),
    FaultKind(
        "efa_lost_commands",
        "port",
        "A command to the adapter gets no answer; later ones fail.",
        _lost_commands,
    ),
    FaultKind("adapter_missing", "port", "The adapter is gone from its class and from PCI.", _gone),
)
