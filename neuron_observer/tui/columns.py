"""Columns of tables out of the catalogue: a metric is one row there, its heading and unit too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.model import Missing
from neuron_observer.text import bytes_text, seconds_text
from neuron_observer.tui.sheet import Column
from neuron_observer.tui.view import percent, rate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from neuron_observer.catalogue import MetricSpec
    from neuron_observer.model import Cell
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.sheet import Row
    from neuron_observer.tui.view import View

_SHARES = ("ratio", "percent", "basis points")
_FLOWS = ("bytes", "packets")  # counters of these are shown as what they grow a second
_WORDS = {
    "device.firmware.answering": ("no", "yes"),
    "device.state": ("in reset", "ready", "invalid"),
}
_CAPITALS = {one.lower(): one for one in ("TX", "RX", "RDMA", "DMA", "PCI", "GUID", "NUMA")}
_STEPS = ("", " k", " M", " G", " T", " P")


def heading(spec: MetricSpec) -> str:
    """What stands above the metric's figures."""
    words = [_CAPITALS.get(word, word) for word in spec.id.rpartition(".")[2].split("_")]
    return spec.column or " ".join([words[0][0].upper() + words[0][1:], *words[1:]])


def of_metric(name: str) -> Column:
    """The column of a metric."""
    spec = METRICS[name]
    flows = spec.kind is Kind.COUNTER and spec.unit in _FLOWS
    share = spec.unit in _SHARES

    def value(view: View, row: Row) -> Cell:
        if flows:
            return rate(view, spec.id, row.place)
        return view.cells.at(spec.id, row.place)

    return Column(
        spec.id,
        heading(spec),
        spec.help + (", a second" if flows else ""),
        value,
        _writer(spec, flows=flows),
        right=spec.unit != "" or spec.kind is Kind.COUNTER or spec.heartbeat,
        tone=_tone(spec),
        scale=spec.scale * 100 if share else spec.scale if spec.unit == "microseconds" else 1.0,
    )


def of_scope(scope: str, without: Collection[str] = ()) -> list[Column]:
    """All metrics of a scope that screens may show, those with a heading of their own first."""
    found = [spec for spec in METRICS.values() if spec.scope == scope and spec.id not in without]
    found.sort(key=lambda spec: spec.column is None)
    return [of_metric(spec.id) for spec in found]


def _writer(spec: MetricSpec, *, flows: bool) -> Callable[[Cell, View], str]:
    number = _number(spec, flows=flows)

    def text(cell: Cell, view: View) -> str:
        if isinstance(cell, Missing):
            return view.signs.dash
        if isinstance(cell, str):
            return cell.removeprefix("POWER_STATUS_") or "none"
        if spec.unit in _SHARES:
            return percent(cell * spec.scale, view)
        return number(cell) + ("/s" if flows else "")

    return text


def _number(spec: MetricSpec, *, flows: bool) -> Callable[[float], str]:
    """How a number of the metric is written, shares apart."""
    if spec.id in _WORDS:
        words = _WORDS[spec.id]
        return lambda number: words[int(number)] if number in range(len(words)) else str(number)
    if spec.unit == "bytes":
        return bytes_text
    if spec.unit in ("seconds", "microseconds"):
        return lambda number: seconds_text(number * spec.scale)
    if spec.kind is Kind.GAUGE or flows:
        return thousands
    return lambda number: f"{number:,}"


def thousands(number: float) -> str:
    """91200000 → 91.2 M; whole numbers below a million stay whole."""
    if number == int(number) and abs(number) < 1e6:
        return f"{number:,.0f}"
    if 0 < number < 0.01:
        return "<0.01"
    value, step = float(number), 0
    while abs(value) >= 999.5 and step < len(_STEPS) - 1:
        value, step = value / 1000, step + 1
    return f"{value:.3g}{_STEPS[step]}"


def _tone(spec: MetricSpec) -> Callable[[Cell], Tone] | None:
    """What says that something is wrong stands out."""
    if spec.states and "hbm" in spec.states:
        return lambda cell: "bad" if cell else "plain"
    if spec.unit == "errors" or spec.id.endswith(("_errors", ".failure", ".timeout")):
        return lambda cell: "warn" if cell else "plain"
    if spec.id == "device.firmware.answering":
        return lambda cell: "plain" if cell else "bad"
    return None
