"""Which pods the kubelet gave which devices, asked at most every half minute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from neuron_observer.jobs.pods import owners, with_name
from neuron_observer.parsers.pod_resources import pod_resources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.jobs.identity import Holder
    from neuron_observer.jobs.ownership import NodeShape
    from neuron_observer.parsers.pod_resources import Allotment

PERIOD: Final = 30.0  # seconds


class PodNames:
    """Names for pods that have none yet; a kubelet that does not answer costs only the names."""

    def __init__(self, ask: Callable[[], bytes], clock: Clock) -> None:
        """`ask` gives the answer of the pod-resources service, or raises OSError."""
        self._ask = ask
        self._clock = clock
        self._due: float | None = None
        self._allotments: tuple[Allotment, ...] = ()
        self.note = ""  # why there are none

    def name(self, holders: Sequence[Holder], shape: NodeShape) -> list[Holder]:
        """The holders, those of pods that the kubelet knows by name with it."""
        nameless = any(one.process.pod and one.process.pod.name is None for one in holders)
        now = self._clock.monotonic()
        if nameless and (self._due is None or now >= self._due):
            self._due = now + PERIOD
            self._read()
        if not self._allotments:
            return list(holders)
        pods = owners(self._allotments, shape)
        return [one._replace(process=with_name(one.process, pods)) for one in holders]

    def _read(self) -> None:
        try:
            self._allotments, self.note = pod_resources(self._ask()), ""
        except OSError as error:
            self._allotments = ()
            self.note = f"names of pods are not known: {error.strerror or error}"
