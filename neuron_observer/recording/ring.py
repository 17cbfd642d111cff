"""The last minutes of a tape, in a bounded number of bytes: packed chunks behind packed bases.

A group is a base (all that stood) and the chunks after it. What is held begins with a base, so the
oldest group goes as a whole: the window is kept in steps of a sixth of it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.recording.tape import Chunk

_GROUPS = 6  # in a window, and in the bytes
_OBJECT_BYTES = 100  # what a part takes besides its content


class _Group:
    def __init__(self, base: Sequence[bytes]) -> None:
        self.parts = list(base)
        self.begin: float | None = None  # monotonic, of the first tick
        self.end = 0.0
        self.bytes = 0  # of its ticks

    @property
    def seconds(self) -> float:
        """From its first tick to its last."""
        return 0.0 if self.begin is None else self.end - self.begin

    def add(self, chunk: Chunk) -> None:
        """Some ticks more."""
        self.parts.append(chunk.content)
        self.begin = chunk.begin if self.begin is None else self.begin
        self.end = chunk.end
        self.bytes += len(chunk.content)


class Ring:
    """Groups, the oldest first."""

    def __init__(self, base: Callable[[], Sequence[bytes]], *, window: float, limit: int) -> None:
        """`base` gives all that stands, packed; parts of it may be shared by several bases."""
        self.window, self.limit = window, limit
        self._base = base
        self._groups: deque[_Group] = deque()
        self._overflowed = False

    def begin(self) -> None:
        """What comes from now on stands on what stands now."""
        self._groups.append(_Group(self._base()))

    def take(self, chunk: Chunk) -> None:
        """Hold a chunk, and give up what is too old or too much."""
        group = self._groups[-1]
        group.add(chunk)
        if group.seconds >= self.window / _GROUPS or group.bytes >= self.limit / _GROUPS:
            self.begin()
        self._forget(chunk.end - self.window)

    def _forget(self, horizon: float) -> None:
        """The two last groups always stay: the one at hand, and the one before it."""
        while len(self._groups) > 2:
            following = self._groups[1].begin
            too_old = following is not None and following <= horizon
            too_much = self.held > self.limit
            if not (too_old or too_much):
                return
            self._overflowed |= not too_old
            self._groups.popleft()

    @property
    def held(self) -> int:
        """Bytes that are held; what bases share counts once."""
        parts = {id(part): len(part) for group in self._groups for part in group.parts}
        return sum(parts.values()) + _OBJECT_BYTES * len(parts)

    @property
    def oldest(self) -> float | None:
        """The first tick that is held (monotonic); None if none is."""
        return next((g.begin for g in self._groups if g.begin is not None), None)

    @property
    def seconds(self) -> float:
        """From the first tick that is held to the last that is packed."""
        oldest = self.oldest
        return 0.0 if oldest is None else max(group.end for group in self._groups) - oldest

    @property
    def shortened(self) -> bool:
        """Whether bytes ran out, so that the window is shorter than it should be."""
        return self._overflowed and self.seconds < self.window * (1 - 1 / _GROUPS)

    def parts(self) -> list[bytes]:
        """All that is held, in order."""
        return [part for group in self._groups if group.begin is not None for part in group.parts]
