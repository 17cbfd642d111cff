"""Timelines: what a host's bytes do while a fault comes and goes, and what must be found then.

One YAML file a fault; docs/rules-format.md tells the form. What is wrong with a file is told with
its name, the timeline and the key.
"""

from __future__ import annotations

import errno
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.errors import ConfigError, InputError
from neuron_observer.rules.nodes import compose, nearest, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_STEP = ("at", "every", "until", "write", "add", "fail", "hang", "remove", "restore", "link")
_STEP_KEYS = (*_STEP, "space", "kernel", "monitor", "wall", "stall")
_EXPECT_KEYS = ("at", "findings", "verdict", "others", "not_covered")
_TIMELINE_KEYS = ("name", "host", "recording", "seconds", "wall", "steps", "expect")
_ERRNO = {name: number for number, name in errno.errorcode.items()}
_LISTINGS = (".tsv.gz", ".tsv", ".nobs.gz")


class Deed(NamedTuple):
    """One thing that is done to the host: what, to which path, with what."""

    what: str
    path: str = ""
    value: Any = None


class Step(NamedTuple):
    """What is done at an instant, in order."""

    at: float
    deeds: tuple[Deed, ...]


class Expectation(NamedTuple):
    """What must stand after the tick at an instant."""

    at: float
    findings: tuple[Mapping[str, Any], ...] | None
    verdict: str | None
    others: frozenset[str]
    not_covered: bool


class Timeline(NamedTuple):
    """One play."""

    fault: str
    name: str
    host: str  # file of a listing
    seconds: float
    wall: float | None
    steps: tuple[Step, ...]
    expect: tuple[Expectation, ...]
    file: str
    recorded: bool = False  # the host is a recording, and nothing is done to it

    @property
    def has_reports(self) -> bool:
        """Whether neuron-monitor reports in it."""
        return any(deed.what == "monitor" for step in self.steps for deed in step.deeds)


def read_timelines(path: Path, hosts: Iterable[Path] = ()) -> tuple[Timeline, ...]:
    """The timelines of a file; `hosts` are folders in which listings are looked for by name."""
    document = plain(compose(path))
    reader = _Reader(path, tuple(hosts))
    if not isinstance(document, dict) or set(document) != {"fault", "timelines"}:
        raise reader.wrong("a file has the keys fault and timelines")
    fault = str(document["fault"])
    return tuple(reader.timeline(fault, one) for one in reader.items(document, "timelines"))


class _Reader:
    def __init__(self, path: Path, hosts: tuple[Path, ...]) -> None:
        self._path = path
        self._hosts = hosts
        self._name = ""

    def wrong(self, what: str) -> ConfigError:
        return ConfigError(f"{self._name}{what}", file=str(self._path))

    def items(self, of: dict[str, Any], key: str) -> list[dict[str, Any]]:
        found = of.get(key) or []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self.wrong(f"{key} must be a list of mappings")
        return found

    def known(self, of: dict[str, Any], keys: tuple[str, ...], what: str) -> None:
        for key in of:
            if key not in keys:
                raise self.wrong(f"{what}: unknown key {key!r}{nearest(str(key), keys)}")

    def number(self, of: dict[str, Any], key: str) -> float:
        value = of.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise self.wrong(f"{key} must be a number of seconds, it is {value!r}")
        return float(value)

    def timeline(self, fault: str, of: dict[str, Any]) -> Timeline:
        self._name = f"{of.get('name', '?')}: "
        self.known(of, _TIMELINE_KEYS, "a timeline")
        recorded = "recording" in of
        needed = ("name", "expect") if recorded else ("name", "host", "seconds", "expect")
        missing = [key for key in needed if key not in of]
        if missing:
            raise self.wrong(f"the key {missing[0]!r} is missing")
        if recorded and (beside := [key for key in ("host", "wall", "steps") if key in of]):
            raise self.wrong(f"a recording is played as it is: {beside[0]!r} has no place here")
        steps = [step for one in self.items(of, "steps") for step in self._steps(one, of)]
        return Timeline(
            fault,
            str(of["name"]),
            self._host(str(of["recording" if recorded else "host"])),
            self.number(of, "seconds") if "seconds" in of else float("inf"),
            self._wall(of.get("wall")),
            tuple(sorted(steps, key=lambda step: step.at)),
            tuple(self._expectation(one) for one in self.items(of, "expect")),
            str(self._path),
            recorded,
        )

    def _host(self, name: str) -> str:
        folders = (self._path.parent, *self._hosts)
        for folder in folders:
            for suffix in ("", *_LISTINGS):
                file = folder / f"{name}{suffix}"
                if file.is_file():
                    return str(file)
        looked = ", ".join(str(folder) for folder in folders)
        raise InputError(
            f"{self._path}: {self._name}no listing {name!r}", remedy=f"Looked in {looked}."
        )

    def _wall(self, text: object) -> float | None:
        if text is None:
            return None
        try:
            return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
        except ValueError:
            raise self.wrong(f"wall: {text!r} is no time") from None

    def _steps(self, of: dict[str, Any], whole: dict[str, Any]) -> Iterator[Step]:
        self.known(of, _STEP_KEYS, "a step")
        at, deeds = self.number(of, "at"), tuple(self._deeds(of))
        yield Step(at, deeds)
        if "every" in of:
            pause = self.number(of, "every")
            until = self.number(of, "until") if "until" in of else self.number(whole, "seconds")
            if not pause:
                raise self.wrong("every must be longer than 0 s")
            while (at := at + pause) <= until:
                yield Step(at, deeds)

    def _deeds(self, of: dict[str, Any]) -> Iterator[Deed]:
        for what, value in of.items():
            if what in ("write", "add", "fail", "link", "space"):
                if not isinstance(value, dict):
                    raise self.wrong(f"{what} must be a mapping of paths")
                yield from (Deed(what, path, self._value(what, v)) for path, v in value.items())
            elif what in ("remove", "restore", "hang"):
                yield from (Deed(what, path) for path in self._texts(what, value))
            elif what == "kernel":
                yield from (Deed(what, value=line) for line in self._texts(what, value))
            elif what == "monitor":
                yield from (Deed(what, value=json.dumps(report)) for report in value)
            elif what in ("wall", "stall"):
                yield Deed(what, value=float(value))

    def _texts(self, what: str, value: object) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(f"{what} must be a list of texts")
        return value

    def _value(self, what: str, value: object) -> Any:
        if what == "write":
            return _bytes(str(value))
        if what == "add":
            if not isinstance(value, int):
                raise self.wrong(f"add: {value!r} is no whole number")
            return value
        if what == "fail":
            if value not in _ERRNO:
                raise self.wrong(f"fail: {value!r} is no errno")
            return _ERRNO[str(value)]
        if what == "space":
            if not isinstance(value, list) or [type(one) for one in value] != [int, int]:
                raise self.wrong(f"space: {value!r} is no [size, available] in bytes")
            return value
        return str(value)

    def _expectation(self, of: dict[str, Any]) -> Expectation:
        self.known(of, _EXPECT_KEYS, "an expectation")
        findings = tuple(self.items(of, "findings")) if "findings" in of else None
        return Expectation(
            self.number(of, "at"),
            findings,
            of.get("verdict"),
            frozenset(of.get("others", ())),
            bool(of.get("not_covered")),
        )


def _bytes(text: str) -> bytes:
    """The bytes that a text stands for: one each character up to 255, else UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")
