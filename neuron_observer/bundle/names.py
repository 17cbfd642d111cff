"""Names of people, machines and jobs, and what stands for them: the same name, the same word.

A pseudonym has the form of what it stands for where a parser must take it (an address, a serial
number), so that a bundle can be read by all that reads a host.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Kind: TypeAlias = Literal[
    "host", "instance", "resource", "account", "address4", "address6", "mac", "guid", "user", "job",
    "pod", "namespace", "container", "uuid", "program", "argument", "unit", "serial",
]  # fmt: skip
Level: TypeAlias = Literal["all", "ids", "none"]

LEVELS: Final[tuple[Level, ...]] = ("all", "ids", "none")
_IDS: Final[frozenset[Kind]] = frozenset(
    {
        "host", "instance", "resource", "account", "address4", "address6", "mac", "guid", "user",
        "job", "pod", "namespace", "container", "uuid", "program", "argument", "unit",
    }
)  # fmt: skip
KINDS: Final[Mapping[Level, frozenset[Kind]]] = MappingProxyType(
    {"none": frozenset(), "ids": _IDS, "all": _IDS | {"serial"}}
)

_ENDING: Final = re.compile(r"\.(?:py|sh|json|ya?ml|service|scope|slice|csv)$")


def _ending(real: str) -> str:
    found = _ENDING.search(real)
    return found[0] if found else ""


def _job(number: int, real: str) -> str:
    """A scheduler's number stays a number: parsers take nothing else."""
    return str(900_000_000 + number) if real.isdigit() else f"job-{number}"


def _resource(number: int, real: str) -> str:
    return f"{real.partition('-')[0]}-{number:017x}"


def _container(number: int, real: str) -> str:
    return f"{number:0{len(real)}x}"


# 198.18.0.0/15 and 2001:db8::/32 are for examples and tests (RFC 2544, RFC 3849)
_MAKERS: Final[Mapping[Kind, Callable[[int, str], str]]] = MappingProxyType(
    {
        "instance": lambda number, _: f"i-{number:017x}",
        "resource": _resource,
        "account": lambda number, _: f"{number:012d}",
        "address4": lambda number, _: (
            f"198.{18 + (number >> 16) % 2}.{(number >> 8) & 255}.{number & 255}"
        ),
        "address6": lambda number, _: f"2001:db8::{number:x}",
        "mac": lambda number, _: (
            "02:00:" + ":".join(f"{number:08x}"[at : at + 2] for at in range(0, 8, 2))
        ),
        "guid": lambda number, _: f"0200:0000:{number >> 16:04x}:{number & 0xFFFF:04x}",
        "job": _job,
        "container": _container,
        "uuid": lambda number, _: f"00000000-0000-4000-8000-{number:012x}",
        "program": lambda number, real: f"program-{number}{_ending(real)}",
        "argument": lambda number, real: f"argument-{number}{_ending(real)}",
        "unit": lambda number, real: f"unit-{number}{_ending(real)}",
        "serial": lambda number, _: f"5e71a1{number:010x}",
    }
)


def _same(kind: Kind, real: str) -> str:
    """What two spellings of one name have in common: a host with its domain and without it."""
    return real.partition(".")[0].lower() if kind == "host" else real


class Names:
    """Gives pseudonyms of some kinds; of all other kinds everything stays as it is."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self.kinds = frozenset(kinds)
        self._given: dict[tuple[Kind, str], str] = {}
        self._taken: set[str] = set()
        self._counts: dict[Kind, int] = {}
        self._first: dict[str, str] = {}  # pseudonym → the name as it was met first

    def of(self, kind: Kind, real: str) -> str:
        """What stands for a name; a pseudonym stands for itself."""
        if kind not in self.kinds or not real or real in self._taken:
            return real
        key = (kind, _same(kind, real))
        given = self._given.get(key)
        if given is None:
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            maker = _MAKERS.get(kind)
            given = self._given[key] = maker(number, real) if maker else f"{kind}-{number}"
            self._taken.add(given)
            self._first[given] = real
        return given

    def table(self) -> list[dict[str, str]]:
        """All that were given: kind, name, pseudonym."""
        return [
            {"kind": kind, "name": self._first[given], "stands_as": given}
            for (kind, _), given in self._given.items()
        ]

    def counts(self) -> dict[str, int]:
        """How many names of each kind were replaced."""
        return dict(sorted(self._counts.items()))
