"""What must hold of the installed service, one function a subject; see `benchmarks.service`."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.nspawn import SHARED
from neuron_observer.service import units

if TYPE_CHECKING:
    from benchmarks.nspawn import Machine

SERVICE = units.SERVICE
PYTHON = "/opt/neuron-observer/bin/python"
PIP = "/opt/neuron-observer/bin/pip"
WHEELS = "/srv/wheels"  # the package again, for an upgrade where there is no network
OBSERVER = "/opt/neuron-observer/bin/neuron-observer"
WATCHDOG = 3  # seconds, instead of the unit's 30: a drill does not wait that long
STOP_WITHIN = 2.0
# Nodes whose number is that of a device that can be opened; the others have none behind them.
_OPENABLE = (3, 5, 7, 8, 9)  # null, zero, full, random, urandom: mem(4)
HELD = 3
_NODES = (
    "for i in $(seq 0 15); do case $i in "
    + "|".join(map(str, _OPENABLE))
    + ") major=1;; *) major=240;; esac; mknod -m 666 /dev/neuron$i c $major $i; done;"
    " mknod -m 644 /dev/kmsg c 1 11"
)
_SIMULATED = f"[Service]\nExecStart={OBSERVER} simulate healthy --root /srv/tree\n"
# what systemd itself mounts over must be there to be mounted over
_MOUNT_POINTS = "mkdir -p /srv/tree/sys/fs/cgroup /srv/tree/sys/kernel"
_DROP_IN = f"etc/systemd/system/{SERVICE}.d/drill.conf"


class Board:
    """What was seen, told line by line."""

    def __init__(self) -> None:
        self.held = 0
        self.broken = 0

    def note(self, what: str, holds: bool, figure: object = "", unit: str = "") -> None:  # noqa: FBT001
        """One thing that must hold, and what was seen."""
        self.held += holds
        self.broken += not holds
        shown = f"{figure:.2f}" if isinstance(figure, float) else str(figure).strip()
        print(f"{'ok    ' if holds else 'BROKEN'}  {what:58} {shown} {unit}".rstrip(), flush=True)


def shown(there: Machine, *names: str, unit: str = SERVICE) -> dict[str, str]:
    """Properties of a unit."""
    done = there.run("systemctl", "show", unit, *(f"--property={name}" for name in names))
    return dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)


def active(there: Machine) -> bool:
    """Whether it runs and is ready."""
    return shown(there, "ActiveState")["ActiveState"] == "active"


def pid(there: Machine) -> int:
    """Of the daemon, 0 if there is none."""
    return int(shown(there, "MainPID")["MainPID"])


def asked(there: Machine, path: str, *options: str) -> str:
    """What it answers by HTTP."""
    return there.run("curl", "-s", "-m", "10", *options, f"http://127.0.0.1:9744{path}").out


def says(there: Machine, text: str) -> bool:
    """Whether the status line holds a text."""
    return text in shown(there, "StatusText").get("StatusText", "")


def configure(there: Machine, *lines: str) -> None:
    """The drill's own drop-in: the simulated /sys, and some lines."""
    text = "\n".join(["[Service]", "BindReadOnlyPaths=/srv/tree/sys:/sys", *lines, ""])
    target = there.root / _DROP_IN
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, encoding="utf-8")
    there.run("systemctl", "daemon-reload")


def install(there: Machine, board: Board) -> None:
    """On a machine without a driver or a device; twice changes nothing."""
    done = there.run(OBSERVER, "install-service")
    board.note("install-service", not done.code, done.err)
    again = there.run(OBSERVER, "install-service")
    took = again.out.partition("\n\n")[0]
    untouched = not any(word in took for word in ("wrote", "removed", "daemon-reload", "restart"))
    board.note("install-service again changes nothing", not again.code and untouched, again.err)
    state = there.run("systemctl", "is-system-running").out
    board.note("the machine's state", state == "running\n", state)
    status = shown(there, "StatusText")["StatusText"]
    bare = active(there) and "0 devices" in status
    board.note("without a driver it is active and says so", bare, status)
    for path in ("/run/neuron-observer-ranks", "/var/lib/neuron-observer"):
        mode = there.run("stat", "-c", "%a %U", path).out
        wanted = "1777 root\n" if path.startswith("/run") else "750 neuron-observer\n"
        board.note(path, mode == wanted, mode)


