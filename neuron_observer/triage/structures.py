"""Reports inside a text: neuron-monitor's JSON, neuron-ls's tables and JSON, wherever they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.triage.inputs import Block

MAX_BYTES = 64 << 20  # of one report

_OPENS = re.compile(rb"\n(?:[{\[][ \r]*\n|\+-)")
_MONITOR = re.compile(rb'"(?:neuron_runtime_data|neuron_hardware_info|system_data)" *:')
_BANNER = re.compile(rb"[a-z][a-z-]{2,40}: ")
_BANNERS = 4  # lines that may stand between a table and its first banner


class Structure(NamedTuple):
    """A report as it stands in the text; `whole` is False where its end is missing."""

    kind: str  # table, document, report
    line: int
    data: bytes
    whole: bool = True


class Structures:
    """Collects the lines of reports from blocks of text that are mostly something else."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._line = 0
        self._kind = ""
        self._banners: list[bytes] = []

    def feed(self, block: Block) -> Iterator[Structure]:
        """The reports that end in this block."""
        if block.begin:
            return
        if self._held or _OPENS.search(b"\n" + block.data[:8]) or _OPENS.search(block.data):
            for offset, line in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
                yield from self._step(block.line + offset, line)
        yield from _single_lines(block)

    def finish(self) -> Iterator[Structure]:
        """What had begun when the text ended."""
        if self._held:
            yield self._take(whole=self._kind == "table")

    def _step(self, number: int, line: bytes) -> Iterator[Structure]:
        bare = line.rstrip()
        if self._kind == "document":
            self._hold(line)
            if bare in (b"}", b"]"):
                yield self._take()
            elif self._size > MAX_BYTES:
                yield self._take(whole=False)
        elif self._kind == "table":
            if bare.lstrip().startswith((b"+-", b"|")):
                self._hold(line)
            else:
                yield self._take()
        if not self._kind:
            self._open(number, line, bare)

    def _open(self, number: int, line: bytes, bare: bytes) -> None:
        if bare in (b"{", b"["):
            self._kind, self._line = "document", number
            self._hold(line)
        elif bare.lstrip().startswith(b"+-") and bare.endswith(b"-+"):
            self._kind, self._line = "table", number - len(self._banners)
            for banner in self._banners:
                self._hold(banner)
            self._hold(line)
        elif _BANNER.match(bare):
            self._banners = [*self._banners, line][-_BANNERS:]
            return
        self._banners = []

    def _hold(self, line: bytes) -> None:
        self._held.append(line)
        self._size += len(line)

    def _take(self, *, whole: bool = True) -> Structure:
        found = Structure(self._kind, self._line, b"\n".join(self._held), whole)
        self._held, self._size, self._kind = [], 0, ""
        return found


def _single_lines(block: Block) -> Iterator[Structure]:
    """Reports of neuron-monitor that stand in one line, whatever stands before them."""
    data, at, counted, number = block.data, 0, 0, block.line
    while found := _MONITOR.search(data, at):
        start = data.rfind(b"\n", 0, found.start()) + 1
        end = data.find(b"\n", found.start())
        end = len(data) if end < 0 else end
        opened = data.find(b"{", start, found.start())
        if opened >= 0:
            number += data.count(b"\n", counted, start)
            counted = start
            line = data[opened:end].rstrip()
            yield Structure("report", number, line, line.endswith(b"}"))
        at = end
