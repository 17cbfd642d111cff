"""A node that is watched, killed and watched again; what happens to it is told by its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.checks.judging import judge_by
from neuron_observer.clock import ManualClock
from neuron_observer.model import Core, Frame
from neuron_observer.rules.findings import BEFORE_WATCHED
from neuron_observer.store import Retention, open_store
from tests.hosts import host_of
from tests.rules.scenes import SERIAL, device, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from neuron_observer.checks.judging import Judge
    from neuron_observer.model import Cell, Device, Event, Finding, Health, Place
    from neuron_observer.rules.rule import Rule
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.store import Keeper, Store

INSTANCE = "i-0123456789abcdef0"
BOOT = "11111111-2222-3333-4444-555555555555"


def host(boot: str = BOOT, instance: str = INSTANCE) -> HostFs:
    """A host that tells its boot and its instance."""
    return host_of(
        {
            "proc/sys/kernel/random/boot_id": f"{boot}\n".encode(),
            "sys/devices/virtual/dmi/id/board_asset_tag": f"{instance}\n".encode(),
        }
    )


def chip(serial: str | None = SERIAL) -> Device:
    """A device with all its cores."""
    one = device(serial=serial)
    return one._replace(cores=tuple(Core(0, core, "NCv3") for core in range(8)))


class Node:
    """A node, its clock, its state directory, and the observer that runs on it."""

    def __init__(self, state: Path | None, rules: Sequence[Rule]) -> None:
        self.state, self.rules = state, tuple(rules)
        self.clock = ManualClock()
        self.host = host()
        self.retention = Retention()
        self.devices: tuple[Device, ...] = (chip(),)
        self.told: list[Event] = []
        self.start()

    def start(self) -> None:
        """Begin to watch."""
        self.store: Store = open_store(self.state, self.host, self.clock, self.retention)
        self.judge: Judge = judge_by(self.rules, memory=self.store.load())
        self.keeper: Keeper = self.store.keep(self.judge, tell=self.told.append)
        self.findings: tuple[Finding, ...] = ()
        self.health: Health

    def look(
        self,
        seconds: float = 10.0,
        cells: Mapping[str, Cell | dict[Place, Cell]] | None = None,
        *events: Event,
    ) -> tuple[Finding, ...]:
        """Read once more after some seconds; what is found."""
        self.clock.advance(seconds)
        shot = snapshot(self.clock.monotonic(), cells or {}, devices=self.devices)
        shot = shot._replace(at=self.clock.wall(), events=(*self.told, *events))
        self.told.clear()
        found, self.health = self.judge(shot)
        self.keeper.note(Frame(shot, found, self.health))
        self.findings = tuple(one for one in found if one.id != BEFORE_WATCHED)
        return self.findings

    def flush(self) -> None:
        """Have what waits written, as the thread of the store does."""
        self.keeper._writer.flush()

    def kill(self) -> None:
        """End without a last word, as by SIGKILL: what was not written is gone."""
        writer = self.keeper._writer
        if writer._database is not None:
            writer._database.connection.close()
        if writer._directory is not None:
            writer._directory.release()

    def again(self, after: float = 5.0) -> None:
        """Have all written, kill, and start again after some seconds."""
        self.flush()
        self.kill()
        self.clock.advance(after)
        self.start()

    def one(self, finding_id: str = "fault") -> Finding:
        """The only finding of a rule."""
        (found,) = (one for one in self.findings if one.id == finding_id)
        return found

    def events(self) -> list[str]:
        """Kinds of the events that are kept, in order."""
        assert self.store.past is not None
        return [one.event.kind for one in self.store.past.events()]
