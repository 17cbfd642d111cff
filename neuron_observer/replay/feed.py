"""The feed of a recording that is played: faster or slower, on and back, frame by frame."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from neuron_observer.errors import ObserverError
from neuron_observer.feed import last_of
from neuron_observer.replay.player import Player

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.model import Event, Frame, Place, Value
    from neuron_observer.recording.reader import Recording
    from neuron_observer.replay.player import MakeJudge

HELD = 120  # frames behind the last one, to step back to
EVENTS = 2000  # that are held
_LAST_WAIT = 5.0  # seconds for the thread to end


class ReplayFeed:
    """Plays in a thread of its own between `start` and `close`, or by `step` in the caller's.

    A frame is the same however it was reached: on the way to it everything before it is played. So
    to seek back plays from the beginning; steps back within the last frames cost nothing.
    """

    def __init__(
        self,
        recording: Recording,
        make_judge: MakeJudge,
        clock: Clock,
        *,
        speed: float = 1.0,
        paused: bool = False,
    ) -> None:
        """`clock` is the machine's and only sets the pace; the first frame is there at once."""
        self.recording = recording
        self.error: ObserverError | None = None  # why it plays no more
        self._make_judge, self._pace = make_judge, clock
        self._speed, self._paused = speed, paused
        self._wanted: SimpleQueue[tuple[str, float]] = SimpleQueue()
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="replay", daemon=True)
        self._player = Player(recording, make_judge)
        self._past: deque[tuple[float, Frame]] = deque(maxlen=HELD)  # positions and frames
        self._back = 0  # how many frames before the last one is shown
        self._events: deque[tuple[float, Event]] = deque(maxlen=EVENTS)
        self._shown: tuple[float, Frame] | None = None
        self._from = 0.0, 0.0  # since when (machine's clock) it plays from which position
        self._forward()
        self._keep_pace()

    @property
    def clock(self) -> Clock:
        """The recording's: ages are told by it."""
        return self._player.clock

    @property
    def times(self) -> Sequence[float]:
        """Seconds of each frame since the first."""
        return self.recording.times

    @property
    def span(self) -> float:
        """Seconds from the first frame to the last."""
        return self.recording.span

    @property
    def position(self) -> float:
        """Seconds of the shown frame since the first."""
        return self._shown[0] if self._shown else 0.0

    @property
    def ended(self) -> bool:
        """Whether the last frame is shown."""
        return self.error is not None or (not self._back and self._player.played >= len(self.times))

    @property
    def note(self) -> str:
        """Why the recording ends early, or plays no more; empty if it is whole."""
        return self.error.message if self.error else self.recording.note

    @property
    def speed(self) -> float:
        """Recorded seconds a second; 0: as fast as it goes."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._want("speed", speed)

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._want("pause", float(paused))

    def seek(self, seconds: float) -> None:
        """Go to the last frame of at most so many seconds since the first."""
        self._want("seek", seconds)

    def step(self, frames: int = 1) -> None:
        """Go on by so many frames, or back."""
        self._want("step", frames)

    def start(self) -> None:
        """Play in a thread of its own from now on."""
        self._keep_pace()
        self._thread.start()

    def close(self) -> None:
        """End the thread and give up what is held."""
        self._closed = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_WAIT)
        if not self._thread.is_alive():
            self._player.close()

    # The feed: any thread may ask.

    def latest(self) -> Frame | None:
        """The shown frame."""
        return self._shown[1] if self._shown else None

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """What was read of one metric in the last `seconds` before the shown frame."""
        frame = self.latest()
        if frame is None:
            return ()
        now = frame.snapshot.monotonic
        ahead = max(self._player.clock.monotonic() - now, 0.0)
        values = self._player.loop.feed.history(metric, place, seconds + ahead)
        return [one for one in values if now - seconds <= one.read_time <= now]

    def last(self, metric: str, place: Place, begin: float, end: float) -> Value | None:
        """What was read last between two instants; nothing of after the shown frame."""
        frame = self.latest()
        if frame is None:
            return None
        end = min(end, frame.snapshot.monotonic)
        return last_of(self._player.loop.feed, metric, place, begin, end)

    def events(self, seconds: float) -> Sequence[Event]:
        """Events of the last `seconds` before the shown frame, oldest first."""
        frame = self.latest()
        now = frame.snapshot.monotonic if frame else 0.0
        return [event for seen, event in list(self._events) if now - seconds <= seen <= now]

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding; empty if the id is unknown."""
        return self._player.judge.explain(finding_id)

    # What plays: the thread, or whoever calls before it is started.

    def _want(self, what: str, value: float) -> None:
        self._wanted.put((what, value))
        if self._thread.is_alive():
            self._wake.set()
        else:
            self._obey()

    def _work(self) -> None:
        while not self._closed:
            try:
                self._obey()
                pause = self._until_next()
                if pause == 0.0:
                    self._forward()
                    continue
            except ObserverError as error:
                self.error, pause = error, None
            self._wake.wait(pause)
            self._wake.clear()

    def _obey(self) -> None:
        while True:
            try:
                what, value = self._wanted.get_nowait()
            except Empty:
                return
            if what == "speed":
                self._speed = value
            elif what == "pause":
                self._paused = bool(value)
            elif what == "seek":
                self._go_to(max(bisect_right(self.times, value) - 1, 0))
            else:
                self._go_to(max(self._number + int(value), 0))
            self._keep_pace()

    @property
    def _number(self) -> int:
        """Of the shown frame."""
        return self._player.played - 1 - self._back

    def _go_to(self, number: int) -> None:
        oldest = self._player.played - len(self._past)
        if number < oldest:
            self._player.close()
            self._player = Player(self.recording, self._make_judge)
            self._past.clear()
            self._events.clear()
            self._back = 0
        while self._player.played <= number and not self._closed:
            if not self._play(show=self._player.played == number):
                break
        self._show(max(self._player.played - 1 - number, 0))

    def _forward(self) -> bool:
        if self._back:
            self._show(self._back - 1)
            return True
        return self._play(show=True)

    def _play(self, *, show: bool) -> bool:
        frame = self._player.step()
        if frame is None:
            return False
        self._past.append((self._player.position, frame))
        seen = frame.snapshot.monotonic
        self._events.extend((seen, event) for event in frame.snapshot.events)
        if show:
            self._show(0)
        return True

    def _show(self, back: int) -> None:
        if self._past:
            self._back = min(back, len(self._past) - 1)
            self._shown = self._past[-1 - self._back]

    def _keep_pace(self) -> None:
        self._from = self._pace.monotonic(), self.position

    def _until_next(self) -> float | None:
        """Seconds until the next frame is due; None if none is."""
        following = self._number + 1
        if self._paused or self.ended or following >= len(self.times):
            return None
        if self._speed <= 0:
            return 0.0
        since, position = self._from
        due = since + (self.times[following] - position) / self._speed
        return max(due - self._pace.monotonic(), 0.0)
