"""A bare Textual table of 128 cores, every cell of which changes so many times a second.

    python -m benchmarks.bare_table [HZ]

What the screen of `top` is held against: the least that Textual makes anybody pay.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from textual.app import App
from textual.widgets import DataTable

if TYPE_CHECKING:
    from textual.app import ComposeResult

DEVICES, CORES = 16, 8
COLUMNS = ("device", "core", "util", "HBM", "execs/s", "errors")


class Bare(App[None]):
    """The table, and nothing else."""

    def __init__(self, hertz: float) -> None:
        super().__init__()
        self._hertz = hertz
        self._turn = 0

    def compose(self) -> ComposeResult:
        """One widget."""
        yield DataTable()

    def on_mount(self) -> None:
        """All rows, and a clock."""
        table = self.query_one(DataTable)
        table.add_columns(*COLUMNS)
        for number in range(DEVICES * CORES):
            table.add_row(*self._row(number))
        self.set_interval(1.0 / self._hertz, self._change)

    def _row(self, number: int) -> tuple[str, ...]:
        busy = (number * 37 + self._turn * 11) % 100
        held = 5.0 + (number + self._turn) % 90 / 10
        device, core = divmod(number, CORES)
        return str(device), str(core), f"{busy}%", f"{held:.2f}", f"{busy * 31:,}", "0"

    def _change(self) -> None:
        self._turn += 1
        table = self.query_one(DataTable)
        for y in range(DEVICES * CORES):
            for x, text in enumerate(self._row(y)):
                table.update_cell_at((y, x), text)  # type: ignore[arg-type]


if __name__ == "__main__":
    Bare(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0).run()
