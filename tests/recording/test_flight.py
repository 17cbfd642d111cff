from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.recording import opened
from neuron_observer.recording.dumps import Dumps
from neuron_observer.recording.flight import FlightRecorder, Limits
from neuron_observer.replay import Player
from neuron_observer.sources.tapped import tapped
from tests.recordings import Stand, make_judge, read_of, simulated, stand

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.model import Event, Frame
    from neuron_observer.recording import Recording


class Flight(NamedTuple):
    """A loop with a recorder."""

    made: Stand
    recorder: FlightRecorder
    told: list[Event]

    def run(self, seconds: float) -> list[Frame]:
        """Tick for so long, and let dumps be written."""
        frames = self.made.run(seconds)
        self.recorder.close()
        return frames

    @property
    def kinds(self) -> list[str]:
        """What the recorder told."""
        return [event.kind for event in self.told]


def flight(
    scenario: str, state: Path | None, begin: float | None = None, limits: Limits | None = None
) -> Flight:
    """As the daemon puts it together."""
    clock = ManualClock()
    limits = limits or Limits()
    dumps = Dumps(state, limits.disk_bytes) if state else None
    told: list[Event] = []
    recorder = FlightRecorder(limits, dumps, tell=told.append)
    made = stand(tapped(simulated(scenario, clock, begin), recorder.tape), clock)
    recorder.begin(made.loop.reader)
    made.loop.subscribe(lambda frame: recorder.note(frame, made.loop.schedule.periods))
    return Flight(made, recorder, told)


def dumped(state: Path) -> list[Recording]:
    """The dumps, the oldest first."""
    return [opened(str(path)) for path in Dumps(state, 0).known()]


def last_of(recording: Recording) -> Frame:
    """The last frame of a recording."""
    player, last = Player(recording, make_judge), None
    while (frame := player.step()) is not None:
        last = frame
    assert last is not None
    assert recording.note == ""
    return last


def test_a_finding_that_fires_is_written_and_replayed_as_it_was(tmp_path: Path) -> None:
    """The dump ends with the frame that fired; its replay says what the daemon said."""
    one = flight("hbm-unrepairable", tmp_path, 95.0)
    frames = one.run(30.0)
    (recording,) = dumped(tmp_path)
    assert "hbm-uncorrectable" in recording.header["why"]["findings"]
    assert one.kinds == ["recording_written"]
    now = last_of(recording)
    was = next(frame for frame in frames if frame.snapshot.at == now.snapshot.at)
    assert "hbm-uncorrectable" in {finding.id for finding in now.findings}
    assert (now.findings, now.health) == (was.findings, was.health)
    assert read_of(now) == {k: v for k, v in read_of(was).items() if k[0] != "recorder"}


def test_what_it_tells_is_no_evidence_of_a_fault(tmp_path: Path) -> None:
    """In a frame, as the daemon puts it there, the event makes no finding of its own."""
    one = flight("hbm-unrepairable", tmp_path)
    one.run(150.0)
    (event,) = one.told
    again = flight("healthy", None)
    again.made.loop.tell(event)
    found = [f.id for frame in again.run(5.0) for f in frame.findings if f.severity.value != "info"]
    assert found == []


def test_a_window_that_has_rolled_on_gives_the_same_end(tmp_path: Path) -> None:
    """What stood before the window began is its base: processes, folders, all files."""
    one = flight("healthy", tmp_path, limits=Limits(window=12.0))
    frames = one.run(62.0)
    asked = one.recorder.request("test")
    frames += one.run(1.0)
    recording = opened(asked.result(0))
    assert 12 <= recording.span <= 40
    now = last_of(recording)
    was = next(frame for frame in frames if frame.snapshot.at == now.snapshot.at)
    totals = ("kernel_log", "derived", None)  # counted since the reader began
    assert {**read_of(now), totals: None} == {**read_of(was), totals: None}
    assert [job.id for job in now.snapshot.jobs] == [job.id for job in was.snapshot.jobs]
    assert now.health.verdict is was.health.verdict


def test_dumps_keep_their_distance(tmp_path: Path) -> None:
    """What fires meanwhile is in the next one, as soon as that may be."""
    one = flight("hbm-unrepairable", tmp_path, 95.0)
    frames = one.run(30.0)
    fired = next(f for frame in frames for f in frame.findings if f.id == "hbm-uncorrectable")
    later = fired._replace(id="another")
    for seconds, findings in ((10.0, (fired, later)), (400.0, ()), (200.0, ())):
        one.made.clock.advance(seconds)
        (frame,) = one.made.run(0.1)
        one.recorder.note(frame._replace(findings=findings), {})
        one.recorder.close()
    first, second = (recording.header["why"]["findings"] for recording in dumped(tmp_path))
    assert "hbm-uncorrectable" in first
    assert "another" in second


def test_what_is_no_alarm_is_not_written(tmp_path: Path) -> None:
    """Informational findings, and what an earlier run found."""
    one = flight("healthy", tmp_path)
    one.run(20.0)
    assert dumped(tmp_path) == []
    assert one.recorder.status().dumps == 0


def test_without_a_state_directory_all_goes_on(tmp_path: Path) -> None:
    """Nothing is written, and nothing is told of it: it was said at the start."""
    one = flight("hbm-unrepairable", None, 95.0)
    frames = one.run(30.0)
    assert all(run.ok for frame in frames for run in frame.snapshot.runs)
    assert one.told == []
    status = one.recorder.status()
    assert (status.failed, status.disk_bytes) == (1, None)
    asked = one.recorder.request("test")
    one.run(1.0)
    with pytest.raises(OSError, match="no state directory"):
        asked.result(0)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing_is_told_once(tmp_path: Path) -> None:
    """Each dump counts as failed; frames go on."""
    (tmp_path / "state").touch()
    one = flight("healthy", tmp_path / "state")
    for _ in range(3):
        asked = one.recorder.request("test")
        one.run(1.0)
        with pytest.raises(OSError, match="Not a directory"):
            asked.result(0)
    assert one.kinds == ["recording_failed"]
    assert one.recorder.status().failed == 3


def test_bytes_that_run_out_are_told_once() -> None:
    """And the limit holds, also after it was lowered."""
    one = flight("healthy", None, limits=Limits(window=600.0))
    one.run(32.0)
    assert one.recorder.status().seconds >= 15.0
    one.recorder.configure(Limits(window=600.0, bytes=30_000))
    one.run(46.0)
    assert one.kinds == ["recorder_shortened"]
    assert one.recorder.status().seconds < 60


def test_what_fails_in_the_tape_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames go on, and the recorder with them."""
    one = flight("healthy", None)

    def broken(_chunk: object) -> None:
        raise RuntimeError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(one.recorder._ring, "take", broken)
        frames = one.run(20.0)
    assert all(run.ok for frame in frames for run in frame.snapshot.runs)
    assert one.kinds == ["recording_failed"]
    one.run(20.0)
    assert one.recorder.status().seconds > 0
