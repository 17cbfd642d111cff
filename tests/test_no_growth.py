"""A daemon polls for months: neither descriptors, nor threads, nor memory may grow."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.history import History
from neuron_observer.loop import Loop
from neuron_observer.model import Missing, Place
from neuron_observer.observer import HostReader, Options
from neuron_observer.readings import reading
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import ManualClock
    from neuron_observer.sources.listing import ListingFs

CYCLES = 10_000
WARM_UP = 1_000  # allocator and caches reach their size
ALL = ("fast", "normal", "slow", "firmware", "expensive")
DEVICE = "sys/devices/virtual/neuron_device/neuron0"
COUNTER = f"{DEVICE}/neuron_core0/stats/other_info/inference_count/total"


def _small_host(listing: ListingFs, root: Path) -> None:
    """The listing's one device with its first core only."""
    for path, node in listing.listing.passes[0].nodes.items():
        if "/neuron_core" in path and "/neuron_core0/" not in path:
            continue
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if node.kind == "link":
            file.symlink_to(node.target)
        elif node.kind == "file":
            file.write_bytes(node.content)


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _resident() -> int:
    """Bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_cycles(
    tree: Callable[[str], ListingFs], clock: ManualClock, tmp_path: Path
) -> None:
    """Descriptors and threads stay the same and memory within 1 MB, while a counter moves."""
    _small_host(tree("trn2.3xlarge-2.30.2-busy"), tmp_path)
    reader = HostReader(DirectoryFs(str(tmp_path)), clock, Options(keep=True))
    counter = (tmp_path / COUNTER).open("r+b", buffering=0)
    before = (0, 0, 0)
    snapshot = reader.poll(ALL)
    with counter:
        for cycle in range(WARM_UP + CYCLES):
            if cycle == WARM_UP:
                before = (_descriptors(), threading.active_count(), _resident())
            counter.seek(0)
            counter.write(b"%020d\n" % cycle)
            clock.advance(1.0)
            snapshot = reader.poll(ALL if cycle % 10 == 0 else ("fast", "normal"))
        after = (_descriptors(), threading.active_count(), _resident())
    reader.close()
    rate = reading(snapshot.batches, "core.inference_rate", Place(0, 0))
    assert not isinstance(rate, Missing)
    assert rate.value == 1.0
    assert after[:2] == before[:2]
    assert after[2] - before[2] < 1_000_000


def test_ten_thousand_ticks_of_the_loop(
    tree: Callable[[str], ListingFs], clock: ManualClock, tmp_path: Path
) -> None:
    """With a history that was full long before: nothing grows, and the last minutes are held."""
    _small_host(tree("trn2.3xlarge-2.30.2-busy"), tmp_path)
    host = DirectoryFs(str(tmp_path))
    history = History(window=60.0)
    options = Options(keep=True, wait_for_firmware=False)
    loop = Loop(HostReader(host, clock, options), history=history)
    before = (0, 0, 0)
    with (tmp_path / COUNTER).open("r+b", buffering=0) as counter:
        for tick in range(WARM_UP + CYCLES):
            if tick == WARM_UP:
                before = (_descriptors(), threading.active_count(), _resident())
            if tick % 4 == 0:
                counter.seek(0)
                counter.write(b"%020d\n" % tick)
            assert loop.tick() is not None
            clock.advance(0.25)
        after = (_descriptors(), threading.active_count(), _resident())
    held = loop.feed.history("core.inferences", Place(0, 0), 60.0)
    loop.close()
    assert [value.value for value in held] == list(
        range(WARM_UP + CYCLES - 4 * 60, WARM_UP + CYCLES, 4)
    )
    assert history.seconds == 60.0
    assert after[:2] == before[:2]
    assert after[2] - before[2] < 1_000_000


def test_files_that_come_and_go(
    tree: Callable[[str], ListingFs], clock: ManualClock, tmp_path: Path
) -> None:
    """What is open is what is told, while a file goes and comes back; closing holds none."""
    _small_host(tree("trn2.3xlarge-2.30.2-busy"), tmp_path)
    file = tmp_path / COUNTER
    content = file.read_bytes()
    lanes = ("fast", "normal")
    reader = HostReader(DirectoryFs(str(tmp_path)), clock, Options(keep=True, machine=False))
    none_held = _descriptors()
    reader.poll(lanes)
    all_held = _descriptors()
    assert all_held == none_held + reader.kept > none_held
    for _ in range(20):
        reader.close()
        assert _descriptors() == none_held
        file.unlink()
        for _ in range(3):
            reader.poll(lanes)
        assert _descriptors() == none_held + reader.kept == all_held - 1
        file.write_bytes(content)
        reader.close()
        reader = HostReader(reader.host, clock, reader.options)
        reader.poll(lanes)
        assert _descriptors() == all_held
    reader.close()
