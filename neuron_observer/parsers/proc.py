"""Files of `/proc` and `/sys/block/DISK/stat`: bytes → {part: cell}.

Total, like all parsers here: what is not in the file, or is of another form, is not in the answer.
Forms are those of the kernel's documentation (filesystems/proc, accounting/psi, block/stat).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from neuron_observer.model import Missing, Why
from neuron_observer.parsers.sysfs import COUNT_MAX, MALFORMED, TOO_LARGE, count

if TYPE_CHECKING:
    from neuron_observer.model import Cell

CPU_MODES: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
BLOCK_PARTS: Final = (
    *("reads", "read_merges", "read_sectors", "read_ticks"),
    *("writes", "write_merges", "write_sectors", "write_ticks"),
    *("in_flight", "io_ticks", "time_in_queue"),
)
_SINGLE: Final = {b"ctxt", b"btime", b"processes", b"procs_running", b"procs_blocked", b"intr"}
_DECIMAL: Final = re.compile(rb"\d{1,9}\.\d{1,3}")
_KILOBYTES: Final = re.compile(rb"^([!-9;-~]{1,64}): *([0-9]{1,13}) kB\n", re.MULTILINE)
_DIFFERENCES: Final = (("MemTotal", "MemAvailable"), ("SwapTotal", "SwapFree"))
_NO_FULL: Final = Missing(Why.UNSUPPORTED, "this kernel has no full line for it")


def cpu_stat(raw: bytes) -> dict[str, Cell]:
    """`/proc/stat`: `cpu.user` … in ticks of 1/100 s, `cpus`, `ctxt`, `procs_running` and so on."""
    parts: dict[str, Cell] = {}
    processors = 0
    for row in raw.split(b"\n"):
        name, _, rest = row.partition(b" ")
        if name == b"cpu":
            times = zip(CPU_MODES, rest.split(), strict=False)
            parts |= {f"cpu.{mode}": count(ticks) for mode, ticks in times}
        elif name[:3] == b"cpu" and name[3:].isdigit():
            processors += 1
        elif name in _SINGLE:
            parts[name.decode()] = count(rest.partition(b" ")[0])
    if processors:
        parts["cpus"] = processors
    return parts


def memory(raw: bytes) -> dict[str, Cell]:
    """`/proc/meminfo`: bytes by line name, page counts as they are, and two differences."""
    usual = _KILOBYTES.findall(raw)  # nearly all of it, in a quarter of the time
    parts: dict[str, Cell] = {name.decode(): int(kilobytes) * 1024 for name, kilobytes in usual}
    for row in _KILOBYTES.sub(b"", raw).split(b"\n"):
        name, colon, rest = row.partition(b":")
        fields = rest.split()
        if colon and name.isascii() and name.decode("ascii").isprintable() and fields:
            parts[name.decode()] = _memory(fields)
    for whole, rest_of_it in _DIFFERENCES:
        total, left = parts.get(whole), parts.get(rest_of_it)
        if isinstance(total, int) and isinstance(left, int):
            parts[f"{whole}-{rest_of_it}"] = total - left if left <= total else MALFORMED
    return parts


def _memory(fields: list[bytes]) -> Cell:
    cell = count(fields[0])
    if not isinstance(cell, int) or len(fields) == 1:
        return cell
    if fields[1:] != [b"kB"]:
        return MALFORMED
    return cell * 1024 if cell * 1024 <= COUNT_MAX else TOO_LARGE


def load(raw: bytes) -> dict[str, Cell]:
    """`/proc/loadavg`: `1m`, `5m`, `15m`, and `tasks` of `runnable/tasks`."""
    fields = raw.split()
    if len(fields) != 5:
        return {}
    parts = {
        name: _decimal(field) for name, field in zip(("1m", "5m", "15m"), fields[:3], strict=True)
    }
    runnable, slash, tasks = fields[3].partition(b"/")
    if slash:
        parts |= {"runnable": count(runnable), "tasks": count(tasks)}
    return parts


def _decimal(field: bytes) -> Cell:
    return float(field) if _DECIMAL.fullmatch(field) else MALFORMED


def pressure(raw: bytes) -> dict[str, Cell]:
    """`/proc/pressure/*`: `some.avg10` … in percent, `some.total` in µs, the same for `full`."""
    parts: dict[str, Cell] = {}
    for row in raw.split(b"\n"):
        share, *fields = row.split() or [b""]
        if share in (b"some", b"full"):
            for field in fields:
                name, _, value = field.partition(b"=")
                if name in (b"avg10", b"avg60", b"avg300"):
                    parts[f"{share.decode()}.{name.decode()}"] = _percent(value)
                elif name == b"total":
                    parts[f"{share.decode()}.total"] = count(value)
    if "some.total" in parts and "full.total" not in parts:
        names = ("avg10", "avg60", "avg300", "total")
        parts |= {f"full.{name}": _NO_FULL for name in names if f"full.{name}" not in parts}
    return parts


def _percent(field: bytes) -> Cell:
    cell = _decimal(field)
    return MALFORMED if isinstance(cell, float) and cell > 100 else cell


def descriptors(raw: bytes) -> dict[str, Cell]:
    """`/proc/sys/fs/file-nr`: `used` (allocated less free) and `limit`."""
    fields = [count(field) for field in raw.split()]
    if len(fields) != 3:
        return {}
    allocated, free, limit = fields
    parts = {"limit": limit}
    if isinstance(allocated, int) and isinstance(free, int):
        parts["used"] = allocated - free if free <= allocated else MALFORMED
    return parts


def block(raw: bytes) -> dict[str, Cell]:
    """`/sys/block/DISK/stat`: eleven counts or, from 4.18 and 5.5 on, more."""
    fields = raw.split()
    if len(fields) < len(BLOCK_PARTS):
        return {}
    return {name: count(field) for name, field in zip(BLOCK_PARTS, fields, strict=False)}
