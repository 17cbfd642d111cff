"""What is on the screen as a file: the table as CSV or JSON, the screen as SVG or text."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from neuron_observer.model import Missing
from neuron_observer.tui.layout import composed, screen
from neuron_observer.tui.pages import sheet_of
from neuron_observer.tui.sheet import columns_shown, rows_shown
from neuron_observer.tui.svg import svg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.model import Cell
    from neuron_observer.tui.view import View


def write(view: View, path: Path, width: int, height: int) -> str:
    """Write a file that is not there yet, in the form that its ending names; what came of it."""
    forms: dict[str, Callable[[View], str]] = {
        ".csv": as_csv,
        ".json": as_json,
        ".svg": lambda view: svg(composed(view, width, height), width, f"top: {view.page}"),
        ".txt": lambda view: "\n".join(screen(view, width, height)) + "\n",
    }
    form = forms.get(path.suffix.lower())
    if form is None:
        return f"{path}: not written: a name ends with {', '.join(forms)}"
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(form(view))
    except FileExistsError:
        return f"{path}: not written: the file is there already"
    except OSError as error:
        return f"{path}: not written: {error.strerror}"
    return f"{path}: written"


def as_csv(view: View) -> str:
    """The table as it is looked at: ids as headings, values as read, missing ones empty."""
    sheet = sheet_of(view)
    columns = columns_shown(sheet, view.way)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([column.id for column in columns])
    for row in rows_shown(view, sheet):
        cells = [column.value(view, row) for column in columns]
        writer.writerow(["" if isinstance(cell, Missing) else cell for cell in cells])
    return text.getvalue()


def as_json(view: View) -> str:
    """The same, with the reasons of what is missing."""
    sheet = sheet_of(view)
    columns = columns_shown(sheet, view.way)
    rows = [
        {column.id: _value(column.value(view, row)) for column in columns}
        for row in rows_shown(view, sheet)
    ]
    heads = {column.id: {"heading": column.head, "help": column.help} for column in columns}
    document = {"view": view.page, "at": view.at, "columns": heads, "rows": rows}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _value(cell: Cell) -> Any:
    """As the API tells it: a value, or what is missing and why."""
    if isinstance(cell, Missing):
        return {"missing": cell.why.value, "detail": cell.detail}
    return cell
