"""One recording through the real reader, loop and judge, a frame a tick."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from neuron_observer.collectors.firmware import PERIOD
from neuron_observer.collectors.sysfs import PERIODS as SYSFS_PERIODS
from neuron_observer.errors import InputError
from neuron_observer.live import MonitorFeed
from neuron_observer.loop import PERIODS, Loop
from neuron_observer.loop.schedule import Schedule
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.recorded import RecordedFs, RecordedWorkers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from neuron_observer.checks.judging import Judge
    from neuron_observer.clock import Clock
    from neuron_observer.model import Frame
    from neuron_observer.recording.reader import Recording
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.passes import Pass

    MakeJudge: TypeAlias = Callable[[bool], Judge]

WALL = 1_796_032_800.0  # of a listing that tells none: 2026-11-30T10:00:00Z
_WHOLE = (*(lane for lane in SYSFS_PERIODS if lane != "expensive"), "firmware", "jobs")


class RecordedClock:
    """The clock of the tick that is played; nobody can wait for it."""

    def __init__(self, wall: float, monotonic: float) -> None:
        self._wall, self._monotonic = wall, monotonic

    def wall(self) -> float:
        """Seconds since the epoch, as they were."""
        return self._wall

    def monotonic(self) -> float:
        """Monotonic seconds, as they were."""
        return self._monotonic

    def wait(self, seconds: float) -> None:
        """Nothing: time goes on with the next tick."""

    def set(self, wall: float, monotonic: float) -> None:
        """This is the time now."""
        self._wall, self._monotonic = wall, monotonic


class _Script(Schedule):
    """Lanes are due when they were."""

    def __init__(self) -> None:
        super().__init__(PERIODS)
        self.lanes: tuple[str, ...] = ()

    def due(self, now: float) -> dict[str, int]:  # noqa: ARG002 - the recording knows
        """The lanes of this tick."""
        return dict.fromkeys(self.lanes, 0)

    def late(self, now: float) -> float:  # noqa: ARG002 - how late we play is of no interest
        """Never."""
        return 0.0


class Player:
    """Plays from the beginning, tick by tick; it goes on and never back."""

    def __init__(self, recording: Recording, make_judge: MakeJudge) -> None:
        """`make_judge` is told whether the recording is of an instant, so that nothing can hold."""
        self.recording = recording
        self._passes: Iterator[Pass] = recording.passes()
        first = next(self._passes, None)
        if first is None:
            raise InputError(f"{recording.file}: damaged before its first pass is whole")
        self._waiting: Pass | None = first  # is a frame, and applied
        header = recording.header
        begin = float(header.get("wall") or recording.recorded_at or WALL)
        self._begin = begin, float(header.get("monotonic", 1_000.0))
        self.clock = RecordedClock(*self._begin)
        host = RecordedFs(str(header.get("host_root", recording.file)), first)
        host.timed = recording.timed
        self._host, self._script = host, _Script()
        if recording.timed:  # what stood before the first tick is no frame
            self._waiting = self._next()
        self.judge = make_judge(not recording.timed and len(recording.times) <= 2)
        workers = RecordedWorkers if recording.timed else None
        reader = HostReader(host, self.clock, _options(recording), _made(workers))
        self.loop = Loop(
            reader, schedule=self._script, judge=self.judge, explain=self.judge.explain
        )
        self.played = 0  # ticks
        self.position = 0.0  # seconds of the last one

    def step(self) -> Frame | None:
        """The next frame; None at the end."""
        one, self._waiting = self._waiting or self._next(), None
        if one is None:
            return None
        wall, monotonic = self._begin
        if one.tick is None:
            self.clock.set(wall + one.at, monotonic + one.at)
            self._script.lanes = _WHOLE
        else:
            self.clock.set(one.tick.wall, one.tick.monotonic)
            self._script.lanes = one.tick.lanes
        self._script.change(one.periods, self.clock.monotonic())
        self.position = self.recording.times[min(self.played, len(self.recording.times) - 1)]
        self.played += 1
        return self.loop.tick()

    def _next(self) -> Pass | None:
        """The next pass that is a frame, applied; others only say what stood there."""
        for one in self._passes:
            self._host.apply(one)
            if one.tick is not None or not self.recording.timed:
                return one
        return None

    def close(self) -> None:
        """Give up what is held."""
        self.loop.close()


def _made(workers: type[RecordedWorkers] | None) -> Callable[[HostFs, Clock, bool], Any] | None:
    return None if workers is None else lambda host, clock, _: workers(host, clock)


def _options(recording: Recording) -> Options:
    """As the host was read; of a capture as a command reads it."""
    told: Mapping[str, Any] = recording.options
    paths = told.get("path_map")
    return Options(
        path_map=MappingProxyType(dict(paths)) if isinstance(paths, dict) else MappingProxyType({}),
        thorough=bool(told.get("thorough", False)),
        all_devices=bool(told.get("all_devices", False)),
        firmware_deadline=told.get("firmware_deadline"),
        firmware_period=float(told.get("firmware_period", PERIOD)),
        wait_for_firmware=not recording.timed,
        job_mapping=told.get("job_mapping"),
        kernel_log=bool(told.get("kernel_log", True)),
        monitor=MonitorFeed("child") if told.get("monitor", not recording.timed) else None,
    )
