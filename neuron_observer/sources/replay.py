"""The lines of a log that a capture holds, handed on as the host goes from pass to pass."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, TypeAlias

from neuron_observer.sources.lines import LineCounts

if TYPE_CHECKING:
    from neuron_observer.sources.listing import ListingFs


Log: TypeAlias = Literal["kernel", "monitor"]


class ListedLines:
    """Kernel lines or reports of neuron-monitor, up to the pass at which the host is."""

    def __init__(self, host: ListingFs, word: Log) -> None:
        self.name = f"{word} lines of {host.root}"
        self.counts = LineCounts()
        self._host = host
        self._word = word
        self._next = 0  # pass whose lines have not been taken
        self._ready: deque[bytes] = deque()

    @property
    def error(self) -> str:
        """Why the log cannot be read; empty while it can."""
        return self._host.unreadable.get(self._word, "")

    @property
    def ended(self) -> bool:
        """Whether the capture has no more of them."""
        return not self._ready and self._next >= len(self._host.listing.passes)

    def poll(self, limit: int) -> list[bytes]:
        """Lines of the passes so far."""
        for one in self._host.listing.passes[self._next : self._host.number + 1]:
            lines = one.kernel if self._word == "kernel" else one.monitor
            self._ready.extend(line.encode("utf-8", "surrogateescape") for line in lines)
        self._next = max(self._next, self._host.number + 1)
        lines_now = [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]
        self.counts.read += len(lines_now)
        return lines_now

    def fileno(self) -> int | None:
        """None: nothing to wait on."""
        return None

    def close(self) -> None:
        """Forget what is left."""
        self._ready.clear()
        self._next = len(self._host.listing.passes)
