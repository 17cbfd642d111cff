from __future__ import annotations

import gzip
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.errors import InputError
from neuron_observer.model import Missing, Verdict
from neuron_observer.readings import columns
from neuron_observer.recording import opened
from neuron_observer.replay import Player
from neuron_observer.sources.listing import ListingFs, read_listing
from tests.conftest import tree_file
from tests.recordings import make_judge, record

if TYPE_CHECKING:
    from neuron_observer.model import Frame


def frames_of(file: str) -> list[Frame]:
    """All frames of a recording."""
    player, frames = Player(opened(file), make_judge), []
    while (frame := player.step()) is not None:
        frames.append(frame)
    player.close()
    return frames


def test_a_listing_is_one_frame() -> None:
    """Of an instant, so that nothing must hold; its node is the listing's."""
    (frame,) = frames_of(str(tree_file("inf2.48xlarge-2.30.2-worn")))
    assert len(frame.snapshot.devices) == 12
    assert frame.health.verdict is Verdict.DEGRADED
    assert "sram-uncorrectable" in {one.id for one in frame.findings}


def test_a_capture_is_played_pass_by_pass(tmp_path: Path) -> None:
    """With the passes' own times; what moves has rates."""
    file = tmp_path / "c.tsv"
    tree = tree_file("trn2.3xlarge-2.30.2-busy").read_text("utf-8")
    counter = "devices/virtual/neuron_device/neuron0/neuron_core0/stats/status/success/total"
    head = '#capture {"schema": "neuron-observer/capture/1", "at": "2026-11-30T10:00:00.000Z"}\n'
    later = "".join(f'#at {at}\n0444\t{counter}\t"{90_000 + at}\\n"\n' for at in range(1, 4))
    file.write_text(head + tree + later, "utf-8")
    frames = frames_of(str(file))
    assert [frame.snapshot.at for frame in frames] == [1796032800.0 + at for at in range(4)]
    rates = columns(frames[-1].snapshot.batches, "core.execution.success_rate")
    assert all(cell == 1.0 for _, place, cell in rates if place.core == 0)
    (success,) = [
        cell
        for _, place, cell in columns(frames[-1].snapshot.batches, "core.execution.success")
        if place.core == 0
    ]
    assert success == 90_003


def test_nothing_of_the_machine_that_plays_is_in_a_frame(tmp_path: Path) -> None:
    """No figure of our own process, not the machine's disks, the recorded root and clock."""
    file = tmp_path / "r.nobs.gz"
    was = record(file, "healthy", 2.0)[-1]
    now = frames_of(str(file))[-1]
    assert now.snapshot.host_root == was.snapshot.host_root == "simulation"
    assert (now.snapshot.at, now.snapshot.monotonic) == (was.snapshot.at, was.snapshot.monotonic)
    assert "own" not in {batch.collector for batch in now.snapshot.batches}
    spaces = columns(now.snapshot.batches, "host.filesystem.root.size")
    assert all(isinstance(cell, Missing) for _, _, cell in spaces)


def test_periods_are_the_recordings(tmp_path: Path) -> None:
    """Beside a job lanes are longer: what is read each 20 s is not stale after 30."""
    file = tmp_path / "r.nobs.gz"
    record(file, "healthy", 1.5)
    text = '#periods {"fast": 0.5, "normal": 2.0, "slow": 20.0, "firmware": 10.0, "jobs": 5.0}\n'
    plain = tmp_path / "r.nobs"
    plain.write_bytes(gzip.decompress(file.read_bytes()) + text.encode())
    player = Player(opened(str(plain)), make_judge)
    while player.step() is not None:
        pass
    assert player.loop.schedule.periods["slow"] == 20.0


@lru_cache
def short() -> tuple[str, ...]:
    """The rows of half a second."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "r.nobs.gz")
        record(file, "healthy", 0.5)
        return tuple(gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True))


WRONG = ["null", "-1", "1e300", '"x"', "[]", "{}", "NaN", "99999999999", '""', "["]


@settings(max_examples=10, deadline=None)
@given(st.integers(0), st.integers(0), st.sampled_from(WRONG))
def test_whatever_stands_in_a_row_only_ends_the_recording(at: int, which: int, new: str) -> None:
    """A file that somebody sent may hold anything."""
    rows = list(short())
    known = [n for n, row in enumerate(rows) if row.startswith("#")]
    number = known[at % len(known)]
    values = list(re.finditer(r'-?\d+(?:\.\d+)?|"(?:[^"\\]|\\.)*"', rows[number]))
    if values:
        value = values[which % len(values)]
        rows[number] = rows[number][: value.start()] + new + rows[number][value.end() :]
    with TemporaryDirectory() as folder, suppress(InputError):
        file = Path(folder, "r.nobs")
        file.write_text("".join(rows))
        assert len(frames_of(str(file))) <= 2


def test_a_recording_is_a_host_of_other_verbs_too(tmp_path: Path) -> None:
    """Its devices, processes and folders stand in the listing's host."""
    file = tmp_path / "r.nobs.gz"
    record(file, "healthy", 3.0)
    host = ListingFs(read_listing(str(file)), "r")
    while host.advance():
        pass
    assert host.read("sys/module/neuron/version").startswith(b"2.30")
    processes = [entry.name for entry in host.entries("proc") if entry.name.isdecimal()]
    assert any(
        "neuron" in host.readlink(f"proc/{pid}/{fd}") for pid, fd in descriptors(host, processes)
    )


def descriptors(host: ListingFs, processes: list[str]) -> list[tuple[str, str]]:
    """Descriptors that are held, by process."""
    found = []
    for pid in processes:
        try:
            found += [(pid, f"fd/{entry.name}") for entry in host.entries(f"proc/{pid}/fd")]
        except OSError:
            continue
    return found
