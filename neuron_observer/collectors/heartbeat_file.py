"""One heartbeat file, read while its process writes it.

Once it was read as a whole, only its header and the records of steps that are new, or of which more
may be known by now, are read while it goes on. Whoever records the host hears of just these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.parsers import heartbeat as parse
from neuron_observer.sources.form import Patch

if TYPE_CHECKING:
    from neuron_observer.jobs.beats import Mark
    from neuron_observer.model import Process
    from neuron_observer.parsers.heartbeat import Head, Step
    from neuron_observer.sources.regular import Regular

RETRIES: Final = 3  # reads of a file that is written meanwhile
LIMIT: Final = 32 * 1024  # bytes of a file
FILLED_FOR: Final = 32  # steps back that the device's time in collectives may still come


class Content(NamedTuple):
    """What was read between two equal even generations."""

    front: bytes  # with all of the header
    records: bytes
    begin: int  # of these in the file
    size: int  # of the file


class HeartbeatFile:
    """What is remembered of one file."""

    def __init__(self, mark: Mark, seen: float) -> None:
        self.mark = mark
        self.seen = seen
        self.process: Process | None = None
        self.head: Head | None = None
        self.next_step = 0
        self.last_filled = -1  # the last step whose time in collectives is the device's
        self.regular = False
        self.owner: int | None = None  # None: a recording does not tell
        self.removed = False  # with its process, if that ended well
        self.over = False  # its process is gone
        self.refused = ""

    def read(self, opened: Regular) -> Content | None:
        """What is new in the file; None if nothing was written since."""
        known = self.head
        if known is not None and opened.size == parse.SIZE:
            header = opened.piece(0, parse.HEADER)
            if parse.written(header) == known.written:
                return None
            content = self._news(opened, header)
            if content is not None:
                return content
        raw = _whole(opened, known)
        return None if raw is None else Content(raw, raw, 0, len(raw))

    def _news(self, opened: Regular, header: bytes) -> Content | None:
        """The header and what is new by it; None if all is to be read."""
        generation = parse.generation(header)
        if isinstance(generation, str) or generation % 2 or len(header) < parse.HEADER:
            return None
        steps, by_device = parse.progress(header)
        first = self._first(by_device=by_device)
        begin, length = parse.place(first), (steps - first) * parse.RECORD
        if steps < self.next_step or begin + length > parse.SIZE:  # counted anew, or once round
            return None
        records = opened.piece(begin, length) if length else b""
        after = parse.generation(opened.piece(0, parse.FRONT))
        if after != generation or len(records) < length:
            return None
        told = opened.tell((Patch(0, header), Patch(begin, records)))
        return Content(header, records, begin, parse.SIZE) if told else None

    def _first(self, *, by_device: bool) -> int:
        """The first step of which more may stand there than was read."""
        if not by_device:
            return self.next_step
        return max(self.next_step - FILLED_FOR, self.last_filled + 1)

    def take(self, content: Content, head: Head) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """Steps that were not read yet, and those read whose times the device has told since.

        It tells them in order, some steps after each.
        """
        if head.steps < self.next_step:  # another process cannot be: its start is the same
            self.next_step, self.last_filled = 0, -1
        since, raw, begin = self.next_step, content.records, content.begin
        fresh = tuple(parse.steps(raw, head, since, begin=begin))
        filled: tuple[Step, ...] = ()
        if head.source == "event":
            first = self._first(by_device=True)
            filled = tuple(parse.told(raw, head, first, since, begin=begin))
            known = [step.number for step in (*filled, *fresh) if step.source == "event"]
            self.last_filled = max(known, default=self.last_filled)
        self.head, self.next_step, self.refused = head, head.steps, ""
        return fresh, filled


def _whole(opened: Regular, known: Head | None) -> bytes | None:
    """All of it; None if nothing was written since."""
    raw = b""
    for _ in range(RETRIES):
        front = parse.written(opened.read(parse.FRONT))
        if known is not None and front == known.written:
            return None
        raw = opened.read(LIMIT)
        after = parse.generation(opened.read(parse.FRONT))
        if parse.generation(raw) == after and not (isinstance(after, int) and after % 2):
            return raw
    at = parse.GENERATION_AT
    return raw[:at] + b"\x01" + bytes(7) + raw[at + 8 :]  # torn, and said so
