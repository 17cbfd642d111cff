"""A daemon whose configuration another process reads: what it gets, what goes wrong."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli.apart import Reading, answer
from neuron_observer.cli.planning import planned
from neuron_observer.config import Sources
from neuron_observer.errors import ExitCode, ObserverError
from neuron_observer.exporters.listener import Address
from tests.cli.test_daemon import SMALL, get, said, started, wait_for

if TYPE_CHECKING:
    from pathlib import Path

# what a daemon at its defaults has no use for once it runs
HEAVY = {"click", "yaml", "msgspec", "psutil", "dataclasses", "inspect", "numpy", "decimal", "gzip"}


def test_the_other_process_finds_what_this_one_would(tmp_path: Path) -> None:
    """Every value of a plan comes over as it is."""
    file = tmp_path / "config.yaml"
    file.write_text("export: {detail: node}\nlanes: {normal: 2s}\npath_map: {}\nlisten: []\n")
    arguments = ("--config", str(file), "--host-root", SMALL, "--socket", "/x", "--job-labels")
    found = Reading(arguments).found()
    flags = {"socket": ("--socket", "/x"), "export.job_labels": ("--job-labels", "true")}
    assert found == planned(Sources(str(file), flags=flags), (), SMALL)
    assert found is not None
    assert (found.in_force.detail, found.in_force.lanes["normal"]) == ("node", 2.0)


def test_what_is_wrong_comes_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its words and its exit code; the call ends with them."""
    file = tmp_path / "config.yaml"
    file.write_text("lsten: []\n")
    arguments = ("--config", str(file), "--host-root", SMALL)
    with pytest.raises(ObserverError, match="unknown key 'lsten'") as raised:
        Reading(arguments).found()
    assert raised.value.remedy == "Did you mean 'listen'?"
    assert answer(arguments) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert error == f"neuron-observer: {file}:1: unknown key 'lsten'\n  Did you mean 'listen'?\n"


def test_a_wrong_call_ends_as_the_other_process_did(capfd: pytest.CaptureFixture[str]) -> None:
    """It has told why itself."""
    with pytest.raises(SystemExit) as raised:
        answer(["--no-such-option"])
    assert raised.value.code == ExitCode.USAGE
    assert "No such option" in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [("--help",), ("--simulate", "--listen", "127.0.0.1:0")])
def test_what_goes_the_whole_way(arguments: tuple[str, ...]) -> None:
    """Help, and a simulation, whose host is in the process that shows it: nothing is done here."""
    before = signal.getsignal(signal.SIGHUP)
    assert answer(arguments) is None
    assert signal.getsignal(signal.SIGHUP) is before


def test_a_simulation_is_served() -> None:
    """By the process that was called."""
    with started("daemon", "--simulate", "healthy", "--listen", "127.0.0.1:0") as process:
        port = said(process, r"event=started .*url=\W?http://[\d.]+:(\d+)/metrics")[1]
        address = Address("127.0.0.1", int(port))
        wait_for(lambda: get(address, "/readyz")[0] == 200)
        status, page = get(address, "/metrics")
    assert status == 200
    devices = re.findall(rb'neuron_device_identity_info{[^}]*neuron_device="(\d+)"', page)
    assert len(set(devices)) == 16


def test_a_hangup_while_it_begins_is_a_reload(tmp_path: Path) -> None:
    """It neither ends the daemon nor who reads for it."""
    file = tmp_path / "config.yaml"
    file.write_text("listen: [127.0.0.1:0]\n")
    with started("daemon", "--config", str(file), "--host-root", SMALL) as process:
        status = re.compile(r"SigCgt:\s+([0-9a-f]+)")
        while not int(status.findall(_status(process.pid))[0], 16) & 1:  # until it hears any
            assert process.poll() is None
        process.send_signal(signal.SIGHUP)
        said(process, "event=started")
        said(process, "event=reloaded .*nothing changed")


def _status(pid: int) -> str:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:  # noqa: PTH123 - of the kernel
        return file.read()


def test_the_daemon_loads_nothing_that_it_needs_no_more() -> None:
    """Each of these takes a megabyte, or brings along what does."""
    code = (
        "import sys\n"
        "from neuron_observer.cli import apart, assembly\n"
        "from neuron_observer.live import LiveReader\n"
        "from neuron_observer.collectors import jobs, machine\n"
        "print('\\n'.join(sys.modules))\n"
    )
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "neuron_observer.daemon" in loaded
    assert not HEAVY & set(loaded)
