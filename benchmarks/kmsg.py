"""Kernel log path: lines a second and peak memory, as ratios against a plain read of the lines.

    python benchmarks/kmsg.py [LINES]

Every variant runs in a process of its own on the same file of /dev/kmsg records. Goal: at least
100,000 lines a second through source, parser and collector, in memory that does not grow with
the file (architecture: the reader survives a flood, bounded, with what it drops counted).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_observer.clock import SystemClock
from neuron_observer.collectors.kmsg import KernelLogCollector, LookBack, OwnReads
from neuron_observer.sources.lines import FileLines, PipeLines
from neuron_observer.sources.pump import PumpedLines

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sources.lines import LineSource

GOAL = 100_000  # lines a second
CHUNK = 65_536
TEXTS = (
    "neuron:npid_attach: pid=90193, slot=0",
    "audit: type=1400 audit(1788000000.123:456): apparmor=\\x22ALLOWED\\x22 operation=open",
    "neuron:ndma_memcpy_wait_for_completion: DMA completion timeout on nd03 for UDMA_ENG_33 q0",
    "pci 0000:10:1b.0: BAR 0 [mem 0x4000080000-0x40000fffff 64bit]\n SUBSYSTEM=pci\n DEVICE=+pci:0",
)


def write_log(path: Path, lines: int) -> None:
    """A log of `lines` records."""
    with path.open("w") as log:
        for number in range(lines):
            text = TEXTS[number % len(TEXTS)]
            log.write(f"{6 - number % 4},{number},{5_000_000 + number * 10},-;{text}\n")


def plain(path: Path, _lines: int) -> dict[str, Any]:
    """The least that can be done: read the file in chunks and cut it at newlines."""
    fd = os.open(path, os.O_RDONLY)
    count, rest = 0, b""
    while chunk := os.read(fd, CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        count += sum(not line.startswith(b" ") for line in whole)
    os.close(fd)
    return {"read": count}


def collected(source: LineSource, done: Callable[[], bool]) -> dict[str, Any]:
    """Through the collector until the source is done."""
    own = OwnReads()
    own.add(5.0, 5.1)
    collector = KernelLogCollector(source, LookBack(lambda: "boot", lambda: 0.0), own_read=own)
    batch = collector.collect(1e9)
    while batch.records or not done():
        batch = collector.collect(1e9)
    counts = batch.counts
    return {"read": counts.read, "lost": counts.lost, "dropped": counts.dropped}


def file(path: Path, _lines: int) -> dict[str, Any]:
    """A plain file, as under another host root."""
    return collected(FileLines(str(path)), lambda: True)


def flood(path: Path, _lines: int) -> dict[str, Any]:
    """A writer at full speed into a pipe, a pump that must not hold it up, a slow collector."""
    reader, writer = os.pipe()

    def write() -> None:
        with path.open("rb") as log, os.fdopen(writer, "wb") as out:
            while chunk := log.read(CHUNK):
                out.write(chunk)

    thread = threading.Thread(target=write)
    thread.start()
    pump = PumpedLines(PipeLines(reader, "pipe"), max_lines=20_000)
    found = collected(pump, lambda: pump.ended)
    thread.join()
    pump.close()
    return found


VARIANTS = {"plain": plain, "file": file, "flood": flood}


def measure(variant: str, path: Path, lines: int) -> None:
    """Run one variant and print its figures as JSON."""
    clock = SystemClock()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = clock.monotonic()
    figures = VARIANTS[variant](path, lines)
    figures["seconds"] = clock.monotonic() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(figures | {"peak_kib": peak, "grown_kib": peak - before}))


def run(variant: str, path: Path, lines: int) -> dict[str, Any]:
    """One variant in a process of its own; the best of three."""
    best: dict[str, Any] = {}
    for _ in range(3):
        command = [sys.executable, __file__, variant, str(path), str(lines)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        figures = json.loads(output)
        if not best or figures["seconds"] < best["seconds"]:
            best = figures
    return best


def main(lines: int) -> int:
    """Print all variants against the plain read."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "kmsg"
        write_log(path, lines)
        least = run("plain", path, lines)
        print(f"{lines:,} records, {path.stat().st_size / 1e6:.1f} MB")
        slow = False
        for variant in VARIANTS:
            found = least if variant == "plain" else run(variant, path, lines)
            speed = lines / found["seconds"]
            slow = slow or (variant == "file" and speed < GOAL)
            print(
                f"{variant:6} {speed:>12,.0f} lines/s  {found['seconds'] / least['seconds']:5.1f} x"
                f" the time  peak {found['peak_kib'] / 1024:5.1f} MiB"
                f" ({found['peak_kib'] / least['peak_kib']:.2f} x)  read {found['read']:,}"
                f"  dropped {found.get('dropped', 0):,}  lost {found.get('lost', 0):,}"
            )
    return int(slow)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) == 2 else 400_000))
