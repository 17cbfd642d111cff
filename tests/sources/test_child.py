"""The one place that starts a process."""

from __future__ import annotations

import os
import signal
import sys

from neuron_observer.clock import SystemClock
from neuron_observer.sources.child import Children

SOON = 20.0  # seconds, far more than any of these takes
NOW = 0.3  # seconds for those that never end


def python(code: str) -> list[str]:
    """A command that runs `code`."""
    return [sys.executable, "-S", "-c", code]


def test_both_streams_and_the_status_come_back() -> None:
    """As a shell would see them."""
    ended = Children(SystemClock()).run(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), seconds=SOON
    )
    assert (ended.status, ended.stdout, ended.stderr) == (3, b"out\n", b"err\n")
    assert not ended.hung
    assert not ended.cut


def test_a_child_has_no_input() -> None:
    """It cannot eat the standard input of ours."""
    ended = Children(SystemClock()).run(
        python("import sys; print(len(sys.stdin.read()))"), seconds=SOON
    )
    assert ended.stdout == b"0\n"


def test_a_missing_command_and_one_that_may_not_run() -> None:
    """127 and 126, the shell's statuses."""
    children = Children(SystemClock())
    missing = children.run(["/nowhere/neuron-ls"], seconds=SOON)
    assert missing.status == 127
    assert b"/nowhere/neuron-ls" in missing.stderr
    assert children.run(["/etc/hostname"], seconds=SOON).status == 126


def test_a_child_that_never_ends_is_killed_in_time() -> None:
    """With its own children; what it had printed is kept."""
    children = Children(SystemClock())
    ended = children.run(["sh", "-c", "echo begun; sleep 60 & sleep 60"], seconds=NOW)
    assert ended.hung
    assert ended.stdout == b"begun\n"
    assert children.left == 0


def test_endless_output_is_bounded() -> None:
    """The child is ended, the rest refused."""
    ended = Children(SystemClock()).run(["yes"], seconds=SOON, max_output=10_000)
    assert ended.cut
    assert ended.status == -signal.SIGKILL
    assert len(ended.stdout) == 10_000


def test_a_child_that_cannot_be_killed_is_left_and_counted() -> None:
    """State D inside the driver: nobody waits, and no second one is started beside it."""
    spared: list[int] = []
    children = Children(SystemClock(), kill=lambda pid, _signal: spared.append(pid))
    ended = children.run(["sleep", "60"], seconds=0.0)
    assert ended.hung
    assert children.left == 1
    again = children.run(["sleep", "60"], seconds=SOON)
    assert again.hung
    assert b"still hangs" in again.stderr
    (pid,) = spared
    os.killpg(pid, signal.SIGKILL)
    children._left[0].wait(SOON)
    assert children.left == 0
    assert children.run(["true"], seconds=SOON).status == 0
