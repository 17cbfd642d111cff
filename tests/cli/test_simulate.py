"""`simulate`, and `--simulate` at every verb that reads a host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import InputError, UsageError
from neuron_observer.sim.faults.table import fault_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

SMALL = ("--instance", "trn2.3xlarge")
DOCUMENT = Path(__file__).parent.parent.parent / "docs/simulation.md"


def test_written_host_is_read_by_the_other_verbs(
    tmp_path: Path, call: Callable[..., Result]
) -> None:
    """One round of writing, then devices of the directory."""
    root = str(tmp_path / "host")
    told = call("simulate", "healthy", "--root", root, *SMALL, "--seconds", "0")
    assert told.code == 0
    assert "files of trn2.3xlarge, driver 2.30.2.0" in told.err
    found = call("devices", "--host-root", root)
    assert "trn2.3xlarge · driver 2.30.2.0 live · 1 of 1 devices" in found.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it(tmp_path: Path, number: signal.Signals) -> None:
    """A real process: it moves its files until the signal, and ends with code 0."""
    root = tmp_path / "host"
    command = [sys.executable, "-m", "neuron_observer", "simulate", "idle", "--every", "0.05"]
    with subprocess.Popen(
        [*command, "--instance", "inf2.xlarge", "--seconds", "60", "--root", str(root)],
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        try:
            assert process.stderr is not None
            assert b"files of inf2.xlarge" in process.stderr.readline()
            process.send_signal(number)
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert (root / "sys/module/neuron/version").read_text() == "2.30.2.0\n"


def test_list_names_every_scenario(call: Callable[..., Result]) -> None:
    """One a line, with what it is about."""
    lines = call("simulate", "--list").out.splitlines()
    assert any(line.startswith("bad-day ") for line in lines)
    assert all("  " in line for line in lines)


def test_faults_are_those_of_the_documentation(call: Callable[..., Result]) -> None:
    """docs/simulation.md holds the table as it is now; put it there anew after a change."""
    assert call("simulate", "--faults").out == fault_table()
    assert fault_table() in DOCUMENT.read_text(encoding="utf-8")


def test_scenario_in_the_documentation_is_one(tmp_path: Path, call: Callable[..., Result]) -> None:
    """The example that people begin with can be played."""
    text = DOCUMENT.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    found = call("devices", "--simulate", f"{file}@410")
    assert "16 of 16 devices" in found.out
    assert "fell off the bus" in found.out


def test_documentation_names_all_keys_types_and_drivers() -> None:
    """Every key of a scenario and of a job, every driver, every family."""
    from neuron_observer.sim.chips import DRIVERS, INSTANCES  # noqa: PLC0415 - only here
    from neuron_observer.sim.job import Job  # noqa: PLC0415 - the same
    from neuron_observer.sim.scenario import KEYS  # noqa: PLC0415 - the same

    text = DOCUMENT.read_text(encoding="utf-8")
    assert [key for key in (*KEYS, *Job._fields) if f"`{key}`" not in text] == []
    assert [name for name in DRIVERS if name not in text] == []
    sizes = [name.split(".") for name in INSTANCES]
    assert [one for one in sizes if one[0] not in text or one[1] not in text] == []


@pytest.mark.parametrize("verb", ["devices", "snapshot", "doctor", "metrics"])
def test_every_verb_reads_a_simulation(verb: str, call: Callable[..., Result]) -> None:
    """Healthy by default, and what is asked for is what is read."""
    found = call(verb, "--simulate", "--instance", "inf2.xlarge", "--driver", "2.28")
    assert found.code == 0
    assert found.out


def test_simulated_fault_is_seen(call: Callable[..., Result]) -> None:
    """A scenario by name, so many seconds into it."""
    before = call("devices", "--simulate", "off-the-bus@90", *SMALL)
    after = call("devices", "--simulate", "off-the-bus", *SMALL)
    assert "fell off the bus" not in before.out
    assert "fell off the bus" in after.out


def test_capture_of_a_simulation_is_a_host(tmp_path: Path, call: Callable[..., Result]) -> None:
    """With the kernel log; read back it is the same machine."""
    file = tmp_path / "capture.tsv"
    call("capture", "--simulate", "healthy", "--instance", "inf2.xlarge", "-o", str(file))
    assert "#kernel" in file.read_text(encoding="utf-8")
    assert "inf2.xlarge · driver 2.30.2.0 live" in call("devices", "--host-root", str(file)).out


def test_kernel_lines_of_a_simulation(call: Callable[..., Result]) -> None:
    """The log in memory is read as a kernel log."""
    found = call(
        *("snapshot", "--simulate", "sram-error", *SMALL, "--kernel-log", "--format", "json")
    )
    events = json.dumps(json.loads(found.out))
    assert "SRAM_UNCORRECTABLE_ERROR" in events


@pytest.mark.parametrize(
    ("arguments", "message", "kind"),
    [
        (("devices", "--simulate", "helthy"), "no scenario 'helthy'", InputError),
        (("devices", "--simulate", "healthy", "--driver", "2.31"), "no driver '2.31'", InputError),
        (("devices", "--simulate", "idle@86401"), "more than a day into it", UsageError),
        (("devices", "--instance", "trn2.3xlarge"), "belong to --simulate", UsageError),
        (("devices", "--simulate", "idle", "--host-root", "/x"), "name two hosts", UsageError),
        (("simulate", "healthy"), "where to write is not said", UsageError),
        (("simulate", "--root", "/"), "never written to /", UsageError),
    ],
)
def test_mistakes_are_told(
    arguments: tuple[str, ...], message: str, kind: type[Exception], call: Callable[..., Result]
) -> None:
    """A clear error, and nothing is written."""
    with pytest.raises(kind, match=message):
        call(*arguments)


def test_what_files_cannot_show_is_said(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A hanging read is told apart when it is asked for in files."""
    told = call(
        *("simulate", "hanging-read", "--root", str(tmp_path / "x"), "--seconds", "0"),
        *("--instance", "inf2.xlarge"),
    )
    assert "hanging_read: files cannot show it" in told.err
