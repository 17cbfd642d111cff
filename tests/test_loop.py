"""The loop goes on, whatever happens, and its frames say what did."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.history import History
from neuron_observer.loop import PERIODS, Loop, running
from neuron_observer.loop.live_feed import EVENTS
from neuron_observer.model import (
    NODE,
    Event,
    Finding,
    Frame,
    Health,
    Missing,
    Place,
    Snapshot,
    Value,
    Verdict,
    Why,
)
from neuron_observer.observer import HostReader, Options
from neuron_observer.readings import reading
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.hostfs import DirectoryFs
from tests.hosts import DEVICE, host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from neuron_observer.clock import Clock, ManualClock
    from neuron_observer.model import Batch
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.listing import ListingFs

COUNTER = f"{DEVICE}/neuron_core0/stats/other_info/inference_count/total"
BUSY = f"{DEVICE}/neuron_core0/stats/other_info/nc_time_in_use/total"
HEARTBEAT = f"{DEVICE}/stats/hardware/health_status/healthcheck_heartbeat"
FILES = {
    COUNTER: b"5\n",
    BUSY: b"1000\n",
    HEARTBEAT: b"7\n",
    f"{DEVICE}/stats/hardware/sram_ecc_uncorrected": b"0\n",
    f"{DEVICE}/device_name": b"Trainium2\n",
    f"{DEVICE}/serial_number": b"a1b2c3d4e5f60718\n",
    "sys/module/neuron/version": b"2.30.2.0\n",
    "sys/module/neuron/initstate": b"live\n",
}
CORE = Place(0, 0)
OPTIONS = Options(keep=True, wait_for_firmware=False, machine=False)


def loop_on(host: HostFs, clock: Clock) -> Loop:
    """A loop as a daemon makes it, without what stands around the devices."""
    return Loop(HostReader(host, clock, OPTIONS))


def write(root: Path, files: dict[str, bytes]) -> None:
    """Files of a host."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def frame_of(frame: Frame | None) -> Frame:
    """A frame that must be there."""
    assert frame is not None
    return frame


def inferences(frame: Frame | None) -> Value | Missing:
    """The reading that these tests watch."""
    return reading(frame_of(frame).snapshot.batches, "core.inferences", CORE)


def ticks(loop: Loop, clock: ManualClock, seconds: float) -> list[Frame]:
    """The frames of some seconds, as `run` makes them."""
    frames, until = [], clock.monotonic() + seconds
    while (now := clock.monotonic()) < until - 1e-9:
        frame = loop.tick()
        if frame:
            frames.append(frame)
        clock.advance(min(max(loop.schedule.until_next(now), 1e-3), until - now))
    return frames


def kinds(frames: list[Frame]) -> list[str]:
    """The kinds of all events, frame by frame."""
    return [event.kind for frame in frames for event in frame.snapshot.events]


# frames


