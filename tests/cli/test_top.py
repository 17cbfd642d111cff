"""`top`: one frame as text, in every locale; the screen in a terminal of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import UsageError
from tests.cli.terminal import Terminal
from tests.conftest import tree_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Result

BUSY = str(tree_file("trn2.48xlarge-2.30.2-busy"))
SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))
HINT = rb"EFA"  # in one of the last lines of the screen
COLOURS = re.compile(rb"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


def test_once_prints_one_frame(call: Callable[..., Result]) -> None:
    """Node, devices, cores, memory, power, host and every reason; nothing else."""
    found = call("top", "--once", "--host-root", BUSY)
    assert (found.code, found.err) == (0, "")
    lines = found.out.splitlines()
    assert lines[0].startswith("trn2.48xlarge · driver 2.30.2.0 · 16/16 · healthy")
    assert any(text.startswith("▸ 0 H") and " 3 H" in text for text in lines)
    assert sum(text.strip().startswith(tuple("01234567")) and "%" not in text for text in lines) > 8
    assert "— cpu: unsupported: no /proc/stat here" in lines
    assert all(len(text) <= 80 for text in lines if not text.startswith("— "))


def test_without_a_terminal_it_is_once(call: Callable[..., Result]) -> None:
    """Into a pipe or a file goes the plain frame, and standard error says why."""
    plain = call("top", "--once", "--host-root", SMALL)
    found = call("top", "--host-root", SMALL)
    assert (found.code, found.out) == (0, plain.out)
    assert "no terminal here: one frame, as with --once; --batch prints" in found.err


def test_the_width_is_asked_for(
    call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--width`, else COLUMNS, else 80."""

    def width(*arguments: str) -> int:
        return len(call("top", "--once", "--host-root", SMALL, *arguments).out.splitlines()[0])

    monkeypatch.delenv("COLUMNS", raising=False)
    assert width() == 80
    monkeypatch.setenv("COLUMNS", "132")
    assert width() == 132
    assert width("--width", "100") == 100


def test_a_device_is_asked_for(call: Callable[..., Result]) -> None:
    """Its cores are shown; one that is not there is an error that says which are."""
    found = call("top", "--once", "--host-root", BUSY, "--device", "11")
    assert "Cores of 11 " in found.out
    assert "▸11 H" in found.out
    with pytest.raises(UsageError, match="no such device here") as error:
        call("top", "--once", "--host-root", SMALL, "--device", "1")
    assert error.value.remedy == "Here: 0."


def test_a_host_without_neuron(tmp_path: Path, call: Callable[..., Result]) -> None:
    """An ordinary machine is said to be one."""
    found = call("top", "--once", "--host-root", str(tmp_path))
    assert found.code == 0
    assert "no Neuron device, driver or PCI function here" in found.out
    assert "Cores" not in found.out


@pytest.mark.parametrize(
    ("environment", "is_ascii"),
    [
        ({"LANG": "C"}, True),
        ({"LANG": "POSIX"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True),
        ({"LANG": "xx_YY.UTF-8"}, False),
        ({}, False),
    ],
)
def test_any_locale(environment: dict[str, str], is_ascii: bool) -> None:
    """A locale that is not there stops nothing; an ASCII locale gets ASCII (case E29)."""
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": "."}
    run = subprocess.run(
        [sys.executable, "-m", "neuron_observer", "top", "--host-root", SMALL],
        env=kept | environment,
        capture_output=True,
        check=True,
    )
    assert run.stdout.isascii() == is_ascii
    assert b"?" not in run.stdout.replace(b" 0 ? U", b"").replace(b"health ?", b"")
    assert b"Trainium2" in run.stdout.decode("utf-8").encode()


def test_ascii_on_request(call: Callable[..., Result]) -> None:
    """`--ascii` wins over what the terminal could do."""
    assert call("top", "--once", "--ascii", "--host-root", SMALL).out.isascii()


def test_once_is_light() -> None:
    """One frame as text loads no screen and no numbers library."""
    code = (
        "import sys\n"
        "from neuron_observer.cli.group import cli\n"
        f"cli.main(['top', '--once', '--host-root', {SMALL!r}], standalone_mode=False)\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"textual", "rich", "numpy"} & set(run.stderr.splitlines())


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts `top` under a terminal, on a small host that is a directory or a file."""
    opened: list[Terminal] = []

    def start(root: str, **environment: str) -> Terminal:
        opened.append(Terminal("top", "--host-root", root, environment=environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def host_directory(folder: Path) -> str:
    """A host with one device as a directory."""
    core = folder / "sys/devices/virtual/neuron_device/neuron0/neuron_core0/stats"
    core.mkdir(parents=True)
    (folder / "sys/class/neuron_device").mkdir(parents=True)
    (folder / "sys/class/neuron_device/neuron0").symlink_to(
        "../../devices/virtual/neuron_device/neuron0"
    )
    module = folder / "sys/module/neuron"
    module.mkdir(parents=True)
    (module / "version").write_text("2.30.2.0\n")
    (module / "initstate").write_text("live\n")
    return str(folder)


def test_a_key_ends_it(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    """The screen of a loop, moved by keys, without a colour where NO_COLOR is set; then `q`."""
    seen = terminal(host_directory(tmp_path), NO_COLOR="1")
    seen.until(HINT)
    seen.type(b"p")
    seen.until(rb"paused")
    seen.type(b"q")
    assert seen.exit_code() == 0
    assert seen.is_restored()
    assert not COLOURS.search(seen.written)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it(
    terminal: Callable[..., Terminal], tmp_path: Path, number: signal.Signals
) -> None:
    """The terminal is as before, the exit code is that of the signal; in ASCII here."""
    seen = terminal(host_directory(tmp_path), LC_ALL="C")
    seen.until(HINT)
    seen.send(number)
    assert seen.exit_code() == 128 + number
    assert seen.is_restored()
    assert seen.written.isascii()


def test_it_ends_with_its_terminal(terminal: Callable[..., Terminal]) -> None:
    """A connection that is cut leaves no process behind; here of a recording."""
    seen = terminal(SMALL)
    seen.until(HINT)
    assert COLOURS.search(seen.written)
    seen.hang_up()
    assert seen.exit_code() == 128 + signal.SIGHUP


def test_a_dumb_terminal_gets_a_plain_frame(terminal: Callable[..., Terminal]) -> None:
    """No escape sequence where nobody understands it."""
    seen = terminal(SMALL, TERM="dumb")
    seen.until(rb"EFA")
    assert seen.exit_code() == 0
    assert b"\x1b" not in seen.written
