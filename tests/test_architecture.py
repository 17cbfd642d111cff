"""The floors, the read-only law and the weight of start-up, held by tests."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "neuron_observer"

# module (or package) → floor; docs/architecture.md §3
FLOORS = {
    "__init__": 0,
    "model": 0,
    "feed": 0,
    "clock": 0,
    "errors": 0,
    "locales": 0,
    "hook": 0,  # it runs inside somebody's job, alone
    "catalogue": 1,
    "text": 1,
    "parsers": 1,
    "picking": 1,
    "contract": 1,
    "jobs": 1,
    "readings": 1,
    "weight": 1,
    "log": 1,
    "sources": 2,
    "collectors": 3,
    "history": 3,
    "derive": 3,
    "rules": 3,
    "stragglers": 3,
    "live": 4,
    "observer": 4,
    "oneshot": 4,
    "early": 4,
    "loop": 4,
    "sim": 3,
    "store": 4,
    "recording": 4,
    "replay": 4,
    "triage": 4,
    "doctor": 4,
    "checks": 4,
    "client": 4,
    "runbooks": 4,
    "service": 4,
    "bundle": 4,
    "fleet": 4,
    "exporters": 4,
    "tui": 4,
    "config": 5,
    "daemon": 5,
    "bundling": 5,
    "launch": 5,
    "cli": 5,
    "__main__": 5,
}
# third-party package → parts that may import it
THIRD_PARTY = {
    "click": {"cli"},
    "msgspec": {"config"},
    "yaml": {"config", "rules", "sim"},
    "rich": {"cli", "tui"},
    "textual": {"tui"},
    "numpy": {"stragglers"},
    "psutil": {"doctor"},
    "grpc": {"sources"},
    "prometheus_client": {"exporters"},
    "bcrypt": {"exporters"},
}
# parts that may write files, each inside its own directory or where its user says
WRITERS = {"bundle", "config", "hook", "launch", "recording", "runbooks", "service", "store"} | {
    "sim",
    "tui",
}
SOCKET_MAKER = "exporters/unix_socket.py"  # removes the socket file that it made or that is dead
# a feed gives frames, a report is about a reader and a loop ticks one (types only);
# a reader reads lines on request; a check looks at a host, a timeline is played to the real reader
SAME_FLOOR = {
    ("feed", "model"),
    ("contract", "jobs"),
    ("jobs", "contract"),
    ("jobs", "parsers"),
    ("jobs", "readings"),
    ("jobs", "weight"),
    ("doctor", "observer"),
    ("observer", "live"),
    ("oneshot", "observer"),
    ("early", "loop"),
    ("loop", "observer"),
    ("checks", "observer"),
    ("checks", "live"),
    ("checks", "oneshot"),
    ("bundle", "client"),
    ("triage", "bundle"),
    ("triage", "checks"),
    ("replay", "checks"),
    ("replay", "live"),
    ("replay", "loop"),
    ("replay", "observer"),
    ("replay", "recording"),
    ("recording", "observer"),
    ("checks", "recording"),
    ("checks", "replay"),
}
TOP = 5  # the top floor may import everything
# a read that hangs in the kernel must not hang with us; journalctl and neuron-monitor on request;
# systemd's own programs when a service is installed; what reads a daemon's configuration;
# the job of `run`
PROCESS_STARTERS = {
    "cli/apart.py",
    "launch/foreground.py",
    "service/commands.py",
    "sources/child.py",
    "sources/helper.py",
}


def _part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _imports(path: Path, *, types: bool = True) -> list[str]:
    """Names of imported modules; without `types` only those that are imported when it runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not types:
        tree.body = [node for node in tree.body if not _is_for_types(node)]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_stay_below(path: Path) -> None:
    """A module imports only from lower floors, or from its own part."""
    part = _part(path)
    for name in _imports(path):
        pieces = name.split(".")
        if pieces[0] != "neuron_observer" or len(pieces) < 2:
            continue
        target = pieces[1]
        if target == part or target not in FLOORS:
            continue
        below = FLOORS[target] < FLOORS[part] or (part, target) in SAME_FLOOR or FLOORS[part] == TOP
        assert below, f"{path.name} (floor {FLOORS[part]}) imports {name} (floor {FLOORS[target]})"
    assert part in FLOORS, f"{part} has no floor"


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_third_party_stays_in_its_part(path: Path) -> None:
    """A library is imported only where the architecture says."""
    for name in _imports(path):
        library = name.split(".")[0]
        if library in THIRD_PARTY:
            assert _part(path) in THIRD_PARTY[library], f"{path.name} imports {library}"
        else:
            assert library in sys.stdlib_module_names or library == "neuron_observer", name