def look_at_devices(there: Machine, board: Board) -> None:
    """A simulated machine: ready, healthy in the status line, answering both sockets."""
    unit = there.root / "etc/systemd/system/simulated-host.service"
    unit.write_text(_SIMULATED, encoding="utf-8")
    there.run("systemctl", "daemon-reload")
    there.run("systemctl", "start", "simulated-host")
    there.run("sh", "-c", _NODES)
    there.wait_for((there.root / "srv/tree/sys/module").is_dir, 30.0)
    there.run("sh", "-c", _MOUNT_POINTS)
    configure(there)
    there.run("systemctl", "restart", SERVICE)
    board.note("ready after a restart", active(there))
    took = there.wait_for(lambda: says(there, "healthy: nothing found"), 20.0)
    status = shown(there, "StatusText")["StatusText"]
    board.note("STATUS= has the verdict", took is not None and "16 devices" in status, status)
    board.note("the TCP socket answers", asked(there, "/readyz") == "ready\n")
    local = asked(there, "/readyz", "--unix-socket", "/run/neuron-observer/observer.sock")
    board.note("the unix socket answers", local == "ready\n")
    done = there.run("setpriv", "--reuid=65534", "--clear-groups", OBSERVER, "check")
    told = not done.code and "told by the daemon" in done.err
    board.note("`check` of another user is told by the daemon", told, done.out.splitlines()[:1])


def in_sandbox(there: Machine, command: str) -> str:
    """What a command prints that runs as the service does, in its sandbox."""
    lines = (there.root / units.UNITS / SERVICE).read_text(encoding="utf-8").splitlines()
    of_a_daemon = ("Type=", "Exec", "Watchdog", "Restart", "Sockets=", "Also=", "Wants=", "After=")
    kept = [line for line in lines if not line.startswith(of_a_daemon)]
    begin = kept.index("[Service]") + 1
    kept[begin:begin] = ["Type=oneshot", f"ExecStart={command}", "StandardOutput=file:/srv/said"]
    name = "drill-sandbox.service"
    (there.root / units.UNITS / name).write_text("\n".join(kept), encoding="utf-8")
    drop_ins = there.root / units.UNITS / f"{name}.d"
    shutil.rmtree(drop_ins, ignore_errors=True)
    shutil.copytree(there.root / units.UNITS / f"{SERVICE}.d", drop_ins)
    (there.root / "srv/said").unlink(missing_ok=True)
    there.run("systemctl", "daemon-reload")
    there.run("systemctl", "start", name)
    said = there.root / "srv/said"
    return said.read_text(encoding="utf-8") if said.exists() else ""


def probed(there: Machine) -> dict[str, Any]:
    """What the probe could do in the sandbox."""
    probe = Path(__file__).with_name("service_probe.py").read_text(encoding="utf-8")
    (there.shared / "probe.py").write_text(probe, encoding="utf-8")
    (there.shared / "probe.py").chmod(0o644)
    found = json.loads(in_sandbox(there, f"/usr/bin/python3 {SHARED}/probe.py") or "{}")
    return found if isinstance(found, dict) else {}


def _allowed(answers: dict[str, str]) -> set[str]:
    return {name for name, answer in answers.items() if answer == "ok"}


def try_the_sandbox(there: Machine, board: Board) -> None:
    """What it must not do is refused, and what it needs is there: by trying, and by `doctor`."""
    there.run("mkdir", "-p", "/etc/neuron-observer")
    found = probed(there)
    if not found:
        board.note("the sandbox can be tried", holds=False)
        return
    written = _allowed(found["write"])
    its_own = {"/var/lib/neuron-observer", "/tmp", "/var/tmp"}  # noqa: S108 - private ones
    board.note("writes only its state and a /tmp of its own", written == its_own, sorted(written))
    families = _allowed(found["socket"])
    board.note("makes only unix sockets", families == {"AF_UNIX"}, sorted(families))
    calls = _allowed(found["call"])
    board.note("of the system calls tried only AIO", calls == {"io_setup"}, sorted(calls))
    read = _allowed(found["read"])
    needed = {"/dev/kmsg", "/proc/meminfo", "/proc/stat"}
    board.note("of the files tried reads what it needs", read == needed, sorted(read))
    board.note("sees that /dev/neuron0 is there", found["node"] == "ok")
    board.note("sees its own process only", found["seen"] <= 2, found["seen"])
    only_syslog = found["capabilities"] == 1 << 34 and found["no_new_privileges"] == "1"
    board.note("has CAP_SYSLOG and no other capability", only_syslog, hex(found["capabilities"]))
    board.note("Nice=10", found["nice"] == 10, found["nice"])
    doctor = in_sandbox(there, f"{PYTHON} -I -m neuron_observer doctor")
    for line in ("16 of 16 in sysfs", "kernel log: readable", "efa: rdmap"):
        board.note(f"doctor: {line}", line in doctor)
    denied = _gaps(doctor, "denied")
    only = all(name.startswith("driver.parameter.") for name in denied)
    board.note("doctor: denied are the module's parameters alone", only, len(denied))
    space = [name for name in _gaps(doctor, "unsupported") if name.startswith("host.")]
    board.note("doctor: no figure of the host is lost", not space, space)


