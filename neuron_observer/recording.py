"""Captures: what a host shows, written into one file that plays the part of that host again.

The form is that of a listing (`sources.listing`): every capture is also a listing. Counters are
captured as they are, serial numbers too; names and ids in lines of text are replaced (`Scrubber`).
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer import __version__
from neuron_observer.collectors.batching import CPU_STAT_BYTES
from neuron_observer.collectors.topology import (
    DMI_FOLDER,
    PCI_DEVICES,
    PCI_DRIVER,
    read_topology,
)
from neuron_observer.contract import instant
from neuron_observer.errors import InputError
from neuron_observer.sources.hostfs import DEFAULT_LIMIT, resolve_link
from neuron_observer.sources.listing import encode
from neuron_observer.sources.workers import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from neuron_observer.clock import Clock
    from neuron_observer.sources.hostfs import Content, HostFs
    from neuron_observer.sources.workers import Workers

SCHEMA = "neuron-observer/capture/1"
_NODE = -1  # the worker that reads what belongs to no device
_PATIENCE = 60.0  # seconds for one device's firmware registers
_FIRMWARE = re.compile(r"(?:serial_number|(?:sram|mem)_ecc_\w+|fw_\w+|pe_cntrs)")
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


class Seen(NamedTuple):
    """What reading a file gave, when and how fast."""

    content: Content
    offset: float  # seconds since the capture began
    seconds: float


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


class Scrubber:
    """Replaces host names, instance and network ids and addresses in lines of text."""

    def __init__(self, host: HostFs) -> None:
        name = ""
        with contextlib.suppress(OSError):  # without it, names of the usual form are replaced
            name = host.read("proc/sys/kernel/hostname").decode("utf-8", "replace").strip()
        short = name.partition(".")[0]
        rules = [
            (r"\bi-[0-9a-f]{8,17}\b", "i-0"),
            (r"\b(ami|subnet|vpc|eni|sg|vol|r|lt|eipalloc)-[0-9a-f]{8,17}\b", r"\1-0"),
            (r"\bip-\d+-\d+-\d+-\d+(?:\.[\w.-]+)?", "host"),
            (r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", "00:00:00:00:00:00"),
            (r"\b(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2,3}\b", "10.0.0.0"),
            (r"(hostname=)\S+", r"\1host"),
            (r'("(?:instance_name|pod_name|namespace)"\s*:\s*)"[^"]*"', r'\1"x"'),
        ]
        if len(short) > 2 and short != "localhost":
            rules.append((rf"\b{re.escape(short)}\b(?:\.[\w.-]+)?", "host"))
        self._rules = [(re.compile(pattern), to) for pattern, to in rules]

    def __call__(self, line: str) -> str:
        """The line without what tells whose it is."""
        for pattern, to in self._rules:
            line = pattern.sub(to, line)
        return line


class Capture:
    """A capture in the making: passes over the host, each adding what changed."""

    def __init__(self, host: HostFs, clock: Clock, workers: Workers) -> None:
        self._host, self._clock, self._workers = host, clock, workers
        self._begin = clock.monotonic()
        self._last: dict[str, str] = {}
        self.scrub = Scrubber(host)
        self.files = 0
        self.unreadable = 0

    def header(self) -> str:
        """The first line."""
        about = {"schema": SCHEMA, "version": __version__, "at": instant(self._clock.wall())}
        return f"#capture {json.dumps(about)}"

    def one_pass(self) -> Iterator[str]:
        """Read everything once; rows of what is new or changed since the last pass."""
        yield f"#at {self._since() if self._last else 0.0:.3f}"
        groups = list(leaves(self._host).values())
        seen = self._read([[leaf.path for leaf in group if not leaf.target] for group in groups])
        gone = self._last.keys() - _there(groups, seen)
        for group in groups:
            for leaf in group:
                yield from self._rows(leaf, seen.get(leaf.path))
        for path in sorted(gone):
            del self._last[path]
            yield f"#error {_json([path, '0000', 'ENOENT'])}"

    def _read(self, groups: list[list[str]]) -> dict[str, Seen]:
        """Every group's firmware registers by a worker of their own: a hang costs only them."""
        lanes: dict[int, list[str]] = {}
        for number, paths in enumerate(groups):
            slow = {path for path in paths if _FIRMWARE.fullmatch(path.rpartition("/")[2])}
            lanes[2 * number] = [path for path in paths if path not in slow]
            lanes[2 * number + 1] = [path for path in paths if path in slow]
        asked: list[int] = []
        for lane, names in lanes.items():
            limits = tuple(_limit(name) for name in names)
            if self._workers.submit(lane, Request("", tuple(names), limits)):
                asked.append(lane)
        answers = self._workers.gather(asked, _PATIENCE)  # an answer owed may be to other names
        late = OSError(errno.ETIMEDOUT, "no answer")
        found: dict[str, Seen] = {}
        for lane, names in lanes.items():
            if lane not in answers:
                found |= {name: Seen(late, self._since(), _PATIENCE) for name in names}
                continue
            contents, durations, read_at = answers[lane]
            offset = read_at - self._begin
            for name, content, seconds in zip(names, contents, durations, strict=True):
                found[name] = Seen(content, offset, seconds)
                offset += seconds
        return found

    def _since(self) -> float:
        return self._clock.monotonic() - self._begin

    def _rows(self, leaf: Leaf, seen: Seen | None) -> Iterator[str]:
        if leaf.target:
            yield from self._changed(leaf.path, f"l\t{_below_sys(leaf.path)}\t{_json(leaf.target)}")
            return
        if seen is None:
            return
        mode = self._mode(leaf)
        if isinstance(seen.content, OSError):
            if seen.content.errno == errno.ENOENT:
                return
            self.unreadable += 1
            name = errno.errorcode.get(seen.content.errno or 0, "EIO")
            row = f"#error {_json([leaf.path, mode, name])}"
        elif leaf.path.startswith("sys/"):
            row = f"{mode}\t{_below_sys(leaf.path)}\t{encode(seen.content)}"
        else:
            text = seen.content.decode("utf-8", "surrogateescape")
            row = f"#host {_json([leaf.path, mode, text])}"
        self.files += 1
        for line in self._changed(leaf.path, row):
            yield f"#read [{max(seen.offset, 0):.6f}, {seen.seconds:.6f}]"
            yield line

    def _changed(self, path: str, row: str) -> Iterator[str]:
        if self._last.get(path) != row:
            self._last[path] = row
            yield row

    def _mode(self, leaf: Leaf) -> str:
        try:
            return f"{stat.S_IMODE(self._host.lstat(leaf.path).st_mode):04o}"
        except OSError:
            return f"{leaf.mode:04o}"

    def text_rows(self, word: str, lines: Iterable[str]) -> Iterator[str]:
        """Lines of the kernel log or of neuron-monitor, scrubbed."""
        for line in lines:
            yield f"#{word} {_json([round(self._since(), 3), self.scrub(line)])}"


def _there(groups: Iterable[list[Leaf]], seen: Mapping[str, Seen]) -> set[str]:
    """Paths that a pass found: a device that fell off the bus must not live on in the file."""
    return {
        leaf.path
        for group in groups
        for leaf in group
        if leaf.target or not isinstance(seen[leaf.path].content, FileNotFoundError)
    }


def _limit(path: str) -> int:
    """A sysfs file is a page at most; /proc/stat of a large machine is many."""
    return DEFAULT_LIMIT if path.startswith("sys/") else CPU_STAT_BYTES


def _below_sys(path: str) -> str:
    return path.removeprefix("sys/")


def _json(value: Any) -> str:
    return json.dumps(value)


def write_rows(file: str, rows: Iterable[str]) -> None:
    """Write a capture; a name that ends in .gz is packed."""
    try:
        if file.endswith(".gz"):
            with gzip.open(file, "wt", encoding="utf-8", compresslevel=6) as packed:
                packed.writelines(f"{row}\n" for row in rows)
        else:
            with Path(file).open("w", encoding="utf-8") as plain:
                plain.writelines(f"{row}\n" for row in rows)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from error
