"""Machine, boot and load of the driver: what they say of what was kept."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.model import Event, Place
from neuron_observer.rules.memory import Memory, Word
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.store import open_store
from neuron_observer.store.origin import Origin, load_of, origin_of
from neuron_observer.store.rebasing import rebased
from tests.hosts import host_of
from tests.store.nodes import BOOT, INSTANCE, host

if TYPE_CHECKING:
    from pathlib import Path

words = st.none() | st.sampled_from(["one", "other"])
origins = st.builds(Origin, words, words, words)
HANGS = ("chip", "core.execution.timeout", Place(None, 0))
ECC = ("chip", "device.hbm.ecc_corrected", Place())
RESETS = ("chip", "core.reset_requests", Place(None, 0))
PORT = ("", "efa.port.rx_drops", Place(label="p/1"))
LOST = ("", "host.kernel_log.lost", Place())
ALL = {HANGS: 5, ECC: 6, RESETS: 7, PORT: 8, LOST: 9}
HERE = Origin("i", "boot", "load")


def loaded(root: Path) -> DirectoryFs:
    """A host whose driver is loaded."""
    (root / "sys/module/neuron").mkdir(parents=True)
    (root / "sys/module/neuron/version").write_text("2.30.2.0\n", "utf-8")
    (root / "proc/sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/kernel/random/boot_id").write_text(f"{BOOT}\n", "utf-8")
    return DirectoryFs(str(root))


def test_what_a_host_tells() -> None:
    """Instance and boot; a listing numbers no directories, so its load is unknown."""
    assert origin_of(host()) == Origin(INSTANCE, BOOT, None)
    assert origin_of(host_of({})) == Origin(None, None, None)
    tag = {"sys/devices/virtual/dmi/id/board_asset_tag": b"Amazon EC2\n"}
    assert origin_of(host_of(tag)).instance is None


def test_a_driver_that_is_loaded_again_is_another_load(tmp_path: Path) -> None:
    """The same version in a directory that was made anew, with the old one's number unused."""
    fs = loaded(tmp_path)
    before = load_of(fs)
    assert before is not None
    assert load_of(fs) == before
    (tmp_path / "sys/module/neuron").rename(tmp_path / "gone")
    assert load_of(fs) is None
    loaded(tmp_path)
    assert load_of(fs) not in (None, before)


def test_a_reload_that_nobody_watched_is_told(tmp_path: Path) -> None:
    """As an event; nothing is lost after it (E43)."""
    fs = loaded(tmp_path / "host")
    clock = ManualClock()
    store = open_store(tmp_path / "state", fs, clock)
    store.save(Memory(counters={HANGS: 5}))
    store.close()
    shutil.move(tmp_path / "host/sys/module/neuron", tmp_path / "gone")
    loaded(tmp_path / "host")
    store = open_store(tmp_path / "state", fs, clock)
    assert [one.kind for one in store._opened.told] == ["driver_reloaded"]
    assert store.load().counters == {HANGS: 0}
    store.close()


@given(origins, origins)
def test_unknown_is_no_difference(before: Origin, now: Origin) -> None:
    """Nothing is certain where one of both is not known."""
    if None in (before.instance, now.instance):
        assert not now.is_other_machine(before)
    if None in (before.boot, now.boot):
        assert not now.is_other_boot(before)
        assert not now.is_same_boot(before)
    assert not (now.is_same_boot(before) and now.is_other_boot(before))
    assert not now.is_other_load(now)


def test_in_the_same_load_all_counters_stand() -> None:
    """But that of our own, which began anew."""
    assert rebased(Memory(counters=ALL), HERE, HERE).counters == {**ALL, LOST: 0}


def test_after_a_reload_the_drivers_own_begin_at_0() -> None:
    """Counts of registers and of the network go on; resets at load are no news."""
    found = rebased(Memory(counters=ALL), HERE, HERE._replace(load="again")).counters
    assert found == {HANGS: 0, ECC: 6, PORT: 8, LOST: 0}


def test_after_a_reboot_all_begin_at_0() -> None:
    """But what nobody can clear."""
    found = rebased(Memory(counters=ALL), HERE, Origin("i", "again", "again")).counters
    assert found == {HANGS: 0, ECC: 6, PORT: 0, LOST: 0}


def test_a_metric_that_is_no_more_is_left_out() -> None:
    """A later version may know others."""
    old = Memory(counters={("chip", "core.no_such", Place(None, 0)): 5})
    assert rebased(old, HERE, HERE).counters == {}


@given(st.dictionaries(st.sampled_from(list(ALL)), st.integers(0, 2**60)), origins, origins)
def test_a_base_is_never_above_what_was_read(
    counters: dict[tuple[str, str, Place], int], before: Origin, now: Origin
) -> None:
    """And none appears."""
    found = rebased(Memory(counters=counters), before, now).counters
    assert all(0 <= value <= counters[spot] for spot, value in found.items())


def test_events_of_this_boot_count_unless_they_were_settled() -> None:
    """Of a device that was declared healthy only those after it."""
    lines = tuple(Event("line", Place(0), at, "x") for at in (1.0, 3.0))
    other = Event("line", Place(1), 1.0, "x")
    memory = Memory(
        keys={0: "a", 1: "b"}, settled={"a": Word("root", 2.0, "why")}, events=(*lines, other)
    )
    assert rebased(memory, HERE, HERE).events == (lines[1], other)
    assert rebased(memory, HERE, HERE._replace(boot="again")).events == ()
    assert rebased(memory, HERE._replace(boot=None), HERE._replace(boot=None)).events == ()
