"""What stands around the devices: class attributes, module, PCI, DMI, EFA, nodes in /dev.

Source: driver 2.24.7 and 2.30.2 `neuron_cdev.c` (class attributes by platform), `neuron_module.c`
and the files with module parameters; the kernel's PCI and InfiniBand classes.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.sim.chips import TRN1
from neuron_observer.sim.device_tree import VIRTUAL, add_device
from neuron_observer.sim.host_tree import add_host
from neuron_observer.sim.parameters import PARAMETERS, PARAMETERS_SINCE_28
from neuron_observer.sim.process_tree import add_processes
from neuron_observer.sim.tree import Leaf, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sim.state import Device, Node, Port
    from neuron_observer.sim.world import World

CLASS = "sys/class/neuron_device"
MODULE = "sys/module/neuron"
SERVER = 0x5A1E5E12
NODE_MODE = 0o666  # udev rule of the package

_ALWAYS = (  # on every Linux host that has PCI
    "sys/module",
    "sys/bus/pci/devices",
    "sys/bus/pci/drivers",
    "sys/devices/virtual",
    "dev",
)


def build(world: World) -> Tree:
    """All files that the host shows now."""
    tree, node = Tree(), world.node
    for folder in _ALWAYS:
        tree.folder(folder)
    _identity(tree, node)
    _driver(tree, world)
    for device in node.devices:
        if device.on_bus:
            _function(tree, node, device)
    if node.ports:
        tree.folder("sys/class/infiniband")
    for port in node.ports:
        if port.present:
            _adapter(tree, node, port)
    add_host(tree, world)
    add_processes(tree, world)
    return tree


def _identity(tree: Tree, node: Node) -> None:
    tree.link("sys/class/dmi/id", "../../devices/virtual/dmi/id")
    dmi = "sys/devices/virtual/dmi/id"
    tree.text(f"{dmi}/product_name", 0o444, f"{node.instance.name}\n")
    tree.text(f"{dmi}/sys_vendor", 0o444, "Amazon EC2\n")
    if node.instance_id:
        tree.text(f"{dmi}/board_asset_tag", 0o444, f"{node.instance_id}\n")


def _driver(tree: Tree, world: World) -> None:
    """The module as long as it is loaded; class and devices until it goes."""
    node = world.node
    if node.module != "absent":
        tree.folder("sys/bus/pci/drivers/neuron-driver")
        _module(tree, node)
    if node.module in ("coming", "live"):
        _class_attributes(tree, world)
        for number, device in node.listed():
            add_device(tree, world, number, device)
            rdev = os.makedev(node.major, number)
            tree.add(f"dev/neuron{number}", Leaf("other", NODE_MODE, lambda: b"", number=rdev))


def _module(tree: Tree, node: Node) -> None:
    tree.text(f"{MODULE}/version", 0o444, f"{node.driver.version}\n")
    tree.file(f"{MODULE}/initstate", 0o444, partial(_line, node, "module"))
    tree.file(f"{MODULE}/refcnt", 0o444, partial(_holders, node))
    tree.text(f"{MODULE}/srcversion", 0o444, "5E1A7C0D9B3F42680ACE135\n")
    tree.text(f"{MODULE}/taint", 0o444, "OE\n")
    parameters = dict(PARAMETERS)
    if node.driver.number >= (2, 28, 0):
        parameters |= PARAMETERS_SINCE_28
    if (2, 28, 0) <= node.driver.number < (2, 30, 2):
        parameters["enable_sysfs_health_status_nodes"] = "Y"
    for name, value in (parameters | node.parameters).items():
        tree.text(f"{MODULE}/parameters/{name}", 0o660, f"{value}\n")


def _class_attributes(tree: Tree, world: World) -> None:
    node = world.node
    platform = node.instance.platform
    if platform == "max" and node.driver.number < (2, 30, 2):
        platform = "ordinary"
    if node.driver.number < (2, 28, 0) or platform == "ultraserver":
        _ultraserver(tree, node)
    if platform in ("pds", "max"):
        _pds(tree, node, 4 if platform == "pds" else 1)
    if node.driver.number >= (2, 28, 0):
        tree.file(f"{CLASS}/hbm_7200_capable", 0o444, partial(_node_check, node, b"0\n"))
        tree.file(f"{CLASS}/current_perf_profile", 0o444, partial(_profile, node))


def _ultraserver(tree: Tree, node: Node) -> None:
    """Place of the node among four; a failed election: alone, no member of anything."""
    ultra = node.instance.platform == "ultraserver"
    member = ultra and node.elected
    for count in (2, 4):
        tree.text(f"{CLASS}/node_id_{count}", 0o444, "0\n" if member else "-1\n")
        server = SERVER + count if member else 0
        tree.text(f"{CLASS}/server_id_{count}", 0o444, f"{server:016x}\n")
    modes = ("1,3,4" if node.elected else "4") if ultra else ""
    tree.text(f"{CLASS}/ultraserver_mode", 0o444, f"{modes}\n")


def _pds(tree: Tree, node: Node, nodes: int) -> None:
    def unless_busy(whole: bytes, busy: bytes) -> Callable[[], bytes]:
        return lambda: whole if node.module == "live" else busy

    reservation = b"%016x\n" % (1 if nodes > 1 else 0)
    tree.file(f"{CLASS}/node_id", 0o444, unless_busy(b"0\n", b"busy\n"))
    tree.file(f"{CLASS}/node_cnt", 0o444, unless_busy(b"%d\n" % nodes, b"0\n"))
    tree.file(f"{CLASS}/reservation_id", 0o444, unless_busy(reservation, b"%016x\n" % 0))
    tree.text(f"{CLASS}/ultraserver_mode", 0o444, "1,3,4\n" if nodes > 1 else "4\n")


def _profile(node: Node) -> bytes:
    """The profile of all devices; -1 where one cannot be read."""
    readable = all(device.firmware.answers == "yes" for _, device in node.listed())
    return _node_check(node, b"0\n" if readable else b"-1\n")


def _node_check(node: Node, value: bytes) -> bytes:
    """`busy` while probing; `init_error` if an index below the counted devices has no device."""
    if node.module != "live":
        return b"busy\n"
    numbers = {number for number, _ in node.listed()}
    return value if numbers >= set(range(node.counted)) else b"init_error\n"


def _function(tree: Tree, node: Node, device: Device) -> None:
    base = f"sys/devices/pci0000:00/{device.address}"
    _pci(tree, base, node.instance.chip.pci_id, "0x088000", device.numa)
    tree.text(f"{base}/revision", 0o444, "0x01\n")
    tree.file(f"{base}/enable", 0o644, lambda: b"%d\n" % (node.module != "absent"))
    if device.bound and node.module != "absent":
        _bind(tree, base, "neuron-driver")


def _pci(tree: Tree, base: str, device: str, kind: str, numa: int) -> None:
    address = base.rpartition("/")[2]
    tree.link(f"sys/bus/pci/devices/{address}", f"../../../{base.removeprefix('sys/')}")
    tree.text(f"{base}/vendor", 0o444, "0x1d0f\n")
    tree.text(f"{base}/device", 0o444, f"{device}\n")
    tree.text(f"{base}/class", 0o444, f"{kind}\n")
    tree.text(f"{base}/numa_node", 0o644, f"{numa}\n")


def _bind(tree: Tree, base: str, driver: str) -> None:
    address = base.rpartition("/")[2]
    tree.link(f"{base}/driver", f"../../../bus/pci/drivers/{driver}")
    tree.link(f"sys/bus/pci/drivers/{driver}/{address}", f"../../../../{base.removeprefix('sys/')}")


def _adapter(tree: Tree, node: Node, port: Port) -> None:
    base = f"sys/devices/pci0000:00/{port.address}"
    old = node.instance.chip is TRN1 and "rdma_write_bytes" not in port.counters
    _pci(tree, base, "0xefa0" if old else "0xefa2", "0x020000", port.numa)
    _bind(tree, base, "efa")
    folder = f"{base}/infiniband/{port.name}"
    tree.link(f"sys/class/infiniband/{port.name}", f"../../{folder.removeprefix('sys/')}")
    tree.link(f"{folder}/device", f"../../../{port.address}")
    tree.text(f"{folder}/fw_ver", 0o444, "0.0.0.0\n")
    tree.text(f"{folder}/node_guid", 0o444, "0000:0000:0000:0000\n")
    for where, counters in (("", port.device_counters), ("ports/1/", port.counters)):
        tree.text(f"{folder}/{where}hw_counters/lifespan", 0o644, "12\n")
        for name in counters:
            tree.file(f"{folder}/{where}hw_counters/{name}", 0o444, _item(counters, name))
    tree.file(f"{folder}/ports/1/state", 0o444, partial(_line, port, "state"))
    tree.file(f"{folder}/ports/1/phys_state", 0o444, partial(_line, port, "phys_state"))
    tree.text(f"{folder}/ports/1/rate", 0o444, "100 Gb/sec (4X EDR)\n")
    tree.text(f"{folder}/ports/1/link_layer", 0o444, "Unknown\n")


def _holders(node: Node) -> bytes:
    """Uses of the module: each open node is one."""
    return b"%d\n" % sum(len(process.devices) for process in list(node.processes.values()))


def _line(owner: object, name: str) -> bytes:
    return f"{getattr(owner, name)}\n".encode()


def _item(counters: dict[str, int], name: str) -> Callable[[], bytes]:
    return lambda: b"%d\n" % counters[name]


__all__ = ["CLASS", "MODULE", "VIRTUAL", "build"]
