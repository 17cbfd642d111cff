"""Batches whose figures come from a system call instead of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import NODE, Batch, Column, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.catalogue.spec import MetricSpec
    from neuron_observer.clock import Clock
    from neuron_observer.collectors.batching import BatchName
    from neuron_observer.model import Cell


class FigureBatch:
    """`ask` gives one cell a metric, in the order of `specs`; all are about the node."""

    def __init__(
        self, name: BatchName, specs: Sequence[MetricSpec], ask: Callable[[], list[Cell]]
    ) -> None:
        self.name = name
        self._ask = ask
        self._cells: list[Cell] = []
        self._layout = Layout(
            columns={spec.id: Column(spec.id, row, (NODE,)) for row, spec in enumerate(specs)},
            sources=tuple(f"{spec.sources[0].where} {spec.sources[0].path}" for spec in specs),
            rows={(spec.id, NODE): row for row, spec in enumerate(specs)},
        )

    def poll(self, clock: Clock) -> Batch:
        """Ask once."""
        begin = clock.monotonic()
        before, self._cells = self._cells, self._ask()
        changed = tuple(
            row for row, cell in enumerate(self._cells) if not before or cell != before[row]
        )
        seconds = clock.monotonic() - begin
        return Batch(*self.name, self._layout, self._cells, begin, seconds, changed)
