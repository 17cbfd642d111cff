"""`run`: the check before, the job's own streams and exit code, the report after."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import InputError
from neuron_observer.launch import watching
from tests.client.servers import answering
from tests.daemon.daemons import faulty

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result

SICK, POOR, WELL = (
    ("--simulate", f"{scenario}@140", "--instance", "trn2.3xlarge")
    for scenario in ("sram-error", "no-reset", "healthy")
)
QUIET = ("run", "--no-check", "--quiet")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine has of a daemon or a shared folder."""
    monkeypatch.setenv("NEURON_OBSERVER_HOOK_DIR", str(tmp_path))


def test_the_job_has_the_streams_and_we_have_its_exit_code(
    call: Callable[..., Result], capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output is the job's alone; what is ours stands on standard error."""
    done = call("run", "--no-check", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert done.code == 7
    assert done.out == ""
    assert capfd.readouterr() == ("out\n", "err\n")
    assert "sh -c 'echo out; echo err >&2; exit 7': exit code 7 after " in done.err
    assert "note: no step hook was heard" in done.err


def test_the_hook_is_asked_for(
    call: Callable[..., Result], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By the job's environment alone; options behind the command are the job's."""
    assert call(*QUIET, "env", "-u", "HOME").code == 0
    told = capfd.readouterr().out.splitlines()
    assert "NEURON_OBSERVER_HOOK=1" in told
    assert f"NEURON_OBSERVER_HOOK_DIR={tmp_path}" in told
    assert not [line for line in told if line.startswith("HOME=")]


def test_nothing_else_is_told_to_the_job(
    call: Callable[..., Result],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What this program sets for itself, such as the threads of its libraries, is not the job's."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = set(os.environ)
    assert call("run", "--allow", "unknown", "--host-root", "/", "--quiet", "env").code == 0
    names = {line.partition("=")[0] for line in capfd.readouterr().out.splitlines()}
    assert names - before == {"NEURON_OBSERVER_HOOK"}


def test_an_unhealthy_node_is_given_no_job(
    call: Callable[..., Result], capfd: pytest.CaptureFixture[str]
) -> None:
    """The exit code is the check's, and the job never ran."""
    done = call("run", *SICK, "--", "echo", "ran")
    assert done.code == 2
    assert "UNHEALTHY" in done.err
    assert "the job was not started; --no-check starts it all the same" in done.err
    assert capfd.readouterr().out == ""


def test_a_degraded_node_is_given_one_where_that_is_allowed(
    call: Callable[..., Result], capfd: pytest.CaptureFixture[str]
) -> None:
    """It is said with the findings."""
    done = call("run", *POOR, "--", "echo", "ran")
    assert (done.code, capfd.readouterr().out) == (1, "")
    assert "--allow degraded starts it" in done.err
    done = call("run", *POOR, "--allow", "degraded", "--", "echo", "ran")
    assert (done.code, capfd.readouterr().out) == (0, "ran\n")
    assert "DEGRADED" in done.err


def test_a_healthy_node_is_told_in_few_lines(
    call: Callable[..., Result], capfd: pytest.CaptureFixture[str]
) -> None:
    """And the job runs."""
    done = call("run", *WELL, "--", "echo", "ran")
    assert done.code == 0
    assert done.err.startswith("neuron-observer: HEALTHY")
    assert capfd.readouterr().out == "ran\n"


def test_a_machine_without_devices(
    call: Callable[..., Result], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is said, and how to run there all the same."""
    (tmp_path / "sys").mkdir()
    root = ("--host-root", str(tmp_path))
    done = call("run", *root, "--", "echo", "ran")
    assert done.code == 3
    assert "no Neuron device here" in done.err
    assert "--allow unknown starts it" in done.err
    assert call("run", *root, "--allow", "degraded", "--", "echo", "ran").code == 3
    assert call("run", *root, "--allow", "unknown", "--", "echo", "ran").code == 0
    assert capfd.readouterr().out == "ran\n"


def test_this_machines_daemon_checks_and_watches(
    call: Callable[..., Result],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It knows more than a look, and a job is not read twice."""
    monkeypatch.setattr(watching, "LAST_FRAME", 0.1)  # this one stands still
    report = tmp_path / "report"
    with answering(faulty().answers, tmp_path) as client:
        monkeypatch.setenv("NEURON_OBSERVER_SOCKET", client.address.path)
        monkeypatch.setenv("NEURON_OBSERVER_HOST_ROOT", "simulation")
        refused = call("run", "--", "echo", "ran")
        done = call(*QUIET, "--report", str(report), "--", "sh", "-c", "exit 6")
    assert refused.code == 2
    assert "sram" in refused.err
    assert capfd.readouterr().out == ""
    assert done.code == 6
    assert json.loads(report.read_text("utf-8"))["watched_by"] == "daemon"


@pytest.mark.parametrize(("name", "code"), [("no-such-program", 127), ("/", 126)])
def test_what_cannot_be_started(name: str, code: int, call: Callable[..., Result]) -> None:
    """As a shell has it, and said even when quiet."""
    done = call(*QUIET, "--", name)
    assert done.code == code
    assert done.err.startswith(f"neuron-observer: {name}: ")


def test_the_report_as_a_document(call: Callable[..., Result], tmp_path: Path) -> None:
    """What ran, how it ended, what was seen; null and notes for what is not known."""
    file = tmp_path / "report.json"
    job = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert call(*QUIET, "--report", str(file), "--", *job).code == 143
    told = json.loads(file.read_text("utf-8"))
    assert told["schema"] == "neuron-observer/run-report/1"
    assert told["command"] == list(job)
    assert (told["exit_code"], told["signal"], told["check"]) == (143, 15, None)
    assert told["watched_by"] == "run"
    assert (told["jobs"], told["hooked_ranks"]) == ([], 0)
    assert told["began"] <= told["ended"]
    assert len(told["notes"]) == 1


def test_a_report_that_cannot_be_written_is_told_before_the_job(
    call: Callable[..., Result], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A week of training ends with its report, or does not begin without one."""
    with pytest.raises(InputError, match="cannot be written"):
        call(*QUIET, "--report", str(tmp_path / "no" / "report"), "--", "echo", "ran")
    assert capfd.readouterr().out == ""


def test_a_report_that_cannot_be_written_whole_costs_no_exit_code(
    call: Callable[..., Result],
) -> None:
    """/dev/full takes nothing: it is said, and the job ended as it did."""
    done = call(*QUIET, "--report", "/dev/full", "--", "sh", "-c", "exit 5")
    assert done.code == 5
    assert done.err == (
        "neuron-observer: /dev/full: the report is not whole: No space left on device\n"
    )


def test_a_command_is_needed(call: Callable[..., Result]) -> None:
    """A usage error, as everywhere."""
    import click  # noqa: PLC0415 - its error is what this is about

    with pytest.raises(click.UsageError, match="command"):
        call("run")
