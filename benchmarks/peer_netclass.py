"""G2: CPU an attribute against the netclass collector of Prometheus' node_exporter.

    python -m benchmarks.peer_netclass [--rounds N]        needs root and prometheus-node-exporter

Both read the same attributes of the same sysfs, those of 225 pairs of virtual network interfaces
in a network namespace: the program by `FileBatch.poll` with kept descriptors, as its lanes do, the
exporter by one scrape with its other collectors off. The exporter's figure includes rendering and
serving the page, ours comparing and parsing. Where the exporter or root is absent, nothing is
measured and the exit code is 0.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.hosts import Interfaces, enter_namespaces, mount
from benchmarks.measuring import Goal, judge, machine, paired
from neuron_observer.catalogue.spec import Kind, MetricSpec, Source
from neuron_observer.clock import SystemClock
from neuron_observer.collectors.batching import BatchName, FileBatch, FileRead, Target
from neuron_observer.model import Missing, Place
from neuron_observer.sources.hostfs import DirectoryFs

EXPORTER = "prometheus-node-exporter"
GOAL = 1 / 6
PAIRS = 225
ADDRESS = "127.0.0.1:19100"  # inside the namespace, which nobody else sees
STARTS_WITHIN = 10.0  # seconds


def attributes(sysfs: Path) -> list[Path]:
    """Every regular file of every interface; the exporter reads all of them."""
    folders = sorted((sysfs / "class" / "net").iterdir())
    return [file for folder in folders for file in sorted(folder.iterdir()) if file.is_file()]


def batch_of(sysfs: Path, files: list[Path]) -> FileBatch:
    """The program's way to read these files; numbers as counts, anything else as a line."""
    reads = []
    for file in files:
        text = file.read_bytes()
        source = Source("sensor", file.name, "count" if text.strip().isdigit() else "line")
        spec = MetricSpec(
            id=f"net.{file.name}",
            scope="node",
            kind=Kind.GAUGE,
            unit="",
            help="",
            sources=(source,),
            lane="normal",
            family="",
        )
        place = Place(label=file.parent.name)
        path = f"{file.parent.name}/{file.name}"
        reads.append(FileRead(path, (Target(spec, source, place, None),)))
    host = DirectoryFs(str(sysfs))
    return FileBatch(BatchName("net", "normal"), host, "class/net", reads, keep=True)


def readable(file: Path) -> bool:
    """Whether the kernel has one value; some say EINVAL or EOPNOTSUPP, uevent is a list."""
    try:
        return file.name != "uevent" and bool(file.read_bytes())
    except OSError:
        return False


def cpu_of_process(pid: int) -> int:
    """Nanoseconds on a processor of all threads."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def scrape() -> int:
    """Lines of the exporter's page."""
    with urllib.request.urlopen(f"http://{ADDRESS}/metrics") as page:
        return sum(1 for line in page if not line.startswith(b"#"))


def start(exporter: str, sysfs: Path) -> subprocess.Popen[bytes]:
    """The exporter, answering."""
    process = subprocess.Popen(
        [
            exporter,
            f"--web.listen-address={ADDRESS}",
            f"--path.sysfs={sysfs}",
            "--collector.disable-defaults",
            "--collector.netclass",
        ],
        stderr=subprocess.DEVNULL,
    )
    for _ in range(int(STARTS_WITHIN * 20)):
        try:
            scrape()
        except (urllib.error.URLError, ConnectionError):
            SystemClock().wait(0.05)
        else:
            return process
    process.kill()
    process.wait()
    raise SystemExit(f"{exporter} did not answer within {STARTS_WITHIN:.0f} s")


def measure(exporter: str, folder: Path, rounds: int) -> bool:
    """Run both on the same sysfs."""
    enter_namespaces(network=True)
    mount("sysfs", folder, read_only=True)
    Interfaces(folder, moving=4 * PAIRS, total=4 * PAIRS)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    every = attributes(folder)
    files = [file for file in every if readable(file)]
    batch = batch_of(folder, files)
    clock = SystemClock()
    process = start(exporter, folder)
    try:
        lines = scrape()

        def ours() -> float:
            begin = time.process_time_ns()
            cells = batch.poll(clock).cells
            spent = time.process_time_ns() - begin
            lost = [i for i, cell in enumerate(cells) if isinstance(cell, Missing)]
            if lost:
                raise SystemExit(f"{batch.layout.sources[lost[0]]}: {cells[lost[0]]}")
            return spent / len(files) / 1e3

        def theirs() -> float:
            begin = cpu_of_process(process.pid)
            scrape()
            return (cpu_of_process(process.pid) - begin) / len(every) / 1e3

        pairs = paired(ours, theirs, rounds)
    finally:
        process.kill()
        process.wait()
        batch.close()
    note = f"; it opens {len(every):,} attributes for {lines:,} series, we read {len(files):,}"
    return judge(Goal("CPU an attribute against node_exporter", GOAL), pairs, "µs", note)


def main() -> int:
    """Measure; 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    exporter = shutil.which(EXPORTER)
    if exporter is None or os.geteuid():
        why = f"{EXPORTER} is not installed" if exporter is None else "it needs root"
        print(f"CPU an attribute against node_exporter: not measured, {why}")
        return 0
    if options.folder:
        return 0 if measure(exporter, options.folder, options.rounds) else 1
    print(machine(), flush=True)
    # made and removed out here, where what the child mounts on it is not seen
    with tempfile.TemporaryDirectory() as folder:
        child = [sys.executable, "-m", "benchmarks.peer_netclass", "--rounds", str(options.rounds)]
        return subprocess.call([*child, "--folder", folder])


if __name__ == "__main__":
    sys.exit(main())
