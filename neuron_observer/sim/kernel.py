"""The simulated kernel log: records as /dev/kmsg gives them, one a line."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from neuron_observer.sources.lines import LineCounts

if TYPE_CHECKING:
    from collections.abc import Callable

INFO, WARNING, ERROR = 6, 4, 3
USER = 8  # facility 1: a program wrote it to /dev/kmsg
MOST = 20_000  # records that are kept, as in a kernel's ring


class KernelLog:
    """Records by sequence number; the oldest give way."""

    def __init__(self) -> None:
        self.records: deque[bytes] = deque(maxlen=MOST)
        self.sequence = 0  # of the next record

    def add(self, text: str, level: int, uptime: float) -> None:
        """A line that is printed `uptime` seconds after boot."""
        stamp = max(int(uptime * 1e6), 0)
        escaped = _escape(text.encode("utf-8"))
        self.records.append(b"%d,%d,%d,-;%s" % (level, self.sequence, stamp, escaped))
        self.sequence += 1

    @property
    def oldest(self) -> int:
        """Sequence number of the oldest record that is still there."""
        return self.sequence - len(self.records)

    def since(self, sequence: int, limit: int = MOST) -> list[bytes]:
        """Records from a sequence number on, as far as they are still there."""
        first = max(sequence - self.oldest, 0)
        return list(islice(self.records, first, first + limit))


def _escape(text: bytes) -> bytes:
    r"""As the kernel does: control characters, bytes above 126 and the backslash are `\xNN`."""
    return b"".join(
        bytes((byte,)) if 32 <= byte < 127 and byte != 92 else b"\\x%02x" % byte for byte in text
    )


class SimulatedLines:
    """The log as a source of lines, for a reader in the same process."""

    def __init__(self, look: Callable[[int, int], tuple[list[bytes], int]]) -> None:
        """`look` gives up to a number of records from a sequence number on, and the oldest's."""
        self.name = "simulated kernel log"
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self._look = look
        self._next = 0

    def poll(self, limit: int) -> list[bytes]:
        """Records that are there."""
        if self.ended:
            return []
        found, oldest = self._look(self._next, limit)
        if self._next < oldest:
            self.counts.overruns += 1
            self._next = oldest
        self._next += len(found)
        self.counts.read += len(found)
        return found

    def fileno(self) -> int | None:
        """None: nothing to wait on."""
        return None

    def close(self) -> None:
        """No line comes any more."""
        self.ended = True
