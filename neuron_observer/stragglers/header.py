"""The header of a table of step times: which column is which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VALUES = ("busy_s", "wait_s", "input_s", "tokens")
LABELS = ("role", "replica", "node", "device")
COLUMNS = ("step", "rank", *VALUES, *LABELS)


class Header:
    """Which column of the file is which of ours."""

    def __init__(self, name: str, names: Sequence[str], mapping: Mapping[str, str]) -> None:
        self.file = name
        self.size = len(names)
        self.places: dict[str, int] = {}
        found = [column.strip() for column in names]
        for ours in COLUMNS:
            theirs = mapping.get(ours, ours)
            if theirs in found:
                self.places[ours] = found.index(theirs)
            elif ours in mapping:
                raise InputError(
                    f"{name}:1: no column '{theirs}' for {ours}",
                    remedy=f"the file has: {', '.join(column for column in found if column)}",
                )
        lacking = [column for column in ("step", "rank", "busy_s") if column not in self.places]
        if lacking:
            raise InputError(
                f"{name}:1: no column {', '.join(lacking)}; the file has: {', '.join(found)}",
                remedy=f"say which one it is: --map {lacking[0]}=NAME",
            )
        self.values = tuple(value for value in VALUES if value in self.places)
        self.labels = tuple(label for label in LABELS if label in self.places)

    def check_unit(self, names: Sequence[str], unit: str | None) -> None:
        """Ask for the unit where a column's name speaks of another one than seconds."""
        for value in self.values:
            theirs = names[self.places[value]].strip().lower()
            for suffix in ("ms", "us", "ns"):
                if unit is None and theirs.endswith((f"_{suffix}", f"({suffix})", f"[{suffix}]")):
                    raise InputError(
                        f"{self.file}:1: column '{theirs}' seems to be in {suffix}, not in seconds",
                        remedy=f"say so: --unit {suffix} (or --unit s)",
                    )