def _gaps(doctor: str, why: str) -> list[str]:
    """Metrics that `doctor` lists as missing for a reason."""
    blocks = doctor.partition("Missing signals")[2].partition("Rules that")[0].split("\n  ")
    found: list[str] = []
    inside = False
    for line in blocks:
        if not line.startswith(" "):
            inside = line.startswith(why)
        elif inside and "→" not in line:
            found += [word.rstrip(",") for word in line.split() if "." in word]
    return found


def jobs(there: Machine) -> list[dict[str, Any]]:
    """The jobs that it knows of."""
    found = json.loads(asked(there, "/api/v1/jobs", "-f") or "{}").get("jobs", [])
    return [job for job in found if isinstance(job, dict)]


def look_at_jobs(there: Machine, board: Board) -> None:
    """A process of another user that holds a device: seen with jobs.conf, not without."""
    hold = f"exec {PYTHON} -c 'import time; f = open(\"/dev/neuron{HELD}\"); time.sleep(300)'"
    holder = there.start("setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", hold)
    try:
        there.wait_for(lambda: len(jobs(there)) > 0, 5.0)
        without = jobs(there)
        board.note("jobs of other users without jobs.conf", not without, len(without))
        done = there.run(OBSERVER, "install-service", "--with", "jobs")
        board.note("install-service --with jobs", not done.code, done.err)
        took = there.wait_for(lambda: len(jobs(there)) > 0, 15.0)
        held = [job.get("devices") for job in jobs(there)]
        board.note("jobs of other users with it", took is not None and len(held) == 1, held)
        found = probed(there)
        refused = {"ptrace", "process_vm_readv"} - _allowed(found.get("call", {}))
        board.note("and still nobody can be traced", len(refused) == 2, found.get("call"))
    finally:
        holder.kill()
        holder.wait()
    there.run(OBSERVER, "install-service", "--with", "none")


def befall(there: Machine, board: Board) -> None:
    """Killed, hung, broken, reloaded: what comes of it, and how long that takes."""
    configure(there, f"WatchdogSec={WATCHDOG}", "RestartSec=100ms")
    there.run("systemctl", "restart", SERVICE)
    for name, signal in (("killed", "KILL"), ("hung (SIGSTOP)", "STOP")):
        before = pid(there)
        there.run("kill", f"-{signal}", str(before))
        took = there.wait_for(partial(_runs_anew, there, before), 30.0)
        board.note(f"{name}: runs again", took is not None, took, "s")
    log = there.run("journalctl", "-u", SERVICE, "-o", "cat", "--no-pager").out
    board.note(
        "the watchdog's end tells where each thread stood", "(most recent call first)" in log
    )
    before = pid(there)
    done = there.run("systemctl", "reload", SERVICE)
    ready = there.wait_for(partial(active, there), 5.0) is not None
    board.note("reload: ready again, the same process", ready and pid(there) == before, done.err)
    config = there.root / "etc/neuron-observer/config.yaml"
    for text, told in (("export: {detail: node}\n", "detail: node"), ("exprt: {}\n", "refused")):
        config.write_text(text, encoding="utf-8")
        there.run("systemctl", "reload", SERVICE)
        wait = partial(_told, there, told)
        board.note(f"reload: {told}", there.wait_for(wait, 5.0) is not None and active(there))
    config.unlink()
    grave = there.run("journalctl", "-u", SERVICE, "-o", "cat", "--no-pager", "-p", "warning").out
    graded = "refused" in grave and "reloaded" not in grave and "<4>" not in grave
    board.note("the journal has a priority for each line", graded)
    failed = shown(there, "NRestarts")["NRestarts"]
    board.note("restarts were the two above", failed == "2", failed)


