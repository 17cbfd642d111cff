"""`/api/v1/columns`: a frame as it is held, batch by batch, for a screen that asks each second.

What the cells of a batch are changes with the files of the host, so it is told only to those who do
not have it yet. A tenth of the work of a snapshot, on both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer import contract
from neuron_observer.daemon.layouts import layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.daemon.asked import Asked
    from neuron_observer.daemon.standing import Aged, Standing
    from neuron_observer.model import Batch, Cell, Device, Layout, Snapshot

SCHEMA = "neuron-observer/columns/1"


def columns(standing: Standing, aged: Aged, asked: Asked) -> dict[str, Any]:
    """A frame as columns; `layouts` null where the client has those of that name."""
    snapshot = aged.frame.snapshot
    layouts = tuple({id(batch.layout): batch.layout for batch in snapshot.batches}.values())
    known = standing.layouts.id(layouts)
    return {
        "schema": SCHEMA,
        "at": contract.instant(snapshot.at),
        "host_root": snapshot.host_root,
        "instance_type": snapshot.instance_type,
        "driver": {"version": snapshot.driver.version, "state": snapshot.driver.state},
        "devices": [_device(device) for device in snapshot.devices],
        "layouts_id": known,
        "layouts": None if asked["layouts"] == known else [layout(one) for one in layouts],
        "batches": _batches(snapshot, layouts),
        **contract.beside_readings(aged.frame),
    }


def _batches(snapshot: Snapshot, layouts: Sequence[Layout]) -> list[dict[str, Any]]:
    """`read` is the same for as long as a batch was not read again."""
    numbers = {id(layout): number for number, layout in enumerate(layouts)}
    return [
        {
            "collector": batch.collector,
            "lane": batch.lane,
            "device": batch.device,
            "layout": numbers[id(batch.layout)],
            "read": round(batch.read_at, 6),
            "age": round(max(snapshot.monotonic - batch.read_at, 0.0), 6),
            "cells": _cells(batch),
        }
        for batch in snapshot.batches
    ]


def _cells(batch: Batch) -> Sequence[Cell]:
    """In the order of the columns. A `Missing` is written as what it is: [why, detail]."""
    row = 0
    for column in batch.layout.columns.values():
        if column.start != row:
            return [
                cell
                for one in batch.layout.columns.values()
                for cell in batch.cells[one.start : one.start + len(one.places)]
            ]
        row += len(column.places)
    return batch.cells


def _device(of: Device) -> dict[str, Any]:
    return {
        "index": of.index,
        "name": of.name,
        "arch": of.arch,
        "serial": of.serial,
        "key": of.key,
        "pci": of.pci,
        "numa": of.numa,
        "neighbours": None if of.neighbours is None else list(of.neighbours),
        "cores": [{"index": core.index, "arch": core.arch} for core in of.cores],
    }
