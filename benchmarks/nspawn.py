"""A machine of its own for a service: a real systemd as pid 1, over this machine's files.

systemd-nspawn boots it over an overlay whose writes go to a tmpfs, so that the interpreters of this
machine are there and nothing of it changes. It has no network but its own loopback. Where this
machine's control groups are not handed on (version 1), MemoryMax=, DevicePolicy= and IPAddressDeny=
are accepted there and not enforced.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measuring import ROOT
from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHECKOUT = "/srv/checkout"
SHARED = "/srv/drill"  # what `shared` holds, seen from inside
_TARGET = "[Unit]\nRequires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n"
_BOOT = 30.0  # seconds
_COMMAND = 180.0
_PIP = ("PIP_", "HTTP", "http", "SSL_", "REQUESTS_", "no_proxy", "NO_PROXY")


class Done(NamedTuple):
    """How a command inside ended."""

    code: int
    out: str
    err: str


def missing() -> str:
    """What this machine lacks to boot another; empty if nothing."""
    if os.geteuid():
        return "root"
    tools = ("systemd-nspawn", "nsenter", "mount")
    return ", ".join(tool for tool in tools if not shutil.which(tool))


@contextmanager
def machine() -> Iterator[Machine]:
    """One that can be prepared and booted, and is gone without a trace at the end."""
    folder = Path(tempfile.mkdtemp(prefix="neuron-observer-drill-", dir="/var/tmp"))
    made = Machine(folder)
    try:
        made.mount()
        yield made
    finally:
        made.end()


class Machine:
    """Another machine's files and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.shared = self._folder / "shared"
        self.root = self._folder / "space/root"
        self.clock = SystemClock()
        self._booted: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def mount(self) -> None:
        """Lay its files over those of this machine."""
        space = self._folder / "space"
        for folder in (self.shared, space):
            folder.mkdir()
        _host("mount", "-t", "tmpfs", "-o", "size=1g", "none", str(space))
        for name in ("up", "work", "root"):
            (space / name).mkdir()
        layers = f"lowerdir=/,upperdir={space / 'up'},workdir={space / 'work'}"
        _host("mount", "-t", "overlay", "-o", layers, "none", str(self.root))

    def end(self) -> None:
        """Switch it off and forget it."""
        if self._booted:
            with suppress(OSError, subprocess.SubprocessError):
                self.run("systemctl", "poweroff")
                self._booted.wait(10)
            self._booted.kill()
            self._booted.wait()
        for mounted in (self.root, self._folder / "space"):
            subprocess.run(["umount", str(mounted)], check=False, capture_output=True)
        for leaf in ("payload", "supervisor"):
            for tree in ("systemd", "unified"):
                _remove_groups(Path("/sys/fs/cgroup") / tree / leaf)
        shutil.rmtree(self._folder, ignore_errors=True)

    def prepare(self, *command: str) -> Done:
        """Run a command over its files, before it is booted, with this machine's network."""
        settings = [f"--setenv={k}={v}" for k, v in os.environ.items() if k.startswith(_PIP)]
        return self._ended([*self._nspawn(), *settings, "--pipe", *command])

    def boot(self) -> float:
        """Start its systemd; the seconds until the basic target is there."""
        begin = self.clock.monotonic()
        (self.root / "etc/systemd/system/drill.target").write_text(_TARGET, encoding="utf-8")
        log = (self._folder / "nspawn.log").open("wb")
        options = ["--private-network", "--capability=CAP_SYSLOG", "--console=pipe"]
        with log:
            self._booted = subprocess.Popen(
                [*self._nspawn(), *options, "-b", "systemd.unit=drill.target"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.wait_for(lambda: self._find_leader() > 0, _BOOT)
        self.wait_for(
            lambda: self.run("systemctl", "is-active", "drill.target").out == "active\n", _BOOT
        )
        return self.clock.monotonic() - begin

    def run(self, *command: str) -> Done:
        """Run a command inside."""
        enter = ["nsenter", "-t", str(self._leader), "-m", "-p", "-u", "-i", "-n", "--", *command]
        return self._ended(enter)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command inside that goes on; it is the caller's to end."""
        enter = ["nsenter", "-t", str(self._leader), "-m", "-p", "-u", "-i", "-n", "--", *command]
        return subprocess.Popen(enter, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> float | None:
        """Ask until it holds: the seconds that took, None if it did not in time."""
        begin = self.clock.monotonic()
        while not condition():
            if self.clock.monotonic() - begin > seconds:
                return None
            self.clock.wait(0.05)
        return self.clock.monotonic() - begin

    def _nspawn(self) -> list[str]:
        return [
            *("systemd-nspawn", "--register=no", "--keep-unit", "--quiet", "-D", str(self.root)),
            *(f"--bind-ro={ROOT}:{CHECKOUT}", f"--bind-ro={self.shared}:{SHARED}"),
        ]

    def _ended(self, command: list[str]) -> Done:
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=_COMMAND,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Done(124, "", f"did not end in {_COMMAND:.0f} s")
        return Done(done.returncode, done.stdout, done.stderr)

    def _find_leader(self) -> int:
        """Its pid 1, as this machine numbers it."""
        tasks = Path(f"/proc/{self._booted.pid if self._booted else 'none'}/task")
        for children in tasks.glob("*/children"):
            for pid in children.read_text(encoding="ascii").split():
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
                inside = [ln.split()[-1] for ln in status.splitlines() if ln.startswith("NSpid:")]
                if inside == ["1"] and status.startswith("Name:\tsystemd\n"):
                    self._leader = int(pid)
        return self._leader


def _host(*command: str) -> None:
    subprocess.run(list(command), check=True, capture_output=True)


def _remove_groups(top: Path) -> None:
    """Control groups that nspawn leaves behind; those in use stay."""
    for folder in sorted(top.rglob("*"), reverse=True) if top.is_dir() else []:
        if folder.is_dir():
            with suppress(OSError):
                folder.rmdir()
    with suppress(OSError):
        top.rmdir()
