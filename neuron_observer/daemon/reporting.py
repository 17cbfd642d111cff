"""What of the frames stands in the log: what began, what ended, what went wrong; nothing a tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Severity, State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.log import Log
    from neuron_observer.model import Entity, Event, Finding, Frame, Run

# Events of our own; lines of the kernel log stand in the kernel's, jobs come and go all day, and
# who changed the pace told it.
_EACH = frozenset(("driver_reloaded", "devices_changed", "files_moved"))  # gone, and back
_TOLD = _EACH | {"counter_reset", "reads_skipped", "clock_stepped", "history_shortened"}
_ACTIVE = frozenset((State.FIRING, State.ACKNOWLEDGED, State.RECOVERING))


class FrameLog:
    """Listens to a loop."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._failing: set[str] = set()  # collectors
        self._active: dict[tuple[str, Entity], Finding] = {}
        self._verdict = ""

    def note(self, frame: Frame) -> None:
        """Take a frame; call it with every one."""
        for run in frame.snapshot.runs:
            if not run.ok or run.collector in self._failing:
                self._run(run)
        for event in frame.snapshot.events:
            if event.kind in _TOLD:
                self._event(event)
        self._findings(frame.findings)
        self._health(frame)

    def _run(self, run: Run) -> None:
        name = run.collector
        if run.ok:
            self._failing.discard(name)
            again = self._log.over("collector_failed", name)
            text = f"collector {name} works again"
            self._log.info("collector_works", text, collector=name, repeated=again)
        else:
            self._failing.add(name)
            text = f"collector {name} failed: {run.error}"
            self._log.error("collector_failed", text, about=name, collector=name)

    def _event(self, event: Event) -> None:
        about = event.message if event.kind in _EACH else f"{event.place}"
        self._log.warning(event.kind, event.message, about=about)

    def _findings(self, findings: Iterable[Finding]) -> None:
        now = {
            (one.id, one.entity._replace(serial=None)): one
            for one in findings
            if one.state in _ACTIVE and not one.shadow
        }
        if now.keys() == self._active.keys():
            return
        for key in now.keys() - self._active.keys():
            self._finding(now[key])
        for key in self._active.keys() - now.keys():
            gone = self._active[key]
            text = f"finding {gone.id} is over: {gone.message}"
            self._log.info("finding_over", text, finding=gone.id, **_where(gone.entity))
        self._active = now

    def _finding(self, one: Finding) -> None:
        severity, action = one.severity.value, one.action.value
        told = {"finding": one.id, "severity": severity, "action": action, **_where(one.entity)}
        if one.severity is Severity.INFO:
            self._log.info("finding", one.message, **told)
        else:
            self._log.warning("finding", one.message, about=f"{one.id} {one.entity}", **told)

    def _health(self, frame: Frame) -> None:
        health = frame.health
        if health.verdict.value != self._verdict:
            self._verdict = health.verdict.value
            text = f"verdict {self._verdict}: {health.reason}"
            self._log.info("verdict", text, verdict=self._verdict)


def _where(of: Entity) -> dict[str, str | int | None]:
    """What tells an entity; what it does not have is left out."""
    return {"entity": of.kind, "device": of.device, "core": of.core, "port": of.port, "job": of.job}
