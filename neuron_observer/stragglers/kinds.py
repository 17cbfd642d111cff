"""What kind of slowness: side columns against their usual values over the same steps."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuron_observer.stragglers.columns import SideColumns
from neuron_observer.stragglers.robust import median
from neuron_observer.stragglers.suspects import Kind, Scope

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Mask
    from neuron_observer.stragglers.parameters import Parameters

LEVEL, COUNT, USUAL = 1 / 3, 1 / 8, 1 / 64  # weights of the means of now, and of the usual
COUNTS = {"ecc", "unhealthy", "fabric_events"}
EVENTS = 0.25  # a mean count an update: one event alone is none, two close together are


class Reason(NamedTuple):
    """A kind, what speaks for it and what was ruled out."""

    kind: Kind
    basis: tuple[str, ...]
    excluded: tuple[str, ...]
    hardware: bool = False  # a hardware counter says so


class Trend:
    """The mean of a side column now, and its usual mean (standing still while a rank is slow)."""

    def __init__(self, size: int, weight: float = LEVEL) -> None:
        self._weight = weight
        self._full = False  # every rank has a mean
        self.now: Floats = np.full(size, np.nan)
        self.usual: Floats = np.full(size, np.nan)

    def add(self, values: Floats, free: Mask) -> None:
        """Take one update; `free` are the ranks that are not slow."""
        known = np.isfinite(values)
        if self._full and known.all():
            self.now += self._weight * (values - self.now)
            usual = USUAL * (values - self.usual)
            self.usual += usual if free.all() else np.where(free, usual, 0.0)
            return
        _mix(self.now, values, self._weight, known)
        _mix(self.usual, values, USUAL, known & free)
        self._full = not np.isnan(self.usual).any()

    def rise(self, rows: Ints) -> float:
        """Median rise of these ranks over their usual; NaN if not known."""
        return median(self.now[rows] - self.usual[rows])


def _mix(mean: Floats, values: Floats, weight: float, rows: Mask) -> None:
    """Move the mean of these ranks towards their value; the first value is the mean."""
    fresh = np.isnan(mean) & rows
    mean += np.where(rows & ~fresh, weight * (values - mean), 0.0)
    mean[fresh] = values[fresh]


class Kinds:
    """Keeps the trends of the side columns of one job and classifies slow ranks by them."""

    def __init__(self, size: int, parameters: Parameters) -> None:
        self._p = parameters
        self._size = size
        self._trends: dict[str, Trend] = {}

    def add(self, side: SideColumns, free: Mask) -> None:
        """Take the side columns of one update."""
        for column in fields(SideColumns):
            values: Floats | None = getattr(side, column.name)
            if values is not None:
                trend = self._trends.get(column.name)
                if trend is None:
                    weight = COUNT if column.name in COUNTS else LEVEL
                    trend = self._trends[column.name] = Trend(self._size, weight)
                trend.add(values, free)

    def of_busy(self, rows: Ints, scope: Scope, excess: float) -> Reason:
        """The kind of ranks that compute longer by `excess` seconds a step."""
        if scope is Scope.WORKLOAD:
            return Reason(Kind.IMBALANCE, ("all ranks that do the same part of the work",), ())
        chip, normal = self._chip(rows), self._normal()
        if chip is not None:
            return chip
        host = self._host(rows, excess)
        if host is not None:
            return host
        power = self._power(rows)
        if power is not None:
            return power
        if scope is Scope.DEVICE:
            watched = "do not move" if "ecc" in self._trends else "are not watched"
            basis = f"several ranks of one device; its error counters {watched}"
            return Reason(Kind.CHIP, (basis,), normal)
        alone = "and nothing else changed" if self._trends else "and nothing else was measured"
        return Reason(Kind.COMPUTE, (f"longer busy, {alone}",), normal)

    def fabric(self, rows: Ints) -> Ints:
        """The rows among these with new EFA time-outs or dead remotes."""
        trend = self._trends.get("fabric_events")
        if trend is None:
            return rows[:0]
        return rows[_jumped(trend, rows)]

    def chips(self, rows: Ints) -> Ints:
        """The rows among these with new ECC events or an unhealthy component."""
        found = np.zeros(len(rows), dtype=np.bool_)
        for name in ("ecc", "unhealthy"):
            trend = self._trends.get(name)
            if trend is not None:
                found |= _jumped(trend, rows)
        return rows[found]

    def _chip(self, rows: Ints) -> Reason | None:
        faulty = self.chips(rows)
        if len(faulty) * 2 < len(rows):
            return None
        words = []
        for name, word in (("ecc", "HBM ECC events"), ("unhealthy", "unhealthy component")):
            trend = self._trends.get(name)
            if trend is not None and _jumped(trend, rows).any():
                words.append(f"{word}: {np.nanmax(trend.now[rows]):.3g} an update")
        return Reason(Kind.CHIP, tuple(words), self._normal(), hardware=True)

    def _host(self, rows: Ints, excess: float) -> Reason | None:
        for name, word in (
            ("host_gap", "gap between launches"),
            ("host_wait", "waiting for a CPU"),
        ):
            trend = self._trends.get(name)
            rise = trend.rise(rows) if trend is not None else float("nan")
            if rise >= self._p.kind_share * excess:
                return Reason(Kind.HOST, (f"{word} +{rise:.3g} s a step",), self._normal())
        return None

    def _power(self, rows: Ints) -> Reason | None:
        trend = self._trends.get("power")
        if trend is None:
            return None
        now, others = median(trend.now[rows]), median(np.delete(trend.now, rows))
        if now >= self._p.power_cap and not others >= self._p.power_cap:
            basis = f"power {now:.0%} of its maximum (others {others:.0%}): throttling suspected"
            return Reason(Kind.THROTTLED, (basis,), self._normal())
        return None

    def _normal(self) -> tuple[str, ...]:
        words = {"ecc": "HBM error counters", "host_gap": "host", "power": "power"}
        return tuple(word for name, word in words.items() if name in self._trends)


def _jumped(trend: Trend, rows: Ints) -> Mask:
    """Rows whose count an update is well above its usual."""
    now, usual = trend.now[rows], np.nan_to_num(trend.usual[rows])
    with np.errstate(invalid="ignore"):
        return np.asarray((now > 3 * usual) & (now - usual > EVENTS))
