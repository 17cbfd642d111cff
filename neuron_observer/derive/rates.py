"""Rates and shares of cores, computed for all cores of a device at once.

What the driver does not move while a job runs gives no rate at all (driver 2.24.7 `neuron_ds.c`:
the runtime's counters are added up when its process exits).
"""

from __future__ import annotations

from itertools import repeat
from operator import add, truediv
from typing import TYPE_CHECKING, Any, TypeAlias

from neuron_observer.catalogue.chips import LIVE_SINCE, parse_version
from neuron_observer.derive.counters import PE_CARRY, growth
from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.derive.counters import Growth, Pair
    from neuron_observer.model import Batch, Cell, Place

_MILLION = repeat(1e6)  # microseconds in a second
_MOST_BUSY = 1.1  # read times are a little off; more than this is no utilisation
_TOO_BUSY = Missing(Why.FAILED, "more busy time than time")
_NOT_RUN = Missing(Why.NOT_YET, "nothing was executed in the interval")
_CARRIED = Missing(Why.NOT_YET, "a counter was reset or read at a carry")
_NO_CYCLES = Missing(Why.NOT_YET, "no cycles counted")
_CYCLES = {
    name: tuple(f"core.pe_array.row_group{group}.{name}_cycles" for group in range(4))
    for name in ("matmul", "weight_load", "idle")
}
# Increases of a counter, and whether each is a number, as nearly always.
_Counted: TypeAlias = "tuple[list[Any], bool]"
_INPUTS = {
    "core.utilization": {"core.time_in_use"},
    "core.inference_rate": {"core.inferences"},
    "core.flop_rate": {"core.flops"},
    "core.flops_per_busy_second": {"core.flops", "core.time_in_use"},
    "core.matmul_share": {_CYCLES["matmul"][0]},
}


def not_live(driver: str | None) -> Missing | None:
    """Why the runtime's counters of a driver give no rates; None if they do."""
    version = parse_version(driver)
    if version is None:
        return Missing(Why.UNSUPPORTED, "driver version unknown: its counters may not be live")
    if version < LIVE_SINCE:
        return Missing(
            Why.UNSUPPORTED,
            f"driver {driver} moves this counter only when a process exits;"
            " live from driver 2.30.2",
        )
    return None


def derivable(batches: Iterable[Batch]) -> tuple[str, ...]:
    """What can be derived of the cores from what these batches hold."""
    read = {metric for batch in batches for metric in batch.layout.columns}
    return tuple(metric for metric, needed in _INPUTS.items() if needed <= read)


class CoreRates:
    """What is derived of the cores of one device, from its batches and those before them."""

    def __init__(
        self, pairs: list[Pair], places: tuple[Place, ...], unsupported: Missing | None
    ) -> None:
        self._pairs = pairs
        self._places = places
        self._unsupported = unsupported
        self._grown: dict[str, Growth] = {}  # as far as asked for
        self._counted: dict[str, _Counted] = {}  # the same

    def cells(self, metric: str) -> list[Cell]:
        """The cells of one metric, in the order of the places."""
        if metric == "core.utilization":
            return self._utilization()
        if metric == "core.inference_rate":
            return self._rate("core.inferences")
        if metric == "core.flop_rate":
            return self._rate("core.flops")
        if metric == "core.flops_per_busy_second":
            return self._flops_per_busy_second()
        return [self._matmul_share(core) for core in range(len(self._places))]

    def _growth(self, metric: str) -> Growth:
        if metric not in self._grown:
            self._grown[metric] = growth(self._pairs, metric, self._places)
        return self._grown[metric]

    def _increases(self, metric: str) -> _Counted:
        if metric not in self._counted:
            self._counted[metric] = self._count(metric)
        return self._counted[metric]

    def _count(self, metric: str) -> _Counted:
        """Increases of a counter that the driver truly counts: one stuck at 0 is unsupported."""
        if self._unsupported:
            return [self._unsupported] * len(self._places), False
        grown = self._growth(metric)
        if 0 not in grown.now:
            return grown.increases, grown.plain
        stuck = Missing(Why.UNSUPPORTED, f"{metric} stays 0 while executions rise")
        running = map(add, self._ran("core.inferences"), self._ran("core.execution.success"))
        return [
            stuck if now == increase == 0 and ran else increase
            for now, increase, ran in zip(grown.now, grown.increases, running, strict=True)
        ], False

    def _ran(self, metric: str) -> list[int]:
        return [0 if isinstance(n, Missing) else n for n in self._growth(metric).increases]

    def _utilization(self) -> list[Cell]:
        """Busy time over time, 0 to 1."""
        seconds = self._growth("core.time_in_use").seconds
        busy, plain = self._increases("core.time_in_use")
        if plain:
            shares: list[Any] = [*map(truediv, map(truediv, busy, _MILLION), seconds)]
            return list(map(_share, shares)) if max(shares) > 1 else shares
        return [
            n if isinstance(n, Missing) else _share(n / 1e6 / length)
            for n, length in zip(busy, seconds, strict=True)
        ]

    def _rate(self, metric: str) -> list[Cell]:
        """Increase a second of one counter."""
        (increases, plain), seconds = self._increases(metric), self._growth(metric).seconds
        if plain:
            return [*map(truediv, increases, seconds)]
        return [
            n if isinstance(n, Missing) else n / length
            for n, length in zip(increases, seconds, strict=True)
        ]

    def _flops_per_busy_second(self) -> list[Cell]:
        """Operations over busy time; nothing where either does not move."""
        flops, all_flops = self._increases("core.flops")
        busy, all_busy = self._increases("core.time_in_use")
        if all_flops and all_busy and all(flops) and all(busy):
            return [*map(truediv, flops, map(truediv, busy, _MILLION))]
        return [_quotient(n, micros) for n, micros in zip(flops, busy, strict=True)]

    def _matmul_share(self, core: int) -> Cell:
        """Multiplying cycles over all cycles of the four row groups."""
        totals = dict.fromkeys(_CYCLES, 0)
        for name, metrics in _CYCLES.items():
            for metric in metrics:
                grown = self._growth(metric)
                increase = grown.increases[core]
                if isinstance(increase, Missing):
                    return increase
                if core in grown.resets or increase > PE_CARRY:
                    return _CARRIED
                totals[name] += increase
        cycles = sum(totals.values())
        return totals["matmul"] / cycles if cycles else _NO_CYCLES


def _share(share: float) -> Cell:
    return _TOO_BUSY if share > _MOST_BUSY else min(share, 1.0)


def _quotient(flops: int | Missing, micros: int | Missing) -> Cell:
    if isinstance(flops, Missing):
        return flops
    if isinstance(micros, Missing):
        return micros
    return flops / (micros / 1e6) if flops and micros else _NOT_RUN
