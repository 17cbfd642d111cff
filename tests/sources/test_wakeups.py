"""Waking when a file says that it changed: real pollable files, and those that are not."""

from __future__ import annotations

import select
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.sources.wakeups import ClockWakeups, FileWakeups, choose_wakeups
from tests.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = 20.0  # seconds; no test waits so long unless it fails


@pytest.fixture
def wakeups(tmp_path: Path) -> Iterator[FileWakeups]:
    """Wake-ups of a host root that is a temporary folder."""
    made = FileWakeups(str(tmp_path))
    yield made
    made.close()


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_regular_file_cannot_be_polled(tmp_path: Path, wakeups: FileWakeups) -> None:
    """EPERM: it is left alone, and nothing stays open for it."""
    (tmp_path / "hw_error_event").write_text("0\n")
    before = _descriptors()
    for _ in range(3):
        wakeups.watch(["hw_error_event"])
    assert wakeups.watched == frozenset()
    assert _descriptors() == before
    assert wakeups.wait(0.0) is False


def test_a_file_that_is_not_there_is_looked_for_again(wakeups: FileWakeups) -> None:
    """As before the driver is loaded."""
    wakeups.watch(["sys/none"])
    assert wakeups.watched == frozenset()
    assert wakeups.wait(0.0) is False


def test_a_file_that_can_be_polled_is_kept_until_it_is_not_wanted() -> None:
    """The mount table of this process can be polled, on any Linux and by anybody."""
    wakeups = FileWakeups("/")
    before = _descriptors()
    wakeups.watch(["proc/self/mounts"])
    wakeups.watch(["proc/self/mounts"])
    assert wakeups.watched == {"proc/self/mounts"}
    assert _descriptors() == before + 1
    assert wakeups.wait(0.0) is False
    wakeups.watch([])
    assert wakeups.watched == frozenset()
    assert _descriptors() == before
    wakeups.close()
    assert _descriptors() == before - 2  # the set itself and the bell


def test_a_bell_ends_a_wait(wakeups: FileWakeups) -> None:
    """From another thread, and also if it rings before the wait begins; it is no file's event."""
    wakeups.wake()
    wakeups.wake()
    assert wakeups.wait(LONG) is False
    threading.Timer(0.01, wakeups.wake).start()
    assert wakeups.wait(LONG) is False
    assert wakeups.wait(0.0) is False


def test_nobody_hears_a_bell_after_closing(tmp_path: Path) -> None:
    """A signal may come late; closing twice is as good as once."""
    wakeups = FileWakeups(str(tmp_path))
    before = _descriptors()
    wakeups.close()
    wakeups.close()
    wakeups.wake()
    assert _descriptors() == before - 2


class ScriptedPoller:
    """Takes every descriptor, as if it could be polled, and says that all of them have changed."""

    def __init__(self) -> None:
        self.registered: list[int] = []
        self.closed = False

    def register(self, fd: int, _eventmask: int, /) -> None:
        """Note it."""
        self.registered.append(fd)

    def poll(self, _timeout: float, /) -> list[tuple[int, int]]:
        """Urgent data at all files, nothing at the bell."""
        return [(fd, select.EPOLLPRI | select.EPOLLERR) for fd in self.registered[1:]]

    def close(self) -> None:
        """Note it."""
        self.closed = True


def test_a_file_that_changes_wakes() -> None:
    """It is read, so that it does not wake again for the same change, and stays watched."""
    poller = ScriptedPoller()
    wakeups = FileWakeups("/", poller)
    wakeups.watch(["proc/self/status"])
    assert wakeups.wait(LONG) is True
    assert wakeups.watched == {"proc/self/status"}
    wakeups.close()
    assert poller.closed


def test_a_file_whose_device_is_gone_wakes_once() -> None:
    """A dead descriptor would wake for ever: it is closed, and the path is tried again."""
    wakeups = FileWakeups("/", ScriptedPoller())
    with subprocess.Popen(["sleep", "60"]) as child:
        path = f"proc/{child.pid}/status"
        wakeups.watch([path])
        assert wakeups.watched == {path}
        held = _descriptors()
        child.kill()
        child.wait(20)
    assert wakeups.wait(LONG) is True
    assert wakeups.watched == frozenset()
    assert _descriptors() == held - 1
    wakeups.watch([path])
    assert wakeups.watched == frozenset()
    wakeups.close()


def test_waiting_by_a_clock_that_is_moved_by_hand() -> None:
    """Nothing wakes, and the time passes."""
    clock = ManualClock(monotonic=5.0)
    wakeups = choose_wakeups(host_of({}), clock)
    assert isinstance(wakeups, ClockWakeups)
    wakeups.watch(["sys/x"])
    assert wakeups.wait(2.5) is False
    wakeups.wake()
    wakeups.close()
    assert clock.monotonic() == 7.5


def test_the_machines_clock_waits_on_files() -> None:
    """Whatever the host is, so that `wake` ends a wait."""
    wakeups = choose_wakeups(host_of({}), SystemClock())
    assert isinstance(wakeups, FileWakeups)
    wakeups.close()
