"""A recording in the making: a tape whose chunks go into a file as they come."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

from neuron_observer import __version__
from neuron_observer.contract import instant
from neuron_observer.errors import InputError
from neuron_observer.recording import encoding
from neuron_observer.recording.reader import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.observer import Options
    from neuron_observer.recording.tape import Chunk


def header_row(
    monotonic: float, wall: float, host_root: str, options: Options, **more: Any
) -> str:
    """The first row: by which clocks the rest is told, of which host, and how it was read."""
    return encoding.row(
        "capture",
        {
            "schema": SCHEMA,
            "version": __version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            "at": instant(wall),
            "wall": wall,
            "monotonic": monotonic,
            "host_root": host_root,
            "options": told_options(options),
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
    """The file; whole up to the last chunk at any time."""

    def __init__(self, name: str, out: IO[bytes]) -> None:
        self.name = name
        self.bytes = 0
        self.ticks_from: float | None = None  # monotonic
        self.ticks_until: float | None = None
        self._out = out

    def write(self, content: bytes) -> None:
        """Append it and have the system know."""
        try:
            self._out.write(content)
            self._out.flush()
        except OSError as error:
            raise InputError(f"{self.name}: cannot be written: {error.strerror}") from error
        self.bytes += len(content)

    def take(self, chunk: Chunk) -> None:
        """Some ticks more."""
        self.ticks_from = chunk.begin if self.ticks_from is None else self.ticks_from
        self.ticks_until = chunk.end
        self.write(chunk.content)
