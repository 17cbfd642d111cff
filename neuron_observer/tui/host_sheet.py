"""The table of what is known of the machine around the devices: a row a metric."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.model import NODE, Missing
from neuron_observer.text import bytes_text
from neuron_observer.tui.columns import of_metric, thousands
from neuron_observer.tui.sheet import Column, Row, Sheet
from neuron_observer.tui.signs import chart
from neuron_observer.tui.view import percent, rate

if TYPE_CHECKING:
    from neuron_observer.catalogue import MetricSpec
    from neuron_observer.model import Cell
    from neuron_observer.tui.view import View

COURSE = 30  # cells
_STEP = 10.0  # seconds a cell
_TIMES = ("microseconds", "milliseconds", "ticks")  # what they grow a second is a share
_SIZES = ("bytes", "sectors")
_SEVERAL = ("sensor", "disk", "pci")
_FIRST = ("host.load", "host.memory", "host.pressure", "host.filesystem", "host.", "node.")


def host(view: View) -> Sheet:
    """Load, memory, pressure, space, what else is of the host and the driver; the others."""
    rows = [Row(spec.id, NODE, spec) for spec in _of_node()]
    return Sheet(_columns(), [*rows, *view.cells.once("placed", lambda: _placed(view))])


def _placed(view: View) -> list[Row]:
    """The metrics of what there may be several of, by kind and name."""
    found = []
    for batch in view.snapshot.batches:
        for metric, column in batch.layout.columns.items():
            spec = METRICS.get(metric)
            if spec is not None and spec.scope in _SEVERAL:
                found += [Row(f"{place.label} {metric}", place, spec) for place in column.places]
    return sorted(found, key=lambda row: (_SEVERAL.index(row.of.scope), row.place.label))


@cache
def _of_node() -> tuple[MetricSpec, ...]:
    known = [spec for spec in METRICS.values() if spec.scope == "node" and spec.lane != "expensive"]
    order = {spec.id: number for number, spec in enumerate(known)}
    shown = [spec for spec in known if spec.id.startswith(("host.", "node."))]
    return tuple(sorted(shown, key=lambda spec: (_group(spec.id), order[spec.id])))


def _group(name: str) -> int:
    return next(number for number, begin in enumerate(_FIRST) if name.startswith(begin))


@cache
def _columns() -> tuple[Column, ...]:
    return (
        Column("metric", "Metric", "Its id", lambda _, row: row.key, _words, right=False),
        Column("value", "Value", "As it is now", _value, _words, widest=24),
        Column("rate", "Rate", "What it grows a second, over the last seconds", _rate, _words),
        Column("course", "Last 5 min", "Its course", _course, _words, right=False),
        Column("help", "What it is", "What it is", lambda _, row: row.of.help, _words, right=False),
    )


def _words(cell: Cell, view: View) -> str:
    return view.signs.dash if isinstance(cell, Missing) else str(cell)


def _value(view: View, row: Row) -> Cell:
    cell = view.cells.at(row.of.id, row.place)
    return cell if isinstance(cell, Missing) else _column_of(row.of.id).text(cell, view)


def _rate(view: View, row: Row) -> Cell:
    if row.of.kind.value != "counter":
        return ""
    found = rate(view, row.of.id, row.place)
    if isinstance(found, Missing):
        return found
    if row.of.unit in _TIMES:
        return percent(found * row.of.scale, view)
    return f"{bytes_text(found * row.of.scale) if row.of.unit in _SIZES else thousands(found)}/s"


@cache
def _column_of(name: str) -> Column:
    return of_metric(name)


def _course(view: View, row: Row) -> Cell:
    """The largest value of each stretch, as a share of the largest of all."""
    found: list[float | None] = [None] * COURSE
    if row.of.kind.value != "gauge":
        return ""
    for value, read_time in view.history(row.of.id, row.place, COURSE * _STEP):
        back = int((view.instant - read_time) / _STEP)
        if not isinstance(value, str) and 0 <= back < COURSE:
            place = COURSE - 1 - back
            found[place] = max(found[place] or 0.0, float(value))
    top = max((one for one in found if one is not None), default=0.0)
    shares = [None if one is None else one / top if top else 0.0 for one in found]
    return chart(shares, 1, view.signs)[0]
