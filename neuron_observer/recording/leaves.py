"""Which files and links of a host a capture holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.collectors.topology import (
    DMI_FOLDER,
    PCI_DEVICES,
    PCI_DRIVER,
    read_topology,
)
from neuron_observer.sources.hostfs import resolve_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.sources.hostfs import HostFs

_PCI_FILES = (
    "vendor",
    "device",
    "class",
    "revision",
    "enable",
    "numa_node",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "aer_dev_correctable",
    "aer_dev_nonfatal",
    "aer_dev_fatal",
)
_HOST_FILES = (
    "proc/stat",
    "proc/meminfo",
    "proc/loadavg",
    "proc/uptime",
    "proc/vmstat",
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/pressure/io",
    "proc/sys/fs/file-nr",
)
_DMI_FILES = ("product_name", "sys_vendor")
# GUIDs, GIDs and descriptions of a fabric device hold its MAC address and the host's name
_FABRIC_SKIP = re.compile(r"(?:node_desc|.*guid.*|gids|gid_attrs|pkeys|device|subsystem|uevent)")
_SKIP_BELOW_DEVICE = {"firmware_node"}


class Leaf(NamedTuple):
    """One file or link: how a pass found it."""

    path: str
    mode: int
    target: str = ""  # of a link


def leaves(host: HostFs) -> dict[str, list[Leaf]]:
    """Group (a device directory, or '' for the rest) → files and links to capture."""
    groups: dict[str, list[Leaf]] = {"": []}
    rest = groups[""]
    folders = [
        f"{folder}/{name}"
        for folder in ("sys/class", "sys/devices/virtual", "sys/module")
        for name in _names(host, folder, "neuron")
    ]
    devices = [device.path for device in read_topology(host, look_inside=False).devices]
    # a later driver may have them below PCI functions, reached by the links of its class alone
    folders += [p for p in devices if not any(p.startswith(f"{folder}/") for folder in folders)]
    for folder in folders:
        for leaf in _below(host, folder, 10):
            match = re.match(r".+?/neuron\d{1,2}/", leaf.path)
            groups.setdefault(match.group(0) if match else "", []).append(leaf)
    rest += [Leaf(f"{DMI_FOLDER}/{name}", 0o444) for name in _DMI_FILES]
    rest += _links(host, ["sys/class/dmi/id"])
    rest += [leaf for folder in _pci_folders(host) for leaf in _pci(host, folder)]
    for folder in ("sys/class/infiniband", "sys/class/hwmon", "sys/class/thermal"):
        for name in _names(host, folder):
            rest += _links(host, [f"{folder}/{name}"])
            rest += _below(host, _real(host, f"{folder}/{name}"), 4, skip=_FABRIC_SKIP)
    rest += [Leaf(path, 0o444) for path in _HOST_FILES]
    return groups


def _names(host: HostFs, folder: str, part: str = "") -> list[str]:
    try:
        return [entry.name for entry in host.entries(folder) if part in entry.name]
    except OSError:
        return []


def _real(host: HostFs, path: str) -> str:
    try:
        return resolve_link(path, host.readlink(path))
    except OSError:
        return path


def _links(host: HostFs, paths: Iterable[str]) -> list[Leaf]:
    found = []
    for path in paths:
        try:
            found.append(Leaf(path, 0o777, host.readlink(path)))
        except OSError:
            continue
    return found


def _pci_folders(host: HostFs) -> list[str]:
    """Real directories of the functions that Amazon made: Neuron devices and EFA adapters."""
    found = []
    for address in _names(host, PCI_DEVICES):
        folder = _real(host, f"{PCI_DEVICES}/{address}")
        try:
            if host.read(f"{folder}/vendor").strip() == b"0x1d0f":
                found.append(folder)
        except OSError:
            continue
    return found


def _pci(host: HostFs, folder: str) -> list[Leaf]:
    address = folder.rpartition("/")[2]
    names = set(_names(host, folder))
    links = [f"{PCI_DEVICES}/{address}", f"{PCI_DRIVER}/{address}", f"{folder}/driver"]
    files = [Leaf(f"{folder}/{name}", 0o444) for name in _PCI_FILES if name in names]
    return [*_links(host, links), *files, *_below(host, f"{folder}/hwmon", 3, skip=_FABRIC_SKIP)]


def _below(
    host: HostFs, folder: str, depth: int, skip: re.Pattern[str] | None = None
) -> Iterator[Leaf]:
    """Files and links below a folder; links are noted, not followed."""
    try:
        entries = host.entries(folder)
    except OSError:
        return
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if (skip and skip.fullmatch(entry.name)) or entry.name in _SKIP_BELOW_DEVICE:
            continue
        if entry.kind == "link":
            yield from _links(host, [path])
        elif entry.kind == "dir" and depth:
            yield from _below(host, path, depth - 1, skip)
        elif entry.kind == "file":
            yield Leaf(path, 0o444)
