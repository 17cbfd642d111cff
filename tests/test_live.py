"""Lines and reports that come while a host is read: events, batches, what our own reads cause."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.triage import MATCHER
from neuron_observer.clock import ManualClock
from neuron_observer.collectors.kmsg import BURST
from neuron_observer.live import MonitorFeed
from neuron_observer.live.classifier import LineClassifier
from neuron_observer.model import NODE, Missing, Place, Value, Why
from neuron_observer.observer import HostReader, Options
from neuron_observer.oneshot import read_once
from neuron_observer.parsers.kernel_record import KernelRecord
from neuron_observer.readings import columns, reading
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.listing import Listing, ListingFs, Pass
from neuron_observer.sources.workers import DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from neuron_observer.model import Event, Snapshot
    from neuron_observer.sources.workers import Answer

CASES = Path(__file__).parent / "cases"
SRAM = (
    "NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0 hostname=host nd-id=3 nc-id=1 "
    "serial-num=0123456789abcdef action=TERMINATE_INSTANCE"
)
ECC_READ = "neuron:fw_io_ecc_read: failed to get ecc error count from the device nd 3"
BOOTED = 1_788_000_000.0 - 5000.0


def record(sequence: int, text: str, seconds: float, facility: int = 0) -> str:
    """A line of /dev/kmsg."""
    return f"{facility * 8 + 6},{sequence},{int(seconds * 1e6)},-;{text}\n"


class StuckWorkers(DirectWorkers):
    """Workers whose device does not answer until it is let."""

    stuck = True

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """Nothing while it is stuck."""
        return {} if self.stuck else super().gather(devices, seconds)


class Machine:
    """A host directory with one device, its kernel log a file that a test writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "dev" / "kmsg"
        device = root / "sys/devices/virtual/neuron_device/neuron0"
        self.write("sys/module/neuron/version", "2.30.2.0\n")
        self.write("sys/module/neuron/initstate", "live\n")
        self.write("proc/uptime", "5000.00 9000.00\n")
        self.write("proc/sys/kernel/random/boot_id", "0c8e4a1e-7f3a-4c58-9f0b-5a3c9b1d2e4f\n")
        self.write("dev/kmsg", "")
        hardware = device.relative_to(root) / "stats/hardware"
        self.write(f"{hardware}/sram_ecc_uncorrected", "0\n")
        self.write(f"{device.relative_to(root)}/info/serial_number", "0123456789abcdef\n")

    def write(self, path: str, text: str) -> None:
        """One file below the root."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def say(self, *lines: str) -> None:
        """More lines of the kernel log."""
        with self.log.open("a") as out:
            out.writelines(lines)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine that has said nothing yet."""
    return Machine(tmp_path)


@pytest.fixture
def clock() -> ManualClock:
    """5000 s after boot, on both clocks."""
    return ManualClock(wall=1_788_000_000.0, monotonic=5000.0)


@pytest.fixture
def opened() -> Iterator[Callable[..., HostReader]]:
    """Makes readers and closes them."""
    readers: list[HostReader] = []

    def make(
        host: DirectoryFs | ListingFs,
        clock: ManualClock,
        options: Options,
        **more: Callable[..., DirectWorkers],
    ) -> HostReader:
        readers.append(HostReader(host, clock, options, **more))
        return readers[-1]

    yield make
    for reader in readers:
        reader.close()


def lines_of(snapshot: Snapshot) -> list[Event]:
    """Events that were lines of the kernel log."""
    return [event for event in snapshot.events if "printed_by" in event.fields]


def count(snapshot: Snapshot, name: str) -> object:
    """A count of the kernel log's."""
    found = reading(snapshot.batches, f"host.kernel_log.{name}", NODE)
    return found.value if isinstance(found, Value) else found


# meaning


def test_a_line_becomes_an_event_with_all_that_the_pattern_knows() -> None:
    """Id, place, verdict, severity, action, grade, and the line's own fields."""
    found = LineClassifier(MATCHER)(KernelRecord(SRAM))
    assert found is not None
    assert (found.kind, found.place, found.message) == ("hw-err-sram", Place(3, 1), SRAM)
    told = found.fields
    assert (told["verdict"], told["severity"]) == ("hw_fault", "critical")
    assert (told["action"], told["if_confirmed"]) == ("replace_instance", "replace_instance")
    assert (told["grade"], told["blames_hardware"]) == ("document", 1)
    assert told["line.serial-num"] == "0123456789abcdef"


