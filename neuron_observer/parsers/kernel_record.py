"""One record of the kernel log, from whatever form it was read."""

from __future__ import annotations

from typing import NamedTuple

KERNEL = 0  # facility of what the kernel prints; writing to /dev/kmsg never gives it


class KernelRecord(NamedTuple):
    """One record of the kernel log; None where the form does not tell.

    `level` and `facility` are syslog's (0 emerg to 7 debug; 0 kernel, 1 user space). A level says
    nothing on how bad a line is: the driver writes its load line at `err` and failures at `info`.
    Facility 0 is no proof either: a program may have the driver print a line (ioctl 113).
    """

    message: str
    level: int | None = None
    facility: int | None = None
    sequence: int | None = None
    monotonic: float | None = None  # seconds since boot on the kernel's log clock
    wall: float | None = None  # seconds since the epoch
    zoned: bool = False  # False: `wall` was read as UTC because the line names no zone
    continues: bool = False  # a piece of the line before it, says the kernel's hint
    host: str | None = None
    identifier: str | None = None  # `kernel`, or the program that wrote the line
    pid: int | None = None
    boot_id: str | None = None
    fields: tuple[tuple[str, str], ...] = ()  # SUBSYSTEM, DEVICE, caller

    @property
    def from_kernel(self) -> bool | None:
        """Whether the kernel printed it; None where the form does not tell."""
        return None if self.facility is None else self.facility == KERNEL


def decode(data: bytes) -> str:
    r"""Bytes as text that can always be printed; what is no UTF-8 is shown as `\xNN`."""
    return data.decode("utf-8", "backslashreplace")
