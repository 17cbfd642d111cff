"""The helper process that reads firmware registers where reads can block."""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.sources.helper import HelperWorkers
from neuron_observer.sources.workers import Request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REQUEST = Request("sys/neuron3", ("count", "odd", "gone"), (64, 8, 64))
DEADLINE = 30.0  # seconds; ample for a new process on a busy machine


@pytest.fixture
def helper(tmp_path: Path) -> Iterator[HelperWorkers]:
    """A helper over a device with a count, a file of odd bytes and one that is not there."""
    folder = tmp_path / "sys" / "neuron3"
    folder.mkdir(parents=True)
    (folder / "count").write_bytes(b"7\n")
    (folder / "odd").write_bytes(bytes(range(248, 256)) + b"more")
    workers = HelperWorkers(str(tmp_path), SystemClock())
    yield workers
    workers.close()


def test_bytes_and_errors_come_back(helper: HelperWorkers) -> None:
    """What the helper read arrives byte for byte, an error as itself."""
    assert helper.submit(3, REQUEST)
    answer = helper.gather([3], DEADLINE)[3]
    count, odd, gone = answer.contents
    assert (count, odd) == (b"7\n", bytes(range(248, 256)))
    assert isinstance(gone, OSError)
    assert gone.errno == errno.ENOENT
    assert len(answer.seconds) == 3


def test_a_helper_that_died_is_replaced(helper: HelperWorkers) -> None:
    """After the helper was killed, the next read is answered by a new one."""
    first = helper._process
    os.kill(first.pid, signal.SIGKILL)
    first.wait(DEADLINE)
    assert helper.submit(3, REQUEST)
    assert helper.gather([3], DEADLINE)[3].contents[0] == b"7\n"
    assert helper._process.pid != first.pid


def test_closing_does_not_wait_for_a_helper_whose_output_stays_open(helper: HelperWorkers) -> None:
    """As with a helper that hangs in the kernel, nobody ever sees the end of its output."""
    output = os.open(f"/proc/{helper._process.pid}/fd/1", os.O_WRONLY)
    helper.close()
    assert helper._process.poll() is not None
    os.close(output)


def test_nothing_is_imported_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A json.py beside the caller is not run by a program that may be root's."""
    (tmp_path / "json.py").write_text("raise SystemExit(1)", "utf-8")
    (tmp_path / "count").write_bytes(b"7\n")
    monkeypatch.chdir(tmp_path)
    workers = HelperWorkers(str(tmp_path), SystemClock())
    try:
        assert workers.submit(0, Request(".", ("count",), (64,)))
        assert workers.gather([0], DEADLINE)[0].contents == [b"7\n"]
    finally:
        workers.close()
