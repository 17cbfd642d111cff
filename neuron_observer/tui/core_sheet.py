"""The table of all physical cores."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.model import Missing, Place
from neuron_observer.tui.columns import of_scope
from neuron_observer.tui.core_bars import columns as course
from neuron_observer.tui.sheet import Column, Row, Sheet
from neuron_observer.tui.signs import chart

if TYPE_CHECKING:
    from neuron_observer.model import Cell
    from neuron_observer.tui.view import View

COURSE = 30  # seconds
_NATURAL = (
    *("course", "core.utilization", "core.hbm.used", "core.inference_rate", "core.flop_rate"),
    *("core.flops_per_busy_second", "core.execution.failure", "core.execution.timeout"),
    *("core.execution.collectives_error", "core.reset_requests", "core.model_loads"),
    *("core.hbm.peak", "core.matmul_share"),
)


def cores(view: View) -> Sheet:
    """A row a core, in the order of devices; the course of the last seconds beside its figures."""
    rows = [
        Row(key_of(device.index, core.index), Place(device.index, core.index))
        for device in sorted(view.snapshot.devices, key=lambda one: one.index)
        for core in device.cores
    ]
    return Sheet(_columns(), rows, _NATURAL, "no core was found")


def key_of(device: int, core: int) -> str:
    """The key of a core's row."""
    return f"neuron{device} core {core}"


@cache
def _columns() -> tuple[Column, ...]:
    name = Column(
        "core", "Core", "Device and physical core", lambda _, row: row.key, _text, right=False
    )
    line = Column(
        "course",
        f"Last {COURSE} s",
        "Utilization of the last seconds, the newest at the right",
        _course,
        _text,
        right=False,
        tone=lambda _: "load",
    )
    return (name, line, *of_scope("core"))


def _text(cell: Cell, view: View) -> str:
    return view.signs.dash if isinstance(cell, Missing) else str(cell)


def _course(view: View, row: Row) -> Cell:
    shares = course(view, row.place, COURSE)
    if all(share is None for share in shares):
        now = view.cells.at("core.utilization", row.place)
        return now if isinstance(now, Missing) else " " * COURSE
    return chart(shares, 1, view.signs)[0]
