"""Counters before and after: what was kept, at the first read, at the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from neuron_observer import contract
from neuron_observer.catalogue import METRICS
from neuron_observer.model import Missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.bundling.documents import Told
    from neuron_observer.bundling.kept import Kept
    from neuron_observer.bundling.look import Looked
    from neuron_observer.model import Snapshot

SCHEMA = "neuron-observer/counters/1"
_Spot: TypeAlias = "tuple[str, int | None, int | None, str]"  # metric, device, core, label


def counters(told: Told | None, looked: Looked | None, kept: Kept) -> dict[str, Any]:
    """One row a counter; null is unknown, never zero. `difference` is that of the two reads."""
    reads = looked.reads if looked else ()
    first = dict(_of(reads[0])) if reads else {}
    last = dict(_of(reads[-1])) if reads else {}
    if not reads and told is not None:
        last = dict(_of_document(told.snapshot))
    before = _Before.of(kept)
    keys = _keys(reads[-1] if reads else None, told)
    spots = sorted({*first, *last}, key=_order)
    return {
        "schema": SCHEMA,
        "kept_at": contract.instant(kept.at),
        "first_at": contract.instant(reads[0].at) if reads else None,
        "last_at": contract.instant(reads[-1].at) if reads else told and told.snapshot["at"],
        "rows": [
            _row(spot, keys.get(spot[1], ""), first.get(spot), last.get(spot), before)
            for spot in spots
        ],
    }


def _order(spot: _Spot) -> tuple[str, int, int, str]:
    metric, device, core, label = spot
    return metric, -1 if device is None else device, -1 if core is None else core, label


def _row(
    spot: _Spot, key: str, first: int | None, last: int | None, before: _Before
) -> dict[str, Any]:
    metric, device, core, label = spot
    return {
        "metric": metric,
        "device": device,
        "core": core,
        "label": label,
        "baseline": before.baselines.get((key, metric)),
        "kept": before.values.get((key, metric, core, label)),
        "first": first,
        "last": last,
        "difference": None if first is None or last is None else last - first,
    }


class _Before(NamedTuple):
    """What was kept, by the key of the chip."""

    baselines: Mapping[tuple[str, str], int]
    values: Mapping[tuple[str, str, int | None, str], int]

    @classmethod
    def of(cls, kept: Kept) -> _Before:
        """The counters of a state."""
        values = {
            (key, metric, place.core, place.label): value
            for (key, metric, place), value in kept.memory.counters.items()
        }
        return cls(kept.memory.baselines, values)


def _is_counter(metric: str) -> bool:
    return metric in METRICS and METRICS[metric].kind == "counter"


def _of(snapshot: Snapshot) -> Iterator[tuple[_Spot, int]]:
    for batch in snapshot.batches:
        for metric, column in batch.layout.columns.items():
            if not _is_counter(metric):
                continue
            for offset, place in enumerate(column.places):
                cell = batch.cells[column.start + offset]
                if isinstance(cell, int) and not isinstance(cell, Missing):
                    yield (metric, place.device, place.core, place.label), cell


def _of_document(document: Mapping[str, Any]) -> Iterator[tuple[_Spot, int]]:
    for (device, core, label), readings in _places(document):
        for metric, reading in readings.items():
            value = reading.get("value")
            if _is_counter(metric) and isinstance(value, int):
                yield (metric, device, core, label), value


def _places(
    document: Mapping[str, Any],
) -> Iterator[tuple[tuple[int | None, int | None, str], Mapping[str, Any]]]:
    yield (None, None, ""), document["node"]["readings"]
    for device in document["devices"]:
        yield (device["index"], None, ""), device["readings"]
        for core in device["cores"]:
            yield (device["index"], core["index"], ""), core["readings"]
    for other in document["others"]:
        yield (other["device"], other["core"], other["label"]), other["readings"]


def _keys(snapshot: Snapshot | None, told: Told | None) -> dict[int | None, str]:
    if snapshot is not None:
        return {device.index: device.key for device in snapshot.devices}
    return {one["index"]: one["key"] for one in told.snapshot["devices"]} if told else {}
