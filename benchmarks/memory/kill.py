"""SIGKILL at random moments of a storm: is everything there again, and nothing twice?

A real daemon watches a directory that looks like a node of 64 cores. Faults are written into it (a
counter moves, or the kernel log gets a line), each once, none goes away. What the daemon tells and
what it says that it keeps is noted until it is killed; then it is started again and asked.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.hosts import write_tree
from benchmarks.measuring import ROOT, TREES
from neuron_observer.client import Client
from neuron_observer.client.address import Address
from neuron_observer.clock import SystemClock
from neuron_observer.errors import ObserverError

if TYPE_CHECKING:
    from typing import Any

CORES = 64
ROUNDS_A_HOST = 10  # then a new one: it has but so many places for faults
LONGEST = 2.5  # seconds of storm before a kill
PATIENCE = 60.0  # seconds for a daemon to begin
_CLOCK = SystemClock()
_CORE = "sys/devices/virtual/neuron_device/neuron0/neuron_core{}/stats/status/{}/total"
_COUNTERS = ("hw_nc_ue_error", "hw_dma_abort_error", "hw_error", "hw_hbm_ue_error")
_LINE = "3,{},{},-;NEURON_HW_ERR=NC_UNCORRECTABLE_ERROR nd-id=0 nc-id={} action=REBOOT\n"

Whose = tuple[str, "int | None", "int | None"]  # finding, device, core


class Tally(NamedTuple):
    """What was counted."""

    kills: int = 0
    told: int = 0  # findings that stood when the daemon was killed
    acknowledged: int = 0  # of them; the daemon had said that it is kept
    lost: int = 0
    lost_words: int = 0
    doubled: int = 0
    other_begin: int = 0  # found again with another first_seen: told within the last second

    def plus(self, other: Tally) -> Tally:
        """Both."""
        return Tally(*(one + two for one, two in zip(self, other, strict=True)))


class Host:
    """A directory that looks like a node, and faults that have not been used yet."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.root, self.state, self.socket = folder / "host", folder / "state", folder / "s"
        write_tree(TREES / "trn2.3xlarge-2.30.2-busy.tsv", self.root, CORES)
        self._write("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n")
        self._write("proc/uptime", "1000000.00 1.00\n")
        self._write("dev/kmsg", "")
        self._lines = 0
        places = [(core, name) for core in range(CORES) for name in (*_COUNTERS, "line")]
        dice.shuffle(places)
        self._unused = places

    def _write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def fault(self) -> None:
        """One more, as long as there is a place without one."""
        if not self._unused:
            return
        core, name = self._unused.pop()
        if name == "line":
            self._lines += 1
            at = 999_000_000_000 + self._lines
            with (self.root / "dev/kmsg").open("a", encoding="utf-8") as log:
                log.write(_LINE.format(self._lines, at, core))
            return
        file = self.root / _CORE.format(core, name)
        file.write_text(f"{int(file.read_text('utf-8') or 0) + 1}\n", "utf-8")

    def start(self) -> subprocess.Popen[bytes]:
        """A daemon on it, which answers."""
        self.socket.unlink(missing_ok=True)
        command = [sys.executable, "-m", "neuron_observer", "daemon", "--listen", "127.0.0.1:0"]
        command += ["--host-root", str(self.root), "--all-devices"]
        command += ["--socket", str(self.socket), "--state", str(self.state)]
        with (self.state.parent / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=ROOT, stderr=log)
        deadline = _CLOCK.monotonic() + PATIENCE
        while not self.findings():
            if _CLOCK.monotonic() > deadline or process.poll() is not None:
                process.kill()
                raise SystemExit((self.state.parent / "log").read_text("utf-8"))
            _CLOCK.wait(0.02)
        return process

    @property
    def client(self) -> Client:
        """Asks the daemon."""
        return Client(Address("unix", path=str(self.socket)), patience=5.0)

    def findings(self) -> dict[str, Any]:
        """Its findings; empty while it does not answer."""
        with suppress(ObserverError):
            return self.client.get("findings")
        return {}


def standing(document: dict[str, Any]) -> dict[Whose, dict[str, Any]]:
    """The storm's findings that stand."""
    return {
        (one["id"], one["entity"]["device"], one["entity"]["core"]): one
        for one in document.get("findings", ())
        if one["state"] in ("firing", "acknowledged", "recovering") and one["severity"] != "info"
    }


def one_round(host: Host, dice: random.Random) -> Tally:
    """Storm, kill, start, compare."""
    process = host.start()
    told: dict[Whose, dict[str, Any]] = {}
    said: set[str] = set()
    end = _CLOCK.monotonic() + dice.uniform(0.0, LONGEST)
    while _CLOCK.monotonic() < end:
        host.fault()
        told |= standing(host.findings())
        if told and dice.random() < 0.2:
            finding = dice.choice(sorted(told, key=str))[0]  # some are of no device
            with suppress(ObserverError):
                done = host.client.post(
                    "acts", {"verb": "ack", "subject": finding, "reason": "a storm"}
                )
                said |= {finding} if done["kept"] else set()
                told |= standing(host.findings())
    known = {whose for whose, one in told.items() if one["state"] == "acknowledged"}
    known = {whose for whose in known if whose[0] in said}
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return _compared(host, told, known)


def _compared(host: Host, told: dict[Whose, dict[str, Any]], known: set[Whose]) -> Tally:
    process = host.start()
    deadline = _CLOCK.monotonic() + 10.0
    again = standing(host.findings())
    while told.keys() - again.keys() and _CLOCK.monotonic() < deadline:
        _CLOCK.wait(0.1)
        again = standing(host.findings())
    process.send_signal(signal.SIGTERM)
    process.wait()
    lost = told.keys() - again.keys()
    words = {whose for whose in known if again.get(whose, {}).get("state") != "acknowledged"}
    begun = {
        whose
        for whose in told.keys() & again.keys()
        if again[whose]["first_seen"] != told[whose]["first_seen"]
    }
    for whose in sorted(lost | words, key=str):
        print(f"    lost: {whose}: {told[whose]['state']}", flush=True)
    return Tally(1, len(told), len(known), len(lost), len(words), _doubled(host), len(begun))


def _doubled(host: Host) -> int:
    """Findings that have more than one row: none of the storm's went away."""
    with closing(sqlite3.connect(host.state / "state.db")) as state:
        query = "SELECT count(*) FROM (SELECT 1 FROM findings GROUP BY rule, core, label"
        (count,) = state.execute(f"{query} HAVING count(*) > 1)").fetchone()
    return int(count)


def run(rounds: int, seed: int) -> Tally:
    """So many kills."""
    dice = random.Random(seed)  # noqa: S311 - moments, no secrets
    tally = Tally()
    while tally.kills < rounds:
        with TemporaryDirectory() as folder:
            host = Host(Path(folder), dice)
            for _ in range(min(ROUNDS_A_HOST, rounds - tally.kills)):
                tally = tally.plus(one_round(host, dice))
    return tally
