"""Mistakes that other tools made in judging a host, with the right behaviour; named by case."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks import plugins
from neuron_observer.checks.judging import LANES, judge_by, look
from neuron_observer.checks.verdict import check, exit_code
from neuron_observer.clock import ManualClock
from neuron_observer.live import MonitorFeed
from neuron_observer.model import Confidence, State, Verdict
from neuron_observer.observer import HostReader, Options
from neuron_observer.rules.engine import Engine
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass
from tests.checks.looks import DEVICE, WALL, checked, ids, looked, make, rules, twice
from tests.hosts import host_of, overlay, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Finding

CASES = Path(__file__).parent.parent / "cases"
SMALL = "trn2.3xlarge-2.30.2-busy"
TRN1 = "trn1.32xlarge-2.24.7-busy"
SRAM = DEVICE.format(0) + "stats/hardware/sram_ecc_uncorrected"
NO_RESET = "sys/module/neuron/parameters/no_reset"
HW_LINE = (
    "NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0 hostname=host nd-id=0 nc-id=1 "
    "serial-num=1af488531d73e1a4 action=TERMINATE_INSTANCE"
)


def _course(host: ListingFs, *changes: dict[str, bytes]) -> list[tuple[Finding, ...]]:
    """The findings at each of some instants, a minute apart, each with other files."""
    first = host.listing.passes[0]
    passes = [Pass(nodes=first.nodes | _nodes(changes[0]))]
    passes += [Pass(60.0 * n, _nodes(files)) for n, files in enumerate(changes[1:], 1)]
    fs = ListingFs(Listing(host.listing.header, passes), "made up")
    clock = ManualClock(WALL)
    reader = HostReader(fs, clock, Options(thorough=False))
    judge = judge_by(rules())
    found = [judge(reader.poll(LANES))[0]]
    while (pause := fs.until_next) is not None:
        fs.advance()
        clock.advance(pause)
        found.append(judge(reader.poll(LANES))[0])
    reader.close()
    return found


def _nodes(files: dict[str, bytes]) -> dict[str, Node]:
    return {path: Node("file", 0o444, content) for path, content in files.items()}


def test_e08_what_is_over_goes_and_what_stays_stays(tree: Callable[[str], ListingFs]) -> None:
    """A setting put right clears by itself; SRAM that was at fault does not."""
    bad, good = {NO_RESET: b"1\n", SRAM: b"1\n"}, {NO_RESET: b"0\n", SRAM: b"0\n"}
    found = _course(tree(SMALL), bad, bad, good, good, good)
    first = {one.id: one.state for one in found[1]}
    last = {one.id: one.state for one in found[-1]}
    assert first["no-reset-set"] is first["sram-uncorrectable"] is State.FIRING
    assert last.get("no-reset-set", State.RESOLVED) is State.RESOLVED
    assert last["sram-uncorrectable"] is not State.RESOLVED


def test_e09_nothing_is_healthy_before_it_was_read(tree: Callable[[str], ListingFs]) -> None:
    """Before the first look there is no verdict; with an earlier run's memory it is the old one."""
    host = twice(tree(SMALL), {SRAM: b"1\n"})
    memory = looked(host).judge.engine.memory()
    reader = HostReader(tree(SMALL), ManualClock(WALL), Options(thorough=False, machine=False))
    before_registers = reader.poll(("slow",))
    _, fresh = judge_by(rules())(before_registers)
    assert fresh.verdict is not Verdict.HEALTHY
    findings, old = Engine(rules(), memory=memory)(reader.poll(("slow", "firmware")))
    reader.close()
    assert old.verdict is Verdict.UNHEALTHY
    assert ids(findings) == {"sram-uncorrectable"}


@pytest.mark.parametrize("line", [HW_LINE, f"kernel: {HW_LINE}", f"[   12.0] {HW_LINE}"])
def test_e12_a_line_is_found_in_every_form(line: str, tree: Callable[[str], ListingFs]) -> None:
    """With the key at the start or behind a prefix; a line alone is hearsay and never certain."""
    frame = looked(twice(tree(SMALL), kernel=[line])).frame
    (found,) = [one for one in frame.findings if one.id == "sram-uncorrectable"]
    assert found.confidence is not Confidence.CONFIRMED
    assert {one.trust for one in found.evidence} == {"hearsay"}
    assert frame.health.verdict is Verdict.DEGRADED


def test_e12_lines_by_the_thousand_drain_nobody(tree: Callable[[str], ListingFs]) -> None:
    """However often a line is repeated, it is a warning at most."""
    result = checked(twice(tree(SMALL), kernel=[HW_LINE] * 3000))
    assert result.verdict is Verdict.DEGRADED
    assert plugins.slurm_code(exit_code(result.verdict, "critical")) == 0


def _in_a_container(host: ListingFs, device: int) -> ListingFs:
    """A host in whose /dev only one device stands."""
    return overlay(host, host_of({f"dev/neuron{device}": b"", "dev/null": b""}))


