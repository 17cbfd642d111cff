"""Errors say what is wrong, where, and what to do; exit codes are the documented ones."""

from __future__ import annotations

import pytest

from neuron_observer.errors import (
    ConfigError,
    DaemonError,
    ExitCode,
    HostError,
    InputError,
    ObserverError,
    UsageError,
)


def test_exit_codes_follow_nagios_and_sysexits() -> None:
    """0 to 3 as Nagios plugins, from 64 on as sysexits.h."""
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "WARNING": 1,
        "CRITICAL": 2,
        "UNKNOWN": 3,
        "USAGE": 64,
        "NO_INPUT": 66,
        "SOFTWARE": 70,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ObserverError("x"), 3),
        (UsageError("x"), 64),
        (ConfigError("x", file="f"), 64),
        (InputError("x"), 66),
        (HostError("x"), 2),
        (DaemonError("x"), 3),
    ],
)
def test_each_error_ends_with_its_code(error: ObserverError, code: int) -> None:
    """A wrong call is 64, an unreadable file 66, a host that cannot be read 2."""
    assert error.exit_code == code
    assert isinstance(error, ObserverError)


def test_a_message_stands_alone_without_a_remedy() -> None:
    """No remedy, no second line."""
    assert str(UsageError("no such verb")) == "no such verb"


def test_a_remedy_stands_below_the_message() -> None:
    """The remedy is a line of its own, indented."""
    assert str(HostError("no /sys", remedy="Mount it.")) == "no /sys\n  Mount it."


@pytest.mark.parametrize(("line", "place"), [(7, "a.yaml:7"), (None, "a.yaml")])
def test_a_configuration_error_names_file_and_line(line: int | None, place: str) -> None:
    """`FILE:LINE: message`, as compilers write it; without a line the file alone."""
    error = ConfigError("unknown key", file="a.yaml", line=line, remedy="Did you mean 'x'?")
    assert str(error) == f"{place}: unknown key\n  Did you mean 'x'?"
    assert (error.file, error.line) == ("a.yaml", line)
