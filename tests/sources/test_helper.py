"""The helper process: it answers, fails, dies and hangs, and its owner never waits for it."""

from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.sources.helper import HelperWorkers
from neuron_observer.sources.workers import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.sources.workers import Answer

PATIENCE = 20.0  # seconds; a test that needs them has failed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with two devices."""
    for number in (0, 1):
        folder = tmp_path / "sys" / f"n{number}"
        folder.mkdir(parents=True)
        (folder / "serial").write_bytes(b"\xff\0serial %d\n" % number)
        (folder / "count").write_text(f"{number}\n")
    return tmp_path


@pytest.fixture
def helper(root: Path) -> Iterator[HelperWorkers]:
    """A helper that reads below the host's root."""
    workers = HelperWorkers(str(root), SystemClock())
    yield workers
    workers.close()


def ask(workers: HelperWorkers, device: int, *names: str) -> Answer:
    """One question and its answer."""
    assert workers.submit(device, Request(f"sys/n{device}", names, (64,) * len(names)))
    return workers.gather((device,), PATIENCE)[device]


def gone(pid: int) -> bool:
    """Whether no process, not even a dead one that nobody waited for, has this number."""
    return not Path(f"/proc/{pid}").exists()


def test_it_answers(helper: HelperWorkers) -> None:
    """Any bytes, in the order of the names, a duration each, for each device, again and again."""
    for _ in range(3):
        for device in (0, 1):
            answer = ask(helper, device, "serial", "count")
            assert answer.contents == [b"\xff\0serial %d\n" % device, b"%d\n" % device]
            assert len(answer.seconds) == 2
            assert answer.read_at <= SystemClock().monotonic()


def test_reads_are_bounded(helper: HelperWorkers, root: Path) -> None:
    """The limit goes along with the name."""
    (root / "sys/n0/long").write_bytes(b"x" * 100_000)
    assert ask(helper, 0, "long").contents == [b"x" * 64]


def test_errors_are_answers(helper: HelperWorkers, root: Path) -> None:
    """The errno of each file that cannot be read, and the next file is read."""
    (root / "sys/n0/loop").symlink_to("loop")
    *errors, count = ask(helper, 0, "absent", "loop", ".", "count").contents
    numbers = [error.errno for error in errors if isinstance(error, OSError)]
    assert numbers == [errno.ENOENT, errno.ELOOP, errno.EISDIR]
    assert count == b"0\n"


def test_a_pipe_holds_up_nobody(helper: HelperWorkers, root: Path) -> None:
    """A pipe where a file should be, with a silent writer: an error, and the helper goes on."""
    os.mkfifo(root / "sys/n0/pipe")
    writer = os.open(root / "sys/n0/pipe", os.O_RDWR)
    try:
        (content,) = ask(helper, 0, "pipe").contents
    finally:
        os.close(writer)
    assert isinstance(content, OSError)
    assert content.errno == errno.EAGAIN
    assert ask(helper, 1, "count").contents == [b"1\n"]


def test_a_helper_that_died_is_started_again(helper: HelperWorkers) -> None:
    """What it owed will not come; the next question goes to a new one, and the old one is gone."""
    assert ask(helper, 0, "count").contents == [b"0\n"]
    for _ in range(2):
        pid = helper._process.pid
        os.kill(pid, signal.SIGSTOP)
        helper.submit(0, Request("sys/n0", ("count",), (64,)))
        os.kill(pid, signal.SIGKILL)
        helper._process.wait(PATIENCE)
        assert ask(helper, 0, "count").contents == [b"0\n"]
        assert helper._process.pid != pid
        assert gone(pid)


def test_a_question_into_a_broken_pipe_is_not_owed_for_ever(helper: HelperWorkers) -> None:
    """The helper is ending and takes nothing: the question fails, the next one is answered."""
    process = helper._process
    assert process.stdin
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, process.stdin.fileno())
    os.close(writing)
    assert not helper.submit(0, Request("sys/n0", ("count",), (64,)))
    process.wait(PATIENCE)
    assert ask(helper, 0, "count").contents == [b"0\n"]


def test_a_helper_that_hangs_is_left_behind(helper: HelperWorkers) -> None:
    """No answer by the deadline, no second question while one is owed, and closing ends it."""
    assert ask(helper, 0, "count").contents == [b"0\n"]
    pid = helper._process.pid
    os.kill(pid, signal.SIGSTOP)
    assert helper.submit(0, Request("sys/n0", ("count",), (64,)))
    assert helper.gather((0,), 0.05) == {}
    assert not helper.submit(0, Request("sys/n0", ("count",), (64,)))
    helper.close()
    assert gone(pid)


def test_a_helper_that_comes_back_answers(helper: HelperWorkers) -> None:
    """A read that took long is late, not lost."""
    os.kill(helper._process.pid, signal.SIGSTOP)
    assert helper.submit(0, Request("sys/n0", ("count",), (64,)))
    assert helper.gather((0,), 0.05) == {}
    os.kill(helper._process.pid, signal.SIGCONT)
    assert helper.gather((0,), PATIENCE)[0].contents == [b"0\n"]


def test_closing_leaves_no_zombie(root: Path) -> None:
    """The process is gone, not just dead, and its descriptors are given back."""
    workers = HelperWorkers(str(root), SystemClock())
    assert ask(workers, 0, "count").contents == [b"0\n"]
    pid = workers._process.pid
    workers.close()
    assert gone(pid)
    workers._listener.join(PATIENCE)
    assert not workers._listener.is_alive()
    pipes = (workers._process.stdin, workers._process.stdout)
    assert [pipe.closed for pipe in pipes if pipe] == [True, True]


def test_closing_twice_is_closing(root: Path) -> None:
    """A second close changes nothing."""
    workers = HelperWorkers(str(root), SystemClock())
    workers.close()
    workers.close()
    assert gone(workers._process.pid)


def test_closing_does_not_wait_for_a_helper_that_holds_its_pipe(root: Path) -> None:
    """A process that sleeps in the kernel cannot be ended and keeps its end of the pipe open."""
    workers = HelperWorkers(str(root), SystemClock())
    assert ask(workers, 0, "count").contents == [b"0\n"]
    held = os.open(f"/proc/{workers._process.pid}/fd/1", os.O_WRONLY)
    closed = threading.Event()

    def close() -> None:
        workers.close()
        closed.set()

    try:
        threading.Thread(target=close, daemon=True).start()
        assert closed.wait(PATIENCE)
    finally:
        os.close(held)
        workers._listener.join(PATIENCE)


def test_the_helper_ends_with_its_owner(root: Path) -> None:
    """Its standard input ends, so it does."""
    workers = HelperWorkers(str(root), SystemClock())
    assert ask(workers, 0, "count").contents == [b"0\n"]
    assert workers._process.stdin
    workers._process.stdin.close()
    assert workers._process.wait(PATIENCE) == 0
    workers.close()


def test_an_interrupt_of_the_terminal_is_not_the_helpers(helper: HelperWorkers) -> None:
    """Ctrl-C goes to a whole process group; the helper is in one of its own."""
    assert os.getpgid(helper._process.pid) != os.getpgid(0)


def test_it_holds_no_pipe_of_ours(helper: HelperWorkers) -> None:
    """Left behind, it keeps nobody waiting who reads our standard error."""
    assert ask(helper, 0, "count").contents == [b"0\n"]
    assert os.readlink(f"/proc/{helper._process.pid}/fd/2") == os.devnull  # noqa: PTH115 - a link of /proc