def test_e16_a_container_is_judged_by_its_own_devices(tree: Callable[[str], ListingFs]) -> None:
    """A fault of a device that it cannot open is not its own; which ones those are is said."""
    host = _in_a_container(tree(TRN1), 3)
    other = DEVICE.format(7) + "stats/hardware/sram_ecc_uncorrected"
    result = checked(twice(host, {other: b"1\n"}))
    assert result.verdict is Verdict.HEALTHY
    assert [device.index for device in result.devices] == [3]
    assert "15 more have no /dev node in this container" in result.inventory[0].text
    assert not ids(result.findings)
    own = DEVICE.format(3) + "stats/hardware/sram_ecc_uncorrected"
    assert checked(twice(host, {own: b"1\n"})).verdict is Verdict.UNHEALTHY


@pytest.mark.parametrize(
    "name",
    [SMALL, TRN1, "trn2.48xlarge-2.24.7-idle", "trn2.48xlarge-2.30.2-busy"],
)
def test_e20_healthy_hosts_pass_idle_or_busy(name: str, tree: Callable[[str], ListingFs]) -> None:
    """E18, E20: nothing to do is no fault: HEALTHY, exit code 0, whatever the driver."""
    result = checked(twice(tree(name)))
    assert (result.verdict, ids(result.findings)) == (Verdict.HEALTHY, set())
    assert exit_code(result.verdict, "warning") == 0


def test_e18_what_cannot_be_read_is_unknown(tree: Callable[[str], ListingFs]) -> None:
    """The same idle host whose registers cannot be read is not idle and well: nobody can tell."""
    host = twice(tree(SMALL))
    nodes = host.listing.passes[0].nodes
    below = DEVICE.format(0)
    for path in list(nodes):
        if path.startswith((below + "stats/hardware/", below + "info/serial_number")):
            nodes[path] = Node("file", 0o444, error=errno.EIO)
    result = checked(ListingFs(host.listing, "made up"))
    assert result.verdict is Verdict.UNKNOWN
    assert result.reason == "device-not-answering cannot be decided: failed: EIO and 3 more"


def test_e25_a_device_that_is_not_there(tree: Callable[[str], ListingFs]) -> None:
    """15 of 16 by the table of the type: neuron7 is named, the others keep their numbers."""
    gone = ("sys/devices/virtual/neuron_device/neuron7", "sys/class/neuron_device/neuron7")
    result = checked(twice(without(tree(TRN1), *gone)))
    (found,) = [one for one in result.findings if one.id == "device-lost"]
    assert found.entity.device == 7
    assert result.verdict is Verdict.DEGRADED  # certain only once it has lasted
    assert [device.index for device in result.devices] == [n for n in range(16) if n != 7]


def test_e40_notifications_are_no_faults(tree: Callable[[str], ListingFs]) -> None:
    """23,700 generic errors a second in neuron-monitor's report of a job that trains: HEALTHY."""
    name = "A/A01-neuron-monitor-trn1.2xlarge-training-generic-errors.ndjson"
    reports = (CASES / name).read_text(encoding="utf-8")
    host = twice(tree(TRN1))
    host.listing.passes[0].monitor.extend(reports.splitlines()[:2])
    host.listing.passes[1].monitor.extend(reports.splitlines()[2:])
    options = Options(thorough=False, firmware_period=0.0, monitor=MonitorFeed("child"))
    reader = HostReader(host, ManualClock(WALL), options)
    frame = look(reader, make).frame
    reader.close()
    assert (frame.health.verdict, ids(frame.findings)) == (Verdict.HEALTHY, set())


def test_e46_a_device_that_is_still_held(tree: Callable[[str], ListingFs]) -> None:
    """The pid that holds it is named; the check fails for it, and nothing is to be replaced."""
    result = checked(twice(overlay(tree(SMALL), tree("proc/torchrun"))))
    held = [one for one in result.findings if one.id == "device-held"]
    assert held
    assert all("is held by pid" in one.message for one in held)
    assert all(not one.blames_hardware for one in held)
    assert result.verdict is Verdict.DEGRADED
    assert exit_code(result.verdict, "warning") == 1
    assert "[user_problem] device-held" in plugins.slurm(result)


def test_one_mistake_drains_nobody(tree: Callable[[str], ListingFs]) -> None:
    """On a driver that nobody has checked, a register is not enough to take a node out."""
    version = "sys/module/neuron/version"
    result = checked(twice(tree(SMALL), {SRAM: b"1\n", version: b"9.9.9.0\n"}))
    assert result.verdict is Verdict.DEGRADED
    assert plugins.slurm_code(exit_code(result.verdict, "critical")) == 0


def test_shadow_never_counts(tree: Callable[[str], ListingFs]) -> None:
    """All ones were never seen on hardware: told apart, and the node is unknown, not at fault."""
    serial = DEVICE.format(0) + "info/serial_number"
    result = check(looked(twice(tree(SMALL), {serial: b"f" * 16 + b"\n"})).frame)
    assert "device-off-bus" in {one.id for one in result.shadow}
    assert "device-off-bus" not in {one.id for one in result.findings}
    assert result.verdict is Verdict.UNKNOWN
