"""Chunks of bytes into lines, with a bound on the length of a line."""

from __future__ import annotations

MAX_LINE = 65_536  # bytes; a longer line is cut


class LineSplitter:
    """Chunks into lines; holds no more than `max_line` bytes of an unfinished one."""

    def __init__(self, max_line: int = MAX_LINE, *, keep_cut: bool = True) -> None:
        self.cut = 0
        self._max = max_line
        self._keep_cut = keep_cut
        self._rest = bytearray()
        self._over = False  # the unfinished line is too long already

    def feed(self, chunk: bytes) -> list[bytes]:
        """Lines that this chunk completes."""
        first, newline, tail = chunk.partition(b"\n")
        self._hold(first)
        if not newline:
            return []
        lines = self.flush()
        whole = tail.split(b"\n")
        self._hold(whole.pop())
        lines.extend(whole if self._max >= len(chunk) else self._shortened(whole))
        return lines

    def flush(self) -> list[bytes]:
        """The unfinished line, as one that has ended: at the end of a source."""
        line, over = bytes(self._rest), self._over
        self._rest.clear()
        self._over = False
        if not over:
            return [line]
        self.cut += 1
        return [line] if self._keep_cut else []

    def discard(self) -> None:
        """Forget the unfinished line; it counts as cut."""
        self.cut += self.unfinished
        self._rest.clear()
        self._over = False

    @property
    def unfinished(self) -> bool:
        """Whether a line has begun."""
        return bool(self._rest) or self._over

    def _hold(self, piece: bytes) -> None:
        room = self._max - len(self._rest)
        if len(piece) > room:
            self._over = True
            if not self._keep_cut:
                self._rest.clear()
                return
        if not self._over or self._keep_cut:
            self._rest += piece[:room]

    def _shortened(self, lines: list[bytes]) -> list[bytes]:
        kept: list[bytes] = []
        for line in lines:
            if len(line) <= self._max:
                kept.append(line)
                continue
            self.cut += 1
            if self._keep_cut:
                kept.append(line[: self._max])
        return kept
