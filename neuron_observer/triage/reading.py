"""One input after the other, read once: its lines and reports become sightings in a folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_observer.model import Missing
from neuron_observer.parsers import neuron_ls
from neuron_observer.parsers.monitor import parse_report
from neuron_observer.parsers.neuron_ls_listing import Outcome
from neuron_observer.triage import heads
from neuron_observer.triage.facts import Sighting
from neuron_observer.triage.inputs import read
from neuron_observer.triage.reports import Where, listing_sightings, monitor_sightings
from neuron_observer.triage.structures import Structures

if TYPE_CHECKING:
    from typing import BinaryIO

    from neuron_observer.rules.matcher import Hit, Match, Matcher
    from neuron_observer.triage.facts import Folder
    from neuron_observer.triage.inputs import Block, Input
    from neuron_observer.triage.structures import Structure

_KINDS = {"kernel": "kernel log", "host": "kernel log", "runtime": "runtime log"}
_BYTES = re.compile(rb'"MESSAGE" ?: ?\[[0-9, ]+\]')  # the journal's form of text with odd bytes
_ODD = (b'"MESSAGE":[', b'"MESSAGE": [', b'"MESSAGE" : [')


class Reader:
    """Reads one input into a folder."""

    def __init__(self, source: Input, index: int, matcher: Matcher, folder: Folder) -> None:
        self._source = source
        self._index = index
        self._matcher = matcher
        self._rows = {row.id: row for row in matcher.patterns}
        self._folder = folder

    def run(self, stream: BinaryIO | None = None) -> None:
        """Read everything; whatever goes wrong stands in the input's notes afterwards."""
        structures = Structures()
        for block in read(self._source, stream):
            self._lines(block)
            for structure in structures.feed(block):
                self._structure(structure)
        for structure in structures.finish():
            self._structure(structure)

    def _lines(self, block: Block) -> None:
        data, counted, number = block.data, 0, block.line
        for hit in self._matcher.scan(data, block.begin, block.until):
            number += data.count(b"\n", counted, hit.start)
            counted = hit.start
            self._line(hit, number)
        if any(form in data for form in _ODD):
            self._odd_entries(block)

    def _odd_entries(self, block: Block) -> None:
        """Entries of a JSON journal whose message is an array of bytes."""
        for found in _BYTES.finditer(block.data):
            start = block.data.rfind(b"\n", 0, found.start()) + 1
            end = block.data.find(b"\n", found.end())
            line = block.data[start : end if end >= 0 else len(block.data)]
            wrapped = heads.unwrap(line)
            if wrapped:
                number = block.line + block.data.count(b"\n", 0, start)
                self._matches(self._matcher.match(wrapped.text), number, wrapped.head)

    def _line(self, hit: Hit, number: int) -> None:
        if len(hit.matches) == 1 and self._repeated(hit.matches[0], number):
            return
        wrapped = heads.unwrap(hit.text) if b"{" in hit.text[:64] else None
        if wrapped:
            self._source.kinds.add("JSON lines")
            self._matches(self._matcher.match(wrapped.text), number, wrapped.head)
        elif hit.matches:
            self._matches(hit.matches, number, None)
        elif hit.novel:
            self._folder.add_novel(self._index, number, hit.text)

    def _repeated(self, match: Match, number: int) -> bool:
        pattern = match.pattern
        plain = pattern.quiet and pattern.finding == pattern.id
        return plain and self._folder.count(pattern, self._index, number)

    def _matches(self, matches: tuple[Match, ...], number: int, head: heads.Head | None) -> None:
        for match in matches:
            details = match.details()
            line, start = match.found.string, match.found.start()
            self._source.kinds.add(_KINDS[match.pattern.where])
            about = heads.head(line[:start])
            if head is not None:
                about = about.within(head)
            if about.node is None:
                told = details.fields.get("hostname") or details.fields.get("instance-id")
                about = about._replace(node=told)
            self._folder.add(
                Sighting(
                    match.pattern,
                    self._index,
                    number,
                    line,
                    about,
                    details.place.device,
                    details.place.core,
                    details.code,
                    dict(details.fields),
                    about.length or start,
                )
            )

    def _structure(self, found: Structure) -> None:
        where = Where(self._index, found.line)
        if found.kind == "table" or found.data.lstrip().startswith(b"["):
            listing = neuron_ls.parse(found.data.decode("utf-8", "replace"))
            if listing.outcome is Outcome.OK:
                self._source.kinds.add("neuron-ls")
                self._add(list(listing_sightings(listing, where, self._rows)))
            elif b"neuron" in found.data or b"NEURON" in found.data:
                self._source.kinds.add("neuron-ls")
                self._source.cut(f"line {found.line}: output of neuron-ls, but {listing.detail}")
            return
        report = parse_report(found.data)
        if not isinstance(report, Missing):
            self._source.kinds.add("neuron-monitor")
            self._add(list(monitor_sightings(report, where, self._rows)))
        elif b'"neuron_' in found.data:
            self._source.kinds.add("neuron-monitor")
            self._source.cut(f"line {found.line}: a report of neuron-monitor, but {report.detail}")

    def _add(self, sightings: list[Sighting]) -> None:
        for sighting in sightings:
            self._folder.add(sighting)
