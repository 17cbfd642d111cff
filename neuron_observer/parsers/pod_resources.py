"""What the kubelet's pod-resources service answers: which pod was given which devices.

Form: Kubernetes' podresources/v1 API, `ListPodResourcesResponse`, in protobuf's wire format. Only
names, resources and device ids are taken. The answer names no pod by its uid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.parsers.process import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

_BYTES: Final = 2  # wire type: length, then so many bytes
_FIXED: Final = {1: 8, 5: 4}  # wire type → its size
_LONGEST: Final = 256  # characters of a name


class Allotment(NamedTuple):
    """What one container of a pod was given of one resource."""

    namespace: str
    pod: str
    resource: str
    ids: tuple[str, ...]


def pod_resources(raw: bytes) -> tuple[Allotment, ...]:
    """All allotments; of an answer that is broken those before the break."""
    found = []
    for pod in _parts(raw, 1):
        name, namespace = _text(pod, 1), _text(pod, 2)
        for container in _parts(pod, 3):
            for devices in _parts(container, 2):
                ids = tuple(plain(one, _LONGEST) for one in _parts(devices, 2))
                found.append(Allotment(namespace, name, _text(devices, 1), ids))
    return tuple(found)


def _text(message: bytes, number: int) -> str:
    """A string field; of several the last, as protobuf has it; empty if it is not there."""
    last = b""
    for last in _parts(message, number):  # noqa: B007 - the last one counts
        pass
    return plain(last, _LONGEST)


def _parts(message: bytes, number: int) -> Iterator[bytes]:
    """The values of all fields of this number that are bytes; ends where the form is broken."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        size = _FIXED.get(kind, 0)
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind == 0:
            _, at = _varint(message, at)
        elif kind not in _FIXED:
            return
        if at + size > len(message):
            return
        if kind == _BYTES and tag >> 3 == number:
            yield message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of 7 bits a byte, and where it ends: beyond the message if it is cut."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return 0, len(message) + 1
