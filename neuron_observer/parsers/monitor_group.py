"""A group of a neuron-monitor report: values by name, or the reason why it gives none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from neuron_observer.model import Cell, Missing, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST = 2**64
MAX_PERCENT = 100.5  # above is no rounding
NO_VALUE = Missing(Why.NOT_YET, "null: no value in this period")


def printable(text: str) -> str:
    """The text without lone surrogates, which JSON may hold and no stream can print."""
    return text.encode("utf-8", "backslashreplace").decode()


class Group:
    """One object of the report.

    A group with a non-empty `error` gives no value, although it carries zeros. What was never
    asked for is what we do not know.
    """

    __slots__ = ("_asked", "_below", "_data", "missing", "path")

    def __init__(self, data: Any, path: str = "", missing: Missing | None = None) -> None:
        self.path = path
        self._data: dict[str, Any] = data if isinstance(data, dict) else {}
        self._asked = {"period", "error"}
        self._below: list[Group] = []
        self.missing = missing or self._why(data)

    def _why(self, data: Any) -> Missing | None:
        name = self.path or "report"
        if data is None:
            return Missing(Why.NOT_YET, f"{name} is not in this report")
        if not isinstance(data, dict):
            return Missing(Why.FAILED, f"{name} is no object")
        return Missing(Why.FAILED, self.error) if self.error else None

    @property
    def error(self) -> str:
        """The group's own error text."""
        error = self._data.get("error")
        return "" if error in (None, "") else printable(str(error)[:300])

    @property
    def period(self) -> Cell:
        """Seconds that the group's tallies cover."""
        return self.number("period")

    def group(self, name: str) -> Group:
        """The group below; it inherits the reason why there are no values."""
        return self._add(Group(self._get(name), self._join(name), self.missing))

    def entries(self) -> Iterator[tuple[str, Group]]:
        """All objects below, for groups whose keys are numbers or names of things."""
        for name in self._data:
            if name not in ("period", "error"):
                self._asked.add(name)
                yield name, self._add(Group(self._data[name], self._join("*"), self.missing))

    def numbered(self) -> Iterator[tuple[int, Group]]:
        """Objects below by number; other keys count as unknown."""
        for name in self._data:
            if re.fullmatch(r"0|[1-9][0-9]{0,4}", name):
                self._asked.add(name)
                group = Group(self._data[name], self._join("*"), self.missing)
                yield int(name), self._add(group)

    def listed(self, name: str) -> list[Group] | Missing:
        """Objects of a list; Missing if there is no list."""
        value = self._get(name)
        if self.missing:
            return self.missing
        if value is None:
            return Missing(Why.NOT_YET, f"{self._join(name)} is not in this report")
        if not isinstance(value, list):
            return Missing(Why.FAILED, f"{self._join(name)} is no list")
        return [self._add(Group(item, self._join(name))) for item in value]

    def number(self, *names: str) -> Cell:
        """A number that is not negative, under the first of its names that is there."""
        value = self._first(names)
        if isinstance(value, Missing):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return Missing(Why.FAILED, f"{names[0]} is no number")
        if not 0 <= value < LARGEST:  # true of NaN and infinity too
            return Missing(Why.FAILED, f"{names[0]} is out of range")
        return value

    def count(self, *names: str) -> Cell:
        """A whole number."""
        value = self.number(*names)
        if isinstance(value, float):
            return int(value) if value.is_integer() else Missing(Why.FAILED, "no whole number")
        return value

    def identity(self, name: str) -> int | None:
        """A number that names a thing; told by a group in error too."""
        value = self._get(name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        return value if whole and 0 <= value < LARGEST else None

    def ratio(self, *names: str) -> Cell:
        """Percent of a whole as 0 to 1."""
        value = self.number(*names)
        if isinstance(value, Missing | str):
            return value
        if value > MAX_PERCENT:
            return Missing(Why.FAILED, f"{value:g} % is out of range")
        return min(value / 100, 1.0)

    def share(self, name: str) -> Cell:
        """Percent of one CPU, possibly of several, as a ratio."""
        value = self.number(name)
        return value if isinstance(value, Missing | str) else value / 100

    def text(self, name: str) -> str | None:
        """A text that says something."""
        value = self._get(name)
        return printable(value[:1000]) if isinstance(value, str) and value else None

    def flag(self, name: str) -> bool | None:
        """True or false."""
        value = self._get(name)
        return value if isinstance(value, bool) else None

    def texts(self, name: str) -> tuple[str, ...]:
        """A text or a list of texts."""
        value = self._get(name)
        items = value if isinstance(value, list) else [value]
        return tuple(printable(item) for item in items if isinstance(item, str) and item)

    def ratios(self, names: Iterable[str]) -> dict[str, Cell]:
        """Several ratios by name."""
        return {name: self.ratio(name) for name in names}

    def counts(self, names: Iterable[str] | None = None) -> dict[str, Cell]:
        """Several whole numbers by name; all that are there without names."""
        found = names or [name for name in self._data if name not in ("period", "error")]
        return {name: self.count(name) for name in found}

    def unknown(self) -> Iterator[str]:
        """Keys that nobody asked for, here and below."""
        for name in self._data:
            if name not in self._asked:
                yield printable(self._join(name[:80]))
        for group in self._below:
            yield from group.unknown()

    def _first(self, names: tuple[str, ...]) -> Any:
        self._asked.update(names)
        if self.missing:
            return self.missing
        for name in names:
            if name in self._data:
                value = self._data[name]
                return NO_VALUE if value is None else value
        return Missing(Why.UNSUPPORTED, f"{self._join(names[0])} is not in the report")

    def _get(self, name: str) -> Any:
        self._asked.add(name)
        return self._data.get(name)

    def _add(self, group: Group) -> Group:
        self._below.append(group)
        return group

    def _join(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name
