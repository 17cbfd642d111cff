"""The kernel log: /dev/kmsg, syslog(2) where that is refused, a plain file under another root."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from neuron_observer.sources.lines import FLAGS, LineCounts, LineSource, open_lines

if TYPE_CHECKING:
    from collections.abc import Callable

KMSG = "dev/kmsg"
RECORD = 16_384  # bytes; the kernel prints at most 8192 (CONSOLE_EXT_LOG_MAX)
ANCHOR = 4096  # bytes of the last dump by which its end is found in the next

# syslog(2): the two actions that neither consume, clear nor change anything
SYSLOG_ACTION_READ_ALL = 3
SYSLOG_ACTION_SIZE_BUFFER = 10


class KmsgLines:
    """Records of /dev/kmsg, one a read, dictionary lines included.

    The descriptor starts at the oldest record. When the kernel has overwritten what comes next, a
    read fails with EPIPE and the one after it gives the oldest record left; how many are gone
    stands in the sequence numbers. A message printed without a newline shows only once the next
    one has been printed (seen on Linux 6.18): the kernel keeps it open for a continuation.
    """

    def __init__(self, path: str, read: Callable[[int, int], bytes] = os.read) -> None:
        self.name = path
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self._read = read
        self._fd = os.open(path, FLAGS)

    def poll(self, limit: int) -> list[bytes]:
        """Records that are there."""
        records: list[bytes] = []
        while not self.ended and len(records) < limit:
            try:
                record = self._read(self._fd, RECORD)
            except BlockingIOError:
                break
            except OSError as failure:
                if not self._goes_on(failure):
                    break
                continue
            if not record:
                break
            records.append(record.rstrip(b"\n"))
        self.counts.read += len(records)
        return records

    def _goes_on(self, failure: OSError) -> bool:
        if failure.errno == errno.EPIPE:  # overrun
            self.counts.overruns += 1
            return True
        if failure.errno == errno.EINVAL:  # longer than our buffer; the kernel has passed over it
            self.counts.cut += 1
            return True
        self.counts.errors += 1
        self.error = failure.strerror or str(failure)
        return False

    def fileno(self) -> int | None:
        """The device."""
        return None if self.ended else self._fd

    def close(self) -> None:
        """Close the device."""
        if not self.ended:
            os.close(self._fd)
        self.ended = True


class SyslogLines:
    """Lines of syslog(2), as `<6>[    5.140900] text`: the whole buffer, of which we keep the new.

    There are no sequence numbers. The end of the dump before is looked for in this one; if it is
    gone, the buffer was overwritten in between: an overrun.
    """

    def __init__(self, call: Callable[[int, int], bytes] | None = None) -> None:
        self.name = "syslog(2)"
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self._call = call or klogctl
        self._anchor = b""
        self._ready: deque[bytes] = deque()

    def poll(self, limit: int) -> list[bytes]:
        """Lines that came since the last call."""
        if not self._ready and not self.ended:
            try:
                size = len(self._call(SYSLOG_ACTION_SIZE_BUFFER, 0))
                self._ready.extend(self._new(self._call(SYSLOG_ACTION_READ_ALL, size)))
                self.error = ""
            except OSError as failure:
                self.counts.errors += 1
                self.error = failure.strerror or str(failure)
        lines = [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]
        self.counts.read += len(lines)
        return lines

    def _new(self, dump: bytes) -> list[bytes]:
        start = 0
        if self._anchor:
            found = dump.rfind(self._anchor)
            if found < 0:
                self.counts.overruns += 1
            else:
                start = found + len(self._anchor)
        self._anchor = dump[-ANCHOR:] or self._anchor
        return [line for line in dump[start:].split(b"\n") if line]

    def fileno(self) -> int | None:
        """None: there is nothing to wait on."""
        return None

    def close(self) -> None:
        """Forget what is left."""
        self.ended = True


def klogctl(action: int, size: int) -> bytes:
    """A read-only action of syslog(2); the size is answered as that many zero bytes.

    Raises OSError: EPERM without CAP_SYSLOG where kernel.dmesg_restrict is set.
    """
    if action not in (SYSLOG_ACTION_READ_ALL, SYSLOG_ACTION_SIZE_BUFFER):
        raise ValueError("only actions that change nothing")
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(max(size, 1))
    length = libc.klogctl(action, buffer, size)
    if length < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return bytes(length) if action == SYSLOG_ACTION_SIZE_BUFFER else buffer.raw[:length]


@runtime_checkable
class LoggingHost(Protocol):
    """A host in memory that has a kernel log of its own: a simulation."""

    def kernel_log(self) -> LineSource:
        """Records as /dev/kmsg gives them, from the oldest on."""
        ...


def open_kernel_log(root: str = "/") -> LineSource:
    """The kernel log of the host below `root`.

    syslog(2) speaks of the kernel that runs us, so it stands in for a refused /dev/kmsg only where
    the root is `/`. A log that is not there yet is waited for, as a plain file.
    """
    path = str(Path(root) / KMSG)
    try:
        device = stat.S_ISCHR(Path(path).stat().st_mode)
        return KmsgLines(path) if device else open_lines(path)
    except OSError:
        return SyslogLines() if Path(root) == Path("/") else open_lines(path)
