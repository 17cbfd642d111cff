"""Hosts to read: a listing written out as a directory, some of its files real sysfs attributes.

Real attributes are those of virtual network interfaces, whose counters are printed as the Neuron
driver prints its own: one unsigned number a file. They are bound over the files of the tree, so
that the program reads them under the driver's own paths.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.collectors.sysfs import plan_devices
from neuron_observer.collectors.topology import read_topology
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.listing import read_listing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neuron_observer.collectors.sysfs import Plans

_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000
_MS_RDONLY, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x1, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_CORE = re.compile(r"/neuron_core(\d+)/")
_FRAME = b"\xff" * 6 + b"\x02" * 6 + b"\x88\xb5" + bytes(50)  # broadcast, a protocol for trials
# What one frame moves at the sending and at the receiving end.
_SENT = ("tx_packets", "tx_bytes")
_RECEIVED = ("rx_packets", "rx_bytes")
_MAY_MOVE = {*_SENT, *_RECEIVED, "rx_dropped", "tx_dropped", "rx_nohandler"}
_STILL = 17  # attributes of an interface that never move, at least

_libc = ctypes.CDLL(None, use_errno=True)


def planned(root: Path) -> Plans:
    """What the program would read of a host's devices, by lane."""
    host = DirectoryFs(str(root))
    return plan_devices(host, read_topology(host), {})


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def enter_namespaces(*, network: bool = False) -> None:
    """Leave the machine's mounts, and its network, for this process and its children; root."""
    _call("unshare", _CLONE_NEWNS | (_CLONE_NEWNET if network else 0))
    _call("mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None)


def mount(kind: str, where: Path, *, read_only: bool = False) -> None:
    """Mount a new tmpfs or sysfs; it is gone when this process and its children are."""
    where.mkdir(parents=True, exist_ok=True)
    flags = _MS_RDONLY if read_only else 0
    _call("mount", kind.encode(), os.fsencode(where), kind.encode(), flags, None)


def mount_fuse(where: Path, connection: int) -> None:
    """Mount what is answered through a descriptor of /dev/fuse; read-only, seen by every user."""
    options = f"fd={connection},rootmode=40000,user_id=0,group_id=0,allow_other"
    _call("mount", b"sick", os.fsencode(where), b"fuse", _MS_RDONLY, options.encode())


def unmount(where: Path) -> None:
    """At once, whoever still uses it."""
    _call("umount2", os.fsencode(where), _MNT_DETACH)


def end_with_parent() -> None:
    """Be killed when the process that started this one ends, however it does (prctl(2))."""
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def write_tree(listing: Path, root: Path, cores: int | None = None) -> None:
    """Write a listing as a directory; with `cores`, so many copies of each device's core 0."""
    for path, node in read_listing(str(listing)).passes[0].nodes.items():
        for copy in _copies(path, cores):
            file = root / copy
            file.parent.mkdir(parents=True, exist_ok=True)
            if node.kind == "link":
                file.symlink_to(node.target)
            elif node.kind == "dir":
                file.mkdir(exist_ok=True)
            else:
                file.write_bytes(node.content)


def _copies(path: str, cores: int | None) -> list[str]:
    match = _CORE.search(path)
    if cores is None or match is None:
        return [path]
    if match.group(1) != "0":
        return []
    return [_CORE.sub(f"/neuron_core{number}/", path) for number in range(cores)]


class Interfaces:
    """Pairs of virtual network interfaces whose counters can be moved."""

    def __init__(self, sysfs: Path, moving: int, total: int) -> None:
        """Enough pairs for `total` attributes, of which `moving` move with every `send`."""
        self._folder = sysfs / "class" / "net"
        self.active = -(-moving // (len(_SENT) + len(_RECEIVED)))
        self.pairs = max(self.active, self.pairs_for(moving, total))
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1", "utf-8")
        commands = [f"link add v{i} type veth peer name w{i}\n" for i in range(self.pairs)]
        for i in range(self.active):
            commands += [f"link set v{i} up\n", f"link set w{i} up\n"]
        subprocess.run(["ip", "-batch", "-"], input="".join(commands).encode(), check=True)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)

    @staticmethod
    def pairs_for(moving: int, total: int) -> int:
        """Pairs with so many attributes that rest."""
        return -(-(total - moving) // (2 * _STILL))

    def send(self) -> None:
        """Move the counters of the active pairs: one frame each."""
        for number in range(self.active):
            self._socket.sendto(_FRAME, (f"v{number}", 0x88B5))

    def moving(self) -> Iterator[Path]:
        """Attributes that every `send` changes."""
        for number in range(self.active):
            for end, names in (("v", _SENT), ("w", _RECEIVED)):
                for name in names:
                    yield self._folder / f"{end}{number}" / "statistics" / name

    def still(self) -> Iterator[Path]:
        """Attributes that never change."""
        found = {file.name for file in (self._folder / "v0" / "statistics").iterdir()}
        names = sorted(found - _MAY_MOVE)
        for number in range(self.pairs):
            for end in ("v", "w"):
                folder = self._folder / f"{end}{number}" / "statistics"
                yield from (folder / name for name in names)


def bind(attributes: Sequence[Path], files: Sequence[Path]) -> None:
    """Lay each attribute over a file, which then reads as the attribute does."""
    for attribute, file in zip(attributes, files, strict=True):
        _call("mount", os.fsencode(attribute), os.fsencode(file), None, _MS_BIND, None)


def bind_folder(folder: Path, where: Path) -> None:
    """Lay a directory with all that is mounted below it over a new one."""
    where.mkdir(parents=True, exist_ok=True)
    _call("mount", os.fsencode(folder), os.fsencode(where), None, _MS_BIND | _MS_REC, None)
