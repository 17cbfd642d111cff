"""The pages, which people call views: what each shows as a table, and how it is laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.tui import (
    core_sheet,
    device_sheets,
    event_sheet,
    finding_sheet,
    host_sheet,
    job_sheet,
    port_sheet,
)
from neuron_observer.tui.heat import heat_height
from neuron_observer.tui.overview import overview
from neuron_observer.tui.region import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from neuron_observer.tui.sheet import Sheet
    from neuron_observer.tui.view import View

    Arrange = Callable[[View, int, int], list[Region]]


class Page(NamedTuple):
    """One page."""

    name: str
    short: str  # where there is little room
    key: str
    help: str
    sheet: Callable[[View], Sheet]
    arrange: Arrange
    row: Callable[[int | None, str], str] = lambda _, row: row  # of the selected device


def _of_device(selected: int | None, row: str) -> str:
    return row if selected is None else f"neuron{selected}"


def _of_core(selected: int | None, row: str) -> str:
    if selected is None or row.startswith(f"neuron{selected} "):
        return row
    return core_sheet.key_of(selected, 0)


def _alone(view: View, width: int, height: int) -> list[Region]:  # noqa: ARG001 - as every page
    return [Region("table", 0, 0, width, height)]


def _cores(view: View, width: int, height: int) -> list[Region]:
    heat = min(heat_height(view, width), max(height - 4, 1))
    return [Region("heat", 0, 0, width, heat), Region("table", 0, heat, width, height - heat)]


def _with(*panels: str, share: float = 0.5, least: int = 9) -> Arrange:
    """A table above panels that stand side by side, as high as it needs and its share allows."""

    def arrange(view: View, width: int, height: int) -> list[Region]:
        needed = 2 + len(PAGES[view.page].sheet(view).rows)
        table = min(max(needed, 3), max(int(height * share), height - least, 3))
        each, y = width // len(panels), table + 1
        below = [
            Region(
                panel,
                number * each,
                y,
                each if number + 1 < len(panels) else width - number * each,
                height - y,
            )
            for number, panel in enumerate(panels)
        ]
        return [Region("table", 0, 0, width, table), *below]

    return arrange


def _jobs(view: View, width: int, height: int) -> list[Region]:
    """The processes, what is known of the job of one of them, and its ranks side by side."""
    needed = 2 + len(job_sheet.jobs(view).rows)
    table = min(max(needed, 3), max(height // 2, 3))
    known = min(len(job_sheet.about(view, width, height)), 4)
    below = table + 1 + known + 1
    return [
        Region("table", 0, 0, width, table),
        Region("about", 0, table + 1, width, known),
        Region("ranks", 0, below, width, height - below),
    ]


_ALL = (
    Page(
        "overview",
        "all",
        "1",
        "everything at a glance",
        device_sheets.devices,
        overview,
        _of_device,
    ),
    Page(
        "devices",
        "dev",
        "2",
        "all figures of each device",
        device_sheets.devices,
        _alone,
        _of_device,
    ),
    Page(
        "cores",
        "cores",
        "3",
        "heat map of all cores, and their table",
        core_sheet.cores,
        _cores,
        _of_core,
    ),
    Page(
        "memory",
        "mem",
        "4",
        "HBM by category, of each device and its cores",
        device_sheets.memory,
        _with("cores", "memory"),
        _of_device,
    ),
    Page(
        "health",
        "ecc",
        "5",
        "ECC and health with their history",
        device_sheets.health,
        _with("health"),
        _of_device,
    ),
    Page(
        "power",
        "power",
        "6",
        "power, and its course",
        device_sheets.power,
        _with("watts"),
        _of_device,
    ),
    Page(
        "links",
        "links",
        "7",
        "EFA ports, adapters, links of devices",
        port_sheet.ports,
        _with("links", "adapter", share=0.4),
    ),
    Page(
        "findings",
        "find",
        "8",
        "findings, their evidence and what they mean",
        finding_sheet.found,
        _with("evidence", share=0.4, least=16),
    ),
    Page("events", "evts", "9", "what happened", event_sheet.events, _alone),
    Page(
        "jobs",
        "jobs",
        "0",
        "jobs, their processes and ranks",
        job_sheet.jobs,
        _jobs,
    ),
    Page("host", "host", "m", "the machine around the devices", host_sheet.host, _alone),
)
PAGES: Mapping[str, Page] = {page.name: page for page in _ALL}


def sheet_of(view: View) -> Sheet:
    """The table of the page that is shown."""
    return PAGES[view.page].sheet(view)
