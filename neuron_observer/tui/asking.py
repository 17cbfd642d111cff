"""What the board shows in full and asks for: help, reasons, details, filter, columns, files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.text import printable
from neuron_observer.tui.finding_sheet import evidence
from neuron_observer.tui.job_sheet import about
from neuron_observer.tui.keys import help_lines
from neuron_observer.tui.lines import Line, Span, line
from neuron_observer.tui.pages import sheet_of
from neuron_observer.tui.reasons import listed
from neuron_observer.tui.sheet import chosen, columns_shown, rows_shown
from neuron_observer.tui.table import as_text, missing_in, record
from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.tui.board import Board
    from neuron_observer.tui.view import View

_MARGIN = 6  # cells of an overlay that are not text
_WORDS = """\
Letters: H healthy, D degraded, U unhealthy, ? not judged.
U utilization of all cores, P mean power of the last minute as share of the maximum.
A dash is a value that is not there; it is never a zero. Bars are shares of the whole:
of the time, of the chip's HBM, of the maximum power, of what is held by category.
A filter: neuron3 -idle util>80 hbm>=70G: all of it must hold.
Nothing is ever written to a device, and no process is signalled.
"""


def show(board: Board, lines: Sequence[Line]) -> None:
    """Lay a text over the board."""
    from neuron_observer.tui.overlay import Overlay  # noqa: PLC0415 - not at the start

    board.app.push_screen(Overlay(lines, THEMES[board.settings.theme]))


def show_help(board: Board) -> None:
    """The keys and the words."""
    lines = [line(Span("neuron-observer top", "heading")), ()]
    lines += [
        line(Span(text, "plain" if text.startswith(" ") else "heading"))
        for text in help_lines(board.OWN_KEYS)
    ]
    show(board, [*lines, *(line(text) for text in _WORDS.splitlines())])


def show_reasons(board: Board) -> None:
    """Every reason why a value is missing: on the page, then of the device and the host."""
    view = board.view
    if view is None:
        return
    lines = [line(Span("Why values are missing", "heading")), ()]
    sheet = sheet_of(view)
    for reason, heads in missing_in(view, sheet, rows_shown(view, sheet)).items():
        lines.append(line(f"{view.signs.dash} {', '.join(heads)}: ", Span(reason, "dim")))
    lines += [one for one in listed(view) if one not in lines]
    show(board, lines if len(lines) > 2 else [*lines, line("nothing is missing")])


def open_chosen(board: Board) -> None:
    """Everything that is known of what is chosen."""
    view = board.view
    if view is None:
        return
    width = max(board.size.width - _MARGIN, 20)
    if view.page == "findings":
        lines = evidence(view, width, 0)
    else:
        lines = record(view, sheet_of(view))
        if view.page == "jobs":
            lines = [*about(view, width, 0), (), *lines]
    if lines:
        show(board, lines)


def ask_filter(board: Board) -> None:
    """Let somebody type a filter."""
    from neuron_observer.tui.overlay import Question  # noqa: PLC0415 - not at the start

    def use(answer: str | None) -> None:
        if answer is not None:
            board.state.change(filter=answer)
            board.paint()

    view = board.view
    if view is None:
        return
    if view.page == "overview":
        board.tell("all other views have a table to filter")
        return
    theme = THEMES[board.settings.theme]
    board.app.push_screen(Question("filter ", view.way.filter, theme), use)


def ask_columns(board: Board) -> None:
    """Let somebody choose the columns of the table."""
    from neuron_observer.tui.overlay import Choice  # noqa: PLC0415 - not at the start

    def use(answer: list[str] | None) -> None:
        if answer is not None:
            board.state.change(columns=tuple(answer), shift=0)
            board.remember()

    view = board.view
    if view is None or view.page == "overview":
        board.tell("all other views have columns to choose")
        return
    sheet = sheet_of(view)
    names = [(f"{one.head or one.id}: {one.help}", one.id) for one in sheet.columns[1:]]
    now = [one.id for one in columns_shown(sheet, view.way)]
    board.app.push_screen(Choice(names, now, THEMES[board.settings.theme]), use)


def ask_file(board: Board) -> None:
    """Let somebody name a file, and write the table or the screen to it."""
    from neuron_observer.tui.export import write  # noqa: PLC0415 - not at the start
    from neuron_observer.tui.overlay import Question  # noqa: PLC0415 - the same

    view = board.view
    if view is None:
        return
    kept: View = view
    width, height = board.size

    def use(answer: str | None) -> None:
        if answer:
            board.tell(write(kept, Path(answer).expanduser(), width, height))

    label = "file (.csv .json of the table, .svg .txt of the screen) "
    theme = THEMES[board.settings.theme]
    board.app.push_screen(Question(label, f"{view.page}.csv", theme), use)


def copy_row(board: Board) -> None:
    """The chosen row, its cells apart by tabs, to the clipboard (OSC 52)."""
    view = board.view
    if view is None:
        return
    sheet = sheet_of(view)
    rows = rows_shown(view, sheet)
    if rows:
        _, texts = as_text(view, sheet)
        _copy(board, [texts[chosen(view, rows)]])


def copy_table(board: Board) -> None:
    """The whole table with its headings."""
    view = board.view
    if view is not None:
        heads, texts = as_text(view, sheet_of(view))
        _copy(board, [heads, *texts])


def _copy(board: Board, rows: Sequence[Sequence[str]]) -> None:
    board.app.copy_to_clipboard("\n".join("\t".join(map(printable, row)) for row in rows))
    what = "the row" if len(rows) == 1 else f"{len(rows) - 1} rows"
    board.tell(f"copied {what}, if the terminal takes it (OSC 52)")
