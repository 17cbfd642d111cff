"""Captures: passes, what changed, what is replaced, what never answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.recording.capture import Capture
from neuron_observer.recording.scrub import Scrubber
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.listing import ListingFs, read_listing
from neuron_observer.sources.workers import DirectWorkers
from tests.hosts import DEVICE, host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from neuron_observer.clock import ManualClock
    from neuron_observer.sources.workers import Answer, Request


def _capture(host: FaultyFs | ListingFs, clock: ManualClock) -> Capture:
    return Capture(host, clock, DirectWorkers(host, clock))


def test_later_passes_hold_what_changed(tmp_path: Path, clock: ManualClock) -> None:
    """A second pass has only the counter that moved, at its time; read back, it moves again."""
    counter = f"{DEVICE}/neuron_core0/stats/status/success/total"
    host = FaultyFs(host_of({counter: b"1\n", f"{DEVICE}/core_count": b"8"}))
    capture = _capture(host, clock)
    rows = [capture.header(), *capture.one_pass()]
    clock.advance(2.5)
    host.faults[counter] = Fault(contents=iter([b"2\n"]))
    later = list(capture.one_pass())
    assert later[0] == "#at 2.500"
    assert [row for row in later if not row.startswith("#")] == [
        f'0644\t{counter.removeprefix("sys/")}\t"2\\n"'
    ]
    file = tmp_path / "two.tsv"
    file.write_text("\n".join([*rows, *later]) + "\n", encoding="utf-8")
    back = ListingFs(read_listing(str(file)), "two")
    assert back.read(counter) == b"1\n"
    assert back.advance()
    assert back.read(counter) == b"2\n"
    assert back.read(f"{DEVICE}/core_count") == b"8"
    assert not back.advance()


def test_what_vanishes_is_gone_in_a_later_pass(tmp_path: Path, clock: ManualClock) -> None:
    """A device that falls off the bus between two passes does not live on in the capture."""
    other = DEVICE.replace("neuron0", "neuron1")
    host = FaultyFs(host_of({f"{DEVICE}/core_count": b"8", f"{other}/core_count": b"8"}))
    capture = _capture(host, clock)
    rows = [capture.header(), *capture.one_pass()]
    for path, present in ((other, False), (other, True)):
        clock.advance(1.0)
        host.faults = {} if present else {path: Fault(hidden=True)}
        rows += capture.one_pass()
    file = tmp_path / "gone.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    back = ListingFs.open(str(file))
    folder = DEVICE.rpartition("/")[0]
    seen = [[entry.name for entry in back.entries(folder)]]
    while back.advance():
        seen.append([entry.name for entry in back.entries(folder)])
    assert seen == [["neuron0", "neuron1"], ["neuron0"], ["neuron0", "neuron1"]]


def test_devices_that_only_the_class_leads_to_are_captured(clock: ManualClock) -> None:
    """A driver that has its devices below PCI functions is the one whose files we want most."""
    real = "sys/devices/pci0000:00/0000:cc:00.0/neuron_dev/neuron0"
    host = host_of(
        {f"{real}/health/sram_ecc_uncorrected": b"0\n"},
        {"sys/class/neuron_device/neuron0": f"../../{real.removeprefix('sys/')}"},
    )
    rows = list(_capture(host, clock).one_pass())
    assert f'0644\t{real.removeprefix("sys/")}/health/sram_ecc_uncorrected\t"0\\n"' in rows


def test_files_of_the_host_are_captured_whole(tmp_path: Path, clock: ManualClock) -> None:
    """/proc/stat has a line a processor: cut at a page it would show too few."""
    whole = b"".join(b"cpu%d 1 2 3 4 5 6 7 8 0 0\n" % number for number in range(192))
    capture = _capture(host_of({"proc/stat": whole}), clock)
    file = tmp_path / "stat.tsv"
    rows = [capture.header(), *capture.one_pass()]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert ListingFs.open(str(file)).read("proc/stat", 1 << 18) == whole


def test_errors_are_captured_and_come_back(tmp_path: Path, clock: ManualClock) -> None:
    """EACCES and EIO are rows of their own and raise the same when read back."""
    host = FaultyFs(
        host_of({f"{DEVICE}/reset": b"1\n", f"{DEVICE}/core_count": b"8"}),
        {f"{DEVICE}/reset": Fault(error=13), f"{DEVICE}/core_count": Fault(error=5)},
    )
    capture = _capture(host, clock)
    file = tmp_path / "errors.tsv"
    rows = [capture.header(), *capture.one_pass()]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert capture.unreadable == 2
    back = ListingFs.open(str(file))
    with pytest.raises(PermissionError):
        back.read(f"{DEVICE}/reset")
    with pytest.raises(OSError, match="Input/output error"):
        back.read(f"{DEVICE}/core_count")


def test_bytes_that_are_no_text_come_back(tmp_path: Path, clock: ManualClock) -> None:
    """NUL and bytes that are not UTF-8 survive."""
    raw = bytes(range(256))
    capture = _capture(host_of({f"{DEVICE}/strange": raw}), clock)
    file = tmp_path / "bytes.tsv"
    rows = [capture.header(), *capture.one_pass()]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert ListingFs.open(str(file)).read(f"{DEVICE}/strange") == raw


class SilentWorkers(DirectWorkers):
    """Workers that never answer for firmware registers."""

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """Only the lanes of ordinary files answer."""
        return super().gather([d for d in devices if d % 2 == 0], seconds)

    def submit(self, device: int, request: Request) -> bool:
        """Firmware registers are in the odd lanes."""
        return super().submit(device, request) if device % 2 == 0 else True


def test_a_register_that_never_answers_is_an_error(clock: ManualClock) -> None:
    """The other files of the device are captured all the same."""
    host = host_of({f"{DEVICE}/info/serial_number": b"1\n", f"{DEVICE}/core_count": b"8"})
    rows = list(Capture(host, clock, SilentWorkers(host, clock)).one_pass())
    assert any("ETIMEDOUT" in row and "serial_number" in row for row in rows)
    assert f'0644\t{DEVICE.removeprefix("sys/")}/core_count\t"8"' in rows


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "NEURON_HW_ERR=DMA_ERROR instance-id=i-0123456789abcdef0 hostname=ip-10-0-0-1 nd-id=3",
            "NEURON_HW_ERR=DMA_ERROR instance-id=i-0 hostname=host nd-id=3",
        ),
        ("node trainer-7.cluster.local up", "node host up"),
        (
            '{"instance_name": "gpu box", "ami_id": "ami-0123456789abcdef0"}',
            '{"instance_name": "x", "ami_id": "ami-0"}',
        ),
        ("link 0a:1b:2c:3d:4e:5f at 10.12.13.14", "link 00:00:00:00:00:00 at 10.0.0.0"),
        (
            "driver 2.30.2.0 on neuron-driver 0000:10:1c.0",
            "driver 2.30.2.0 on neuron-driver 0000:10:1c.0",
        ),
        ("serial-num=0123456789abcdef", "serial-num=0123456789abcdef"),
    ],
)
def test_scrubbing(line: str, expected: str) -> None:
    """Names and ids go, versions, PCI addresses and serial numbers stay."""
    host = host_of({"proc/sys/kernel/hostname": b"trainer-7\n"})
    assert Scrubber(host)(line) == expected


def test_a_capture_holds_no_environment(
    tree: Callable[[str], ListingFs], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No environment variable and no process of the host enters the file."""
    monkeypatch.setenv("SECRET_TOKEN", "hunter2hunter2")
    rows = list(_capture(tree("trn2.3xlarge-2.30.2-busy"), clock).one_pass())
    assert not any("hunter2" in row or "environ" in row for row in rows)
