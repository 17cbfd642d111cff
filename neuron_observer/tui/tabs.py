"""The last line: the pages with their keys and what else can be pressed; or a notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.text import printable
from neuron_observer.tui.findings import shown
from neuron_observer.tui.lines import Line, Span, length, line
from neuron_observer.tui.pages import PAGES

if TYPE_CHECKING:
    from neuron_observer.tui.pages import Page
    from neuron_observer.tui.view import View

_HINTS = (("?", "help"), ("q", "quit"), ("/", "filter"), ("s", "sort"), ("p", "pause"))


def tabs(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """One line."""
    if view.notice:
        return [line(Span(f" {printable(view.notice)} ", "chosen"))]
    spans = [span for _, piece in _pieces(view, width) for span in piece]
    for key, what in _HINTS:
        more = line(Span(f" {key}", "heading"), Span(f" {what}", "dim"))
        if length(tuple(spans)) + length(more) <= width:
            spans += more
    return [tuple(spans)]


def page_at(view: View, width: int, x: int) -> str | None:
    """The page whose tab stands at a cell."""
    end = 0
    for page, piece in _pieces(view, width):
        end += length(piece)
        if x < end:
            return page.name
    return None


def _pieces(view: View, width: int) -> list[tuple[Page, Line]]:
    """Each page's tab: in full, short, or its key alone, as there is room."""
    found = []
    for names in ({p: p.name for p in PAGES.values()}, {p: p.short for p in PAGES.values()}, {}):
        found = [(page, _tab(view, page, names.get(page, ""))) for page in PAGES.values()]
        if sum(length(piece) for _, piece in found) <= width:
            break
    return found


def _tab(view: View, page: Page, name: str) -> Line:
    is_here = page.name == view.page
    if page.name == "findings" and name and (count := len(shown(view))):
        name += f" {count}"
    text = f" {name}" if name else ""
    if is_here:
        return line(Span(f"{page.key}{text}", "chosen"), " ")
    return line(Span(page.key, "heading"), Span(f"{text} ", "dim"))
