"""What is in the machine: driver, devices, cores, PCI functions, what should be there.

Sources: `/sys/class/neuron_device`, `/sys/devices/virtual/neuron_device` (driver 2.24.7
`neuron_cdev.c`), `/sys/module/neuron`, `/sys/bus/pci` (`neuron_pci.c`), the DMI product name.
Nothing in sysfs links `neuronN` to its PCI address, so a device's address stays unknown here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue.chips import (
    INSTANCE_DEVICES,
    NEURON_PCI_IDS,
    VENDOR,
    is_checked,
    parse_version,
)
from neuron_observer.collectors.discovery import Tree, walk_all
from neuron_observer.model import Driver
from neuron_observer.parsers.sysfs import word
from neuron_observer.sources.hostfs import is_character_device, resolve_link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.sources.hostfs import HostFs

CLASS_FOLDER = "sys/class/neuron_device"
VIRTUAL_FOLDER = "sys/devices/virtual/neuron_device"
MODULE_FOLDER = "sys/module/neuron"
DMI_FOLDER = "sys/devices/virtual/dmi/id"
PCI_DEVICES = "sys/bus/pci/devices"
PCI_DRIVER = "sys/bus/pci/drivers/neuron-driver"
_DEVICE = re.compile(r"neuron(\d{1,2})")
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class PciFunction(NamedTuple):
    """A PCI function with one of the Neuron ids."""

    address: str
    path: str  # its real directory
    chip: str
    bound: bool  # to the driver neuron-driver


class DeviceTree(NamedTuple):
    """A device's directory and what was found in it."""

    number: int
    path: str
    tree: Tree


class Topology(NamedTuple):
    """What was found, what was expected, and what was odd on the way."""

    instance_type: str | None
    instance_id: str | None  # DMI board asset tag, where it is one
    driver: Driver
    version: tuple[int, ...] | None
    devices: tuple[DeviceTree, ...]
    class_folder: str | None
    module_folder: str | None
    functions: tuple[PciFunction, ...]
    expected: int | None  # devices, by the instance type
    hidden: tuple[int, ...] = ()  # in sysfs, but without a /dev node in this container
    problems: tuple[str, ...] = ()

    @property
    def loading(self) -> bool:
        """Whether the driver is still probing: nothing may be judged or read now."""
        return self.driver.state == "coming"

    @property
    def checked(self) -> bool:
        """Whether this driver's files are known from its source."""
        return is_checked(self.version)


def read_topology(
    host: HostFs, *, thorough: bool = True, all_devices: bool = False, look_inside: bool = True
) -> Topology:
    """Look at everything once; with `look_inside` off, only at which devices and driver there are.

    Then the devices' trees are not walked and PCI functions are not looked for.
    """
    problems: list[str] = []
    module = _module_folder(host, problems)
    driver = _driver(host, module)
    class_folder, paths = _device_folders(host, problems)
    if module is None and paths:  # a driver made them, whatever it is called
        driver = Driver(None, "unknown")
    hidden: tuple[int, ...] = ()
    if not all_devices:
        hidden = _without_node(host, paths)
    if hidden and _is_bare(host):
        names = ", ".join(f"neuron{index}" for index in hidden)
        problems.append(f"no /dev node for {names}: nobody can open it; udev tells why")
        hidden = ()
    shown = [(index, path) for index, path in sorted(paths.items()) if index not in hidden]
    if driver.state == "coming" or not look_inside:
        trees = [Tree() for _ in shown]
    else:
        trees = walk_all(host, [path for _, path in shown], thorough=thorough)
    devices = tuple(
        DeviceTree(index, path, tree) for (index, path), tree in zip(shown, trees, strict=True)
    )
    instance_type = _text(host, f"{DMI_FOLDER}/product_name")
    return Topology(
        instance_type=instance_type,
        instance_id=_instance_id(host),
        driver=driver,
        version=parse_version(driver.version),
        devices=devices,
        class_folder=class_folder,
        module_folder=module,
        functions=_functions(host, problems) if look_inside else (),
        expected=INSTANCE_DEVICES.get(instance_type or ""),
        hidden=hidden,
        problems=tuple(problems),
    )


def _text(host: HostFs, path: str) -> str | None:
    try:
        cell = word(host.read(path))
    except OSError:
        return None
    return cell if isinstance(cell, str) else None


def _instance_id(host: HostFs) -> str | None:
    tag = _text(host, f"{DMI_FOLDER}/board_asset_tag")
    return tag if tag and re.fullmatch(r"i-[0-9a-f]{8,17}", tag) else None


def _names(host: HostFs, folder: str) -> list[str]:
    try:
        return [entry.name for entry in host.entries(folder)]
    except OSError:
        return []


