"""What nobody foresaw ends with 70 and its traceback, in whatever part of the call it comes."""

from __future__ import annotations

import sys

import pytest

from neuron_observer import cli
from neuron_observer.cli import apart, group, quick
from neuron_observer.errors import ExitCode


def _crash(*_: object) -> int:
    raise ZeroDivisionError("a slip of ours")


@pytest.mark.parametrize(
    ("module", "name", "verb"),
    [
        (group.cli, "invoke", "check"),
        (quick, "answer", "check"),
        (apart, "answer", "daemon"),
    ],
)
def test_a_crash_is_no_verdict(
    module: object,
    name: str,
    verb: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """1 would be DEGRADED, and drain a node by way of Slurm."""
    monkeypatch.setattr(sys, "argv", ["neuron-observer", verb, "--direct"])
    monkeypatch.setattr(module, name, _crash)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, said = capsys.readouterr()
    assert (ended.value.code, out) == (ExitCode.SOFTWARE, "")
    assert said.startswith("Traceback (most recent call last):\n")
    assert said.endswith(
        "\nZeroDivisionError: a slip of ours\n"
        "neuron-observer: this is a fault of neuron-observer itself and says nothing of the host;"
        " please report it with the lines above\n"
    )


def test_a_crash_of_who_reads_the_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends so too, and the daemon ends as it did."""
    monkeypatch.setattr(group, "exit_code", _crash)
    with pytest.raises(SystemExit) as ended:
        apart.read([])
    assert ended.value.code == ExitCode.SOFTWARE
    assert "ZeroDivisionError: a slip of ours" in capsys.readouterr().err


def test_without_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`2>&-`: the answer stays clean and the code the same."""
    monkeypatch.setattr(sys, "argv", ["neuron-observer", "check"])
    monkeypatch.setattr(quick, "answer", _crash)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == ExitCode.SOFTWARE
    assert capsys.readouterr().out == ""