def _told(there: Machine, text: str) -> bool:
    log = there.run("journalctl", "-u", SERVICE, "-o", "cat", "--no-pager", "-n", "20")
    return "reload" in log.out and text in log.out


def _runs_anew(there: Machine, before: int) -> bool:
    return pid(there) not in (0, before) and active(there)


def stop_and_start(there: Machine, board: Board) -> None:
    """Ends in time; the next connection starts it and is answered; an upgrade loses no scrape."""
    configure(there)
    there.run("systemctl", "restart", SERVICE)
    there.wait_for(lambda: says(there, "healthy: nothing found"), 20.0)
    board.note("memory, RSS", *_rss(there))
    there.run("systemctl", "stop", SERVICE)
    names = ("ActiveExitTimestampMonotonic", "InactiveEnterTimestampMonotonic")
    begun, ended = (int(when) for when in shown(there, *names).values())
    took = (ended - begun) / 1e6  # as systemd has it, whichever comes first in its answer
    board.note("stops in 2 s", abs(took) <= STOP_WITHIN, abs(took), "s")
    took = _timed(there, "curl", "-s", "-m", "20", "http://127.0.0.1:9744/healthz")
    started = there.wait_for(partial(active, there), 10.0) is not None
    board.note("the first connection starts it and is answered", started, took, "s")
    upgrade(there, board)
    configure(there, f"ExecStart=\nExecStart={PYTHON} -I -m neuron_observer daemon --detail all")
    there.run("systemctl", "restart", SERVICE)
    state = shown(there, "ActiveState", "ExecMainStatus", "NRestarts")
    wrong = (state["ActiveState"], state["ExecMainStatus"], state["NRestarts"])
    board.note("a wrong option is not tried again", wrong == ("failed", "64", "0"), wrong)
    there.run("systemctl", "reset-failed", SERVICE)


def upgrade(there: Machine, board: Board) -> None:
    """Its files are replaced under it, then it is restarted; no scrape fails all the while."""
    scrapes = there.start("sh", "-c", _SCRAPES)
    before = pid(there)
    put = f"{PIP} install --quiet --no-deps --force-reinstall --no-index {WHEELS}/*.whl"
    done = there.run("sh", "-c", put)
    page = asked(there, "/metrics", "-f")
    goes_on = not done.code and pid(there) == before and "neuron_health" in page
    board.note("upgraded beneath it, it goes on", goes_on, done.err)
    there.run("systemctl", "restart", SERVICE)
    there.run("touch", "/srv/enough")
    answered = scrapes.communicate(timeout=60)[0].decode().split()
    lost = len(answered) - answered.count("200")
    enough = len(answered) > 3 and not lost
    board.note("scrapes meanwhile, and lost ones", enough, f"{len(answered)}, {lost}")


_SCRAPES = (
    "for i in $(seq 300); do curl -s -m 10 -o /dev/null -w '%{http_code}\\n'"
    " http://127.0.0.1:9744/metrics; [ -e /srv/enough ] && break; sleep 0.05; done"
)


def _timed(there: Machine, *command: str) -> float:
    begin = there.clock.monotonic()
    there.run(*command)
    return there.clock.monotonic() - begin


def _rss(there: Machine) -> tuple[bool, float, str]:
    status = there.run("cat", f"/proc/{pid(there)}/status").out
    kib = next((int(ln.split()[1]) for ln in status.splitlines() if ln.startswith("VmRSS")), 0)
    return 0 < kib / 1024 <= 60, kib / 1024, "MiB"


def remove(there: Machine, board: Board) -> None:
    """The units go, state and settings stay."""
    done = there.run(OBSERVER, "install-service", "--uninstall")
    left = there.run("sh", "-c", f"ls -d /{units.STATE} /{units.ENVIRONMENT} /etc/neuron-observer")
    gone = not (there.root / units.UNITS / SERVICE).exists()
    board.note("uninstall keeps state and settings", gone and not done.code + left.code, done.err)
    board.note("and the sockets are closed", not asked(there, "/healthz"))


DRILLS = (install, look_at_devices, try_the_sandbox, look_at_jobs, befall, stop_and_start, remove)