def test_a_novel_line_is_shown_and_never_alarmed() -> None:
    """A line of the driver that nobody knows is information, counted."""
    classifier = LineClassifier(MATCHER)
    found = classifier(KernelRecord("neuron:ndl_quite_new: something never seen 7"))
    assert found is not None
    assert (found.kind, found.fields["severity"], found.fields["action"]) == (
        "novel",
        "info",
        "none",
    )
    assert classifier(KernelRecord("usb 1-1: new high-speed device")) is None
    assert (classifier.known, classifier.novel) == (0, 1)


def test_every_known_kernel_line_is_classified() -> None:
    """What the patterns' own list says of row, device and core is what the event says."""
    classifier = LineClassifier(MATCHER)
    rows = {row.id: row for row in MATCHER.patterns}
    seen = 0
    for line in (Path(__file__).parent / "rules/lines.tsv").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, device, core, text = line.split("\t", 3)
        if rows[name].where == "runtime" or len(MATCHER.match(text.encode())) != 1:
            continue
        found = classifier(KernelRecord(text))
        assert found is not None, text
        numbers = [None if number == "-" else int(number) for number in (device, core)]
        assert (found.kind, *found.place[:2]) == (name, *numbers), text
        seen += 1
    assert seen > 80


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("efa 0000:a0:1a.0 rdmap160s26: Wait for completion (polling) timeout", "rdmap160s26"),
        (
            "infiniband rdmap160s26: The device didn't send any completion for admin cmd",
            "rdmap160s26",
        ),
        ("efa 0000:a0:1a.0: Reset indication didn't turn on", ""),
        (
            "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:34:00.0",
            "0000:34:00.0",
        ),
        ("pcieport 0000:00:01.0: AER: Multiple Uncorrected (Fatal) error received: id=0008", ""),
        (
            "neuron-driver 0000:34:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x",
            "0000:34:00.0",
        ),
    ],
)
def test_a_line_of_an_adapter_or_a_function_is_about_it(line: str, label: str) -> None:
    """The EFA or the PCI function that a line names is its place."""
    found = LineClassifier(MATCHER)(KernelRecord(line))
    assert found is not None
    assert found.place == Place(label=label)


@pytest.mark.parametrize("drive", ["fd0", "sr0"])
def test_an_empty_drive_is_no_failing_disk(drive: str) -> None:
    """Virtual machines print such lines at each boot."""
    for line in (f"I/O error, dev {drive}, sector 0", f"Buffer I/O error on dev {drive}, x"):
        assert LineClassifier(MATCHER)(KernelRecord(line)) is None
        found = LineClassifier(MATCHER)(KernelRecord(line.replace(drive, "nvme1n1")))
        assert found is not None
        assert found.kind == "disk-error"


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=120))
def test_a_random_line_is_never_a_fault(text: str) -> None:
    """Any text has a meaning or none; nothing raises, nothing alarms."""
    found = LineClassifier(MATCHER)(KernelRecord(text))
    assert found is None or found.fields["severity"] == "info"


# the kernel log of a host


def test_kernel_lines_of_a_host(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """Lines that are there and lines that come; each once, at its own time."""
    machine.say(record(1, SRAM, 4000.0), record(2, "usb 1-1: new", 4001.0))
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True))
    [event] = lines_of(reader.poll())
    assert (event.kind, event.place, event.at) == ("hw-err-sram", Place(3, 1), BOOTED + 4000.0)
    assert event.fields["printed_by"] == "kernel"
    assert event.fields["ours"] == 0
    machine.say(record(3, SRAM, 4500.0, facility=1), record(4, "neuron:ndl_new: x", 4501.0))
    snapshot = reader.poll(("fast",))
    told = [(event.kind, event.fields["printed_by"]) for event in lines_of(snapshot)]
    assert told == [("hw-err-sram", "user"), ("novel", "kernel")]
    assert [count(snapshot, name) for name in ("read", "known", "novel", "lost")] == [4, 2, 1, 0]
    assert lines_of(reader.poll(("fast",))) == []


def test_a_silent_log_is_read_all_the_same(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """Its counts are of the time of the read, and none of them is told as changed."""
    machine.say(record(1, SRAM, 4000.0))
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True))
    batches = []
    for _ in range(3):
        snapshot = reader.poll(("fast",))
        batches += [one for one in snapshot.batches if one.collector == "kernel_log"]
        clock.advance(1.0)
    assert [one.read_at for one in batches] == [5000.0, 5001.0, 5002.0]
    assert [one.changed for one in batches[1:]] == [(), ()]
    assert batches[2].cells is batches[0].cells
    machine.say(record(2, SRAM, 5002.0))
    snapshot = reader.poll(("fast",))
    assert count(snapshot, "read") == 2


