"""The devices as JSON: devices/1, the same from a look of one's own and from a daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer import contract
from neuron_observer.checks.inventory import take

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Frame, Snapshot

SCHEMA = "neuron-observer/devices/1"


def devices_document(
    frame: Frame, topology: Topology | None, wanted: Collection[int] | None = None
) -> dict[str, Any]:
    """Devices (`wanted`: only these) with their own readings and verdicts, and the inventory."""
    whole = contract.snapshot_document(frame)
    verdicts = {one.index: one for one in frame.health.devices}
    found = []
    for device in whole["devices"]:
        if wanted is not None and device["index"] not in wanted:
            continue
        device["cores"] = [core["index"] for core in device["cores"]]
        judged = verdicts.get(device["index"])
        device["verdict"] = judged.verdict.value if judged else "unknown"
        device["reason"] = judged.reason if judged else "no rule was evaluated"
        found.append(device)
    return {
        "schema": SCHEMA,
        **head(frame.snapshot),
        "inventory": inventory(topology, frame.snapshot),
        "devices": found,
    }


def head(of: Snapshot) -> dict[str, Any]:
    """When and where a document is of."""
    return {
        "at": contract.instant(of.at),
        "host_root": of.host_root,
        "instance_type": of.instance_type,
        "driver": {"version": of.driver.version, "state": of.driver.state},
    }


def inventory(topology: Topology | None, of: Snapshot) -> list[dict[str, Any]]:
    """What the host has against what it should have."""
    return [item._asdict() for item in take(topology, of)] if topology else []
