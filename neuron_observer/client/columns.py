"""From a columns document back to the frame: the daemon's own batches, for a tenth of the work.

What was not read again since the document before is the very batch of then, so that a history and a
screen see that nothing came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer.client.frames import assembled, understood
from neuron_observer.collectors.layouts import Rows
from neuron_observer.model import Batch, Column, Core, Device, Layout, Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Frame

    Document = Mapping[str, Any]
    Key = tuple[str, str, "int | None", int]


class Columns:
    """Remembers layouts, and the batches of the document before."""

    def __init__(self) -> None:
        self.id: str | None = None  # of the layouts that are known
        self._layouts: tuple[Layout, ...] = ()
        self._batches: dict[Key, tuple[float, Batch]] = {}
        self._devices: tuple[Device, ...] = ()

    def frame(self, document: Document, monotonic: float) -> Frame:
        """The frame, made at a time of this machine's clock; `DaemonError` if it is none."""
        with understood():
            if document["layouts"] is not None:
                self._layouts = tuple(map(_layout, document["layouts"]))
                self._batches.clear()
                self.id = str(document["layouts_id"])
            elif document["layouts_id"] != self.id:
                raise ValueError("layouts that nobody told")
            batches = self._batches_of(document, monotonic)
            devices = tuple(map(_device, document["devices"]))
            if devices != self._devices:
                self._devices = devices
            return assembled(document, document, monotonic, self._devices, batches)

    def _batches_of(self, document: Document, monotonic: float) -> tuple[Batch, ...]:
        before, self._batches = self._batches, {}
        for told in document["batches"]:
            key = told["collector"], told["lane"], told["device"], told["layout"]
            held = before.get(key)
            if held is None or held[0] != told["read"]:
                held = told["read"], self._batch(told, monotonic)
            self._batches[key] = held
        return tuple(batch for _, batch in self._batches.values())

    def _batch(self, told: Document, monotonic: float) -> Batch:
        layout = self._layouts[told["layout"]]
        cells = [one if type(one) in _PLAIN else _missing(one) for one in told["cells"]]
        if len(cells) != len(layout.rows):
            raise ValueError(f"{len(cells)} cells where {len(layout.rows)} are told of")
        read_at = monotonic - float(told["age"])
        return Batch(told["collector"], told["lane"], told["device"], layout, cells, read_at)


_PLAIN = (int, float, str)


def _missing(told: object) -> Missing:
    if not isinstance(told, list):
        raise TypeError("a reading's value is a number or a word")
    why, detail = told
    return Missing(Why(why), str(detail))


def _layout(told: Document) -> Layout:
    columns: dict[str, Column] = {}
    row = 0
    for metric, places in told.items():
        columns[metric] = Column(metric, row, tuple(Place(*place) for place in places))
        row += len(places)
    return Layout(columns, ("",) * row, Rows(columns))


def _device(of: Document) -> Device:
    return Device(
        index=of["index"],
        name=of["name"],
        arch=of["arch"],
        serial=of["serial"],
        key=of["key"],
        pci=of["pci"],
        numa=of["numa"],
        neighbours=None if of["neighbours"] is None else tuple(of["neighbours"]),
        cores=tuple(Core(of["index"], core["index"], core["arch"]) for core in of["cores"]),
    )
