"""The board of a recording: time goes as one says."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuron_observer.feed import Transport
from neuron_observer.tui.board import Board
from neuron_observer.tui.keys import Key

if TYPE_CHECKING:
    from textual.binding import BindingType

SLOWEST, FASTEST = 0.125, 64.0
_SHARE = 50  # of so many parts a seek goes one on or back
_LEAST = 10.0  # seconds of a seek
REPLAY_KEYS = (
    Key("space", "play", "Space", "play and stand still", "Replay"),
    Key("comma", "step(-1)", ",", "a frame back (stands still)", "Replay"),
    Key("full_stop", "step(1)", ".", "a frame on (stands still)", "Replay"),
    Key("left_square_bracket", "seek(-1)", "[", "a fiftieth back, at least 10 s", "Replay"),
    Key("right_square_bracket", "seek(1)", "]", "a fiftieth on, at least 10 s", "Replay"),
    Key("left_curly_bracket", "seek(-99)", "{", "to the beginning", "Replay"),
    Key("right_curly_bracket", "seek(99)", "}", "to the end", "Replay"),
    Key("plus,equals_sign", "speed(2)", "+", "twice as fast", "Replay"),
    Key("minus", "speed(0.5)", "-", "half as fast", "Replay"),
)


class ReplayBoard(Board):
    """A board with a transport."""

    BINDINGS: ClassVar[list[BindingType]] = [
        (key.keys, key.action, key.text) for key in REPLAY_KEYS
    ]
    OWN_KEYS: ClassVar[tuple[Key, ...]] = REPLAY_KEYS

    @property
    def transport(self) -> Transport:
        """What moves it."""
        feed = self.state.feed
        if not isinstance(feed, Transport):
            raise TypeError("a recording, please")
        return feed

    def action_play(self) -> None:
        """Play, or stand still; at the end from the beginning."""
        transport = self.transport
        if transport.ended and transport.span:
            transport.seek(0.0)
            transport.paused = False
        else:
            transport.paused = not transport.paused
        self.look()

    def action_step(self, frames: int) -> None:
        """Stand still, some frames on or back."""
        self.transport.paused = True
        self.transport.step(frames)
        self.look()

    def action_seek(self, parts: int) -> None:
        """Some parts on or back."""
        transport = self.transport
        part = max(transport.span / _SHARE, _LEAST)
        transport.seek(min(max(transport.position + parts * part, 0.0), transport.span))
        self.look()

    def action_speed(self, factor: float) -> None:
        """So many times as fast."""
        faster = (self.transport.speed or FASTEST) * factor
        self.transport.speed = min(max(faster, SLOWEST), FASTEST)
        self.look()
