"""Reads that may hang: each device has a worker, and nobody waits longer than a deadline.

On drivers up to 2.24.7 a read of a firmware register sleeps uninterruptibly for 15 to 75 seconds
while the register reads 0xdeadbeef (driver 2.24.7 `neuron_fw_io.c`), and a process with such a
thread cannot end. There the reads are made by a helper process (`sources.helper`).
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.clock import Clock
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.hostfs import HostFs


class Request(NamedTuple):
    """Files of one device: names below a folder and how much of each to read."""

    folder: str
    names: tuple[str, ...]
    limits: tuple[int, ...]


class Answer(NamedTuple):
    """What a worker read: contents, seconds that each took, and when it began."""

    contents: list[Content]
    seconds: list[float]
    read_at: float  # monotonic


class Workers(Protocol):
    """One worker a device; a stuck one delays no other."""

    def submit(self, device: int, request: Request) -> bool:
        """Start reading; False while the device's last read has not come back."""
        ...

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """The answers of those devices that are there within `seconds`."""
        ...

    def close(self) -> None:
        """Stop; a stuck worker is left behind."""
        ...


def read_files(host: HostFs, clock: Clock, request: Request) -> Answer:
    """Read one file after the other and time each."""
    begin = clock.monotonic()
    contents: list[Content] = []
    seconds: list[float] = []
    for name, limit in zip(request.names, request.limits, strict=True):
        before = clock.monotonic()
        try:
            path = f"{request.folder}/{name}" if request.folder else name
            contents.append(host.read(path, limit))
        except OSError as error:
            contents.append(error)
        seconds.append(clock.monotonic() - before)
    return Answer(contents, seconds, begin)


class Gathering:
    """Answers as they come in from several threads, and who is still owed one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set[int] = set()
        self._answers: dict[int, Answer] = {}

    def begin(self, device: int) -> bool:
        """Note that an answer is owed; False if one is owed already."""
        with self._changed:
            if device in self._busy:
                return False
            self._busy.add(device)
            self._answers.pop(device, None)
            return True

    def put(self, device: int, answer: Answer) -> None:
        """An answer came in."""
        with self._changed:
            self._busy.discard(device)
            self._answers[device] = answer
            self._changed.notify_all()

    def take(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """Wait until all of `devices` have answered or `seconds` are over."""
        with self._changed:
            self._changed.wait_for(lambda: self._busy.isdisjoint(devices), timeout=seconds)
            found = {device: self._answers.pop(device, None) for device in devices}
        return {device: answer for device, answer in found.items() if answer is not None}


class ThreadWorkers:
    """A daemon thread a device, in this process; made when first needed."""

    def __init__(self, host: HostFs, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._gathering = Gathering()
        self._inboxes: dict[int, queue.SimpleQueue[Request | None]] = {}

    def submit(self, device: int, request: Request) -> bool:
        """Start reading; False while the device's last read has not come back."""
        if not self._gathering.begin(device):
            return False
        if device not in self._inboxes:
            self._inboxes[device] = queue.SimpleQueue()
            name = f"firmware-{device}"
            threading.Thread(target=self._serve, args=(device,), name=name, daemon=True).start()
        self._inboxes[device].put(request)
        return True

    def _serve(self, device: int) -> None:
        while (request := self._inboxes[device].get()) is not None:
            self._gathering.put(device, read_files(self._host, self._clock, request))

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """The answers that are there within `seconds`."""
        return self._gathering.take(devices, seconds)

    def close(self) -> None:
        """Tell all threads to end; a stuck one ends when its read does."""
        for inbox in self._inboxes.values():
            inbox.put(None)


class DirectWorkers:
    """Reads in the calling thread: for hosts that cannot hang, such as a listing in memory."""

    def __init__(self, host: HostFs, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._answers: dict[int, Answer] = {}

    def submit(self, device: int, request: Request) -> bool:
        """Read now."""
        self._answers[device] = read_files(self._host, self._clock, request)
        return True

    def gather(
        self,
        devices: Collection[int],
        seconds: float,  # noqa: ARG002 - everything is there already
    ) -> dict[int, Answer]:
        """All answers."""
        return {d: self._answers.pop(d) for d in devices if d in self._answers}

    def close(self) -> None:
        """Nothing to stop."""
