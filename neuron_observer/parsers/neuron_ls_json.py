"""`neuron-ls -j`: a list of devices; anything else is bad output."""

from __future__ import annotations

import json
from typing import Any

from neuron_observer.parsers.neuron_ls_listing import (
    ListedDevice,
    ListedProcess,
    NeuronListing,
    Outcome,
    core_size,
    numa_node,
    process,
    text,
)

_KNOWN_KEYS = frozenset(
    {
        "neuron_device",
        "bdf",
        "cpu_affinity",
        "numa_node",
        "connected_to",
        "nc_count",
        "logical_neuroncore_config",
        "memory_size",
        "neuroncore_ids",
        "neuron_processes",
    }
)


def read_json(document_text: str) -> NeuronListing:
    """The listing that a JSON document holds."""
    try:
        document = json.loads(document_text)
    except (ValueError, RecursionError) as error:
        return NeuronListing(Outcome.BAD_OUTPUT, detail=f"no valid JSON: {error}"[:300])
    if not isinstance(document, list):
        return NeuronListing(Outcome.BAD_OUTPUT, detail="the JSON is no list of devices")
    if not document:
        return NeuronListing(Outcome.NO_DEVICE, detail="an empty list")
    devices = [_json_device(entry) for entry in document]
    good = tuple(device for device in devices if device is not None)
    if len(good) != len(devices):
        return NeuronListing(Outcome.BAD_OUTPUT, detail="an entry names no neuron_device")
    keys = {key for entry in document for key in entry if key not in _KNOWN_KEYS}
    sizes = {_integer(entry.get("logical_neuroncore_config")) for entry in document}
    stated = sizes.pop() if len(sizes) == 1 else None
    return NeuronListing(
        Outcome.OK,
        good,
        lnc=core_size(stated, good),
        unknown=tuple(sorted(keys))[:100],
    )


def _json_device(entry: Any) -> ListedDevice | None:
    index = _integer(entry.get("neuron_device")) if isinstance(entry, dict) else None
    if index is None:
        return None
    processes = entry.get("neuron_processes")
    return ListedDevice(
        index,
        bdf=text(entry.get("bdf")),
        nc_count=_integer(entry.get("nc_count")),
        core_ids=_integers(entry.get("neuroncore_ids")),
        memory_bytes=_integer(entry.get("memory_size")),
        neighbours=_links(entry),
        numa=numa_node(str(entry.get("numa_node", ""))),
        cpu_affinity=text(entry.get("cpu_affinity")),
        processes=_json_processes(processes) if "neuron_processes" in entry else None,
    )


def _links(entry: dict[str, Any]) -> tuple[int, ...] | None:
    """`connected_to`: null on a chip without links; unknown without the key."""
    if "connected_to" in entry and entry["connected_to"] is None:
        return ()
    return _integers(entry.get("connected_to"))


def _json_processes(processes: Any) -> tuple[ListedProcess, ...] | None:
    if processes is None:
        return ()
    if not isinstance(processes, list):
        return None
    listed = (_json_process(process) for process in processes)
    return tuple(process for process in listed if process is not None)


def _json_process(entry: Any) -> ListedProcess | None:
    pid = _integer(entry.get("pid")) if isinstance(entry, dict) else None
    if pid is None:
        return None
    return process(pid, text(entry.get("command")), text(entry.get("neuron_runtime_version")))


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _integers(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    numbers = [_integer(item) for item in value]
    known = [number for number in numbers if number is not None]
    return tuple(known) if len(known) == len(numbers) else None
