"""Simulated hosts as captures, and bundles of them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

from neuron_observer.bundling import Asked, Bundled, bundle
from neuron_observer.clock import ManualClock
from neuron_observer.config import Sources
from neuron_observer.recording.capture import Capture, write_rows
from neuron_observer.rules.memory import Memory
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.store.database import Database
from neuron_observer.store.origin import Origin
from neuron_observer.store.transaction import Change

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from neuron_observer.model import Event
    from neuron_observer.sim.fs import SimulatedFs
    from neuron_observer.store.acts import Act

WALL = 1_788_000_000.0


def captured(
    scenario: str, folder: Path, begin: float | None = None, instance: str = "trn2.3xlarge"
) -> str:
    """A file that plays a simulated host."""
    clock = ManualClock(WALL)
    host = simulate(load(scenario, instance=instance), clock, begin=begin)
    return capture_of(host, clock, folder)


def capture_of(host: SimulatedFs, clock: ManualClock, folder: Path) -> str:
    """A file that plays a host: two passes, a second apart, with its kernel log."""
    workers = DirectWorkers(host, clock)
    capture = Capture(host, clock, workers, jobs=True, scrub=lambda line: line)
    log = host.kernel_log()

    def rows() -> Iterator[str]:
        yield capture.header()
        for _ in range(2):
            yield from capture.one_pass()
            yield from capture.text_rows("kernel", (one.decode() for one in log.poll(10_000)))
            clock.advance(1.0)

    file = str(folder / "host.tsv")
    write_rows(file, rows())
    return file


def keep(
    state: Path, memory: Memory, instance: str, *events: Event, acts: tuple[Act, ...] = ()
) -> None:
    """A state directory as a daemon leaves it."""
    state.mkdir(parents=True, exist_ok=True)
    change = Change(
        memory, Origin(instance), WALL, None, synchronous=True, events=events, acts=acts
    )
    with closing(Database(state / "state.db")) as database:
        database.write(Memory(), change)


def asked(host_root: str, **more: Any) -> Asked:
    """What a call without options asks for, of a capture or a directory."""
    return Asked(host_root, None, Sources(), ManualClock(WALL), **more)


def made(host_root: str, **more: Any) -> Bundled:
    """A bundle of it."""
    return bundle(asked(host_root, **more))


def members(data: bytes) -> dict[str, bytes]:
    """The members of a bundle, by their names below its folder."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = {}
        for one in tar.getmembers():
            file = tar.extractfile(one)
            assert file is not None
            found[one.name.partition("/")[2]] = file.read()
        return found


def document(data: bytes, name: str) -> dict[str, Any]:
    """A member that is JSON."""
    told: dict[str, Any] = json.loads(members(data)[name])
    return told


def everything(data: bytes) -> bytes:
    """All bytes of a bundle, unpacked as deep as they are packed, and with escapes undone."""
    found = [gzip.decompress(data)]
    for name, content in members(data).items():
        whole = gzip.decompress(content) if name.endswith(".gz") else content
        found += [
            whole,
            whole.decode("utf-8", "replace").encode("utf-8").replace(b"\\u0000", b"\n"),
        ]
    return b"\n".join(found)
