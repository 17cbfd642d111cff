"""Who answers: a daemon that is named, this machine's where it fits, or the host itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks.forms import said
from neuron_observer.checks.inventory import take
from neuron_observer.checks.verdict import check
from neuron_observer.cli.quick import answer
from neuron_observer.errors import DaemonError, UsageError
from tests.client.servers import answering
from tests.conftest import tree_file
from tests.daemon.daemons import Simulated, faulty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from neuron_observer.checks.forms import Said
    from tests.cli.conftest import Result

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))
ROOT = "simulation"  # as a simulated host calls itself


@pytest.fixture
def socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The unix socket of a daemon whose host has an SRAM error; the one of this machine too."""
    with answering(faulty().answers, tmp_path) as client:
        monkeypatch.setenv("NEURON_OBSERVER_SOCKET", client.address.path)
        yield client.address.path


def expected(form: str) -> Said:
    """What `check` prints of that host."""
    daemon = faulty()
    last = daemon.loop.feed.latest()
    assert last
    return said(check(last, inventory=take(daemon.reader.topology, last.snapshot)), form)


FORMS = [
    (("check",), "text"),
    (("check", "--format", "nagios"), "nagios"),
    (("check", "--format", "npd"), "npd"),
    (("check", "--format", "slurm"), "slurm"),
    (("status",), "status"),
    (("findings",), "findings"),
]


def without_time(text: str) -> str:
    """A plugin's line without what it took."""
    return text.partition(" time=")[0].strip()


@pytest.mark.parametrize(("arguments", "form"), FORMS)
def test_a_daemon_that_is_named(
    call: Callable[..., Result], socket: str, arguments: tuple[str, ...], form: str
) -> None:
    """The same lines and exit code as a look of one's own; people are told where they are from."""
    result = call(*arguments, "--connect", f"unix://{socket}")
    told = expected(form)
    assert (without_time(result.out), result.code) == (without_time(told.out), told.code)
    assert result.err.startswith("neuron-observer: told by the daemon" if form[0] in "tf" else "")


@pytest.mark.parametrize(("arguments", "form"), FORMS)
def test_the_short_way_is_the_same(
    capfd: pytest.CaptureFixture[str], socket: str, arguments: tuple[str, ...], form: str
) -> None:
    """Without the command line's library."""
    code = answer([*arguments, f"--connect=unix://{socket}"])
    told, out = expected(form), capfd.readouterr().out
    assert (without_time(out), code) == (without_time(told.out), told.code)


def test_this_machines_daemon_is_asked(
    call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, socket: str
) -> None:
    """Where it reads the same host; the document says so."""
    assert socket
    result = call("check", "--format", "json", "--host-root", ROOT)
    assert json.loads(result.out)["source"] == "daemon"
    assert result.code == 2
    monkeypatch.setenv("NEURON_OBSERVER_HOST_ROOT", ROOT)
    assert answer(["check", "--devices", "0"]) == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--host-root", SMALL),
        ("--host-root", SMALL, "--direct"),
        ("--simulate", "idle", "--instance", "trn2.3xlarge"),
        ("--host-root", SMALL, "--all-devices"),
    ],
)
def test_another_host_is_looked_at(
    call: Callable[..., Result], socket: str, options: tuple[str, ...]
) -> None:
    """Or the same in another way: nobody who asks for that gets the daemon's answer."""
    assert socket
    result = call("check", "--format", "json", *options)
    assert json.loads(result.out)["source"] == "direct"


def test_what_is_not_settled_is_looked_at(
    call: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that has just begun says so, and is not waited for."""
    made = Simulated("device-missing", begin=130.0)
    monkeypatch.setenv("NEURON_OBSERVER_HOST_ROOT", ROOT)
    with answering(made.answers, tmp_path) as client:
        monkeypatch.setenv("NEURON_OBSERVER_SOCKET", client.address.path)
        assert answer(["check"]) is None
        with pytest.raises(Exception, match="simulation: no such directory or file"):
            call("check")
        result = call("check", "--connect", str(client.address))
    made.close()
    assert "device-lost" in result.out


@pytest.mark.parametrize(
    "options",
    [
        ("--host-root", SMALL),
        ("--simulate",),
        ("--direct",),
        ("--all-devices",),
        ("--config", "x.yaml"),
    ],
)
def test_two_hosts_cannot_be_meant(call: Callable[..., Result], options: tuple[str, ...]) -> None:
    """A daemon knows how it reads; options of a reader beside it are an error."""
    with pytest.raises(UsageError, match="exclude each other"):
        call("check", "--connect", "unix:///nowhere", *options)


def test_other_errors_of_a_call(call: Callable[..., Result], socket: str) -> None:
    """Each in its own words."""
    with pytest.raises(UsageError, match="--ca-file belongs to --connect"):
        call("check", "--ca-file", "x.pem")
    with pytest.raises(UsageError, match="goes with an https URL"):
        call("check", "--ca-file", "x.pem", "--connect", f"unix://{socket}")
    with pytest.raises(UsageError, match="neuron9: no such device"):
        call("check", "--devices", "9", "--connect", f"unix://{socket}")
    with pytest.raises(DaemonError, match="no daemon listens there"):
        call("status", "--connect", "unix:///nowhere")
    with pytest.raises(UsageError, match="--watch exclude each other"):
        call("findings", "--watch", "20", "--connect", "unix:///nowhere")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--help"],
        ["check", "--format", "nothing"],
        ["check", "--format"],
        ["check", "--format", "text", "--format", "json"],
        ["check", "--cores", "0"],
        ["check", "--direct"],
        ["check", "x"],
        ["status", "--fail-on", "critical"],
        ["findings", "--watch", "20"],
        ["check", "--connect", "nonsense"],
        ["check", "--connect", "unix:///nowhere"],
        ["check", "--fail-on", "never"],
    ],
)
def test_what_is_not_plain_goes_the_whole_way(
    capfd: pytest.CaptureFixture[str], socket: str, arguments: list[str]
) -> None:
    """The short way says nothing of its own, neither answers nor errors."""
    assert socket
    assert answer(arguments) is None
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def run(*arguments: str, stdout: int | None = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """The command as a process."""
    command = [sys.executable, "-X", "importtime", "-m", "neuron_observer", *arguments]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )


def test_the_short_way_is_light(socket: str) -> None:
    """A cached check imports neither the command line's library nor rules, yaml or sources."""
    ran = run("check", "--connect", f"unix://{socket}")
    assert ran.returncode == 2
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "neuron_observer.client.cached" in loaded
    heavy = ("click", "yaml", "http", "ssl", "urllib.parse", "neuron_observer.rules", "pathlib")
    assert not {name for name in loaded if name.startswith(heavy)}
    assert not {name for name in loaded if name.startswith("neuron_observer.model")}


def test_a_reader_that_went_away(socket: str) -> None:
    """`check | head` is no error of ours."""
    read, write = os.pipe()
    os.close(read)
    ran = run("check", "--connect", f"unix://{socket}", stdout=write)
    os.close(write)
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr
