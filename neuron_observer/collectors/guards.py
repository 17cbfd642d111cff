"""What one file says of another: values that a healthy-looking file cannot be trusted for.

The driver prints 0 for an ECC register that it cannot read (2.25.4 and later: at once and without a
word), so a 0 beside an unreadable serial number is no 0. Signatures: 2.30.2
`neuron_sysfs_metrics.c`, `neuron_power.c`; inferred from the code, not seen on hardware.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from neuron_observer.catalogue.health import COMPONENTS
from neuron_observer.contract import instant
from neuron_observer.model import Missing, Why
from neuron_observer.parsers.sysfs import FELL_OFF

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.model import Cell, Layout

POWER_STALE_AFTER = 120.0  # seconds; the driver publishes once a minute
ECC_METRICS = (
    "device.sram.ecc_uncorrected",
    "device.hbm.ecc_uncorrected",
    "device.hbm.ecc_repairable_uncorrected",
    "device.sram.ecc_corrected",
    "device.hbm.ecc_corrected",
)
_CACHED_ONES = {  # counts of the health files of 2.28 and 2.29, if all registers read ones
    "device.health.sram_errors": 65_535,
    "device.health.hbm_errors": 60,  # 15 a stack
    "device.health.hbm_repairable_errors": 16_380,  # 4095 a stack
}
_FIGURES = ("device.power.minimum", "device.power.maximum", "device.power.mean")


def _rows(layout: Layout, metrics: Iterable[str]) -> list[int]:
    return [
        column.start + offset
        for metric in metrics
        if (column := layout.columns.get(metric))
        for offset in range(len(column.places))
    ]


def _first(layout: Layout, cells: list[Cell], metric: str) -> Cell | None:
    column = layout.columns.get(metric)
    return cells[column.start] if column else None


def power_age(layout: Layout, cells: list[Cell], wall: float) -> list[Cell]:
    """Power figures of a minute long past are stale: sampling stops while a device is not ready."""
    epoch = _first(layout, cells, "device.power.epoch")
    if not isinstance(epoch, int) or abs(wall - epoch) <= POWER_STALE_AFTER:
        return cells
    since = instant(epoch)
    reason = f"no figures since {since}" if wall > epoch else f"figures of the future: {since}"
    trusted = cells.copy()
    for row in _rows(layout, _FIGURES):
        if not isinstance(cells[row], Missing):
            trusted[row] = Missing(Why.STALE, reason)
    return trusted


def health_cache(layout: Layout, cells: list[Cell], _wall: float) -> list[Cell]:
    """All ten components and heartbeat 255 are one register of ones, not ten faults.

    So are counts that are all at their largest.
    """
    if all(_first(layout, cells, metric) == most for metric, most in _CACHED_ONES.items()):
        return _fell_off(layout, cells, _CACHED_ONES)
    named = _first(layout, cells, "device.health.unhealthy_components")
    beat = _first(layout, cells, "device.health.heartbeat")
    if beat != 255 or not isinstance(named, str) or set(named.split(",")) != set(COMPONENTS):
        return cells
    return _fell_off(
        layout, cells, ("device.health.unhealthy_components", "device.health.heartbeat")
    )


TIMELESS: Final = frozenset({health_cache})  # of the same cells these always say the same


def _fell_off(layout: Layout, cells: list[Cell], metrics: Iterable[str]) -> list[Cell]:
    trusted = cells.copy()
    for row in _rows(layout, metrics):
        trusted[row] = FELL_OFF
    return trusted


def registers(layout: Layout, cells: list[Cell], _wall: float) -> list[Cell]:
    """ECC counts beside an unreadable serial number or firmware version are not readable either."""
    witnesses = [
        _first(layout, cells, metric) for metric in ("device.serial", "device.firmware.api_version")
    ]
    failed = [w for w in witnesses if isinstance(w, Missing) and w.why is Why.FAILED]
    if not failed:
        return cells
    off_the_bus = FELL_OFF in failed
    reason = FELL_OFF if off_the_bus else Missing(Why.FAILED, f"unreadable: {failed[0].detail}")
    trusted = cells.copy()
    for row in _rows(layout, ECC_METRICS):
        if cells[row] == 0 or (off_the_bus and not isinstance(cells[row], Missing)):
            trusted[row] = reason
    return trusted


def slow_zeros(layout: Layout, cells: list[Cell], slow_rows: Iterable[int]) -> list[Cell]:
    """A 0 that took long is what a blocking driver prints for a register it could not read."""
    ecc = set(_rows(layout, ECC_METRICS))
    wrong = [row for row in slow_rows if row in ecc and cells[row] == 0]
    if not wrong:
        return cells
    trusted = cells.copy()
    for row in wrong:
        trusted[row] = Missing(Why.FAILED, "unreadable: the read took long and gave 0")
    return trusted
