"""Finds the lines of a log that a pattern knows, fast enough for logs of hundreds of megabytes.

A block of bytes is searched once with one expression made of all *anchors* (a literal that every
line of a row holds). Only the lines it stops at are looked at: their *shape* (the line without
digits) tells which rows are possible, and is remembered, because logs repeat themselves.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import ConfigError
from neuron_observer.rules.anchors import anchor, rarest, trie

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.rules.pattern import Pattern

LINE_LIMIT = 8192  # bytes of a line that are looked at, around the place where an anchor stands
_SHAPES = 4096  # remembered shapes
_PLACE_DIGITS = 3  # no machine has a thousand devices; `nd-id=4294967295` names none
_DIGITS = b"0123456789"

# What nobody knows is *novel*: the driver's own lines, and error lines of the runtime.
_NOVEL_ANCHORS = (b"neuron:", b"NEURON_HW_ERR", b"TDRV:", b"NMGR:", b"NRT:", b"ENC:", b"ENCD:")
_NOVEL_KERNEL = re.compile(rb"(?<![\w/.-])neuron:[a-z_]\w*:? ")
_NOVEL_RUNTIME = re.compile(rb"\d+:\d+ +(?:ERROR|FATAL) +[A-Z]{2,6}:\w+ ")


class Place(NamedTuple):
    """Device and core that a line names, as far as it does."""

    device: int | None = None
    core: int | None = None


class Match(NamedTuple):
    """One message found in a line; `details` reads the rest of it when somebody wants to know."""

    pattern: Pattern
    found: re.Match[bytes]

    def details(self) -> Details:
        """Whereabouts, code and fields, from the message and the line around it."""
        return _details(self.pattern, self.found)

    def spot(self) -> tuple[Place, str | None] | None:
        """Whereabouts and code alone, at a third of the cost; None where only `details` tells."""
        found, names = self.found, self.found.re.groupindex
        if not _ELSEWHERE.isdisjoint(names):
            return None
        device = _number(found["device"]) if "device" in names else None
        core = _number(found["core"]) if "core" in names else None
        told = found["code"] if "code" in names else None
        code = self.pattern.code if told is None else told.decode("utf-8", "backslashreplace")
        return _place(found, device, core), code


class Details(NamedTuple):
    """What a message says besides that it is there."""

    place: Place
    code: str | None
    fields: dict[str, str]


class Hit(NamedTuple):
    """A line that holds an anchor: where it stands in the block, its text, what was found.

    `novel` tells a line of the driver or the runtime that no row knows.
    """

    start: int
    text: bytes
    matches: tuple[Match, ...]
    novel: bool


# `nd3`, `nd03`, `nd 3`, `nd[3]`, `[ND 3]`, `nd3nc1`, `nd 3 nc 1`, `nd3:nc1`, `[ND 3][NC 1]`,
# `[MLA 3][NC 1]`, `neuron_device 3`, `Neuron Device 3 NC 1`, `Neuron device: 3`, `/dev/neuron3`
_PLACE = re.compile(
    rb"(?<![A-Za-z0-9_])(?:nd|ND|MLA|neuron_device|[Nn]euron [Dd]evice|dev/neuron)"
    rb"[ :=_-]{0,2}\[?(\d{1,3})\]?(?![\d.])"
    rb"(?:[\]\[ :,.]{0,3}(?:nc|NC)[ :]?\[?(\d{1,3})\]?)?"
)
_CORE = re.compile(rb"(?<![A-Za-z0-9_])(?:nc|NC)[ :]?\[?(\d{1,3})\]?(?!\d)")
_FIELD = re.compile(r"([A-Za-z][\w.-]*)=([^\s,;]+)")
_ELSEWHERE = frozenset({"fields", "hostname"})  # groups that tell device, core or node otherwise
_DEVICE_KEYS = ("nd-id", "nd_id", "device", "device-id", "device_id", "nd", "neuron-device")
_CORE_KEYS = ("nc-id", "nc_id", "core", "core-id", "core_id", "nc", "neuron-core")


class Matcher:
    """Searches text for the given rows; rows that come first win where two overlap.

    Rows without an expression are not searched for, only kept in `patterns`.
    """

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        self._expressions = [
            _Expression(pattern, text) for pattern in self.patterns for text in pattern.match
        ]
        anchors = {item.anchor for item in self._expressions} | set(_NOVEL_ANCHORS)
        self._gate = re.compile(trie({rarest(word) for word in anchors}))
        self._shapes: dict[bytes, tuple[_Expression, ...]] = {}

    def scan(self, block: bytes, begin: int = 0, until: int | None = None) -> Iterator[Hit]:
        """Every line of `block` that holds a message, in order.

        Messages that start before `begin` or from `until` on belong to the blocks beside; what
        stands there is only looked at to tell the whole of a message.
        """
        until = len(block) if until is None else until
        at = begin
        while found := self._gate.search(block, at):
            here = found.start()
            first, last = max(0, here - LINE_LIMIT // 2), min(len(block), here + LINE_LIMIT)
            start = max(block.rfind(b"\n", first, here) + 1, first)
            end = block.find(b"\n", here, last)
            end = last if end < 0 else end
            text = block[start:end]
            matches = self.match(text)
            if start < at or end > until:
                matches = _between(matches, begin - start, until - start, at - start)
            if matches or (is_novel(text) and begin <= here < until):
                yield Hit(start, text, matches, not matches)
            at = max(end, here + 1)

    def holds(self, line: bytes) -> bool:
        """Whether a line may hold a message: a quick look that misses none."""
        return self._gate.search(line) is not None

    def match(self, line: bytes) -> tuple[Match, ...]:
        """All messages in one line, by position; usually none or one."""
        possible = self._possible(line)
        if not possible:
            return ()
        matches: list[Match] = []
        for expression in possible:
            if any(match.pattern is expression.pattern for match in matches):
                continue
            found = expression.compiled.search(line)
            if found and not (matches and _overlaps(found, matches)):
                matches.append(Match(expression.pattern, found))
        if len(matches) > 1:
            matches.sort(key=lambda match: match.found.start())
        return tuple(matches)

    def _possible(self, line: bytes) -> tuple[_Expression, ...]:
        shape = line.translate(None, _DIGITS)
        possible = self._shapes.get(shape)
        if possible is None:
            possible = tuple(item for item in self._expressions if item.anchor in shape)
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            self._shapes[shape] = possible
        return possible


class _Expression:
    """One regular expression of a row; compiled when a line first needs it."""

    def __init__(self, pattern: Pattern, text: str) -> None:
        self.pattern = pattern
        self.anchor = anchor(text, pattern.id)
        self._text = text

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        try:
            return re.compile(self._text.encode("ascii"))
        except re.error as error:
            raise ConfigError(f"{error}: {self._text}", file=f"pattern {self.pattern.id}") from None


def is_novel(line: bytes) -> bool:
    """Whether the driver or the runtime wrote the line (as an error), going by its form."""
    return bool(
        _NOVEL_KERNEL.search(line) or _NOVEL_RUNTIME.search(line) or b"NEURON_HW_ERR" in line
    )


def _between(matches: Iterable[Match], begin: int, until: int, seen: int) -> tuple[Match, ...]:
    """Those that start between two places and were not in the window that ended at `seen`."""
    return tuple(
        match
        for match in matches
        if begin <= match.found.start() < until and match.found.end() > seen
    )


def _overlaps(found: re.Match[bytes], others: list[Match]) -> bool:
    start, end = found.span()
    return any(start < other.found.end() and other.found.start() < end for other in others)


def _details(pattern: Pattern, found: re.Match[bytes]) -> Details:
    groups = {
        name: value.decode("utf-8", "backslashreplace")
        for name, value in found.groupdict().items()
        if value is not None
    }
    device, core = groups.pop("device", None), groups.pop("core", None)
    code = groups.pop("code", pattern.code)
    if "fields" in groups:
        groups |= dict(_FIELD.findall(groups.pop("fields")))
        device = next((groups[key] for key in _DEVICE_KEYS if key in groups), device)
        core = next((groups[key] for key in _CORE_KEYS if key in groups), core)
    return Details(_place(found, _number(device), _number(core)), code, groups)


def _place(found: re.Match[bytes], device: int | None, core: int | None) -> Place:
    """What the message says, else what stands around it."""
    if device is not None:
        return Place(device, core)
    near = whereabouts(found.string, found.start(), found.end())
    return Place(near.device, near.core if core is None else core)


def _number(text: str | bytes | None) -> int | None:
    """ASCII digits, few of them."""
    if not text or len(text) > _PLACE_DIGITS:
        return None
    return int(text) if text.isdigit() and text.isascii() else None


def whereabouts(line: bytes, start: int, end: int) -> Place:
    """Device and core in any of their spellings: inside the message, else nearest before, after."""
    places = list(_PLACE.finditer(line))
    if not places:
        core = _CORE.search(line, start)
        return Place(None, int(core[1]) if core else None)
    inside = [place for place in places if start <= place.start() < end]
    before = [place for place in places if place.start() < start]
    found = inside[0] if inside else before[-1] if before else places[0]
    core = _CORE.search(line, found.end())
    number = found[2] or (core[1] if core else None)
    return Place(int(found[1]), int(number) if number else None)
