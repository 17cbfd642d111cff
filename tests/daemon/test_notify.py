"""What the service manager hears: a real datagram socket plays its part."""

from __future__ import annotations

import os
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.daemon.notify import Notifier, status_line
from neuron_observer.loop import Loop
from neuron_observer.model import Health, Verdict
from neuron_observer.observer import HostReader, Options
from tests.exporters.feeds import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from neuron_observer.sources.listing import ListingFs

GOOD = Health(Verdict.HEALTHY, "nothing found")
BAD = Health(Verdict.UNHEALTHY, "neuron3: HBM\nbeyond repair")
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


class Manager:
    """The receiving end, as systemd has it: it sees who sent what."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.setblocking(False)

    def heard(self) -> list[str]:
        """Messages since the last time."""
        found: list[str] = []
        while True:
            try:
                text, extra, _, _ = self._socket.recvmsg(4096, 256)
            except BlockingIOError:
                return found
            assert _CREDENTIALS.unpack(extra[0][2])[0] == os.getpid()
            found.append(text.decode())

    def close(self) -> None:
        """Be gone."""
        self._socket.close()


@contextmanager
def managed(address: str) -> Iterator[Manager]:
    """A manager for as long as a test needs it."""
    manager = Manager(address)
    try:
        yield manager
    finally:
        manager.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the manager listens."""
    return str(tmp_path / "notify")


def test_ready_comes_with_the_first_frame(path: str) -> None:
    """Not before it, once, and with the verdict; later frames tell only of another verdict."""
    with managed(path) as manager:
        notifier = Notifier(ManualClock(), path)
        notifier.status("looks at the host for the first time")
        assert manager.heard() == ["STATUS=looks at the host for the first time"]
        for _ in range(3):
            notifier.note(frame_of(health=GOOD))
        good = "STATUS=healthy: nothing found; 0 devices, driver unknown"
        assert manager.heard() == [good, "READY=1"]
        notifier.note(frame_of(health=BAD))
        notifier.note(frame_of(health=GOOD))
        bad = "STATUS=unhealthy: neuron3: HBM beyond repair; 0 devices, driver unknown"
        assert manager.heard() == [bad, good]
        notifier.stopping()
        assert manager.heard() == ["STOPPING=1\nSTATUS=stopping"]
        notifier.close()
        notifier.note(frame_of(health=BAD))
        assert manager.heard() == []


def test_ready_is_said_until_it_arrives(path: str) -> None:
    """A manager that is not there yet hears it with a later frame."""
    notifier = Notifier(ManualClock(), path)
    notifier.note(frame_of(health=GOOD))
    with managed(path) as manager:
        notifier.note(frame_of(health=GOOD))
        assert manager.heard()[-1] == "READY=1"
    notifier.close()


def test_the_abstract_namespace() -> None:
    """An address behind an @ is no file."""
    name = f"neuron-observer-test-{os.getpid()}"
    with managed(f"\0{name}") as manager:
        notifier = Notifier(ManualClock(), f"@{name}")
        notifier.stopping()
        notifier.close()
        assert manager.heard() == ["STOPPING=1\nSTATUS=stopping"]


@pytest.mark.parametrize("address", [None, "", "@", "/", "vsock:2:1234", "relative/path"])
def test_nobody_to_tell(address: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    """No address, one of a kind that is not known here, or nobody behind it: silence, no error."""
    notifier = Notifier(ManualClock(), address, 10.0)
    notifier.note(frame_of(health=GOOD))
    notifier.beat()
    with notifier.reloading():
        pass
    notifier.stopping()
    notifier.close()
    assert capsys.readouterr() == ("", "")


def test_a_reload_has_a_begin_and_an_end(path: str) -> None:
    """With the time that notify-reload asks for; ready again also after one that failed."""
    with managed(path) as manager:
        notifier = Notifier(ManualClock(monotonic=12.5), path)
        reload = ["RELOADING=1\nMONOTONIC_USEC=12500000", "READY=1"]
        with notifier.reloading():
            assert manager.heard() == reload[:1]
        assert manager.heard() == reload[1:]
        with suppress(ValueError), notifier.reloading():
            raise ValueError("line 3")
        assert manager.heard() == reload
        notifier.close()


def test_the_watchdog_is_fed_in_time_and_no_more(path: str) -> None:
    """However often the loop comes round: four times in what the watchdog allows."""
    clock = ManualClock()
    with managed(path) as manager:
        notifier = Notifier(clock, path, 30.0)
        for _ in range(300):
            notifier.beat()
            clock.advance(0.2)
        assert manager.heard() == ["WATCHDOG=1"] * 8
        notifier.close()


@pytest.mark.parametrize(
    ("microseconds", "meant", "beats"),
    [
        ("30000000", None, 1),
        ("30000000", "own", 1),
        ("30000000", "1", 0),  # of another process
        ("0", None, 0),
        ("", None, 0),
        ("-5", None, 0),
        ("30s", None, 0),
        ("\u0663", None, 0),
    ],
)
def test_the_environment(path: str, microseconds: str, meant: str | None, beats: int) -> None:
    """The watchdog is fed if it is on and ours; children find none of the variables."""
    environ = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": microseconds, "HOME": "/"}
    if meant:
        environ["WATCHDOG_PID"] = str(os.getpid()) if meant == "own" else meant
    with managed(path) as manager:
        notifier = Notifier.of(environ, os.getpid(), ManualClock())
        notifier.beat()
        assert manager.heard() == ["WATCHDOG=1"] * beats
        notifier.close()
    assert environ == {"HOME": "/"}


def test_the_loop_feeds_it_and_one_that_hangs_does_not(
    path: str, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Passes of the real loop are beats; while one of its parts hangs there are none."""
    reader = HostReader(tree("trn2.3xlarge-2.30.2-busy"), clock, Options(wait_for_firmware=False))
    loop = Loop(reader)
    hung, free = threading.Event(), threading.Event()
    beats: list[None] = []

    def hang(_: object) -> None:
        if len(beats) == 2:
            hung.set()
            assert free.wait(10)

    with managed(path) as manager:
        notifier = Notifier(clock, path, 0.4)
        loop.subscribe(notifier.note)
        loop.subscribe(hang)
        loop.each_pass(notifier.beat)
        loop.each_pass(lambda: beats.append(None))
        loop.each_pass(lambda: clock.advance(0.25))
        thread = threading.Thread(target=loop.run)
        thread.start()
        assert hung.wait(10)
        heard = manager.heard()
        assert heard.count("WATCHDOG=1") == 2
        assert "READY=1" in heard
        clock.advance(100.0)
        assert not free.wait(0.1)
        assert manager.heard() == []
        loop.stop()
        free.set()
        thread.join(10)
        assert not thread.is_alive()
        assert manager.heard()[0] == "WATCHDOG=1"
        notifier.close()
    loop.close()


@given(st.text(), st.sampled_from(Verdict))
def test_the_status_is_one_line(reason: str, verdict: Verdict) -> None:
    """Whatever a reason holds: no line break, which would be another key, and no more than fits."""
    line = status_line(frame_of(health=Health(verdict, reason)))
    assert len(line.splitlines()) == 1
    assert len(line) <= 300
    assert line.startswith(f"{verdict.value}: ")
