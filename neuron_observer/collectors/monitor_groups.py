"""Groups of neuron-monitor that have longer periods than the report they are missing from.

Each group may be given a period of its own, and a report holds the groups that were due. A group
that is not in this report keeps its last values until two of *its* periods have passed; one that
is there with an error, or with nulls, keeps nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from neuron_observer.model import Cell
    from neuron_observer.parsers.monitor_report import MonitorReport, Runtime

PERIODS = 2.0
LONGEST_WAIT = 600.0  # seconds; whatever a report says of its period


class _Held(NamedTuple):
    """The values of one group, and until when they count."""

    until: float  # monotonic
    values: tuple[Any, ...]


# what makes up a group: the fields of a report, or of a runtime, that come with it
_OF_NODE = (("ecc_period", "ecc"), ("cpu",), ("memory",))
_OF_RUNTIME = (
    ("cores_period", "cores"),
    ("executions",),
    ("memory",),
    ("cpu_period", "cpu_user", "cpu_system"),
)


class GroupMemory:
    """The last values of each group, of the node and of the runtimes that are still there."""

    def __init__(self) -> None:
        self._held: dict[tuple[int | None, tuple[str, ...]], _Held] = {}

    def complete(self, report: MonitorReport, now: float) -> MonitorReport:
        """The report with the groups that were not due in it."""
        before, self._held = self._held, {}
        node = self._values(None, report, _OF_NODE, before, now)
        if isinstance(report.runtimes, Missing):
            return replace(report, **node)
        runtimes = tuple(
            replace(runtime, **self._values(runtime.pid, runtime, _OF_RUNTIME, before, now))
            for runtime in report.runtimes
        )
        return replace(report, runtimes=runtimes, **node)

    def _values(
        self,
        pid: int | None,
        of: MonitorReport | Runtime,
        groups: tuple[tuple[str, ...], ...],
        before: dict[tuple[int | None, tuple[str, ...]], _Held],
        now: float,
    ) -> dict[str, Any]:
        """Fields to put in; what the report holds itself is remembered on the way."""
        found: dict[str, Any] = {}
        for fields in groups:
            values = tuple(getattr(of, name) for name in fields)
            period: Cell = values[0].period if len(fields) == 1 else values[0]
            held = before.get((pid, fields))
            if isinstance(period, int | float):
                wait = min(period, LONGEST_WAIT) * PERIODS
                self._held[pid, fields] = _Held(now + wait, values)
            elif _not_due(period) and held and now <= held.until:
                self._held[pid, fields] = held
                found.update(zip(fields, held.values, strict=True))
        return found


def _not_due(period: Cell) -> bool:
    return isinstance(period, Missing) and period.why is Why.NOT_YET
