"""Which workers fit a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.clock import SystemClock
from neuron_observer.sources.hostfs import DirectoryFs, LoggingHost
from neuron_observer.sources.tapped import Tapped, TappedWorkers
from neuron_observer.sources.workers import DirectWorkers, ThreadWorkers

if TYPE_CHECKING:
    from neuron_observer.clock import Clock
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Workers


def choose_workers(host: HostFs, clock: Clock, blocking: bool) -> Workers:  # noqa: FBT001 - a port
    """Threads, a helper process where reads block, or nothing of the kind for a listing.

    A simulation's reads may wait as well, but in a way that ends with the process.
    """
    if isinstance(host, Tapped):
        return TappedWorkers(choose_workers(host.untapped, clock, blocking), host.tape)
    if not isinstance(host, DirectoryFs):
        waits = isinstance(host, LoggingHost) and isinstance(clock, SystemClock)
        return ThreadWorkers(host, clock) if waits else DirectWorkers(host, clock)
    if not blocking:
        return ThreadWorkers(host, clock)
    from neuron_observer.sources.helper import HelperWorkers  # noqa: PLC0415 - costs subprocess

    return HelperWorkers(host.root, clock)
