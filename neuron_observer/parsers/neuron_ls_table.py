"""The tables of neuron-ls; columns are known by their header, never by their position."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

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

COLUMNS = frozenset(
    {
        "NEURON DEVICE",
        "NEURON CORES",
        "NEURON CORE IDS",
        "NEURON MEMORY",
        "CONNECTED DEVICES",
        "PCI BDF",
        "PID",
        "COMMAND",
        "RUNTIME VERSION",
        "CPU AFFINITY",
        "NUMA NODE",
    }
)

MAX_CORES = 1024  # of one device; more is no list of cores

_BORDER = re.compile(r"\+(?:-+\+)+")
_BANNER = re.compile(r"([a-z][a-z-]{2,40}): *(\S.*)")

Row = dict[str, str]  # header → cell, blanks stripped


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device's own row, and the rows below it that list more of its processes."""

    cells: Row
    more: list[Row] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Table:
    """What one call printed as a table."""

    banner: dict[str, str]  # instance-type, instance-id, logical-neuroncore-config
    names: tuple[str, ...]  # headers in order
    rows: tuple[DeviceRow, ...]
    ragged: bool  # a row does not fit the header

    @property
    def unknown(self) -> tuple[str, ...]:
        """Headers that we do not know."""
        return tuple(sorted(set(self.names) - COLUMNS))[:100]


def is_table(output: str) -> bool:
    """Whether a border of a table stands in the output."""
    return any(_BORDER.fullmatch(line.strip()) for line in output.splitlines())


def split_table(output: str) -> Table:
    """The table in the output; lines that are neither border nor row are banners or notes."""
    banner: dict[str, str] = {}
    bars: list[int] = []
    header: list[list[str]] = []
    body: list[list[str]] = []
    borders = 0
    for line in output.splitlines():
        stripped = line.strip()
        if _BORDER.fullmatch(stripped):
            borders += 1
            bars = bars or [match.start() for match in re.finditer(r"\+", line)]
        elif borders and stripped.startswith("|"):
            (header if borders == 1 else body).append(_cells(line, bars))
        elif not borders:
            found = _BANNER.fullmatch(stripped)
            if found:
                banner.setdefault(found[1], found[2])
    names = tuple(" ".join(filter(None, parts)) for parts in zip(*header, strict=False))
    ragged = any(len(cells) != len(names) for cells in body)
    rows = [] if ragged else [dict(zip(names, cells, strict=True)) for cells in body]
    return Table(banner, names, _by_device(rows), ragged)


def _cells(line: str, bars: list[int]) -> list[str]:
    """Cut at the border's crossings, for a command may hold a bar; else at the bars."""
    if all(line[bar : bar + 1] == "|" for bar in bars):
        return [line[left + 1 : right].strip() for left, right in pairwise(bars)]
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _by_device(rows: list[Row]) -> tuple[DeviceRow, ...]:
    grouped: list[DeviceRow] = []
    for row in rows:
        if row.get("NEURON DEVICE") or not grouped:
            grouped.append(DeviceRow(row))
        else:
            grouped[-1].more.append(row)
    return tuple(grouped)


def read_table(output: str) -> NeuronListing:
    """The listing that a table prints."""
    table = split_table(output)
    if table.ragged or not table.rows:
        why = "a row does not fit the header" if table.ragged else "a table without rows"
        return NeuronListing(Outcome.BAD_OUTPUT, detail=why)
    devices: dict[int, ListedDevice] = {}
    for row in table.rows:
        device = _table_device(row)
        if device is None:
            return NeuronListing(Outcome.BAD_OUTPUT, detail="a row names no device")
        devices.setdefault(device.index, device)
    stated = _cell_integer(table.banner.get("logical-neuroncore-config"))
    return NeuronListing(
        Outcome.OK,
        tuple(devices.values()),
        instance_type=table.banner.get("instance-type"),
        instance_id=table.banner.get("instance-id"),
        lnc=core_size(stated, tuple(devices.values())),
        unknown=table.unknown,
    )


def _table_device(row: DeviceRow) -> ListedDevice | None:
    cells = row.cells
    index = _cell_integer(cells.get("NEURON DEVICE"))
    if index is None:
        return None
    return ListedDevice(
        index,
        bdf=text(cells.get("PCI BDF")),
        nc_count=_cell_integer(cells.get("NEURON CORES")),
        core_ids=_ranges(cells.get("NEURON CORE IDS")),
        memory_bytes=_size(cells.get("NEURON MEMORY")),
        neighbours=_cell_links(cells),
        numa=numa_node(cells.get("NUMA NODE", "")),
        cpu_affinity=text(cells.get("CPU AFFINITY")),
        processes=_table_processes([cells, *row.more]) if "PID" in cells else None,
    )


def _table_processes(rows: list[dict[str, str]]) -> tuple[ListedProcess, ...]:
    found: dict[int, ListedProcess] = {}
    for cells in rows:
        pid = _cell_integer(cells["PID"])
        if pid is not None:
            command, version = cells.get("COMMAND"), cells.get("RUNTIME VERSION")
            found.setdefault(pid, process(pid, text(command), text(version)))
    return tuple(found.values())


def _cell_integer(cell: str | None) -> int | None:
    return int(cell) if cell and re.fullmatch(r"[0-9]{1,9}", cell) else None


def _ranges(cell: str | None) -> tuple[int, ...] | None:
    """`0-3` or `0,1,4-5`; None for what is neither."""
    ids: list[int] = []
    for part in (cell or "").split(","):
        found = re.fullmatch(r"\s*([0-9]{1,5})(?:\s*-\s*([0-9]{1,5}))?\s*", part)
        if not found:
            return None
        ids.extend(range(int(found[1]), int(found[2] or found[1]) + 1))
        if len(ids) > MAX_CORES:
            return None
    return tuple(ids)


def _cell_links(cells: dict[str, str]) -> tuple[int, ...] | None:
    """A column of neighbours; an empty cell or NA in it is a device without links."""
    cell = cells.get("CONNECTED DEVICES")
    if cell is None:
        return None
    if cell in ("", "NA"):
        return ()
    numbers = [_cell_integer(part.strip()) for part in cell.split(",")]
    known = [number for number in numbers if number is not None]
    return tuple(known) if len(known) == len(numbers) else None


def _size(cell: str | None) -> int | None:
    """`32 GB`; the tool means GiB: it prints 34359738368 bytes so (JSON of the same device)."""
    found = re.fullmatch(r"([0-9]{1,7}) ?([KMGT])i?B", cell or "")
    return int(found[1]) << (10 * ("KMGT".index(found[2]) + 1)) if found else None
