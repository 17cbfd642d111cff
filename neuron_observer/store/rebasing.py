"""What an earlier run left, made fit for this one (architecture, laws 4 and 5). Pure.

Counts that nobody can clear stand as they are. All others began at 0 with the load of the driver
or with the boot: after another one that is what they are compared with. What happened in another
boot is in no log of this one and counts no more; findings stand until what they are about is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.rules.trust import is_level

if TYPE_CHECKING:
    from neuron_observer.model import Event
    from neuron_observer.rules.memory import Memory
    from neuron_observer.store.origin import Origin

# The driver resets every device at load, and counts it: not 0 is no news after one.
_NOT_FROM_ZERO = frozenset({"core.reset_requests"})
_OURS = "host.kernel_log."  # counted by this program, from 0 at each start
_OF_THE_DRIVER = ("core.", "device.")


def rebased(memory: Memory, before: Origin, now: Origin) -> Memory:
    """The memory of `before`, for `now`."""
    counters = {
        spot: based
        for spot, value in memory.counters.items()
        if (based := _base(spot[1], value, before, now)) is not None
    }
    events = tuple(one for one in memory.events if _counts(one, memory))
    return memory._replace(counters=counters, events=events if now.is_same_boot(before) else ())


def _base(metric: str, value: int, before: Origin, now: Origin) -> int | None:
    """With what a counter's next value is compared; None: with nothing."""
    if metric not in METRICS:  # a later version has it no more
        return None
    if metric.startswith(_OURS):
        return 0
    if is_level(metric):
        return value
    anew = now.is_other_boot(before)
    if metric.startswith(_OF_THE_DRIVER):
        anew = now.is_other_load(before)
    if not anew:
        return value
    return None if metric in _NOT_FROM_ZERO else 0


def _counts(event: Event, memory: Memory) -> bool:
    """Whether it came after its device was declared healthy."""
    device = event.place.device
    said = memory.settled.get(memory.keys.get(device, "")) if device is not None else None
    return said is None or event.at > said.at
