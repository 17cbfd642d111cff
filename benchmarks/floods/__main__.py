"""What floods of clients do to a daemon that reads a whole trn2.48xlarge meanwhile.

    python -m benchmarks.floods [--seconds S] [--clients N] [--host LISTING] [KIND …]

1,000 clients at once of each kind, from processes of their own: scrapers, connections that come and
go, slow readers and writers, headers of 1 MiB, fuzzed requests; by TLS: silent ones, half a
handshake, whole handshakes one after the other, guessed passwords. Goals: frames keep their period
(99 of 100 gaps within 1.5 times of it), at most 20 MB more resident memory, an answer within one
second once the flood is over. Printed beside it: how long this machine's own programs wait for an
answer by the unix socket meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import bcrypt

from benchmarks.floods.clients import KINDS, anyone
from benchmarks.hosts import write_tree
from benchmarks.measuring import TREES, machine, within
from neuron_observer.loop import PERIODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
PLAIN = tuple(kind for kind in KINDS if kind not in ("silent", "half-open TLS"))
TLS = ("silent", "half-open TLS", "handshakes", "passwords")
PERIOD = min(PERIODS.values())
MOST_GAP, MOST_MEMORY, MOST_WAIT = 1.5, 20.0, 1.0  # of the period; MB; seconds
USER, PASSWORD = "alice", "a password"
_STEP = 0.25  # seconds between two looks at the memory


class Target:
    """The daemon."""

    def __init__(self, process: subprocess.Popen[str], path: Path, *, tls: bool) -> None:
        if process.stdin is None or process.stdout is None:
            raise SystemExit("the daemon has no pipes")
        self._input, self._output = process.stdin, process.stdout
        self._path = str(path)
        self._tls = anyone() if tls else None
        self.port = int(self._output.readline())

    def look(self) -> tuple[list[float], float]:
        """Seconds between frames since the last look, and resident MB."""
        self._input.write("\n")
        self._input.flush()
        found = json.loads(self._output.readline())
        return found["gaps"], found["resident"] / 1e6

    def answer(self) -> float:
        """Seconds that an answer takes; a client tries again until a second has passed."""
        begin = time.perf_counter()
        while time.perf_counter() - begin < MOST_WAIT * 2:
            try:
                if self._ask() == http.client.OK:
                    return time.perf_counter() - begin
            except OSError:
                continue
        return float("inf")

    def own_answer(self) -> float:
        """Milliseconds until this machine's own programs have one."""
        begin = time.perf_counter()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5.0)
            sock.connect(self._path)
            sock.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            if b" 200 " not in sock.recv(4096):
                raise SystemExit("the unix socket does not answer")
        return (time.perf_counter() - begin) * 1e3

    def _ask(self) -> int:
        headers = {"Accept-Encoding": "gzip", "Connection": "close"}
        if self._tls:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=MOST_WAIT, context=self._tls
            )
            word = f"{USER}:{PASSWORD}".encode()
            headers["Authorization"] = f"Basic {b64encode(word).decode()}"
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=MOST_WAIT)
        try:
            connection.request("GET", "/metrics", headers=headers)
            answer = connection.getresponse()
            answer.read()
        finally:
            connection.close()
        return answer.status


def write_web_config(folder: Path) -> Path:
    """A certificate of its own, and one user."""
    pair = ("-keyout", folder / "key.pem", "-out", folder / "cert.pem")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    command = ("openssl", "req", "-x509", "-nodes", *curve, *pair, "-subj", "/CN=localhost")
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(10)).decode()
    file = folder / "web-config.yml"
    file.write_text(
        "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"
        f"basic_auth_users: {{{USER}: '{hashed}'}}\n",
        "utf-8",
    )
    for secret in (file, folder / "key.pem"):
        secret.chmod(0o600)
    return file


@contextmanager
def target(folder: Path, quiet: float, *, tls: bool) -> Iterator[Target]:
    """A daemon over a host, at work."""
    path = folder / f"socket-{tls}"
    command = [sys.executable, "-m", "benchmarks.floods.target", folder / "tree", path]
    if tls:
        command.append(write_web_config(folder))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        found = Target(process, path, tls=tls)
        for _ in range(round(quiet * 10)):  # until memory was taken for pages of some frames
            found.answer()
            time.sleep(0.1)  # noqa: TID251 - frames come meanwhile
        found.answer()
        found.look()
        time.sleep(quiet)  # noqa: TID251 - what it does when nobody asks
        gaps, memory = found.look()
        kind = "by TLS, with passwords" if tls else "plain"
        print(f"{kind}: quiet, gap p99 {p99(gaps) / PERIOD:.2f} periods, {memory:.1f} MB")
        yield found
        process.stdin.close()
        process.wait(10)


def flood(kind: str, at: Target, clients: int, seconds: float) -> bool:
    """One flood, and what became of the daemon."""
    at.look()
    _, before = at.look()
    command = [sys.executable, "-m", "benchmarks.floods.clients", kind, str(at.port)]
    gaps: list[float] = []
    waits, most, kernel = [], before, [sockets_hold()]
    with subprocess.Popen(
        [*command, str(clients), str(seconds)], stdout=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            time.sleep(_STEP)  # noqa: TID251 - while the flood goes on
            waits.append(at.own_answer())
            more, memory = at.look()
            gaps += more
            most = max(most, memory)
            kernel.append(sockets_hold())
        made = (process.stdout.read() if process.stdout else "").split()
    if process.returncode or len(made) != 2:
        raise SystemExit(f"the clients of {kind!r} failed")
    after = at.answer()
    print(f"{kind}: {clients} clients, {made[0]} connections, {made[1]} answers")
    met = within("    gap between frames, p99", p99(gaps) / PERIOD, MOST_GAP, "periods")
    met &= within("    memory", most - before, MOST_MEMORY, "MB more")
    met &= within("    answer afterwards", after, MOST_WAIT, "s")
    print(
        f"    {len(gaps)} frames; by the unix socket meanwhile p99 {p99(waits):.1f} ms;"
        f" the kernel held {max(kernel) - kernel[0]:.0f} MB more for this machine's TCP"
    )
    return met


def sockets_hold() -> float:
    """MB of the kernel's for TCP."""
    for line in Path("/proc/net/sockstat").read_text("ascii").splitlines():
        if line.startswith("TCP:"):
            return int(line.split()[-1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


def p99(figures: Sequence[float]) -> float:
    """The 99th percentile, or the most of a few."""
    return sorted(figures)[max(len(figures) * 99 // 100 - 1, 0)] if figures else float("inf")


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=[*PLAIN, *TLS])
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--quiet", type=float, default=5.0, help="seconds before the floods")
    parser.add_argument("--host", type=Path, default=LISTING)
    options = parser.parse_args(arguments)
    print(machine(), flush=True)
    met = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tree(options.host, folder / "tree")
        for kinds, tls in ((PLAIN, False), (TLS, True)):
            wanted = [kind for kind in options.kinds if kind in kinds]
            if wanted:
                with target(folder, options.quiet, tls=tls) as at:
                    for kind in wanted:
                        met &= flood(kind, at, options.clients, options.seconds)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
