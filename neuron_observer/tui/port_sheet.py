"""The table of EFA ports, and what their adapters count; the links between devices beside it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.model import Missing, Place
from neuron_observer.text import printable
from neuron_observer.tui.columns import heading, of_metric, of_scope
from neuron_observer.tui.finding_sheet import wrapped
from neuron_observer.tui.lines import Line, Span, line
from neuron_observer.tui.sheet import Column, Row, Sheet, chosen, rows_shown

if TYPE_CHECKING:
    from neuron_observer.model import Cell
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

_NATURAL = (
    *("efa.port.tx_bytes", "efa.port.rx_bytes", "efa.port.retransmitted_packets"),
    *("efa.port.retransmit_timeouts", "efa.port.unresponsive_remotes", "efa.port.rx_drops"),
    *("efa.port.impaired_connections", "efa.port.state", "efa.port.rate"),
    *("efa.port.rdma_read_bytes", "efa.port.rdma_write_bytes", "efa.port.rdma_read_errors"),
    "efa.port.rdma_write_errors",
)
_OF_LINKS = "device.health.unhealthy_components"


def ports(view: View) -> Sheet:
    """A row a port."""
    rows = [Row(place.label, place) for place in view.cells.ports]
    return Sheet(_columns(), rows, _NATURAL, "no EFA port here")


@cache
def _columns() -> tuple[Column, ...]:
    name = Column(
        "port",
        "Port",
        "Adapter and port",
        lambda _, row: row.key,
        lambda cell, _: str(cell),
        right=False,
    )
    return (name, *of_scope("port"))


def adapter(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """What the adapter of the chosen port is and counts: everything that is not zero."""
    rows = rows_shown(view, ports(view))
    if not rows:
        return []
    label = rows[chosen(view, rows)].place.label.partition("/")[0]
    place = next((one for one in _adapters(view) if one.label == label), Place(label=label))
    lines = [line(Span(f"Adapter {printable(label)}", "heading"))]
    zeros = []
    for spec in METRICS.values():
        if spec.scope != "efa":
            continue
        cell = view.cells.at(spec.id, place)
        column = of_metric(spec.id)
        if cell == 0 and spec.kind is not Kind.INFO:
            zeros.append(heading(spec).lower())
            continue
        is_bad = spec.id.endswith("errors") or spec.id in (
            "efa.failed_commands",
            "efa.lost_commands",
        )
        tone: Tone = "dim" if isinstance(cell, Missing) else "warn" if is_bad else "figure"
        lines.append(line(f"{heading(spec):<28}", Span(_said(column, cell, view), tone)))
    if zeros:
        lines += wrapped(f"none of: {', '.join(zeros)}", width, "dim")
    return lines


def _said(column: Column, cell: Cell, view: View) -> str:
    if isinstance(cell, Missing):
        return f"{view.signs.dash} {printable(cell.detail or cell.why.value)}"
    return printable(column.text(cell, view))


def _adapters(view: View) -> list[Place]:
    columns = (
        batch.layout.columns.get("efa.submitted_commands")
        or batch.layout.columns.get("efa.firmware")
        for batch in view.snapshot.batches
    )
    return [place for column in columns if column for place in column.places]


def links(view: View, width: int, height: int) -> list[Line]:
    """The neighbours of each device by the driver's table, and what the firmware says of links."""
    lines = [line(Span("Links", "heading"), Span("  by the driver's table", "dim"))]
    blocks = [_links_of(view, device.index) for device in view.snapshot.devices]
    room = max(height - 1, 1)
    if len(blocks) <= room or width < 2 * _LINK:
        return [*lines, *blocks]
    half = -(-len(blocks) // 2)
    for left, right in zip(blocks[:half], [*blocks[half:], ()], strict=False):
        lines.append((*_filled(left), *right))
    return lines


_LINK = 34  # cells of a device's links


def _filled(of: Line) -> Line:
    used = sum(len(span.text) for span in of)
    return (*of, Span(" " * max(_LINK - used, 1)))


def _links_of(view: View, index: int) -> Line:
    device = next(one for one in view.snapshot.devices if one.index == index)
    near = device.neighbours
    said = "none" if near == () else ", ".join(map(str, near or ()))
    named = view.cells.at(_OF_LINKS, Place(index))
    bad = [] if isinstance(named, Missing) else [n for n in str(named).split(",") if "link_" in n]
    return line(
        f" {index:>2} ",
        Span(view.signs.dash, "dim") if near is None else Span(said),
        Span(f"  {', '.join(bad)}", "bad") if bad else "",
    )