def test_it_is_off_by_default(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """Nobody asked: no event, no metric, no run of it."""
    machine.say(record(1, SRAM, 4000.0))
    snapshot = opened(DirectoryFs(str(machine.root)), clock, Options()).poll()
    assert lines_of(snapshot) == []
    assert isinstance(count(snapshot, "read"), Missing)
    assert {run.collector for run in snapshot.runs}.isdisjoint({"kernel_log", "monitor"})


def test_a_flood_is_bounded(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """Of equal lines the first and the latest are events, the rest a number; a rare one stays."""
    machine.say(*(record(n, "neuron:npid_attach: pid=9, slot=0", 4000.0 + n) for n in range(500)))
    machine.say(record(500, SRAM, 4600.0))
    snapshot = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True)).poll()
    kinds = [event.kind for event in lines_of(snapshot)]
    assert kinds.count("hw-err-sram") == 1
    assert len(kinds) == BURST + 2
    assert count(snapshot, "suppressed") == 500 - BURST - 1


def test_lines_that_our_reads_cause_are_ours(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """The same line is ours while we read registers, and the driver's own an hour before."""
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True))
    machine.say(record(1, ECC_READ, 1400.0), record(2, ECC_READ, 5000.5))
    snapshot = reader.poll()
    assert [event.fields["ours"] for event in lines_of(snapshot)] == [0, 1]
    clock.advance(100)
    machine.say(record(3, ECC_READ, 5050.0))
    assert [event.fields["ours"] for event in lines_of(reader.poll(("fast",)))] == [0]
    assert count(snapshot, "ours") == 1


def test_a_read_without_an_answer_is_ours_until_it_comes(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """A stuck read prints its line a minute later: it is still the line of our read."""
    stuck = StuckWorkers(DirectoryFs(str(machine.root)), clock)
    reader = opened(
        DirectoryFs(str(machine.root)),
        clock,
        Options(kernel_log=True),
        workers=lambda *_: stuck,
    )
    reader.poll()
    clock.advance(60)
    machine.say(record(1, ECC_READ, 5059.0))
    assert [event.fields["ours"] for event in lines_of(reader.poll(("fast",)))] == [1]
    stuck.stuck = False
    clock.advance(60)
    machine.say(record(3, ECC_READ, 5090.0))
    events = lines_of(reader.poll(("firmware",)))  # the answer comes, and the line before it
    assert [event.fields["ours"] for event in events] == [1]
    clock.advance(60)
    machine.say(record(4, ECC_READ, 5170.0))
    assert [event.fields["ours"] for event in lines_of(reader.poll(("fast",)))] == [0]


def test_no_log_is_said(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """Without a log its counts are missing, with the reason; the rest of the host is read."""
    machine.log.unlink()
    snapshot = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True)).poll()
    missing = count(snapshot, "novel")
    assert isinstance(missing, Missing)
    assert missing.why is Why.UNSUPPORTED
    assert "No such file" in missing.detail
    assert all(run.ok for run in snapshot.runs)


def test_a_log_that_cannot_be_opened_costs_itself(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """A directory in its place is an error of this collector alone."""
    machine.log.unlink()
    machine.log.mkdir()
    snapshot = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True)).poll()
    assert isinstance(count(snapshot, "read"), Missing)
    assert isinstance(reading(snapshot.batches, "driver.version", NODE), Value)


def test_a_driver_reload_reads_no_line_twice(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """The tree is looked at anew; the log goes on where it was."""
    machine.say(record(1, SRAM, 4000.0))
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True))
    reader.poll()
    machine.write("sys/module/neuron/version", "2.31.0.0\n")
    machine.say(record(2, "neuron:npid_attach: pid=9, slot=0", 4100.0))
    events = reader.poll().events
    assert "driver_reloaded" in [event.kind for event in events]
    assert [event.fields["sequence"] for event in events if "sequence" in event.fields] == [2]


# a capture


def _capture(host: ListingFs, **words: list[str]) -> ListingFs:
    one = host.listing.passes[0]
    lines = Pass(0.0, one.nodes, words.get("kernel", []), words.get("monitor", []))
    later = Pass(1.0, {}, words.get("kernel_later", []))
    return ListingFs(Listing({}, [lines, later]), "a capture")