def _module_folder(host: HostFs, problems: list[str]) -> str | None:
    """The driver's module, by its name or else the one loaded module with `neuron` in its name."""
    names = _names(host, "sys/module")
    if "neuron" in names:
        return MODULE_FOLDER
    others = [
        f"sys/module/{name}"
        for name in names
        if "neuron" in name and "initstate" in _names(host, f"sys/module/{name}")
    ]
    if len(others) > 1:
        listed = ", ".join(folder.rpartition("/")[2] for folder in others)
        problems.append(f"which of these modules is the driver cannot be told: {listed}")
    return others[0] if len(others) == 1 else None


def _driver(host: HostFs, folder: str | None) -> Driver:
    if folder is None:
        return Driver(None, "absent")
    state = _text(host, f"{folder}/initstate")
    known = state if state in ("coming", "live", "going") else "unknown"
    return Driver(_text(host, f"{folder}/version"), known)


def _device_folders(host: HostFs, problems: list[str]) -> tuple[str | None, dict[int, str]]:
    """The class folder, and device index → real directory."""
    class_folder = CLASS_FOLDER if _names(host, CLASS_FOLDER) else None
    known = _numbered(host, VIRTUAL_FOLDER, problems)
    if known:
        return class_folder, known
    candidates = [CLASS_FOLDER] if class_folder else []
    for parent in ("sys/devices/virtual", "sys/class"):
        candidates += [f"{parent}/{name}" for name in _names(host, parent) if "neuron" in name]
    for folder in candidates:
        found = _numbered(host, folder, problems)
        if found:
            problems.append(f"devices stand in {folder.removeprefix('sys/')}, a place not known")
            return class_folder or _other_class(host), found
    return class_folder or _other_class(host), {}


def _other_class(host: HostFs) -> str | None:
    names = [name for name in _names(host, "sys/class") if "neuron" in name]
    return f"sys/class/{names[0]}" if len(names) == 1 else None


def _numbered(host: HostFs, folder: str, problems: list[str]) -> dict[int, str]:
    """Device index → real directory; a directory with two names is one device."""
    names: dict[str, list[str]] = {}
    for name in _names(host, folder):
        if _DEVICE.fullmatch(name):
            names.setdefault(_followed(host, f"{folder}/{name}"), []).append(name)
    found: dict[int, str] = {}
    for path, same in names.items():
        own = path.rpartition("/")[2]
        name = own if own in same else same[0]
        index = int(name.removeprefix("neuron"))
        if len(same) > 1 or index in found:
            problems.append(f"in {folder.removeprefix('sys/')} a device has more names than one")
        found.setdefault(index, path)
    return found


def _followed(host: HostFs, path: str) -> str:
    """The directory behind a link (or the path itself); a loop ends after a few steps."""
    for _ in range(8):
        try:
            path = resolve_link(path, host.readlink(path))
        except OSError:
            break
    return path


def _without_node(host: HostFs, paths: Iterable[int]) -> tuple[int, ...]:
    """Devices that have no node in /dev while others have: sysfs is the host's, /dev is ours.

    A node's minor number is the host's index, also where a container's runtime renamed the node
    (driver 2.24.7 neuron_cdev.c). No node at all is a monitor's container, and hides nothing.
    """
    open_here: set[int] = set()
    for name in _names(host, "dev"):
        match = _DEVICE.fullmatch(name)
        if match:
            try:
                status = host.lstat(f"dev/{name}")
            except OSError:
                continue  # it went while we looked
            real = is_character_device(status.st_mode)
            open_here.add(status.st_rdev & 0xFF if real else int(match.group(1)))
    indexes = set(paths)
    return tuple(sorted(indexes - open_here)) if open_here & indexes else ()


def _is_bare(host: HostFs) -> bool:
    """Whether process 1 is the init of a whole system, not of a container."""
    return _text(host, "proc/1/comm") in ("systemd", "init")


def _functions(host: HostFs, problems: list[str]) -> tuple[PciFunction, ...]:
    bound = {name for name in _names(host, PCI_DRIVER) if _PCI_ADDRESS.fullmatch(name)}
    functions = []
    for address in _names(host, PCI_DEVICES):
        path = _followed(host, f"{PCI_DEVICES}/{address}")
        if _text(host, f"{path}/vendor") != VENDOR:
            continue
        chip = NEURON_PCI_IDS.get(_text(host, f"{path}/device") or "")
        if chip:
            functions.append(PciFunction(address, path, chip, address in bound))
    ghosts = bound - {function.address for function in functions}
    if ghosts:
        problems.append(f"bound to neuron-driver but not a Neuron function: {sorted(ghosts)}")
    return tuple(functions)
