"""How exposed the service is, alone and with each drop-in, by `systemd-analyze security`.

    python -m benchmarks.exposure

Each file of `systemd/` quotes its figure. Exit code 1 where one is over its limit, or is not what
its file says under the version of systemd that the file names. Needs systemd-analyze, not systemd.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from neuron_observer.service import units

LIMITS = {"": 1.5, "jobs": 2.0, "push": 2.0, "reload": 1.5}  # drop-in → the most
_MEASURED = (252, 254)  # versions that give these figures
_ANOTHER_SCALE = 0.3  # what another version's own weights may add
_OVERALL = re.compile(r"Overall exposure level for \S+: ([\d.]+) ")
_QUOTED = re.compile(r"^# Exposure by `systemd-analyze security` (\d+): ([\d.]+)", re.MULTILINE)
_NOT_KNOWN = "Failed to parse service type, ignoring: notify-reload"  # before 253


class Quoted(NamedTuple):
    """What a file says of itself: the version that it was measured with, and the figure."""

    version: int
    exposure: float


class Verified(NamedTuple):
    """What `systemd-analyze verify` said, without what an older systemd says of reload.conf."""

    code: int
    complaints: list[str]


def quoted(name: str) -> Quoted | None:
    """The figure in a drop-in, or in the service for an empty name; None if it has none."""
    file = f"{units.SERVICE}.d/{name}.conf" if name else units.SERVICE
    found = _QUOTED.search((units.folder() / file).read_text(encoding="utf-8"))
    return Quoted(int(found[1]), float(found[2])) if found else None


def lay_out(folder: Path, *drop_ins: str) -> Path:
    """The units in a folder, for the interpreter that runs this; the service."""
    for path, text in units.texts(sys.executable).items():
        if path.startswith(units.UNITS):
            (folder / Path(path).name).write_text(text, encoding="utf-8")
    drop_in_folder = folder / f"{units.SERVICE}.d"
    drop_in_folder.mkdir()
    for name in drop_ins:
        (drop_in_folder / f"{name}.conf").write_text(units.drop_in(name), encoding="utf-8")
    return folder / units.SERVICE


def exposure(*drop_ins: str) -> float:
    """From 0, which nothing gets at, to 10."""
    with tempfile.TemporaryDirectory() as folder:
        service = lay_out(Path(folder), *drop_ins)
        said = _analyze("security", "--offline=true", "--no-pager", str(service)).stdout
    found = _OVERALL.search(said)
    if not found:
        raise RuntimeError(f"no figure in {said!r}")
    return float(found[1])


def verified(*drop_ins: str) -> Verified:
    """Whether systemd has anything to say of the units; its exit code alone hides most of it."""
    with tempfile.TemporaryDirectory() as folder:
        service = lay_out(Path(folder), *drop_ins)
        names = [str(service), *(str(service.with_name(name)) for name in units.SOCKETS)]
        done = _analyze("verify", "--man=no", *names)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return Verified(done.returncode, [line for line in said if _NOT_KNOWN not in line])


def most(name: str) -> float:
    """What a drop-in, or the service for an empty name, may have by this systemd."""
    return LIMITS[name] + (0.0 if version() in _MEASURED else _ANOTHER_SCALE)


def version() -> int:
    """Of the systemd that measures."""
    return int(_analyze("--version").stdout.split()[1])


def _analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def main() -> int:
    """Print the figures; 1 if one is not as it should be."""
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze (package systemd) is not here: nothing measured")
        return 0
    here, wrong = version(), 0
    print(f"systemd {here}: drop-in, exposure, the most that it may be, what its file says")
    for name in LIMITS:
        figure, said, limit = exposure(*filter(None, [name])), quoted(name), most(name)
        differs = said is not None and said.version == here and said.exposure != figure
        wrong += figure > limit or differs
        print(f"{name or '-':8} {figure:.1f} {limit:.1f} {said.exposure if said else '-'}")
    print(f"jobs, push and reload together: {exposure(*units.DROP_INS):.1f}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
