"""Lines of a child that is started again."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.sources.child import Children
from neuron_observer.sources.follow import ChildLines, follow_journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 1000
PATIENCE = 20_000  # milliseconds that a child may take to print


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock()


@pytest.fixture
def children(clock: ManualClock) -> Iterator[Children]:
    """Starts children; none may be left."""
    children = Children(clock)
    yield children
    assert children.left == 0


def wait(source: ChildLines) -> list[bytes]:
    """Poll once the child has something to say, or has ended."""
    fd = source.fileno()
    if fd is not None:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        assert poller.poll(PATIENCE)
    return source.poll(MANY)


def until_gone(source: ChildLines) -> list[bytes]:
    """All lines until the child has ended."""
    lines = source.poll(MANY)
    while source.fileno() is not None:
        lines += wait(source)
    return lines


def test_lines_come_and_the_child_is_started_again_after_a_pause(
    clock: ManualClock, children: Children
) -> None:
    """The pause doubles with each end; the reason is told."""
    code = "import sys; print('one'); print('two'); print('broken', file=sys.stderr); sys.exit(2)"
    source = ChildLines([sys.executable, "-S", "-c", code], clock, children)
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0):
        assert until_gone(source) == [b"one", b"two"]
        assert source.error.endswith("ended with status 2: broken")
        clock.advance(pause - 0.5)
        assert source.poll(MANY) == []
        assert source.fileno() is None
        clock.advance(1.0)
    assert source.counts.restarts == 8
    source.close()


def live(source: ChildLines, clock: ManualClock, fifo: Path, seconds: float) -> None:
    """Let a child that copies a FIFO live for so long, then end."""
    writer = os.open(fifo, os.O_RDWR)
    source.poll(MANY)
    os.write(writer, b"one\n")
    assert wait(source) == [b"one"]
    clock.advance(seconds)
    os.close(writer)
    assert until_gone(source) == []


def test_a_long_life_shortens_the_next_pause(
    clock: ManualClock, children: Children, tmp_path: Path
) -> None:
    """A child that was well for a minute is started again after the first pause."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    source = ChildLines(["cat", str(fifo)], clock, children)
    for seconds, pause in ((5.0, 1.0), (5.0, 2.0), (5.0, 4.0), (61.0, 1.0)):
        live(source, clock, fifo, seconds)
        clock.advance(pause - 0.1)
        source.poll(MANY)
        assert source.fileno() is None
        clock.advance(0.2)
    source.poll(MANY)
    assert source.fileno() is not None
    source.close()


def test_a_line_that_the_child_did_not_finish_is_refused(
    clock: ManualClock, children: Children
) -> None:
    """Half a report is none."""
    source = ChildLines(["printf", "whole\\nhalf"], clock, children)
    assert until_gone(source) == [b"whole"]
    assert source.counts.cut == 1
    source.close()


def test_a_missing_command_is_told_and_tried_again(clock: ManualClock, children: Children) -> None:
    """Somebody may install it."""
    source = ChildLines(["/nowhere/neuron-monitor"], clock, children)
    assert source.poll(MANY) == []
    assert source.error == "/nowhere/neuron-monitor: No such file or directory"
    assert not source.ended
    source.close()


def test_a_silent_child_is_replaced(clock: ManualClock, children: Children) -> None:
    """It lives but says nothing: a wedged driver looks like this."""
    source = ChildLines(["sleep", "600"], clock, children, silence=60.0)
    source.poll(MANY)
    clock.advance(59.0)
    source.poll(MANY)
    assert source.fileno() is not None
    clock.advance(2.0)
    source.poll(MANY)
    assert source.fileno() is None
    assert "printed nothing for too long" in source.error
    source.close()


def test_much_on_standard_error_does_not_stop_the_child(
    clock: ManualClock, children: Children
) -> None:
    """A tool at high verbosity fills that pipe; it is drained and its end kept."""
    code = "import sys\nfor n in range(30000): print('noise', n, file=sys.stderr)\nprint('done')"
    source = ChildLines([sys.executable, "-S", "-c", code], clock, children)
    lines = source.poll(MANY)
    while source.fileno() is not None:
        lines += source.poll(MANY)
    assert lines == [b"done"]
    assert source.error.endswith("ended with status 0: noise 29999")
    source.close()


def test_no_second_child_beside_one_that_cannot_be_killed(clock: ManualClock) -> None:
    """The next start waits until the one before is gone."""
    left: list[int] = []
    children = Children(clock, kill=lambda pid, _signal: left.append(pid))
    source = ChildLines(["sleep", "600"], clock, children, silence=5.0)
    source.poll(MANY)
    clock.advance(6.0)
    source.poll(MANY)
    clock.advance(2.0)
    source.poll(MANY)
    assert source.error == "sleep: the one before cannot be killed and is left"
    assert len(left) == 1
    children._left[0].kill()
    children._left[0].wait()
    assert children.left == 0
    source.close()


def test_the_journal_is_read_by_its_own_tool(
    clock: ManualClock,
    children: Children,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel's messages of this boot as JSON, followed; here by a tool that shows its call."""
    tool = tmp_path / "journalctl"
    tool.write_text('#!/bin/sh\necho "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    source = follow_journal(clock, children)
    (call,) = until_gone(source)
    assert set(call.split()) == {b"--dmesg", b"--output=json", b"--follow", b"--no-tail"}
    source.close()
