"""Names of pods by the devices that they were given.

The kubelet names no pod by its uid, but it gives a device to one pod only: the pod that was given
all devices that a process holds is the process's own. AWS's own agents read the ids that the Neuron
device plugin reports as indexes (CloudWatch agent, pod correlation of `neurondevice`); what is no
number, or not one pod's, names nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from neuron_observer.jobs.ownership import NodeShape
    from neuron_observer.model import Process
    from neuron_observer.parsers.pod_resources import Allotment

PodName = tuple[str, str]  # namespace, name
DEVICES: Final = frozenset({"aws.amazon.com/neuron", "aws.amazon.com/neurondevice"})
CORES: Final = "aws.amazon.com/neuroncore"


def owners(allotments: Iterable[Allotment], shape: NodeShape) -> dict[int, frozenset[PodName]]:
    """Device → the pods that were given it, or cores of it."""
    found: dict[int, set[PodName]] = {}
    for one in allotments:
        for device in _devices(one, shape):
            found.setdefault(device, set()).add((one.namespace, one.pod))
    return {device: frozenset(pods) for device, pods in found.items()}


def _devices(one: Allotment, shape: NodeShape) -> Iterator[int]:
    """Cores tell their device only on chips where logical and physical cores are the same."""
    numbers = [int(id_) for id_ in one.ids if id_.isascii() and id_.isdecimal() and len(id_) < 6]
    if one.resource in DEVICES:
        yield from numbers
    elif one.resource == CORES and shape.default_size == 1:
        devices = (shape.device_of(number, 1) for number in numbers)
        yield from (device for device in devices if device is not None)


def with_name(process: Process, pods: Mapping[int, frozenset[PodName]]) -> Process:
    """The process with its pod's name, where its devices tell one; a name that it has stays."""
    pod = process.pod
    if pod is None or pod.name is not None or not process.devices:
        return process
    common = frozenset.intersection(*(pods.get(d, frozenset()) for d in process.devices))
    if len(common) != 1:
        return process
    ((namespace, name),) = common
    return process._replace(pod=pod._replace(name=name, namespace=namespace))
