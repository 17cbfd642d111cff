"""G3 and G4: what a scrape costs the server, and how long a scraper waits.

    python -m benchmarks.scrape [--rounds N]

A page of 20,000 series, compressed, every value of it new at every scrape, against Debian's
prometheus-pushgateway (the Go client library) that holds and renders as many, and against
prometheus_client's own server with a custom collector of as many. CPU time is the server's, by the
process's CPU clock, over loopback. Then: scrapes of a whole trn2.48xlarge (8,000 series) that a
loop reads ten times a second, and scrapes of a page at rest, all on one connection.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.measuring import Goal, judge, machine, paired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ACCEPT = {"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "gzip"}
PUSHGATEWAY = "prometheus-pushgateway"
SCRAPES = 300  # of which a percentile is taken
PAUSE = 0.013  # seconds between two; no divisor of the loop's period
WHOLE = 8_000  # series of a trn2.48xlarge, at least; pe_cntrs are not read by themselves
P99, MEDIAN = 10.0, 1.0  # milliseconds


class Target:
    """A server in a process of its own, asked over one connection."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self.port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._clock = (~process.pid << 3) | 2  # CPU clock of a process, threads that ended too

    def get(self, path: str = "/metrics", *, packed: bool = True) -> bytes:
        """The body of an answer, as it came."""
        self._connection.request("GET", path, headers=ACCEPT if packed else {})
        return self._connection.getresponse().read()

    def put(self, path: str, body: bytes) -> int:
        """Send a body; the status."""
        self._connection.request("PUT", path, body)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def cpu(self) -> float:
        """CPU milliseconds that a scrape costs the server."""
        begin = time.clock_gettime(self._clock)
        self.get()
        return (time.clock_gettime(self._clock) - begin) * 1e3

    def wait(self, path: str = "/metrics") -> float:
        """Milliseconds that a scraper waits."""
        begin = time.perf_counter()
        self.get(path)
        return (time.perf_counter() - begin) * 1e3


@contextmanager
def ours(kind: str, folder: Path) -> Iterator[Target]:
    """One of the servers of `benchmarks.scrape_server`."""
    (folder / kind).mkdir()
    command = [sys.executable, "-m", "benchmarks.scrape_server", kind, str(folder / kind)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdout is None:
            raise SystemExit("the server has no output")
        port = process.stdout.readline()
        if not port:
            raise SystemExit(f"the server {kind} did not start")
        yield Target(process, int(port))
        process.communicate()  # its input ends, so it does


@contextmanager
def pushgateway(page: bytes) -> Iterator[Target]:
    """Debian's pushgateway with a page in it."""
    port = 19791
    command = [PUSHGATEWAY, "--persistence.file=", f"--web.listen-address=127.0.0.1:{port}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            target = Target(process, port)
            for _ in range(100):
                time.sleep(0.05)  # noqa: TID251 - somebody else's program starts
                try:
                    status = target.put("/metrics/job/benchmark", page)
                except OSError:
                    continue
                if status != http.client.OK:
                    raise SystemExit(f"the pushgateway refuses the page: {status}")
                break
            yield target
        finally:
            process.terminate()


def series(page: bytes) -> int:
    """Lines with a value."""
    return sum(not line.startswith(b"#") for line in page.splitlines())


def against(name: str, most: float, us: Target, them: Target, rounds: int) -> bool:
    """CPU of a scrape of as many series."""
    counts = [series(gzip.decompress(target.get())) for target in (us, them)]
    note = f"; {counts[0]:,} and {counts[1]:,} series"
    return judge(
        Goal(f"scrape, all changed, {name}", most), paired(us.cpu, them.cpu, rounds), "ms", note
    )


def waits(
    name: str, figure: Callable[[list[float]], float], most: float, times: list[float]
) -> bool:
    """Print a percentile and whether it is low enough."""
    value = figure(times)
    met = value <= most
    print(f"{name}: {value:.3f} ms, goal {most:.3g}: {'met' if met else 'MISSED'}")
    print(f"    median {median(times):.3f} ms, most {max(times):.3f} ms, {len(times)} scrapes")
    return met


def begin_to_read(target: Target) -> None:
    """Wait until all of the host is on the page."""
    for _ in range(1000):
        paused(target)
        if series(gzip.decompress(target.get())) >= WHOLE:
            return
    raise SystemExit(f"the loop's page never had {WHOLE:,} series")


def p99(times: list[float]) -> float:
    """The 99th percentile."""
    return quantiles(times, n=100)[98]


def paused(target: Target) -> float:
    """A scrape after a pause."""
    time.sleep(PAUSE)  # noqa: TID251 - so that scrapes fall between and into the loop's reads
    return target.wait()


def main() -> int:
    """1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print(machine(), flush=True)
    met = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ours("frames", folder) as us:
            packed, page = us.get(), us.get("/again", packed=False)
            if gzip.decompress(packed) != page:
                raise SystemExit("the compressed page is not the page")
            print(f"{series(page):,} series, {len(page):,} bytes, {len(packed):,} compressed")
            if shutil.which(PUSHGATEWAY):
                with pushgateway(page) as them:
                    met.append(against("against pushgateway", 1 / 2.5, us, them, rounds))
            else:
                print(f"{PUSHGATEWAY} is not installed (apt install {PUSHGATEWAY}): not compared")
            with ours("prometheus_client", folder) as them:
                met.append(against("against prometheus_client", 1 / 12, us, them, rounds))
            rest = [us.wait("/cached") for _ in range(SCRAPES)]
            met.append(waits("keep-alive, page at rest, median", median, MEDIAN, rest))
        with ours("loop", folder) as us:
            begin_to_read(us)
            under = [paused(us) for _ in range(SCRAPES)]
            met.append(waits("scrape while the loop reads at 10 Hz, p99", p99, P99, under))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
