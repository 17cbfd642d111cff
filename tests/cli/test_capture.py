"""`capture`: a host in one file, read back as that host."""

from __future__ import annotations

import gzip
import json
import stat
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import InputError, UsageError
from neuron_observer.sources.listing import ListingFs
from tests.conftest import TREES, tree_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result

NAMES = sorted(path.name.split(".tsv")[0] for path in TREES.glob("*.tsv*"))


def _rows(file: Path) -> list[str]:
    raw = file.read_bytes()
    text = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode()
    return sorted(line for line in text.splitlines() if not line.startswith("#"))


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_of_a_tree_is_the_tree(
    name: str, tmp_path: Path, call: Callable[..., Result]
) -> None:
    """Paths, modes and contents come back byte for byte."""
    file = tmp_path / "capture.tsv.gz"
    found = call("capture", "--host-root", str(tree_file(name)), "--output", str(file))
    assert found.code == 0
    assert "files read" in found.err
    assert _rows(file) == _rows(tree_file(name))


TWO_PASSES = ("--seconds", "0.1", "--every", "0.1")  # without a second one there are no rates


def test_a_capture_reads_as_the_host_did(tmp_path: Path, call: Callable[..., Result]) -> None:
    """`devices` of a capture prints what it printed of the host."""
    root = tmp_path / "host/sys"
    for path, node in (
        ListingFs.open(str(TREES / "trn2.3xlarge-2.30.2-busy.tsv")).listing.passes[0].nodes.items()
    ):
        target = root.parent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if node.kind == "link":
            target.symlink_to(node.target)
        else:
            target.write_bytes(node.content)
            target.chmod(node.mode)
    file = str(tmp_path / "capture.tsv")
    call("capture", "--host-root", str(root.parent), "--output", file, *TWO_PASSES)
    live = call("devices", "--host-root", str(root.parent)).out
    assert call("devices", "--host-root", file).out == live
    assert "Trainium2" in live


def test_a_capture_is_read_at_its_own_time(tmp_path: Path, call: Callable[..., Result]) -> None:
    """Power figures that were fresh when captured are not stale for being looked at later."""
    file = tmp_path / "capture.tsv"
    rows = (TREES / "trn2.3xlarge-2.30.2-busy.tsv").read_text(encoding="utf-8")
    file.write_text(f'#capture {{"at": "2026-08-29T10:40:30.000Z"}}\n{rows}', encoding="utf-8")
    shown = call("snapshot", "--host-root", str(file), "--format", "json").out
    document = json.loads(shown)
    assert document["at"] == "2026-08-29T10:40:30.000Z"
    assert "value" in document["devices"][0]["readings"]["device.power.mean"]


def test_modes_errors_and_read_times(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A leaf keeps its mode; one that cannot be read keeps its error and reads back as denied."""
    device = tmp_path / "sys/devices/virtual/neuron_device/neuron0"
    (device / "info").mkdir(parents=True)
    (device / "reset").write_text("1\n")
    (device / "reset").chmod(0o600)
    (device / "info/serial_number").symlink_to("/etc/hostname")
    file = tmp_path / "capture.tsv"
    call("capture", "--host-root", str(tmp_path), "--output", str(file))
    lines = file.read_text(encoding="utf-8").splitlines()
    header = json.loads(lines[0].removeprefix("#capture "))
    assert header["schema"] == "neuron-observer/capture/1"
    assert '0600\tdevices/virtual/neuron_device/neuron0/reset\t"1\\n"' in lines
    reads = [json.loads(line[6:]) for line in lines if line.startswith("#read ")]
    assert all(offset >= 0 and seconds >= 0 for offset, seconds in reads)
    assert len(reads) == len([line for line in lines if line[:1] == "0"])
    host = ListingFs.open(str(file))
    assert (
        stat.S_IMODE(host.lstat("sys/devices/virtual/neuron_device/neuron0/reset").st_mode) == 0o600
    )


def test_stdout(call: Callable[..., Result]) -> None:
    """`-o -` prints the capture, the narration goes to stderr."""
    found = call("capture", "-o", "-", "--host-root", str(TREES / "trn2.3xlarge-2.30.2-busy.tsv"))
    assert found.out.startswith("#capture ")
    assert found.err == "-: 896 files read\n"


def test_kernel_and_monitor_lines(tmp_path: Path, call: Callable[..., Result]) -> None:
    """Lines of both logs are kept with their time, without names and ids."""
    (tmp_path / "dev").mkdir()
    line = "6,1,100,-;NEURON_HW_ERR=DMA_ERROR instance-id=i-0123456789abcdef0 hostname=abc nd-id=0"
    (tmp_path / "dev/kmsg").write_text(f"{line}\n")
    (tmp_path / "sys/module/neuron").mkdir(parents=True)
    (tmp_path / "sys/module/neuron/version").write_text("2.30.2.0\n")
    monitor = tmp_path / "monitor.ndjson"
    monitor.write_text('{"instance_info": {"instance_name": "secret"}}\n')
    file = tmp_path / "capture.tsv"
    call("capture", "--host-root", str(tmp_path), "--monitor", str(monitor), "--output", str(file))
    [one] = ListingFs.open(str(file)).listing.passes
    assert one.kernel == ["6,1,100,-;NEURON_HW_ERR=DMA_ERROR instance-id=i-0 hostname=host nd-id=0"]
    assert one.monitor == ['{"instance_info": {"instance_name": "x"}}']
    anew = ("--force", "--output", str(file))
    call("capture", "--no-kernel-log", "--host-root", str(tmp_path), *anew)
    assert ListingFs.open(str(file)).listing.passes[0].kernel == []


def test_a_missing_monitor_file(tmp_path: Path, call: Callable[..., Result]) -> None:
    """It is named, with the remedy."""
    with pytest.raises(InputError, match="no such file"):
        call("capture", "--monitor", "/no/such", "--host-root", str(tmp_path), "-o", "-")


def test_nothing_is_written_into_the_host(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A capture written onto a counter would clear it, onto `reset` it would reset the chip."""
    counter = tmp_path / "sys/devices/virtual/neuron_device/neuron0/reset"
    counter.parent.mkdir(parents=True)
    counter.write_text("1\n")
    for output in (str(counter), f"{counter.parent}/../neuron0/reset"):
        with pytest.raises(UsageError, match="nothing is written below"):
            call("capture", "--host-root", str(tmp_path), "-o", output)
    assert counter.read_text() == "1\n"


@pytest.mark.parametrize("name", ["capture.tsv", "capture.tsv.gz"])
def test_nothing_is_written_over(tmp_path: Path, call: Callable[..., Result], name: str) -> None:
    """An earlier capture stays, unless somebody says --force."""
    file = tmp_path / name
    file.write_text("of last week")
    arguments = (
        "capture",
        "--host-root",
        str(tree_file("trn2.3xlarge-2.30.2-busy")),
        "-o",
        str(file),
    )
    with pytest.raises(InputError, match="is there already") as raised:
        call(*arguments)
    assert raised.value.remedy == "--force writes over it; -o names another."
    assert file.read_text() == "of last week"
    call(*arguments, "--force")
    assert len(ListingFs.open(str(file)).listing.passes) == 1


def test_what_is_no_file_is_written_to(call: Callable[..., Result]) -> None:
    """`-o /dev/null` is there already, and nothing is lost."""
    tree = str(tree_file("trn2.3xlarge-2.30.2-busy"))
    assert call("capture", "--host-root", tree, "-o", "/dev/null").code == 0