def test_a_capture_gives_the_lines_of_its_passes(
    tree: Callable[[str], ListingFs], clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """Lines of a pass come with it; none of them is taken for one that we caused."""
    host = _capture(
        tree("trn2.3xlarge-2.30.2-busy"),
        kernel=[record(1, SRAM, 100.0).rstrip()],
        kernel_later=[record(2, ECC_READ, 5000.0).rstrip()],
    )
    reader = opened(host, clock, Options(kernel_log=True))
    assert [event.kind for event in lines_of(reader.poll())] == ["hw-err-sram"]
    host.advance()
    [event] = lines_of(reader.poll(("fast",)))
    assert event.fields["ours"] == 0


def test_a_capture_stands_for_the_child(
    tree: Callable[[str], ListingFs], clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """Reports in a capture are read as if its neuron-monitor ran; no process is started."""
    report = json.dumps(json.loads(next((CASES / "A").glob("A07-*")).read_text()))
    host = _capture(tree("trn2.3xlarge-2.30.2-busy"), monitor=[report])
    feed = MonitorFeed("child", command=("/nonexistent/neuron-monitor",))
    snapshot = opened(host, clock, Options(monitor=feed)).poll()
    found = reading(snapshot.batches, "logical_core.utilization", Place(0, None, "lnc2/core1"))
    assert isinstance(found, Value)


# neuron-monitor


def test_reports_from_a_fifo(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader], tmp_path: Path
) -> None:
    """Each tick takes what is there; values age and go stale, physical cores are untouched."""
    report = json.dumps(json.loads(next((CASES / "A").glob("A07-*")).read_text())) + "\n"
    fifo = tmp_path / "reports"
    os.mkfifo(fifo)
    feed = MonitorFeed("pipe", str(fifo))
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(monitor=feed))
    waiting = reader.poll()
    assert reading(waiting.batches, "node.monitor.state", NODE) == Value("waiting", 5000.0)
    with fifo.open("w") as out:
        out.write(report)
        out.flush()
        snapshot = reader.poll(("fast",))
    place = Place(0, None, "lnc2/core0")
    assert isinstance(reading(snapshot.batches, "logical_core.utilization", place), Value)
    clock.advance(60)
    late = reading(reader.poll(("fast",)).batches, "logical_core.utilization", place)
    assert isinstance(late, Missing)
    assert late.why is Why.STALE


def test_a_one_shot_waits_for_a_report_and_no_longer(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader], tmp_path: Path
) -> None:
    """A file that does not grow gives up at the deadline; one that has ended at once."""
    (tmp_path / "reports").write_text("{}\n")
    feed = MonitorFeed("file", str(tmp_path / "reports"))
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(monitor=feed))
    assert reader.live is not None
    assert reader.live.monitor is not None
    assert not reader.live.monitor.wait(11.0)
    assert clock.monotonic() == pytest.approx(5011.0, abs=0.2)


def test_a_child_is_started_and_ended(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader], tmp_path: Path
) -> None:
    """What a child prints is read; closing the reader ends it."""
    report = json.dumps(json.loads(next((CASES / "A").glob("A07-*")).read_text()))
    told = tmp_path / "pid"
    code = (
        f"import os, pathlib, time; pathlib.Path({str(told)!r}).write_text(str(os.getpid()));"
        f"print({report!r}, flush=True); time.sleep(600)"
    )
    feed = MonitorFeed("child", command=(sys.executable, "-c", code))
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(monitor=feed))
    assert reader.live is not None
    assert reader.live.monitor is not None
    while not reader.live.monitor.wait(0.0):
        pass  # a child starts in its own time; the clock stands still
    batches = reader.poll().batches
    assert [p.label for _, p, _ in columns(batches, "runtime.tag")] == ["pid268911"]
    process = Path("/proc") / told.read_text()
    assert process.exists()
    reader.close()
    assert not process.exists()


def test_a_long_lived_reader_takes_lines_as_they_come(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """With kept descriptors a thread empties the log between ticks; closing ends it."""
    before = threading.active_count()
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(kernel_log=True, keep=True))
    machine.say(record(1, SRAM, 4000.0))
    events: list[Event] = []
    while not events:
        events += lines_of(reader.poll(("fast",)))
    assert [event.kind for event in events] == ["hw-err-sram"]
    reader.close()
    assert threading.active_count() <= before + 1  # the adapters' reader may idle on


def test_a_child_that_is_not_there(
    machine: Machine, clock: ManualClock, opened: Callable[..., HostReader]
) -> None:
    """The reason is said where a value would be; the host is read all the same."""
    feed = MonitorFeed("child", command=("/nonexistent/neuron-monitor",))
    reader = opened(DirectoryFs(str(machine.root)), clock, Options(monitor=feed))
    assert reader.live is not None
    assert reader.live.monitor is not None
    assert not reader.live.monitor.wait(11.0)
    assert clock.monotonic() == 5000.0  # nothing to wait for
    snapshot = read_once(reader)
    age = reading(snapshot.batches, "node.monitor.report_age", NODE)
    assert isinstance(age, Missing)
    assert "No such file" in age.detail
    assert all(run.ok for run in snapshot.runs)
