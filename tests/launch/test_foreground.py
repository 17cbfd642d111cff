"""A job in the foreground: exit codes, signals and the terminal, with real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.launch.foreground import Exit, NotStartedError, signals_caught, start
from tests.launch.shell import typing

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 30.0  # seconds; a busy machine takes longer, a broken program would for ever
CLOCK = SystemClock()
RUNNER = [sys.executable, str(Path(__file__).parent / "runner.py")]
# says that it is ready, counts SIGTERM, and ends with the count at SIGUSR1
COUNTING = 'n=0; trap "n=\\$((n+1))" TERM; trap "exit \\$n" USR1; echo $$; while :; do :; done'


def run(*command: str) -> Exit:
    """Start a command from this process and wait for it."""
    with signals_caught() as signals:
        return start(command, os.environ, signals, CLOCK).wait()


@contextmanager
def runner(*command: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A runner in a process group of its own, and the pid that its job printed first."""
    process = subprocess.Popen(
        [*RUNNER, "--own-group", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    job = int(process.stdout.readline())
    try:
        yield process, job
    finally:
        os.kill(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()
        process.stdout.close()
        if Path(f"/proc/{job}").exists():
            os.kill(job, signal.SIGKILL)


def until(state: str, *pids: int) -> None:
    """Wait until processes are in one of some states of the kernel's."""
    begin = CLOCK.monotonic()
    while not all(_state(pid) in state for pid in pids):
        assert CLOCK.monotonic() - begin < PATIENCE, [_state(pid) for pid in pids]
        CLOCK.wait(0.01)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]


@pytest.mark.parametrize(
    ("script", "ended"),
    [
        ("exit 0", Exit(0)),
        ("exit 7", Exit(7)),
        ("kill -KILL $$", Exit(137, signal.SIGKILL)),
        ("kill -TERM $$", Exit(143, signal.SIGTERM)),
    ],
)
def test_how_a_job_ends(script: str, ended: Exit) -> None:
    """Its exit code, or 128 and the signal."""
    assert run("sh", "-c", script) == ended


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [("no-such-program", None, 127), ("plain", "text", 126), ("folder", "", 126)],
)
def test_what_cannot_be_started(name: str, content: str | None, code: int, tmp_path: Path) -> None:
    """127 where there is nothing, 126 where it is no program, as a shell has it."""
    file = tmp_path / name
    if content:
        file.write_text(content)
    elif content is not None:
        file.mkdir()
    with pytest.raises(NotStartedError, match=name) as caught:
        run(str(file))
    assert caught.value.code == code


def test_a_job_has_the_signals_of_before(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is blocked, a broken pipe ends it, and its process group is its own."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert run("cat", "/proc/self/status", "/proc/self/stat") == Exit(0)
    told = capfd.readouterr().out
    blocked, ignored = (
        int(found[1], 16)
        for name in ("SigBlk", "SigIgn")
        if (found := re.search(rf"^{name}:\s*(\w+)$", told, re.MULTILINE))
    )
    assert not blocked
    assert not ignored >> (signal.SIGPIPE - 1) & 1
    stat = told.splitlines()[-1]
    assert stat.rpartition(")")[2].split()[2] == stat.split()[0]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_reaches_the_job_once(times: int) -> None:
    """Also where it was sent to our group and to us: torchrun takes a second one amiss."""
    with runner("bash", "-c", COUNTING) as (process, _):
        for _ in range(times):
            os.kill(process.pid, signal.SIGTERM)
        until_counted(process)
        assert process.wait(PATIENCE) == 1


def until_counted(process: subprocess.Popen[str]) -> None:
    """Ask for the count once the first signal is surely there."""
    CLOCK.wait(0.3)
    os.kill(process.pid, signal.SIGUSR1)


def test_a_job_that_is_stopped_and_goes_on() -> None:
    """We stop with it, so that our shell sees it, and when we go on, it does."""
    with runner("sh", "-c", "echo $$; exec sleep 1") as (process, job):
        os.kill(process.pid, signal.SIGTSTP)
        until("T", process.pid, job)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(PATIENCE) == 0


def test_what_is_left_at_the_end_is_dropped() -> None:
    """A signal that comes when the job is over does not end us in its place."""
    with signals_caught() as signals:
        ended = start(["true"], os.environ, signals, CLOCK).wait()
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended == Exit(0)
    assert signal.SIGTERM not in signal.sigpending()


JOB = " ".join(RUNNER)


def test_the_terminal_is_the_jobs() -> None:
    """It reads from it and is in front; afterwards the shell is."""
    with typing() as shell:
        shell.type(f"{JOB} sh -c 'read line; echo [$line] $(ps -o stat= -p $$); exit 3'\n")
        shell.type("hello\n")
        assert b"+" in shell.until(rb"\[hello\] (\S+)\r\n")[1]
        shell.type("echo code=$?\n")
        shell.until(rb"code=3\r\n")


def test_keys_reach_the_job() -> None:
    """Ctrl-C interrupts it; Ctrl-Z stops it, `fg` has it go on."""
    with typing() as shell:
        shell.type(f"{JOB} sh -c 'echo go; exec sleep 60'\n")  # a shell that forks cannot stop
        shell.until(rb"go\r\n")
        CLOCK.wait(0.1)
        shell.type("\x1a")
        shell.until(rb"Stopped")
        shell.type("echo $((6*7))\n")
        shell.until(rb"42\r\n")
        shell.type("fg\n")
        CLOCK.wait(0.2)
        shell.type("\x03")
        shell.type("echo code=$?\n")
        assert shell.until(rb"code=(\d+)\r\n")[1] == b"130"


def test_a_pipeline_shares_the_terminal() -> None:
    """What reads our output may read keys as well; the job gets the terminal when it asks."""
    pager = "cat > /dev/null; read key < /dev/tty; echo pager [$key]"
    with typing() as shell:
        shell.type(f"{JOB} sh -c 'echo one' | sh -c '{pager}'\n")
        shell.type("q\n")
        assert shell.until(rb"pager \[(.*)\]\r\n")[1] == b"q"
        shell.type(f"{JOB} sh -c 'read line < /dev/tty; echo job [$line]' | cat\n")
        CLOCK.wait(0.3)
        shell.type("k\n")
        assert shell.until(rb"job \[(.*)\]\r\n")[1] == b"k"
