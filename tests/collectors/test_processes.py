"""Who has a device open: found by descriptors, looked at little at a time, and never guessed."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.processes import (
    LONGEST,
    MOST_LINKS,
    MOST_PROCESSES,
    ProcessScanner,
)
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

PERIOD = 2.0


def fd(pid: int, number: int, target: str) -> tuple[str, Node]:
    """One descriptor of one process."""
    return f"proc/{pid}/fd/{number}", Node("link", 0o777, target=target)


class Proc:
    """A /proc whose processes come, go and open files."""

    def __init__(self, nodes: Iterable[tuple[str, Node]] = ()) -> None:
        self.nodes = dict(nodes)
        self.clock = ManualClock()
        self.scanner = ProcessScanner(self.host(), self.clock)

    def host(self) -> ListingFs:
        """The host of now."""
        return ListingFs(Listing({}, [Pass(nodes={"proc/stat": Node("file"), **self.nodes})]), "x")

    def scan(self, seconds: float = PERIOD) -> dict[int, tuple[int, ...]]:
        """Wait and scan: pid → devices."""
        self.clock.advance(seconds)
        self.scanner._host = self.host()
        return {pid: held.devices for pid, held in self.scanner.scan().items()}

    def open(self, pid: int, number: int, target: str) -> None:
        """A process opens a file."""
        path, node = fd(pid, number, target)
        self.nodes[path] = node

    def end(self, pid: int) -> None:
        """A process ends."""
        self.nodes = {p: n for p, n in self.nodes.items() if not p.startswith(f"proc/{pid}/")}


def idle(*pids: int) -> list[tuple[str, Node]]:
    """Processes with nothing but /dev/null open."""
    return [fd(pid, 0, "/dev/null") for pid in pids]


def test_the_first_scan_looks_at_all() -> None:
    """A command that runs once sees every holder, however many processes there are."""
    proc = Proc([*idle(*range(10, 10_010)), fd(9_999, 7, "/dev/neuron3")])
    assert proc.scan() == {9_999: (3,)}
    assert (proc.scanner.processes, proc.scanner.pending) == (10_000, 0)


def test_a_new_process_is_looked_at_in_the_next_scan() -> None:
    """Two seconds at most for one that opens its device at once."""
    proc = Proc(idle(10))
    proc.scan()
    proc.open(4000, 5, "/dev/neuron0")
    assert proc.scan() == {4000: (0,)}


@pytest.mark.parametrize("after", [4.0, 30.0, 100.0, 300.0])
def test_a_device_that_is_opened_late_is_found_in_time(after: float) -> None:
    """Within half of the process's age and a period, and never later than two minutes."""
    proc = Proc(idle(10))
    proc.scan()
    proc.nodes.update(idle(4000))
    waited = 0.0
    while waited < after:
        assert proc.scan() == {}
        waited += PERIOD
    proc.open(4000, 5, "/dev/neuron0")
    delay = 0.0
    while proc.scan() == {}:
        delay += PERIOD
    assert delay <= min(after / 2, LONGEST) + 2 * PERIOD


def test_an_old_process_of_the_first_scan_is_found_in_two_minutes() -> None:
    """Turns of old processes are spread, and each comes within the longest pause."""
    pids = range(100, 2100)
    proc = Proc(idle(*pids))
    proc.scan()
    for pid in (100, 777, 2099):
        proc.open(pid, 9, "/dev/neuron1")
    for _ in range(int(LONGEST / PERIOD)):
        proc.scan()
    assert set(proc.scan()) == {100, 777, 2099}


