"""A recording in the making: a tape whose chunks go into a file as they come."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from neuron_observer import __version__
from neuron_observer.contract import instant
from neuron_observer.errors import InputError
from neuron_observer.recording import encoding
from neuron_observer.recording.encoding import SCHEMA
from neuron_observer.recording.output import opened_new

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.observer import HostReader, Options
    from neuron_observer.recording.tape import Chunk


def header_row(reader: HostReader, begin: float | None = None, **more: Any) -> str:
    """The first row: by which clocks the rest is told, of which host, and how it is read.

    `begin`: of the first tick (monotonic); by itself now.
    """
    clock = reader.clock
    ago = 0.0 if begin is None else clock.monotonic() - begin
    wall = clock.wall() - ago
    options = {**told_options(reader.options), **more.pop("options", {})}
    return encoding.row(
        "capture",
        {
            "schema": SCHEMA,
            "version": __version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            "at": instant(wall),
            "wall": wall,
            "monotonic": clock.monotonic() - ago,
            "host_root": reader.host.root,
            "options": options,
            **more,
        },
    )


def told_options(options: Options) -> Mapping[str, Any]:
    """How the host is read, as far as that changes what is found."""
    return {
        "path_map": dict(options.path_map),
        "thorough": options.thorough,
        "all_devices": options.all_devices,
        "firmware_deadline": options.firmware_deadline,
        "firmware_period": options.firmware_period,
        "job_mapping": options.job_mapping,
        "kernel_log": options.kernel_log,
        "monitor": options.monitor is not None,
    }


class RecordingFile:
    """The file; whole up to the last chunk at any time.

    What cannot be written is in `error`: a tape's reader must not be hit by it.
    """

    def __init__(self, name: str, out: IO[bytes]) -> None:
        self.name = name
        self.bytes = 0
        self.ticks = 0
        self.span = 0.0  # seconds from the first tick to the last
        self.error: InputError | None = None
        self._begin: float | None = None
        self._out = out

    def write(self, content: bytes) -> None:
        """Append it and have the system know."""
        if self.error is not None:
            return
        try:
            self._out.write(content)
            self._out.flush()
        except OSError as error:
            self.error = InputError(f"{self.name}: cannot be written: {error.strerror}")
        self.bytes += len(content)

    def take(self, chunk: Chunk) -> None:
        """Some ticks more."""
        self._begin = chunk.begin if self._begin is None else self._begin
        self.ticks += chunk.ticks
        self.span = chunk.end - self._begin
        self.write(chunk.content)


@contextmanager
def recording_file(name: str, *, force: bool = False) -> Iterator[RecordingFile]:
    """A file to record into; InputError where it cannot be made, or, at the end, be written.

    One that is there is written over with `force` only.
    """
    with opened_new(name, force=force) as out:
        file = RecordingFile(name, out)
        try:
            yield file
        finally:
            if not file.bytes and Path(name).is_file():  # it never began; its name is free again
                Path(name).unlink()
    if file.error is not None:
        raise file.error
