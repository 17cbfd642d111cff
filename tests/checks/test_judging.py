"""Two reads, judged: what is read again, what is confirmed, what counts beside the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.checks.judging import LANES, MOVING, look, worsened
from neuron_observer.clock import ManualClock
from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    DeviceHealth,
    Entity,
    Finding,
    Health,
    Severity,
    Verdict,
)
from neuron_observer.observer import HostReader, Options
from neuron_observer.weight import of_finding, rank
from tests.checks.looks import DEVICE, WALL, ids, looked, make, twice
from tests.hosts import without

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from neuron_observer.model import Snapshot
    from neuron_observer.sources.listing import ListingFs

SMALL = "trn2.3xlarge-2.30.2-busy"
SRAM = DEVICE.format(0) + "stats/hardware/sram_ecc_uncorrected"


def test_hardware_on_two_reads_is_confirmed(tree: Callable[[str], ListingFs]) -> None:
    """A register that shows a fault is read a second time, and the fault is then certain."""
    frame = looked(twice(tree(SMALL), {SRAM: b"1\n"})).frame
    (found,) = [one for one in frame.findings if one.id == "sram-uncorrectable"]
    assert found.confidence is Confidence.CONFIRMED
    assert frame.health.verdict is Verdict.UNHEALTHY


def test_what_one_read_showed_is_not_certain(tree: Callable[[str], ListingFs]) -> None:
    """A recording of one instant cannot confirm: never UNHEALTHY by one read."""
    host = twice(tree(SMALL), {SRAM: b"1\n"})
    host.listing.passes.pop()
    found = looked(host)
    assert found.frame.health.verdict is Verdict.DEGRADED
    assert len(found.reads) == 1


class NotingReader(HostReader):
    """Notes which lanes each poll asks for."""

    def poll(self, lanes: Collection[str] = LANES, *, derived: bool = True) -> Snapshot:
        """Note, and read."""
        self.asked = [*getattr(self, "asked", []), set(lanes)]
        return super().poll(lanes, derived=derived)


def test_a_healthy_host_is_read_again_where_it_moves(tree: Callable[[str], ListingFs]) -> None:
    """Registers are read once where nothing is suspicious, and in every lane where something is."""
    for files, second in (({}, set(MOVING) & set(LANES)), ({SRAM: b"1\n"}, set(LANES))):
        options = Options(thorough=False, firmware_period=0.0)
        reader = NotingReader(twice(tree(SMALL), files), ManualClock(WALL), options)
        look(reader, make)
        reader.close()
        assert reader.asked == [set(LANES), second]


def test_events_of_both_reads_are_kept(tree: Callable[[str], ListingFs]) -> None:
    """A kernel line that the first read brought stands in the frame of the second."""
    line = "neuron:ncdev_ioctl: something that nobody knows"
    frame = looked(twice(tree(SMALL), kernel=[line])).frame
    assert any(line in event.message for event in frame.snapshot.events)


def test_cores_that_are_missing(tree: Callable[[str], ListingFs]) -> None:
    """Seven of eight core folders: a warning that no rule tells, and the device is degraded."""
    host = without(tree(SMALL), DEVICE.format(0) + "neuron_core5")
    frame = looked(twice(host)).frame
    (found,) = [one for one in frame.findings if one.id == "cores-missing"]
    assert found.message == "neuron0 shows 7 of 8 cores"
    assert found.first_seen is not None
    assert frame.health.verdict is Verdict.DEGRADED
    assert frame.health.devices[0].verdict is Verdict.DEGRADED
    assert ids(frame.findings) == {"cores-missing"}


def test_a_finding_beside_the_rules_keeps_its_first_time(
    tree: Callable[[str], ListingFs],
) -> None:
    """Seen again it is the same finding; `first_seen` is that of the first read."""
    host = without(tree(SMALL), DEVICE.format(0) + "neuron_core5")
    frame, reads, _ = looked(twice(host))
    (found,) = [one for one in frame.findings if one.id == "cores-missing"]
    assert found.first_seen == reads[0].at
    assert found.last_seen == reads[1].at


def _finding(device: int, severity: Severity, confidence: Confidence) -> Finding:
    entity = Entity("device", device=device)
    return Finding("a", entity, severity, confidence, Action.WATCH, "what it says")


_FINDINGS = st.builds(
    _finding,
    st.integers(0, 2),
    st.sampled_from(list(Severity)),
    st.sampled_from(list(Confidence)),
)
_VERDICTS = st.sampled_from(list(Verdict))


@given(
    _VERDICTS,
    st.lists(_VERDICTS, min_size=3, max_size=3),
    st.lists(_FINDINGS, max_size=4),
)
def test_health_never_gets_better_by_a_finding(
    verdict: Verdict, of_devices: list[Verdict], findings: list[Finding]
) -> None:
    """Node and devices: at least as bad as before, and as each finding alone."""
    devices = tuple(DeviceHealth(i, one, "before") for i, one in enumerate(of_devices))
    before = Health(verdict, "before", Coverage(), devices)
    after = worsened(before, findings)
    assert rank(after.verdict) >= rank(verdict)
    assert all(
        rank(new.verdict) >= rank(old.verdict)
        for old, new in zip(devices, after.devices, strict=True)
    )
    worst = max((rank(of_finding(one)) for one in findings), default=0)
    as_bad = worst > 0 and worst >= rank(verdict)
    assert after.reason.startswith("a (" if as_bad else "before")
