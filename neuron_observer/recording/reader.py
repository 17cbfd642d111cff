"""Recordings, captures and listings, read pass by pass; a damaged one up to where it breaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuron_observer.errors import InputError
from neuron_observer.sources.listing import Listing, opened_rows
from neuron_observer.sources.rows import RowReader, check_head, check_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.sources.passes import Pass


class Recording:
    """One file. Nothing of it is held but its times: `passes` reads it anew each time."""

    def __init__(self, file: str) -> None:
        """Look it through; InputError if not even its beginning can be read."""
        self.file = file
        self.header: dict[str, Any] = {}
        self.note = ""  # why it ends earlier than it was written; empty if it is whole
        self.times: tuple[float, ...] = self._look_through()

    @property
    def timed(self) -> bool:
        """Whether it holds what a reader read, tick by tick; a capture holds passes."""
        return str(self.header.get("schema", "")).startswith("neuron-observer/recording/")

    @property
    def span(self) -> float:
        """Seconds from its first tick or pass to its last."""
        return self.times[-1] if self.times else 0.0

    @property
    def recorded_at(self) -> float | None:
        """Wall-clock seconds of its beginning; a plain listing does not tell."""
        return Listing(self.header, []).recorded_at

    @property
    def options(self) -> Mapping[str, Any]:
        """How the host was read, as far as that changes what is found."""
        found = self.header.get("options")
        return found if isinstance(found, dict) else {}

    def _look_through(self) -> tuple[float, ...]:
        """Seconds of each tick or pass since the first, rising; sees that rows are rows."""
        ticks: list[float] = []  # monotonic, or of passes since the beginning
        contents = 0
        try:
            with opened_rows(self.file) as rows:
                for row in rows:
                    _refuse_cut(self.file, row)
                    contents += self._note(row, ticks)
        except (InputError, ValueError, TypeError, LookupError) as error:
            if isinstance(error, InputError) and not contents:
                raise
            if not contents:
                raise InputError(f"{self.file}: its head is damaged: {error}") from error
            self.note = _ends_early(self.file, error)
        if not contents:
            raise InputError(
                f"{self.file}: nothing is recorded in it",
                remedy="`record` and `capture` write such files; the daemon does, beside findings.",
            )
        return tuple(at - ticks[0] for at in ticks) if self.timed else (0.0, *ticks)

    def _note(self, row: str, ticks: list[float]) -> bool:
        """Remember what a row says of all; whether it holds a content."""
        word, _, value = row.partition(" ")
        if word == "#capture":
            self.header = dict(json.loads(value))
            check_schema(self.file, self.header)
            check_head(self.header)
        elif word == "#tick":
            ticks.append(float(json.loads(value)[0]))
        elif word == "#at" and (at := float(value)) > 0:
            ticks.append(at)
        elif not row.startswith("#"):
            if row.count("\t") < 2:
                raise InputError(f"{self.file}: no row of a listing: {row.strip()[:60]!r}")
            return True
        return word in ("#set", "#host", "#error")

    def passes(self) -> Iterator[Pass]:
        """What each saw; before the first tick a pass without one: what stood there.

        A damaged file ends at the last tick that is whole, and `note` says why.
        """
        reader = RowReader(self.file)
        try:
            with opened_rows(self.file) as rows:
                for row in rows:
                    _refuse_cut(self.file, row)
                    done = reader.take(row)
                    if done is not None:
                        yield done
        except InputError as error:
            self.note = _ends_early(self.file, error)
            return
        yield reader.latest


def _refuse_cut(file: str, row: str) -> None:
    if not row.endswith("\n"):
        raise InputError(f"{file}: the last row is cut")


def _ends_early(file: str, why: Exception) -> str:
    text = why.message if isinstance(why, InputError) else f"{type(why).__name__}: {why}"
    return f"damaged, read up to there: {text.removeprefix(f'{file}:').removeprefix(':').strip()}"


def opened(file: str) -> Recording:
    """A recording, a capture or a listing; InputError if it is none, or of a later form."""
    return Recording(file)
