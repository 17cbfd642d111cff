"""Waiting until a device has something to say, or until the next read is due.

From driver 2.28 on `hw_error_event` can be polled: the driver calls sysfs_notify when the register
of unhealthy components changes, by default, without a parameter (`neuron_sysfs_metrics.c`,
nsysfsmetric_health_status_tick). A regular file cannot be polled, which epoll says with EPERM.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Protocol

from neuron_observer.clock import SystemClock
from neuron_observer.sources.filesets import open_read_only

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.clock import Clock
    from neuron_observer.sources.hostfs import HostFs

_BYTES = 64
_URGENT = select.EPOLLPRI | select.EPOLLERR  # what kernfs gives after sysfs_notify


class Wakeups(Protocol):
    """What a loop waits on."""

    def watch(self, paths: Collection[str]) -> None:
        """These files of the host, by path below its root, and no others may wake."""
        ...

    @property
    def watched(self) -> frozenset[str]:
        """The files that can wake now."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait that long at most; whether a file woke us."""
        ...

    def wake(self) -> None:
        """End a wait; from any thread or signal handler."""
        ...

    def close(self) -> None:
        """Give the descriptors back."""
        ...


class Poller(Protocol):
    """What is used of `select.epoll`."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a descriptor; PermissionError if it cannot be watched."""
        ...

    def poll(self, timeout: float, /) -> list[tuple[int, int]]:
        """Descriptors and events, after `timeout` seconds at most."""
        ...

    def close(self) -> None:
        """Give it back."""
        ...


class ClockWakeups:
    """Nothing wakes: for clocks that are moved by hand."""

    watched: frozenset[str] = frozenset()

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def watch(self, paths: Collection[str]) -> None:
        """A file of such a host says nothing by itself."""

    def wait(self, seconds: float) -> bool:
        """Let the time pass."""
        self._clock.wait(seconds)
        return False

    def wake(self) -> None:
        """A wait takes no time."""

    def close(self) -> None:
        """Nothing is held."""


class FileWakeups:
    """Files of a directory, by epoll; each has a descriptor of its own here.

    A file that is not there, or gone, is looked for at every `watch`; one that cannot be polled
    is left alone until other files are to be watched.
    """

    def __init__(self, root: str, epoll: Poller | None = None) -> None:
        self._prefix = root.rstrip("/") + "/"
        self._epoll = epoll or select.epoll()
        self._ringing = RLock()  # a signal's handler rings too
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._bell, select.EPOLLIN)
        self._wanted: frozenset[str] = frozenset()
        self._mute: set[str] = set()  # cannot be polled
        self._files: dict[str, int] = {}
        self._paths: dict[int, str] = {}

    @property
    def watched(self) -> frozenset[str]:
        """The files that can wake now."""
        return frozenset(self._files)

    def watch(self, paths: Collection[str]) -> None:
        """Open and register what is not yet; give up what is not wanted any more."""
        wanted = frozenset(paths)
        if wanted != self._wanted:
            self._wanted = wanted
            self._mute.clear()
            for path in self._files.keys() - wanted:
                self._drop(path)
        for path in wanted - self._files.keys() - self._mute:
            self._add(path)

    def _add(self, path: str) -> None:
        try:
            descriptor = open_read_only(self._prefix + path)
        except OSError:
            return
        self._files[path], self._paths[descriptor] = descriptor, path
        try:
            os.pread(descriptor, _BYTES, 0)  # only what changes after a read wakes
            self._epoll.register(descriptor, _URGENT)
        except PermissionError:
            self._mute.add(path)
            self._drop(path)
        except OSError:
            self._drop(path)

    def _drop(self, path: str) -> None:
        descriptor = self._files.pop(path)
        del self._paths[descriptor]
        os.close(descriptor)  # which also takes it out of the epoll set

    def wait(self, seconds: float) -> bool:
        """Wait; a file that woke us is read, else it would do so for ever."""
        woken = False
        for descriptor, _ in self._epoll.poll(max(seconds, 0.0)):
            if descriptor == self._bell:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._bell)
                continue
            woken = True
            try:
                os.pread(descriptor, _BYTES, 0)
            except OSError:  # its device is gone: a dead descriptor would wake without end
                self._drop(self._paths[descriptor])
        return woken

    def wake(self) -> None:
        """Ring the bell; nobody hears it after `close`."""
        with self._ringing:
            if self._bell >= 0:
                os.eventfd_write(self._bell, 1)

    def close(self) -> None:
        """Close all."""
        for path in list(self._files):
            self._drop(path)
        self._epoll.close()
        with self._ringing:  # else somebody rings a number that is another file's by then
            bell, self._bell = self._bell, -1
            if bell >= 0:
                os.close(bell)


def choose_wakeups(host: HostFs, clock: Clock) -> Wakeups:
    """Files, under the machine's clock; with a clock that is moved by hand nothing wakes."""
    return FileWakeups(host.root) if isinstance(clock, SystemClock) else ClockWakeups(clock)
