"""All kinds of fault, by name. They change state, or wrap reads; none knows of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults import bus, execution, fabric, firmware, lines, memory, module

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import FaultKind

FAULTS: dict[str, FaultKind] = {
    kind.name: kind
    for part in (memory, execution, firmware, bus, module, fabric, lines)
    for kind in part.FAULTS
}
