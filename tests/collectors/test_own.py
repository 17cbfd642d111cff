"""What the program says of its own cost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import psutil
import pytest

from neuron_observer.catalogue.own import OWN_METRICS, RELOAD_METRICS
from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.collectors.own import LastReload, OwnCollector, kernel_memory
from neuron_observer.model import NODE, Missing

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.model import Cell


def test_figures_of_this_process_are_plausible() -> None:
    """A Python process has used time, holds megabytes, and has files and a thread open."""
    (batch,) = OwnCollector(ManualClock()).poll(("slow",))
    found = {spec.id: batch.cells[batch.layout.rows[spec.id, NODE]] for spec in OWN_METRICS}
    for metric, least in (
        ("observer.cpu_user", 0.01),
        ("observer.resident_memory", 5_000_000),
        ("observer.open_descriptors", 1),
        ("observer.threads", 1),
    ):
        cell = found[metric]
        assert isinstance(cell, int | float)
        assert cell >= least


def test_an_opened_file_is_counted_and_named_as_a_change() -> None:
    """Two reads differ by what happened between them."""
    own = OwnCollector(ManualClock())
    (before,) = own.poll(("slow",))
    row = before.layout.rows["observer.open_descriptors", NODE]
    with open(__file__, encoding="utf-8"):  # noqa: PTH123 - a descriptor, held open
        (after,) = own.poll(("slow",))
    assert after.cells[row] == int(str(before.cells[row])) + 1
    assert row in after.changed


def test_how_the_configuration_was_read_last_is_told() -> None:
    """By a program that reads it again: whether it was right, and when it last was."""
    clock = ManualClock(wall=100.0)
    last = LastReload(clock)
    own = OwnCollector(clock, reload=last)

    def told() -> list[Cell]:
        (batch,) = own.poll(("normal",))
        return [batch.cells[batch.layout.rows[spec.id, NODE]] for spec in RELOAD_METRICS]

    assert told() == [1, 100.0]
    clock.advance(5.0)
    last.failed()
    assert told() == [0, 100.0]
    last.succeeded()
    assert told() == [1, 105.0]
    assert len(own.poll(("normal", "slow"))) == 2


def test_other_lanes_cost_nothing() -> None:
    """Nothing is asked when the slow lane is not due."""
    assert OwnCollector(ManualClock()).poll(("fast", "normal")) == []


def group(root: Path, members: list[int], **files: str) -> Path:
    """A root with a control group of ours."""
    folder = root / "sys/fs/cgroup/system.slice/ours.service"
    folder.mkdir(parents=True)
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("1:name=systemd:/x\n0::/system.slice/ours.service\n")
    (folder / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in members))
    for name, content in files.items():
        (folder / f"memory.{name}").write_text(content)
    return root


STAT = "anon 4096\nkernel 27262976\nslab 26214400\nslab_unreclaimable 26000000\n"


def test_kernel_memory_of_a_group_of_our_own(tmp_path: Path) -> None:
    """What the group is charged with; before Linux 5.18 its slab."""
    ours = [os.getpid()]
    assert kernel_memory(group(tmp_path / "new", ours, stat=STAT, current="1")) == 27262976
    old = STAT.replace("kernel 27262976\n", "")
    assert kernel_memory(group(tmp_path / "old", ours, stat=old, current="1")) == 26214400


def test_kernel_memory_that_is_not_ours_alone(tmp_path: Path) -> None:
    """Shared with others, of the root group, of version 1, unreadable: missing, never a guess."""
    me = os.getpid()
    shared = kernel_memory(group(tmp_path / "a", [me, 1], stat=STAT, current="1"))
    assert isinstance(shared, Missing)
    assert shared.detail == "1 other processes share our control group"
    for root in (
        group(tmp_path / "root", [me], stat=STAT),
        group(tmp_path / "none", [me], current="1"),
        group(tmp_path / "odd", [me], stat="kernel lots\n", current="1"),
        tmp_path / "nothing",
    ):
        assert isinstance(kernel_memory(root), Missing)


def test_when_we_began_is_told() -> None:
    """Seconds since 1970, a while ago."""
    (batch,) = OwnCollector(SystemClock()).poll(("slow",))
    begun = batch.cells[batch.layout.rows["observer.start_time", NODE]]
    assert isinstance(begun, float)
    assert 0 < SystemClock().wall() - begun < 86400


def test_an_independent_library_says_the_same() -> None:
    """Psutil of this very process: threads and start exactly, memory and time nearly."""
    process = psutil.Process()
    (batch,) = OwnCollector(SystemClock()).poll(("slow",))
    found = {spec.id: batch.cells[batch.layout.rows[spec.id, NODE]] for spec in OWN_METRICS}
    assert found["observer.threads"] == process.num_threads()
    assert found["observer.resident_memory"] == pytest.approx(process.memory_info().rss, rel=0.1)
    assert found["observer.start_time"] == pytest.approx(process.create_time(), abs=1.1)
    times = process.cpu_times()
    spent = times.user + times.children_user
    assert found["observer.cpu_user"] == pytest.approx(spent, abs=0.1)
