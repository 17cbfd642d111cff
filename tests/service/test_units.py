"""The unit files: what systemd says of them, and that they say what they must.

What only systemd-analyze can say is asked where it is installed (Debian: package systemd, which
need not run); elsewhere those tests do not exist, and `.ci/run` says so.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import exposure
from benchmarks.service import documented
from neuron_observer.errors import HostError
from neuron_observer.service import units

SHIPPED = Path(__file__).parents[2] / "systemd"
PYTHON = f"{units.PREFIX}/bin/python"


def settings(text: str) -> list[tuple[str, str]]:
    """Key and value of each line that is one, in order."""
    return re.findall(r"^([A-Za-z]+)=(.*)$", text, re.MULTILINE)


def values(text: str, key: str) -> list[str]:
    """All values that a key is given."""
    return [value for name, value in settings(text) if name == key]


SERVICE = (SHIPPED / units.SERVICE).read_text(encoding="utf-8")


def test_the_folder_of_a_checkout() -> None:
    """It stands beside the package; a wheel takes it along."""
    assert units.folder() == SHIPPED
    wheel = (SHIPPED.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert '"systemd" = "neuron_observer/systemd"' in wheel


def test_every_file_is_installed() -> None:
    """None of the folder is left out."""
    installed = {
        *map(Path, units.texts(PYTHON)),
        *map(Path, map(units.drop_in_path, units.DROP_INS)),
    }
    shipped = {path for path in SHIPPED.rglob("*") if path.is_file()}
    assert len(shipped) == len(installed) + 1  # and the environment file
    assert units.environment() == (SHIPPED / "neuron-observer.default").read_text(encoding="utf-8")


def test_the_interpreter_in_use_is_what_runs() -> None:
    """Nothing else of the unit changes with it; it imports nothing that the environment names."""
    mine = units.texts("/srv/here/bin/python3.12")[f"{units.UNITS}/{units.SERVICE}"]
    run = "ExecStart=/srv/here/bin/python3.12 -I -m neuron_observer daemon"
    assert run in mine.splitlines()
    assert mine == units.MARK + SERVICE.replace(PYTHON, "/srv/here/bin/python3.12")


@pytest.mark.parametrize("path", ["/opt/a b/python", "/opt/%i/python", "/opt/$X/python", "/o\nt"])
def test_a_path_that_systemd_reads_otherwise_is_refused(path: str) -> None:
    """Blanks, specifiers and variables would run something else."""
    with pytest.raises(HostError, match="would not take for one word"):
        units.texts(path)


def test_the_sockets_are_told_apart() -> None:
    """Each has its name, and the service takes both."""
    http, api = ((SHIPPED / name).read_text(encoding="utf-8") for name in units.SOCKETS)
    assert values(http, "FileDescriptorName") == ["http"]
    assert values(http, "ListenStream")[-1] == "127.0.0.1:9744"
    assert values(api, "FileDescriptorName") == ["api"]
    assert values(api, "ListenStream") == ["/run/neuron-observer/observer.sock"]
    for text in (http, api):
        assert values(text, "Service") == [units.SERVICE]
        assert "Accept" not in dict(settings(text))
    assert values(SERVICE, "Sockets") == [" ".join(units.SOCKETS)]


def test_the_heartbeat_folder_is_nobodys_run_time_folder() -> None:
    """Sticky, root's, and of tmpfiles: a RuntimeDirectory= would end with the daemon."""
    lines = (SHIPPED / "neuron-observer.tmpfiles").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules == ["d /run/neuron-observer-ranks 1777 root root -"]
    assert not values(SERVICE, "RuntimeDirectory")


def test_memory_holds_what_is_kept() -> None:
    """RSS, kernel memory of all descriptors at full detail and a storm of scrapers: it fits."""
    (limit,) = values(SERVICE, "MemoryMax")
    kept = 13_504 * 4.7 / 1024
    assert int(limit.removesuffix("M")) >= 60 + kept + 20
    assert int(values(SERVICE, "LimitNOFILE")[0]) > 13_504


def test_each_omission_is_explained() -> None:
    """What the hardening leaves out stands at the end of the unit with its reason."""
    left_out = re.findall(r"^#   ([A-Za-z]+)=\S*\s+[\d.]+\s+\S+", SERVICE, re.MULTILINE)
    assert left_out == [
        "ProtectKernelLogs",
        "PrivateDevices",
        "PrivateUsers",
        "PrivateNetwork",
        "ProcSubset",
        "RootDirectory",
    ]
    assert not {*left_out} & {key for key, _ in settings(SERVICE)}


@pytest.mark.parametrize("name", ["", "jobs", "push"])
def test_each_file_quotes_its_figure(name: str) -> None:
    """And the figure is within the limit."""
    said = exposure.quoted(name)
    assert said is not None
    assert said.exposure <= exposure.LIMITS[name]


INSTALL = (SHIPPED.parent / "docs/install.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", *units.DROP_INS])
def test_the_documentation_has_the_same_figures(name: str) -> None:
    """Its table of what each costs; the drop-in for reloading is as exposed as the unit."""
    said = exposure.quoted(name) or exposure.quoted("")
    assert said is not None
    row = f"| `--with {name}` | " if name else "| as installed | "
    assert f"\n{row}{said.exposure:.1f} | " in INSTALL


def test_the_documentation_installs_what_the_unit_runs() -> None:
    """Its commands, which `benchmarks.service` gives on a machine of its own."""
    venv, pip, service, ask = documented()
    assert venv == f"python3 -m venv {units.PREFIX}"
    assert pip == f"{units.PREFIX}/bin/pip install --quiet ."
    assert service == f"{units.PREFIX}/bin/neuron-observer install-service"
    assert values((SHIPPED / units.SOCKETS[0]).read_text(), "ListenStream")[-1] in ask


if shutil.which("systemd-analyze"):

    @pytest.mark.parametrize("name", ["", *units.DROP_INS])
    def test_systemd_has_nothing_to_say(name: str) -> None:
        """`verify` is clean, which its exit code alone does not tell."""
        assert exposure.verified(*filter(None, [name])) == exposure.Verified(0, [])

    def test_systemd_would_have_something_to_say(tmp_path: Path) -> None:
        """The same check of a unit with a misspelt key fails."""
        service = exposure.lay_out(tmp_path)
        service.write_text(service.read_text().replace("LockPersonality", "LockPersonalty"))
        done = exposure._analyze("verify", "--man=no", str(service))
        assert "LockPersonalty" in done.stderr

    @pytest.mark.parametrize("name", ["", *units.DROP_INS])
    def test_exposure(name: str) -> None:
        """Within the limit; and what the file says, under the version that it names."""
        figure = exposure.exposure(*filter(None, [name]))
        assert figure <= exposure.most(name)
        said = exposure.quoted(name)
        if said and said.version == exposure.version():
            assert figure == said.exposure


def test_the_interpreter_of_the_tests_is_one_word() -> None:
    """What the tests above lay out has it in place of the shipped one."""
    assert sys.executable in units.texts(sys.executable)[f"{units.UNITS}/{units.SERVICE}"]