def test_the_first_tick_reads_everything(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Before it there is no frame; it has all devices, no judge, and it is what the feed gives."""
    loop = loop_on(tree("trn2.3xlarge-2.30.2-busy"), clock)
    assert loop.feed.latest() is None
    frame = frame_of(loop.tick())
    assert loop.feed.latest() is frame
    assert [device.index for device in frame.snapshot.devices] == [0]
    assert isinstance(reading(frame.snapshot.batches, "device.serial", Place(0)), Value)
    assert frame.health.verdict is Verdict.UNKNOWN
    assert "not judged" in frame.health.reason
    assert all(run.ok for run in frame.snapshot.runs)
    assert loop.tick() is None


def test_each_lane_at_its_own_period(clock: ManualClock) -> None:
    """A quarter second, a second, ten; the expensive lane is read by nobody unasked."""
    assert "expensive" not in PERIODS
    read: list[tuple[str, ...]] = []
    loop = loop_on(host_of(FILES), clock)
    poll = loop.reader.poll

    def noting(lanes: Collection[str]) -> Snapshot:
        read.append(tuple(sorted(lanes)))
        return poll(lanes)

    loop.reader.poll = noting  # type: ignore[method-assign, assignment]
    ticks(loop, clock, 20.0)
    assert len(read) == 80
    assert read[0] == read[40] == ("fast", "firmware", "jobs", "normal", "slow")
    assert read[1] == ("fast",)
    assert read[4] == ("fast", "normal")
    assert sum("slow" in lanes for lanes in read) == 2


def test_lanes_that_are_asked_for_are_read_at_once(clock: ManualClock) -> None:
    """A last look reads what is not due; the grid of the lanes stays as it was."""
    loop = loop_on(host_of(FILES), clock)
    first = frame_of(loop.tick())
    assert loop.tick() is None
    clock.advance(0.1)
    asked = frame_of(loop.tick(also=("normal",)))
    assert asked.snapshot.monotonic == first.snapshot.monotonic + 0.1
    read = {batch.read_at for batch in asked.snapshot.batches if batch.lane == "normal"}
    assert read == {asked.snapshot.monotonic}
    assert loop.tick() is None


def test_rates_stay_between_two_reads(tmp_path: Path, clock: ManualClock) -> None:
    """Utilisation does not flicker to missing in the frames of the fast lane."""
    write(tmp_path, FILES)
    loop = loop_on(DirectoryFs(str(tmp_path)), clock)
    ticks(loop, clock, 1.0)
    write(tmp_path, {BUSY: b"501000\n"})
    frames = ticks(loop, clock, 1.0)
    loop.close()
    found = [reading(frame.snapshot.batches, "core.utilization", CORE) for frame in frames]
    assert found == [Value(0.5, 1001.0)] * 4


def test_the_history_holds_what_was_read(tmp_path: Path, clock: ManualClock) -> None:
    """Each read once, with its time; not the frames in between."""
    write(tmp_path, FILES)
    loop = loop_on(DirectoryFs(str(tmp_path)), clock)
    ticks(loop, clock, 1.0)
    write(tmp_path, {COUNTER: b"9007199254740993\n"})
    ticks(loop, clock, 2.0)
    loop.close()
    assert loop.feed.history("core.inferences", CORE, 60.0) == [
        Value(5, 1000.0),
        Value(2**53 + 1, 1001.0),
        Value(2**53 + 1, 1002.0),
    ]


def test_the_judge_sees_snapshot_and_history(clock: ManualClock) -> None:
    """Its findings and its health are the frame's; the history has this snapshot already."""
    healthy = Health(Verdict.HEALTHY, "all is well")

    def judge(snapshot: Snapshot, history: History) -> tuple[tuple[Finding, ...], Health]:
        assert history.values("core.inferences", CORE, 1.0)[-1] == Value(5, snapshot.monotonic)
        return (), healthy

    loop = Loop(HostReader(host_of(FILES), clock, OPTIONS), judge=judge, explain=str.upper)
    assert frame_of(loop.tick()).health is healthy
    assert loop.feed.explain("hbm") == "HBM"


# what goes wrong


def test_a_judge_that_fails_leaves_no_verdict(clock: ManualClock) -> None:
    """UNKNOWN, and why; the readings are there and the loop goes on."""

    def broken(_snapshot: Snapshot, _history: History) -> tuple[tuple[Finding, ...], Health]:
        raise ZeroDivisionError("no peers")

    loop = Loop(HostReader(host_of(FILES), clock, OPTIONS), judge=broken)
    for frame in ticks(loop, clock, 1.0):
        assert frame.health.verdict is Verdict.UNKNOWN
        assert "ZeroDivisionError: no peers" in frame.health.reason
        assert frame.snapshot.devices


def test_a_listener_that_fails_costs_only_itself(clock: ManualClock) -> None:
    """The others hear of every frame, and the next frame tells of the failure."""
    heard: list[Frame] = []

    def broken(frame: Frame) -> None:
        raise RuntimeError(f"no room for {len(frame.snapshot.batches)} batches")

    loop = loop_on(host_of(FILES), clock)
    loop.subscribe(broken)
    loop.subscribe(heard.append)
    frames = ticks(loop, clock, 1.0)
    assert heard == frames
    assert not [run for run in frames[0].snapshot.runs if not run.ok]
    errors = [run.error for run in frames[1].snapshot.runs if not run.ok]
    assert len(errors) == 1
    assert errors[0].startswith("RuntimeError: no room for")


def test_a_collector_that_stops_goes_stale(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it gave last stands for three periods, then it is missing and says since when."""
    loop = loop_on(host_of(FILES), clock)
    assert inferences(loop.tick()) == Value(5, 1000.0)
    poll = loop.reader._sysfs.poll

    def broken(lanes: Collection[str]) -> list[Batch]:
        if "normal" in lanes:
            raise OSError(5, "Input/output error")
        return poll(lanes)

    monkeypatch.setattr(loop.reader._sysfs, "poll", broken)
    frames = ticks(loop, clock, 5.0)
    found = [(frame.snapshot.monotonic, inferences(frame)) for frame in frames]
    assert {value for now, value in found if now <= 1003.0} == {Value(5, 1000.0)}
    late = [value for now, value in found if now > 1003.0]
    assert late
    for value in late:
        assert isinstance(value, Missing)
        assert value.why is Why.STALE
        assert value.detail.startswith("last read ")
    errors = [r.error for frame in frames for r in frame.snapshot.runs if not r.ok]
    assert errors == ["OSError: [Errno 5] Input/output error"] * 4
    beat = reading(frames[-1].snapshot.batches, "device.health.heartbeat", Place(0))
    assert isinstance(beat, Value)
    monkeypatch.setattr(loop.reader._sysfs, "poll", poll)
    clock.advance(1.0)
    assert isinstance(inferences(loop.tick()), Value)
    series = loop.feed.history("core.inferences", CORE, 60.0)
    assert [value.read_time for value in series] == [1000.0, clock.monotonic()]


def test_derived_readings_go_stale_with_what_they_come_from(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No utilisation of long ago beside a counter that is missing."""
    loop = loop_on(host_of(FILES), clock)
    ticks(loop, clock, 2.0)
    monkeypatch.setattr(loop.reader._sysfs, "poll", lambda _lanes: [])
    frame = ticks(loop, clock, 6.0)[-1]
    found = reading(frame.snapshot.batches, "core.utilization", CORE)
    assert isinstance(found, Missing)
    assert found.why is Why.STALE


def test_a_device_that_does_not_answer_stays_so_while_it_is_left_alone(clock: ManualClock) -> None:
    """Its registers are stale soon; that it does not answer holds until it is asked again."""
    slow = Fault(content=b"a1b2c3d4e5f60718\n", then=lambda: clock.advance(2.0))
    host = FaultyFs(host_of(FILES), {f"{DEVICE}/serial_number": slow})
    loop = loop_on(host, clock)
    frames = ticks(loop, clock, 100.0)
    answering = [
        reading(frame.snapshot.batches, "device.firmware.answering", Place(0)) for frame in frames
    ]
    assert all(isinstance(one, Value) and one.value == 0 for one in answering[8:])


def test_a_reader_that_fails_as_a_whole(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last readings age and go stale; before the first read the frame is empty and says why."""
    loop = loop_on(host_of(FILES), clock)
    whole = loop.reader.poll

    def broken(lanes: Collection[str]) -> Snapshot:
        raise MemoryError(f"reading {len(lanes)} lanes")

    monkeypatch.setattr(loop.reader, "poll", broken)
    first = frame_of(loop.tick())
    assert first.snapshot.batches == ()
    assert [run.error for run in first.snapshot.runs if not run.ok] == [
        "MemoryError: reading 5 lanes"
    ]
    monkeypatch.setattr(loop.reader, "poll", whole)
    clock.advance(1.0)
    assert isinstance(inferences(loop.tick()), Value)
    monkeypatch.setattr(loop.reader, "poll", broken)
    frames = ticks(loop, clock, 60.0)
    assert isinstance(inferences(frames[0]), Value)
    assert isinstance(inferences(frames[-1]), Missing)
    assert frames[-1].snapshot.monotonic == clock.monotonic() - 0.25
    assert frames[-1].snapshot.devices
    *read, own = frames[-1].snapshot.batches
    assert own.collector == "loop"
    assert all(isinstance(cell, Missing) for batch in read for cell in batch.cells)


def test_five_seconds_of_a_stopped_process(clock: ManualClock) -> None:
    """SIGSTOP: one read of each lane afterwards, the skipped ones are counted and told."""
    loop = loop_on(host_of(FILES), clock)
    ticks(loop, clock, 1.0)
    clock.advance(5.5)
    frame = frame_of(loop.tick())
    assert inferences(frame) == Value(5, clock.monotonic())
    (event,) = frame.snapshot.events
    assert event.kind == "reads_skipped"
    assert dict(event.fields) == {"fast": 22, "normal": 5, "jobs": 2}
    assert "22 fast, 5 normal" in event.message
    skipped = {"fast": 22, "normal": 5, "slow": 0, "firmware": 0, "jobs": 2}
    assert loop.schedule.skipped == skipped
    assert kinds(ticks(loop, clock, 5.0)) == []


@pytest.mark.parametrize("step", [86_400.0, -86_400.0])
def test_a_step_of_the_wall_clock(clock: ManualClock, step: float) -> None:
    """A day forth or back: read on as before, told once; ages and rates know nothing of it."""
    loop = loop_on(host_of(FILES), clock)
    ticks(loop, clock, 2.0)
    clock.step_wall(step)
    frames = ticks(loop, clock, 2.0)
    assert kinds(frames) == ["clock_stepped"]
    assert f"{step:+.1f} s" in frames[0].snapshot.events[0].message
    assert len(frames) == 8
    for frame in frames:
        counted = inferences(frame)
        assert isinstance(counted, Value)
        idle = Value(0.0, counted.read_time)
        assert reading(frame.snapshot.batches, "core.utilization", CORE) == idle
    assert len(loop.feed.history("core.inferences", CORE, 60.0)) == 4
    assert [event.kind for event in loop.feed.events(60.0)] == ["clock_stepped"]


def test_a_root_that_disappears_and_comes_back(tmp_path: Path, clock: ManualClock) -> None:
    """Told both times; in between nothing is shown as if it were there."""
    root = tmp_path / "root"
    write(root, FILES)
    loop = loop_on(DirectoryFs(str(root)), clock)
    ticks(loop, clock, 2.0)
    root.rename(tmp_path / "away")
    gone = ticks(loop, clock, 15.0)
    assert kinds(gone) == ["driver_reloaded"]
    assert "devices none" in next(f for f in gone if f.snapshot.events).snapshot.events[0].message
    assert isinstance(inferences(gone[-1]), Missing)
    assert gone[-1].snapshot.devices == ()
    (tmp_path / "away").rename(root)
    back = ticks(loop, clock, 15.0)
    assert kinds(back) == ["driver_reloaded"]
    assert isinstance(inferences(back[-1]), Value)
    loop.close()


# events


def test_every_event_reaches_the_feed_once(clock: ManualClock) -> None:
    """Also of a frame that nobody looked at; seen in the last seconds, however old they say."""
    loop = loop_on(host_of(FILES), clock)
    loop.tick()
    for number in range(3):
        loop.reader._events.append(Event("line", NODE, 5.0, f"line {number}"))
        clock.advance(0.25)
        loop.tick()
    messages = [event.message for event in loop.feed.events(60.0)]
    assert messages == ["line 0", "line 1", "line 2"]
    assert [event.message for event in loop.feed.events(0.3)] == ["line 1", "line 2"]


def test_events_are_bounded(clock: ManualClock) -> None:
    """A flood leaves the last ones."""
    loop = loop_on(host_of(FILES), clock)
    loop.reader._events += [Event("line", NODE, 5.0, str(n)) for n in range(EVENTS + 500)]
    assert len(frame_of(loop.tick()).snapshot.events) == EVENTS + 500
    held = loop.feed.events(60.0)
    assert [held[0].message, held[-1].message, len(held)] == ["500", str(EVENTS + 499), EVENTS]


def test_a_history_that_ran_out_of_bytes_is_told_once(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """As an event, with the seconds that it holds."""
    reader = HostReader(tree("trn2.3xlarge-2.30.2-busy"), clock, OPTIONS)
    loop = Loop(reader, history=History(limit=10_000))
    told = [frame for frame in ticks(loop, clock, 30.0) if frame.snapshot.events]
    assert kinds(told) == ["history_shortened"]
    assert "it holds" in told[0].snapshot.events[0].message


# running


class ScriptedWakeups:
    """Wake-ups as a test wants them: after how many seconds a file wakes, or never."""

    def __init__(self, clock: ManualClock, *after: float | None) -> None:
        self._clock, self._after = clock, list(after)
        self.asked: list[tuple[str, ...]] = []
        self.mute = False
        self.woken = 0

    @property
    def watched(self) -> frozenset[str]:
        """What was asked for last, unless nothing can wake."""
        return frozenset(() if self.mute else self.asked[-1])

    def watch(self, paths: Collection[str]) -> None:
        """Note what is to be watched."""
        self.asked.append(tuple(paths))

    def wait(self, seconds: float) -> bool:
        """Let the time pass, or a part of it."""
        after = self._after.pop(0) if self._after else None
        wakes = after is not None and after < seconds
        self._clock.advance(after if wakes and after is not None else seconds)
        return wakes

    def wake(self) -> None:
        """Count."""
        self.woken += 1

    def close(self) -> None:
        """Nothing is held."""


def test_run_ticks_until_it_is_stopped(clock: ManualClock) -> None:
    """On the grid; a stop from a listener ends it after that frame."""
    wakeups = ScriptedWakeups(clock)
    loop = Loop(HostReader(host_of(FILES), clock, OPTIONS), wakeups=wakeups)
    times: list[float] = []

    def listen(frame: Frame) -> None:
        times.append(frame.snapshot.monotonic)
        if len(times) == 9:
            loop.stop()

    loop.subscribe(listen)
    loop.run()
    assert times == [1000.0 + 0.25 * number for number in range(9)]
    assert wakeups.woken == 1


def test_a_wake_up_reads_the_fast_lane_at_once(clock: ManualClock) -> None:
    """Outside the grid, which it does not shift; nothing else is read."""
    wakeups = ScriptedWakeups(clock, None, 0.1, None)
    loop = Loop(HostReader(host_of(FILES), clock, OPTIONS), wakeups=wakeups)
    frames: list[Frame] = []

    def listen(frame: Frame) -> None:
        frames.append(frame)
        if len(frames) == 5:
            loop.stop()

    loop.subscribe(listen)
    loop.run()
    times = [frame.snapshot.monotonic - 1000.0 for frame in frames]
    assert times == pytest.approx([0.0, 0.25, 0.35, 0.5, 0.75])
    beats = [reading(f.snapshot.batches, "device.health.heartbeat", Place(0)) for f in frames]
    assert isinstance(beats[2], Value)
    assert beats[2].read_time == pytest.approx(1000.35)
    assert inferences(frames[2]) == Value(5, 1000.0)


def test_what_is_watched_follows_the_driver(tmp_path: Path, clock: ManualClock) -> None:
    """The files of the devices that are there now, looked at with the normal lane."""
    event = f"{DEVICE}/stats/hardware/health_status/hw_error_event"
    write(tmp_path, FILES | {event: b"0\n"})
    wakeups = ScriptedWakeups(clock)
    reader = HostReader(DirectoryFs(str(tmp_path)), clock, OPTIONS)
    loop = Loop(reader, wakeups=wakeups)
    ticks(loop, clock, 2.0)
    assert wakeups.asked == [(event,)] * 2
    (tmp_path / DEVICE).rename(tmp_path / "away")
    ticks(loop, clock, 12.0)
    loop.close()
    assert wakeups.asked[-1] == ()


def test_a_fast_lane_that_is_announced_is_read_with_the_normal_one(
    tmp_path: Path, clock: ManualClock
) -> None:
    """Wake-ups take the place of its period; where they end it has its period again."""
    write(tmp_path, FILES | {f"{DEVICE}/stats/hardware/health_status/hw_error_event": b"0\n"})
    wakeups = ScriptedWakeups(clock)
    reader = HostReader(DirectoryFs(str(tmp_path)), clock, OPTIONS)
    loop = Loop(reader, wakeups=wakeups)
    frames = ticks(loop, clock, 4.0)
    assert [frame.snapshot.monotonic for frame in frames] == [1000.0, 1001.0, 1002.0, 1003.0]
    beats = [reading(f.snapshot.batches, "device.health.heartbeat", Place(0)) for f in frames]
    assert beats == [Value(7, frame.snapshot.monotonic) for frame in frames]
    wakeups.mute = True
    frames = ticks(loop, clock, 2.0)
    loop.close()
    assert len(frames) == 8
    assert loop.schedule.skipped == dict.fromkeys(PERIODS, 0)
    assert kinds(frames) == []


def test_running_in_a_thread(tmp_path: Path) -> None:
    """Frames come while the block runs, by the machine's clock; afterwards all is given back."""
    write(tmp_path, FILES)
    reader = HostReader(DirectoryFs(str(tmp_path)), SystemClock(), OPTIONS)
    loop = Loop(reader, schedule={"fast": 0.01, "normal": 0.02})
    enough = threading.Event()
    seen: list[float] = []

    def listen(frame: Frame) -> None:
        seen.append(frame.snapshot.monotonic)
        if len(seen) == 5:
            enough.set()

    loop.subscribe(listen)
    with running(loop) as feed:
        assert enough.wait(20)
        latest = feed.latest()
        assert reader.kept
    assert latest is not None
    assert reader.kept == 0
    assert sorted(seen) == seen
    assert "loop" not in {thread.name for thread in threading.enumerate()}


def test_a_kernel_line_is_read_when_it_comes(tmp_path: Path) -> None:
    """The driver's line wakes the loop, though the next read is ten minutes away."""
    write(tmp_path, FILES)
    (tmp_path / "dev").mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "dev/kmsg")
    writer = os.open(tmp_path / "dev/kmsg", os.O_RDWR)
    options = OPTIONS._replace(keep=True, kernel_log=True)
    reader = HostReader(DirectoryFs(str(tmp_path)), SystemClock(), options)
    loop = Loop(reader, schedule={"fast": 600.0, "slow": 600.0})
    first, told = threading.Event(), threading.Event()

    def listen(frame: Frame) -> None:
        first.set()
        if "hbm-scrub-failed" in kinds([frame]):
            told.set()

    loop.subscribe(listen)
    with running(loop):
        assert first.wait(20)
        os.write(writer, b"3,1,1000,-;neuron:ncdev_scrub: Scrub failed for nd0 HBM 1\n")
        assert told.wait(20)
    os.close(writer)


def test_a_signal_ends_a_loop_that_waits(tmp_path: Path) -> None:
    """SIGTERM's handler calls stop: the wait for a far-off lane ends at once."""
    write(tmp_path, FILES)
    reader = HostReader(DirectoryFs(str(tmp_path)), SystemClock(), OPTIONS)
    loop = Loop(reader, schedule={"slow": 600.0})
    ticked = threading.Event()
    loop.subscribe(lambda _frame: ticked.set())
    main = threading.get_ident()

    def interrupt() -> None:
        if ticked.wait(20):
            signal.pthread_kill(main, signal.SIGTERM)

    old = signal.signal(signal.SIGTERM, lambda *_: loop.stop())
    helper = threading.Thread(target=interrupt)
    try:
        helper.start()
        loop.run()
    finally:
        signal.signal(signal.SIGTERM, old)
        helper.join(20)
        loop.close()
    assert ticked.is_set()


@pytest.mark.parametrize("pumped", [True, False])
def test_a_kernel_log_that_wakes_needs_no_fast_lane_either(
    tmp_path: Path, clock: ManualClock, *, pumped: bool
) -> None:
    """Where its lines wake the loop nothing has to be looked for; where they do not, it has."""
    write(tmp_path, FILES | {f"{DEVICE}/stats/hardware/health_status/hw_error_event": b"0\n"})
    options = OPTIONS._replace(keep=pumped, kernel_log=True)
    loop = Loop(
        HostReader(DirectoryFs(str(tmp_path)), clock, options), wakeups=ScriptedWakeups(clock)
    )
    frames = ticks(loop, clock, 4.0)
    loop.close()
    times = [frame.snapshot.monotonic - 1000.0 for frame in frames]
    assert times == [0.25 * n for n in range(0, 16, 4 if pumped else 1)]
