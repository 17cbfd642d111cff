"""The keys, in one line at the bottom; the whole list stands in the help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.tui.lines import Line, Span, joined, line

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

SHORT = (("q", "quit"), ("?", "help"), ("arrows", "select"), ("p", "pause"), ("w", "why missing"))


def keys(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """One line."""
    pieces = [line(Span(key, "heading"), f" {what}") for key, what in SHORT]
    return [joined(pieces, Span("  "))]