# what a simulation may know of ours: never what reads it, else both agree by construction
SIMULATION_KNOWS = {"sim", "model", "clock", "errors", "sources"}


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "sim").rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_simulation_knows_nothing_of_its_readers(path: Path) -> None:
    """Not the catalogue, not the parsers: it is written from the driver's side."""
    ours = [name.split(".") for name in _imports(path) if name.startswith("neuron_observer.")]
    assert {pieces[1] for pieces in ours} <= SIMULATION_KNOWS


def _calls(path: Path) -> list[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        owner = call.func.value
        return f"{owner.id}.{call.func.attr}" if isinstance(owner, ast.Name) else call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nothing_opens_for_writing(path: Path) -> None:
    """Outside the parts that write their own files, no call opens, renames or removes a file."""
    if _part(path) in WRITERS or str(path.relative_to(PACKAGE)) == SOCKET_MAKER:
        return
    forbidden = {"write_text", "write_bytes", "unlink", "rename", "replace_file", "mkdir", "rmdir"}
    for call in _calls(path):
        name = _name(call)
        assert name.split(".")[-1] not in forbidden, f"{path.name}: {name}"
        if name.split(".")[-1] == "open":
            words = [a.value for a in call.args if isinstance(a, ast.Constant)]
            words += [k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)]
            modes = [w for w in words if isinstance(w, str) and len(w) <= 3]
            assert not any(set(mode) & set("wax+") for mode in modes), f"{path.name}: {modes}"


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_known_modules_start_a_process(path: Path) -> None:
    """Subprocess is imported where a helper process is the point, and nowhere else."""
    if str(path.relative_to(PACKAGE)) not in PROCESS_STARTERS:
        assert "subprocess" not in _imports(path, types=False), path.name
        assert not {"os.posix_spawnp", "os.posix_spawn"}.intersection(map(_name, _calls(path)))


def _loaded(*arguments: str) -> set[str]:
    code = (
        "import sys\n"
        "from neuron_observer.cli.group import cli\n"
        f"cli.main({list(arguments)!r}, standalone_mode=False)\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stderr.splitlines())


@pytest.mark.parametrize(
    "arguments", [("--help",), ("devices", "--help"), ("doctor", "--help"), ("top", "--help")]
)
def test_start_up_is_light(arguments: tuple[str, ...]) -> None:
    """Help loads no screen, no table library, no numbers library and no exporter."""
    heavy = {"textual", "rich", "numpy", "prometheus_client", "yaml", "psutil", "msgspec"}
    assert not heavy & _loaded(*arguments)


def test_a_job_without_the_hook_is_watched_without_numpy() -> None:
    """It costs 19 MB: only steps that are to be judged, or a hang, load it."""
    code = (
        "import sys\n"
        "import neuron_observer.observer.job_judge, neuron_observer.stragglers.job_watch\n"
        "print('numpy' in sys.modules, 'neuron_observer.stragglers.watch' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout == "False True\n"


def test_nothing_below_the_host_root_is_opened_for_writing(tmp_path: Path) -> None:
    """An audit hook sees every open of a whole snapshot: none has a write flag."""
    (tmp_path / "sys/class/neuron_device").mkdir(parents=True)
    (tmp_path / "sys/module/neuron").mkdir(parents=True)
    (tmp_path / "sys/module/neuron/version").write_text("2.30.2.0\n")
    (tmp_path / "sys/devices/virtual/neuron_device/neuron0/stats/hardware").mkdir(parents=True)
    ecc = tmp_path / "sys/devices/virtual/neuron_device/neuron0/stats/hardware/sram_ecc_uncorrected"
    ecc.write_text("0\n")
    code = (
        "import os, sys\n"
        "seen = []\n"
        "def hook(event, args):\n"
        f"    if event == 'open' and str(args[0]).startswith({str(tmp_path)!r}):\n"
        "        seen.append(args)\n"
        "sys.addaudithook(hook)\n"
        "from neuron_observer.cli.group import cli\n"
        f"cli.main(['snapshot', '--host-root', {str(tmp_path)!r}], standalone_mode=False)\n"
        "assert seen\n"
        "flags = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND\n"
        "assert not [a for a in seen if (a[2] or 0) & flags], seen\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert ecc.read_text() == "0\n"
