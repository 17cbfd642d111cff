"""Recordings played back: the bytes that were read, through the same collectors, rules and page.

Nothing of the machine that plays shows in what is found: the clock, the host and the options are
the recording's. So the same recording gives the same frames, byte for byte, on any machine.
"""

from neuron_observer.replay.feed import ReplayFeed
from neuron_observer.replay.player import Player

__all__ = ["Player", "ReplayFeed"]
