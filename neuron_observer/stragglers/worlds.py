"""Which ranks a table is about, and where it changes: resized jobs, renumbered ranks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.errors import InputError
from neuron_observer.stragglers.columns import Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.stragglers.columns import Floats, Ints, Mask
    from neuron_observer.stragglers.header import Header

MOVES = 100  # label changes of one rank that are still believed
RESIZED = 0.25  # share of the ranks that must come or go for good
STAYS = 12  # steps that they must be away before, or after


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A stretch of a table with one world: `(steps, ranks)` values, NaN where there is none."""

    topology: Topology
    steps: Ints
    busy: Floats
    wait: Floats | None = None
    input: Floats | None = None
    tokens: Floats | None = None


class Worlds:
    """Follows the labels of every rank through a file."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._labels: dict[int, dict[tuple[str, ...], int]] = {}  # labels → first step
        self._known: set[tuple[object, ...]] = set()  # rank and labels, as they stand in the file
        self._latest = 0  # the last first step: rows after it change nothing that is known

    def note(
        self,
        columns: Sequence[tuple[str, ...]],
        steps: Ints,
        ranks: Ints,
        place: Callable[[int], str],
    ) -> None:
        """Take the labels of rows."""
        labels = [columns[self._header.places[name]] for name in self._header.labels]
        if not labels:
            return
        keys = list(zip(ranks.tolist(), *labels, strict=True))
        if self._known.issuperset(keys) and int(steps.min()) >= self._latest:
            return
        first: dict[tuple[object, ...], int] = {}
        for key, step in zip(keys, steps.tolist(), strict=True):
            first[key] = min(step, first.get(key, step))
        self._known.update(first)
        for (rank, *texts), step in first.items():
            known = tuple(str(text).strip() for text in texts)
            history = self._labels.setdefault(int(str(rank)), {})
            if any(known):
                history[known] = min(step, history.get(known, step))
                self._latest = max(self._latest, history[known])
            if len(history) > MOVES:
                names = ", ".join(self._header.labels)
                raise InputError(
                    f"{place(0)}: {names} of rank {rank} had {MOVES} different values up to here",
                    remedy="a label says where a rank is, not what it does in a step: see --map",
                )

    def parts(
        self, steps: Ints, ranks: Ints, times: dict[str, Floats], notes: list[str]
    ) -> list[Part]:
        """The table, cut where the world changes; says so in `notes`."""
        cuts = sorted({*self._moved(), *_resized(steps, times["busy_s"])} - {int(steps[0])})
        notes += [
            f"from step {cut} on there are other ranks, or they are elsewhere: judged apart"
            for cut in cuts
        ]
        bounds = [0, *np.searchsorted(steps, cuts).tolist(), len(steps)]
        parts = []
        for low, high in pairwise(bounds):
            there: Mask = np.asarray(np.isfinite(times["busy_s"][low:high]).any(axis=0))
            if high > low and there.any():
                parts.append(self._part(steps[low:high], ranks, times, slice(low, high), there))
        return parts

    def _moved(self) -> set[int]:
        """Steps at which a rank has another label than before."""
        return {step for history in self._labels.values() for step in sorted(history.values())[1:]}

    def _part(
        self,
        steps: Ints,
        ranks: Ints,
        times: dict[str, Floats],
        rows: slice,
        there: Mask,
    ) -> Part:
        present = ranks[there]
        tables = {name: table[rows][:, there] for name, table in times.items()}
        return Part(
            self._topology(present, int(steps[0])),
            steps,
            tables["busy_s"],
            tables.get("wait_s"),
            tables.get("input_s"),
            tables.get("tokens"),
        )

    def _topology(self, ranks: Ints, step: int) -> Topology:
        labels: dict[str, list[str | None]] = {name: [] for name in self._header.labels}
        for rank in ranks.tolist():
            nothing: dict[tuple[str, ...], int] = {("",) * len(labels): step}
            history = self._labels.get(rank) or nothing
            ordered = sorted(history, key=history.__getitem__)
            valid = [known for known in ordered if history[known] <= step] or ordered[:1]
            for name, label in zip(labels, valid[-1], strict=True):
                labels[name].append(label or None)
        device = labels.pop("device", None)
        return Topology.of(
            ranks.tolist(),
            role=labels.get("role"),
            replica=labels.get("replica"),
            node=labels.get("node"),
            device=None if device is None else [_number(label) for label in device],
        )


def _number(label: str | None) -> int | None:
    """A device index; a label that is no number is not known."""
    return int(label) if label is not None and label.isdigit() else None


def _resized(steps: Ints, busy: Floats) -> set[int]:
    """Steps at which a quarter of the ranks, or more, come or go for good."""
    there = np.isfinite(busy)
    if not there.any():
        return set()
    first = there.argmax(axis=0)
    last = len(steps) - 1 - there[::-1].argmax(axis=0)
    cuts = set()
    for places, offset in ((first, 0), (last, 1)):
        at, count = np.unique(places[there.any(axis=0)] + offset, return_counts=True)
        big = (count >= RESIZED * there.shape[1]) & (at >= STAYS) & (at <= len(steps) - STAYS)
        cuts |= {int(steps[place]) for place in at[big]}
    return cuts
