"""The host in two lines: processor, memory, pressure; EFA throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import NODE, Missing, Why
from neuron_observer.tui.lines import Line, Span, line
from neuron_observer.tui.view import amount, percent, rate

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
IDLE = ("idle", "iowait")
PRESSURES = ("cpu", "memory", "io")
NO_PORT = Missing(Why.UNSUPPORTED, "no EFA port here")


def host_strip(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """Two lines."""
    cells = view.cells
    count = cells.number("host.cpus", NODE)
    used = cells.number("host.memory.used", NODE)
    total = cells.number("host.memory.total", NODE)
    of = "" if isinstance(count, Missing) else f" of {count:.0f}"
    pressures = [
        Span(f" {'mem' if name == 'memory' else name} {_pressure(view, name)}")
        for name in PRESSURES
    ]
    return [
        line(
            Span("Host", "heading"),
            Span("  cpu ", "dim"),
            f"{percent(processor(view), view)}{of}",
            Span("  mem ", "dim"),
            f"{amount(used, view)}/{amount(total, view)}",
            Span("  pressure", "dim"),
            *pressures,
        ),
        _efa(view),
    ]


def processor(view: View) -> float | Missing:
    """Share of the processors' time that was not idle."""
    ticks = {name: rate(view, f"host.cpu.{name}", NODE) for name in (*BUSY, *IDLE)}
    for ticked in ticks.values():
        if isinstance(ticked, Missing):
            return ticked
    known = {name: ticked for name, ticked in ticks.items() if not isinstance(ticked, Missing)}
    whole = sum(known.values())
    if not whole:
        return Missing(Why.NOT_YET, "no tick passed between two reads")
    return sum(known[name] for name in BUSY) / whole


def _pressure(view: View, name: str) -> str:
    """Percent of the last 10 s in which something waited for it."""
    cell = view.cells.number(f"host.pressure.{name}.some_10s", NODE)
    return percent(cell if isinstance(cell, Missing) else cell / 100, view)


def throughput(view: View, metric: str) -> float | Missing:
    """The sum of a counter's rate over all EFA ports; missing if it is on one of them."""
    ports = view.cells.ports
    whole = 0.0
    for place in ports:
        of_port = rate(view, metric, place)
        if isinstance(of_port, Missing):
            return of_port
        whole += of_port
    return whole if ports else NO_PORT


def _efa(view: View) -> Line:
    ports = len(view.cells.ports)
    if not ports:
        return line(Span("EFA ", "heading"), Span(f"  {view.signs.dash} no port here", "dim"))
    shown = [
        (name, throughput(view, metric))
        for name, metric in (
            ("sent", "efa.port.tx_bytes"),
            ("received", "efa.port.rx_bytes"),
            ("sent again", "efa.port.retransmitted_bytes"),
        )
    ]
    spans = [
        span
        for name, found in shown
        for span in (Span(f"  {name} ", "dim"), Span(_each_second(found, view), "figure"))
    ]
    return line(Span("EFA ", "heading"), f"  {ports} port{'' if ports == 1 else 's'}", *spans)


def _each_second(number: float | Missing, view: View) -> str:
    text = amount(number, view)
    return text if isinstance(number, Missing) else f"{text}/s"
