"""Snapshots of one device with two cores, made up of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.derive import make_batch
from neuron_observer.model import Cell, Core, Device, Driver, Missing, Place, Snapshot, Why

if TYPE_CHECKING:
    from collections.abc import Mapping

WALL = 1_788_000_030.0
CORES = (Place(0, 0), Place(0, 1))
DENIED = Missing(Why.DENIED, "EACCES")
SPACE = 1 << 64

Cells: TypeAlias = "Mapping[str, Cell | tuple[Cell, ...]]"


def snapshot(
    at: float,
    cells: Cells,
    *,
    driver: str | None = "2.30.2.0",
    name: str | None = "Trainium2",
) -> Snapshot:
    """One device with two cores; a core's metric has a cell for both or a pair of them."""
    rows: dict[str, list[tuple[Place, Cell]]] = {}
    for metric, cell in cells.items():
        if metric.startswith("device."):
            assert not (isinstance(cell, tuple) and not isinstance(cell, Missing))
            rows[metric] = [(Place(0), cell)]
        else:
            plain = isinstance(cell, Missing) or not isinstance(cell, tuple)
            pair = (cell, cell) if plain else cell
            rows[metric] = list(zip(CORES, pair, strict=True))  # type: ignore[arg-type]
    batch = make_batch("sysfs", rows, at)._replace(device=0)
    device = Device(0, name, "NDv3", "s", "s", cores=(Core(0, 0), Core(0, 1)))
    return Snapshot(
        at=WALL + at,
        monotonic=at,
        host_root="/",
        instance_type=None,
        driver=Driver(driver, "live"),
        devices=(device,),
        batches=(batch,),
    )


def pe(matmul: int, weights: int, idle: int) -> dict[str, Cell]:
    """Four row groups with the same cycles."""
    names = {"matmul": matmul, "weight_load": weights, "idle": idle}
    return {
        f"core.pe_array.row_group{group}.{name}_cycles": cycles
        for group in range(4)
        for name, cycles in names.items()
    }
