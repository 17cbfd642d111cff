"""Panels by name: functions of a view, a width and a height that give lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.tui.banner import banner
from neuron_observer.tui.core_bars import core_bars
from neuron_observer.tui.course import health, watts
from neuron_observer.tui.device_grid import device_grid
from neuron_observer.tui.finding_sheet import evidence
from neuron_observer.tui.findings import findings
from neuron_observer.tui.heat import heat
from neuron_observer.tui.host_strip import host_strip
from neuron_observer.tui.job_sheet import about
from neuron_observer.tui.jobs import jobs
from neuron_observer.tui.memory import memory
from neuron_observer.tui.node_line import node_line
from neuron_observer.tui.pages import sheet_of
from neuron_observer.tui.port_sheet import adapter, links
from neuron_observer.tui.power import identity, power
from neuron_observer.tui.ranks import ranks
from neuron_observer.tui.reasons import reasons
from neuron_observer.tui.table import draw
from neuron_observer.tui.tabs import tabs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from neuron_observer.tui.lines import Line
    from neuron_observer.tui.view import View

    Panel: TypeAlias = Callable[[View, int, int], list[Line]]


def table(view: View, width: int, height: int) -> list[Line]:
    """The table of the page."""
    return draw(view, sheet_of(view), width, height).lines


PANELS: Mapping[str, Panel] = {
    "node": node_line,
    "banner": banner,
    "findings": findings,
    "devices": device_grid,
    "identity": identity,
    "cores": core_bars,
    "memory": memory,
    "power": power,
    "jobs": jobs,
    "host": host_strip,
    "reasons": reasons,
    "tabs": tabs,
    "table": table,
    "heat": heat,
    "health": health,
    "watts": watts,
    "links": links,
    "adapter": adapter,
    "evidence": evidence,
    "about": about,
    "ranks": ranks,
}