def test_a_scan_looks_at_a_bounded_number() -> None:
    """A thousand processes that begin at once are looked at in turn, and counted meanwhile."""
    proc = Proc(idle(10))
    proc.scan()
    proc.nodes.update(idle(*range(5000, 6000)))
    proc.scan()
    assert 1000 - MOST_PROCESSES <= proc.scanner.pending < 1000
    for _ in range(1000 // MOST_PROCESSES + 1):
        proc.scan()
    assert proc.scanner.pending == 0


def test_a_scan_follows_a_bounded_number_of_links() -> None:
    """Proxies with thousands of sockets do not make a scan long."""
    many = [fd(pid, n, f"socket:[{n}]") for pid in (10, 11, 12, 13) for n in range(MOST_LINKS)]
    proc = Proc(idle(1))
    proc.scan()
    proc.nodes.update(many)
    for left in (3, 2, 1, 0):
        proc.scan()
        assert proc.scanner.pending == left


def test_a_holder_that_closes_its_device_is_none_at_once() -> None:
    """One descriptor of each holder is followed with every scan."""
    proc = Proc([*idle(10), fd(10, 5, "/dev/neuron2")])
    assert proc.scan() == {10: (2,)}
    del proc.nodes["proc/10/fd/5"]
    assert proc.scan() == {}


def test_a_holder_that_ends_is_gone_at_once() -> None:
    """Nothing of an ended process stays (case E02)."""
    proc = Proc([fd(10, 5, "/dev/neuron2"), *idle(11)])
    proc.scan()
    proc.end(10)
    assert proc.scan() == {}
    assert proc.scanner.processes == 1


@pytest.mark.parametrize(
    ("link", "device"),
    [
        ("/dev/neuron0", 0),
        ("/dev/neuron15", 15),
        ("/host/dev/neuron7", 7),
        ("/dev/neuron3 (deleted)", 3),
        ("/dev/neuron", None),
        ("/dev/neuronX", None),
        ("/dev/neuron0/x", None),
        ("/home/a/neuron0", None),
        ("/dev/neuron1234", None),
        ("socket:[1]", None),
    ],
)
def test_which_links_are_devices(link: str, device: int | None) -> None:
    """The node of a device, in whatever directory the container sees it."""
    found = Proc([fd(10, 5, link)]).scan()
    assert found == ({} if device is None else {10: (device,)})


def test_the_minor_number_is_the_host_index() -> None:
    """A container runtime may name host device 5 as its /dev/neuron0."""
    node = ("proc/10/root/dev/neuron0", Node("other", 0o020666, b"240:5"))
    assert Proc([fd(10, 5, "/dev/neuron0"), node]).scan() == {10: (5,)}


def test_a_file_with_a_device_name_is_none_where_real_nodes_are() -> None:
    """Somebody's home may hold dev/neuron1."""
    nodes = dict(
        [
            fd(10, 5, "/home/a/dev/neuron1"),
            ("proc/10/root/home/a/dev/neuron1", Node("file", 0o644)),
            ("dev/neuron1", Node("other", 0o020666, b"240:1")),
        ]
    )
    assert Proc(nodes.items()).scan() == {}


def test_unreadable_numbers_are_said_to_be_uncertain() -> None:
    """Without leave to look into the container its own name of the device is all there is."""
    proc = Proc([fd(10, 5, "/dev/neuron0")])
    node = {"proc/10/root": Fault(error=errno.EACCES)}
    scanner = ProcessScanner(LstatDenied(proc.host(), node), proc.clock)
    holding = scanner.scan()[10]
    assert holding.devices == (0,)
    assert "a container's may differ" in holding.uncertain


class LstatDenied(FaultyFs):
    """A host that refuses lstat below the faulty paths."""

    def lstat(self, path: str) -> os.stat_result:
        """Refused where a fault is."""
        if self._fault(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return self.host.lstat(path)


def test_what_may_not_be_looked_into_is_counted() -> None:
    """EACCES on a table of descriptors is no empty table."""
    proc = Proc([*idle(10), ("proc/77/fd", Node("file", 0o500, error=errno.EACCES))])
    assert proc.scan() == {}
    assert proc.scanner.denied == 1
    proc.end(77)
    proc.scan()
    assert proc.scanner.denied == 0


def test_a_zombie_whose_threads_live_on_holds_what_they_hold() -> None:
    """The main thread has ended and its own table is gone."""
    line = b"10 (python3) Z 1 " + b"0 " * 15 + b"3 " + b"0 " * 32
    fields = line.split()
    fields[19] = b"3"
    nodes: Mapping[str, Node] = {
        "proc/10/fd": Node("dir"),
        "proc/10/stat": Node("file", content=b" ".join(fields)),
        "proc/10/task/10/fd": Node("dir"),
        "proc/10/task/12/fd/4": Node("link", target="/dev/neuron6"),
    }
    assert Proc(nodes.items()).scan() == {10: (6,)}


def test_no_proc_is_no_process() -> None:
    """A capture has no /proc; nothing is found and nothing raised."""
    scanner = ProcessScanner(
        ListingFs(Listing({}, [Pass(nodes={"sys/x": Node("file")})]), "x"), ManualClock()
    )
    assert scanner.scan() == {}
    assert scanner.processes == 0


def test_descriptors_that_vanish_meanwhile_are_not_there(tree: Callable[[str], ListingFs]) -> None:
    """A process ends while it is looked at."""
    host = FaultyFs(tree("proc/torchrun"), {"proc/4110/fd": Fault(hidden=True)})
    assert 4110 not in ProcessScanner(host, ManualClock()).scan()


def test_real_processes_are_found(tmp_path: Path) -> None:
    """This very process, by the machine's own /proc below a made-up root."""
    (tmp_path / "proc").symlink_to("/proc")
    (tmp_path / "dev").mkdir()
    device = tmp_path / "dev" / "neuron4"
    device.touch()
    with device.open():
        found = ProcessScanner(DirectoryFs(str(tmp_path)), ManualClock()).scan()
    assert found[os.getpid()].devices == (4,)


commands = st.lists(
    st.tuples(
        st.sampled_from(["open", "close", "end", "wait"]), st.integers(10, 14), st.integers(0, 3)
    ),
    max_size=30,
)


@given(commands)
@settings(max_examples=40)
def test_after_two_quiet_minutes_the_map_is_true(steps: list[tuple[str, int, int]]) -> None:
    """Whatever happened before, the scanner knows exactly who holds what."""
    proc = Proc(idle(*range(10, 15)))
    for what, pid, device in steps:
        if what == "open":
            proc.open(pid, 3 + device, f"/dev/neuron{device}")
        elif what == "close":
            proc.nodes.pop(f"proc/{pid}/fd/{3 + device}", None)
        elif what == "end":
            proc.end(pid)
        else:
            proc.scan(device + 1.0)
    for _ in range(61):
        proc.scan()
    truth: dict[int, set[int]] = {}
    for path, node in proc.nodes.items():
        if node.target.startswith("/dev/neuron"):
            truth.setdefault(int(path.split("/")[1]), set()).add(int(node.target[-1]))
    assert proc.scan() == {pid: tuple(sorted(devices)) for pid, devices in truth.items()}
