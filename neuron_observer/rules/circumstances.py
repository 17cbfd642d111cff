"""Predicates that look at what no single reading tells: events, devices, collectors, the clock."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from neuron_observer.model import NODE, Missing, Place, Why
from neuron_observer.rules.outcome import FALSE, Outcome, Sight, false, unknown
from neuron_observer.rules.rule import EVENTS

if TYPE_CHECKING:
    from neuron_observer.model import Scalar
    from neuron_observer.rules import rule as r
    from neuron_observer.rules.occurrences import Occurrence
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen, Spot, View

LOG = "host.kernel_log.read"
BESIDE = 1.0  # seconds between two lines of one event
_NO_NUMBER = Missing(Why.UNSUPPORTED, "how many devices there should be is not known")
_RENUMBERED = Missing(Why.UNSUPPORTED, "inf1 numbers its devices anew: which is lost is not known")
_NO_LOG = Missing(Why.UNSUPPORTED, "the kernel log is not read")


class Matches:
    """`matches`: events of a name, at a place, within some seconds."""

    __slots__ = ("_hears", "_leaf", "_of_ours", "_place", "_scope")

    def __init__(self, leaf: r.Matches, scope: str, place: Place) -> None:
        self._leaf = leaf
        self._scope = scope
        self._place = place
        self._of_ours = leaf.finding in EVENTS  # told by our reader, not by a log
        self._hears = False  # the log was read when it was looked at last

    def bind(self, _view: View) -> list[Spot]:
        """What it reads."""
        return [] if self._of_ours else [(LOG, NODE)]

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        """Whether a new reading changes nothing: of the log only that it is read counts."""
        return spot[0] != LOG or (self._hears and not isinstance(seen.cell, Missing))

    def evaluate(self, scene: Scene) -> Outcome:
        """What it says now."""
        leaf = self._leaf
        found = self._found(scene)
        cell = scene.view.see(LOG, NODE).cell
        self._hears = not isinstance(cell, Missing)
        if len(found) < leaf.at_least:
            if isinstance(cell, Missing) and not self._of_ours:
                reason = cell if cell.why is Why.DENIED else _NO_LOG
                return unknown(reason, open=True)
            again = found[0].at + leaf.within if found else None
            return Outcome(truth=False, again=again, deaf=not self._of_ours)
        again = found[-leaf.at_least].at + leaf.within
        last = found[-1]
        names = ("printed_by", "code", "verdict")
        extra: dict[str, Scalar] = {
            name: last.event.fields[name] for name in names if name in last.event.fields
        }
        extra |= {"count": len(found), "line": last.event.message, "first_at": found[0].at}
        sight = Sight(
            "statistic" if self._of_ours else "kernel_line",
            "hardware" if self._of_ours else "hearsay",
            "",
            "the reader" if self._of_ours else "kernel log",
            self._place,
            last.event.message,
            None,
            last.at,
            extra,
        )
        read_at = scene.now if self._of_ours else last.at
        return Outcome(
            truth=True, sights=(sight,), hard=self._of_ours, read_at=read_at, again=again
        )

    def _found(self, scene: Scene) -> list[Occurrence]:
        """The events that count: not ended and not excused by another one."""
        leaf, since = self._leaf, scene.now - self._leaf.within
        found = self._of(scene, leaf.finding, since)
        if found and leaf.ended_by:
            ended = max((one.at for one in self._of(scene, leaf.ended_by, since)), default=since)
            found = [one for one in found if one.at > ended]
        if found and leaf.excused_by:
            excuses = [one.at for one in self._of(scene, leaf.excused_by, since - BESIDE)]
            found = [one for one in found if all(abs(one.at - at) > BESIDE for at in excuses)]
        return found

    def _of(self, scene: Scene, name: str, since: float) -> list[Occurrence]:
        return scene.occurrences.of(name, self._place, self._scope, since)


class MissingDevice:
    """Whether an index that should be there is among the devices."""

    __slots__ = ("_index",)

    def __init__(self, place: Place) -> None:
        self._index = place.device

    def bind(self, _view: View) -> list[Spot]:
        """What it reads."""
        return [("node.devices", NODE)]

    def unmoved(self, spot: Spot, _seen: Seen) -> bool:
        """Whether a new reading changes nothing."""
        return spot[0] != "node.devices"

    def evaluate(self, scene: Scene) -> Outcome:
        """What it says now."""
        snapshot = scene.view.snapshot
        if self._index is None or snapshot is None:
            return FALSE
        expected = scene.view.see("node.devices_expected", NODE)
        if self._index in scene.view.devices:
            known = isinstance(expected.cell, int)
            return FALSE if known else scene.hole("node.devices_expected", NODE, _NO_NUMBER)
        if (snapshot.instance_type or "").startswith("inf1"):
            return scene.hole("node.devices", NODE, _RENUMBERED)
        if snapshot.driver.state == "coming":
            reason = Missing(Why.NOT_YET, "the driver is loading")
            return scene.hole("node.devices", NODE, reason)
        seen = scene.view.see("node.devices", NODE)
        sight = Sight(
            "pci",
            "hardware",
            "node.devices",
            f"devices/virtual/neuron_device/neuron{self._index}",
            Place(self._index),
            None if isinstance(seen.cell, Missing) else seen.cell,
            None if isinstance(expected.cell, Missing) else expected.cell,
            seen.read_at,
        )
        return Outcome(truth=True, sights=(sight,), hard=True, read_at=seen.read_at)


class CollectorFails:
    """Whether a collector of ours has failed at each run since some time."""

    def __init__(self, leaf: r.CollectorFails) -> None:
        self._leaf = leaf
        self._since: dict[str, float] = {}

    def bind(self, _view: View) -> list[Spot]:
        """What it reads."""
        return []

    def unmoved(self, _spot: Spot, _seen: Seen) -> bool:
        """No reading changes it."""
        return True

    def evaluate(self, scene: Scene) -> Outcome:
        """What it says now."""
        sights = []
        runs = scene.view.snapshot.runs if scene.view.snapshot else ()
        for run in runs:
            if run.ok:
                self._since.pop(run.collector, None)
                continue
            lasted = scene.now - self._since.setdefault(run.collector, scene.now)
            if lasted >= self._leaf.lasting:
                extra: dict[str, Scalar] = {"seconds": lasted, "line": run.error}
                sights.append(
                    Sight(
                        "statistic",
                        "hardware",
                        "",
                        run.collector,
                        value=run.error,
                        read_at=scene.now,
                        extra=extra,
                    )
                )
        if not sights:
            return false(scene.now)  # each tick tells anew
        return Outcome(
            truth=True, sights=tuple(sights), hard=True, read_at=scene.now, again=scene.now
        )


class ClockJumped:
    """Whether the wall clock and the time that went by drifted apart at once."""

    def __init__(self, leaf: r.ClockJumped) -> None:
        self._leaf = leaf
        self._offset: float | None = None
        self._jumps: deque[tuple[float, float]] = deque(maxlen=64)

    def bind(self, _view: View) -> list[Spot]:
        """What it reads."""
        return []

    def unmoved(self, _spot: Spot, _seen: Seen) -> bool:
        """No reading changes it."""
        return True

    def evaluate(self, scene: Scene) -> Outcome:
        """What it says now."""
        snapshot = scene.view.snapshot
        if snapshot is None:
            return FALSE
        offset = snapshot.at - snapshot.monotonic
        before, self._offset = self._offset, offset
        if before is not None and abs(offset - before) >= self._leaf.by:
            self._jumps.append((scene.now, offset - before))
        while self._jumps and self._jumps[0][0] <= scene.now - self._leaf.within:
            self._jumps.popleft()
        if not self._jumps:
            return false(scene.now)  # each tick tells anew
        at, jump = self._jumps[-1]
        sight = Sight(
            "statistic",
            "hardware",
            "",
            "wall clock",
            value=round(jump, 3),
            read_at=at,
            extra={"seconds": jump},
        )
        return Outcome(truth=True, sights=(sight,), hard=True, read_at=scene.now, again=scene.now)
