"""Which entries of `/sys/class/infiniband` are Elastic Fabric Adapters, and which chips they serve.

The class also holds adapters of others: hosts without any EFA show ConnectX bridges there (driver
mlx5_core). So the PCI function behind each entry is looked at, not its name.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from neuron_observer.catalogue.efa import EFA_DRIVER, EFA_PCI_PREFIX, EFA_VENDOR
from neuron_observer.collectors.batching import missing_for
from neuron_observer.collectors.probing import names_in, number_at, real_path, word_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.collectors.topology import PciFunction
    from neuron_observer.model import Missing
    from neuron_observer.sources.hostfs import HostFs

CLASS_FOLDER = "sys/class/infiniband"
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ABSENT = {errno.ENOENT, errno.ENOTDIR}
# No other driver of the kernel has counters with these names.
_SIGNATURE = frozenset({"send_wrs", "recv_wrs", "rx_drops"})

KnownBy: TypeAlias = Literal["pci id", "driver", "vendor", "counters"]
Nearness: TypeAlias = Literal["bus", "bridge", "root", "numa", "unknown"]


class Adapter(NamedTuple):
    """One EFA; equal to another only if all its files are the same."""

    name: str  # rdmap160s26
    path: str  # its real directory
    pci_path: str | None  # the directory of its PCI function
    address: str | None  # 0000:a0:1a.0
    numa: int | None
    known_by: KnownBy
    ports: tuple[int, ...]
    files: frozenset[str]  # below `path`: fw_ver, hw_counters/…, ports/1/hw_counters/…
    errors: tuple[tuple[str, Missing], ...] = ()  # folders that are there and cannot be listed


class Adapters(NamedTuple):
    """What the class holds."""

    efa: tuple[Adapter, ...] = ()
    others: tuple[tuple[str, str], ...] = ()  # name and driver of entries that are no EFA
    reason: str = ""  # why there is no EFA


class AdapterPlace(NamedTuple):
    """The Neuron PCI functions nearest to an adapter, and by which fact they are.

    Addresses, not device indexes: nothing in sysfs links `neuronN` to its PCI function.
    """

    adapter: str
    address: str | None
    numa: int | None
    by: Nearness
    functions: tuple[str, ...]


def find_adapters(host: HostFs) -> Adapters:
    """Look at each entry of the class; a host without the class has no adapter."""
    try:
        names = [entry.name for entry in host.entries(CLASS_FOLDER)]
    except OSError as error:
        gone = error.errno in _ABSENT
        why = "the kernel has no InfiniBand class" if gone else f"{CLASS_FOLDER}: {error.strerror}"
        return Adapters(reason=why)
    adapters: list[Adapter] = []
    others: list[tuple[str, str]] = []
    for name in names:
        found = _look(host, name)
        if isinstance(found, Adapter):
            adapters.append(found)
        else:
            others.append((name, found))
    reason = "" if adapters else "the InfiniBand class holds no EFA"
    return Adapters(tuple(adapters), tuple(others), reason)


def _look(host: HostFs, name: str) -> Adapter | str:
    """The adapter, or the driver of what is none."""
    path = real_path(host, f"{CLASS_FOLDER}/{name}")
    pci_path = _pci_folder(host, path)
    driver = _driver(host, pci_path)
    files, ports, errors = _files(host, path)
    known_by = _known_by(host, pci_path, driver, files)
    if known_by is None:
        return driver or "unknown"
    numa = number_at(host, f"{pci_path}/numa_node") if pci_path else None
    last = pci_path.rpartition("/")[2] if pci_path else ""
    pci_names = names_in(host, pci_path) if pci_path else []
    return Adapter(
        name=name,
        path=path,
        pci_path=pci_path,
        address=last if _PCI_ADDRESS.fullmatch(last) else None,
        numa=numa if numa is not None and numa >= 0 else None,
        known_by=known_by,
        ports=ports,
        files=files | {f"device/{n}" for n in pci_names if n in ("device", "numa_node")},
        errors=errors,
    )


def _pci_folder(host: HostFs, path: str) -> str | None:
    for folder in (real_path(host, f"{path}/device"), path.rpartition("/infiniband/")[0]):
        if folder and word_at(host, f"{folder}/vendor"):
            return folder
    return None


def _driver(host: HostFs, pci_path: str | None) -> str | None:
    if pci_path is None:
        return None
    path = f"{pci_path}/driver"
    target = real_path(host, path)
    return target.rpartition("/")[2] if target != path else None


def _known_by(
    host: HostFs, pci_path: str | None, driver: str | None, files: frozenset[str]
) -> KnownBy | None:
    """The best fact by which an entry is an EFA; None: it is none."""
    if pci_path is None:
        counters = {path.rpartition("/")[2] for path in files}
        return "counters" if counters >= _SIGNATURE else None
    if word_at(host, f"{pci_path}/vendor") != EFA_VENDOR:
        return None
    device = word_at(host, f"{pci_path}/device")
    if device and device.startswith(EFA_PCI_PREFIX):
        return "pci id"
    if driver == EFA_DRIVER:
        return "driver"
    return "vendor" if device is None and driver is None else None


def _files(
    host: HostFs, path: str
) -> tuple[frozenset[str], tuple[int, ...], tuple[tuple[str, Missing], ...]]:
    found: set[str] = set()
    errors: list[tuple[str, Missing]] = []

    def look(folder: str) -> list[str]:
        try:
            names = [entry.name for entry in host.entries(f"{path}/{folder}".rstrip("/"))]
        except OSError as error:
            if error.errno not in _ABSENT:
                errors.append((folder, missing_for(error)))
            return []
        found.update(f"{folder}/{name}".lstrip("/") for name in names)
        return names

    look("")
    look("hw_counters")
    ports = tuple(sorted(int(name) for name in look("ports") if name.isdecimal()))
    for port in ports:
        look(f"ports/{port}")
        look(f"ports/{port}/hw_counters")
    return frozenset(found), ports, tuple(errors)


def place_adapters(
    host: HostFs, adapters: Sequence[Adapter], functions: Sequence[PciFunction]
) -> tuple[AdapterPlace, ...]:
    """The Neuron functions nearest to each adapter.

    The first fact that tells some functions from the others counts: same PCI bus, nearest common
    bridge, same PCI root, same NUMA node. A fact that holds for all of several tells nothing.
    """
    numa = {one.address: number_at(host, f"{one.path}/numa_node") for one in functions}
    return tuple(_place(adapter, functions, numa) for adapter in adapters)


def _place(
    adapter: Adapter, functions: Sequence[PciFunction], numa: dict[str, int | None]
) -> AdapterPlace:
    here = _ancestors(adapter.pci_path or "")
    shared = {one.address: _common(here, _ancestors(one.path)) for one in functions}
    nearest = max(shared.values(), default=0)
    facts: tuple[tuple[Nearness, Callable[[str], bool]], ...] = (
        ("bus", lambda a: adapter.address is not None and _bus(a) == _bus(adapter.address)),
        ("bridge", lambda a: shared[a] == nearest >= 2),
        ("root", lambda a: shared[a] == nearest >= 1),
        ("numa", lambda a: adapter.numa is not None and numa[a] == adapter.numa),
    )
    for by, holds in facts:
        near = tuple(one.address for one in functions if holds(one.address))
        if near and (len(near) < len(functions) or len(functions) == 1):
            return AdapterPlace(adapter.name, adapter.address, adapter.numa, by, near)
    return AdapterPlace(adapter.name, adapter.address, adapter.numa, "unknown", ())


def _bus(address: str) -> str:
    return address.rpartition(":")[0]


def _ancestors(path: str) -> list[str]:
    """PCI root and bridges above a function, outermost first."""
    return path.removeprefix("sys/devices/").split("/")[:-1] if path else []


def _common(one: list[str], other: list[str]) -> int:
    depth = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        depth += 1
    return depth
