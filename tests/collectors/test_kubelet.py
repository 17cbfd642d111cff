"""The kubelet is asked seldom, only where a pod has no name, and its silence is said."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.jobs import JobCollector
from neuron_observer.collectors.kubelet import PERIOD, PodNames
from neuron_observer.model import Pod
from tests.jobs.makers import TRN2, holder
from tests.sources.kubelets import encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.jobs.identity import Holder
    from neuron_observer.model import Process
    from neuron_observer.sources.listing import ListingFs

ANSWER = encoded([("ml", "worker-0", [("aws.amazon.com/neuron", ["0"])])])
NAMELESS, NAMED = holder(pod=Pod("u")), holder(pod=Pod("u", "own", "ns"))


class Kubelet:
    """Answers, or fails from a call on."""

    def __init__(self, fails_from: int = 99) -> None:
        self.calls = 0
        self._fails_from = fails_from

    def __call__(self) -> bytes:
        """An answer."""
        self.calls += 1
        if self.calls >= self._fails_from:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return ANSWER


def names(found: list[Holder]) -> list[str | None]:
    """Names of the pods."""
    return [one.process.pod.name if one.process.pod else None for one in found]


def test_it_is_asked_each_half_minute() -> None:
    """However often the map is read."""
    kubelet, clock = Kubelet(), ManualClock()
    pods = PodNames(kubelet, clock)
    for _ in range(3):
        assert names(pods.name([NAMELESS, NAMED], TRN2)) == ["worker-0", "own"]
    assert kubelet.calls == 1
    clock.advance(PERIOD)
    pods.name([NAMELESS], TRN2)
    assert kubelet.calls == 2


def test_it_is_not_asked_where_nothing_is_missing() -> None:
    """No pod, or all named by the log folders."""
    kubelet = Kubelet()
    assert names(PodNames(kubelet, ManualClock()).name([holder(), NAMED], TRN2)) == [None, "own"]
    assert kubelet.calls == 0


def test_its_silence_is_said_and_old_answers_are_not_kept() -> None:
    """A pod that was given a device half a minute ago may have gone."""
    clock = ManualClock()
    pods = PodNames(Kubelet(fails_from=2), clock)
    pods.name([NAMELESS], TRN2)
    assert pods.note == ""
    clock.advance(PERIOD)
    assert names(pods.name([NAMELESS], TRN2)) == [None]
    assert pods.note == "names of pods are not known: Permission denied"


def test_the_map_has_the_names(tree: Callable[[str], ListingFs]) -> None:
    """A pod whose log folder is not there is named by its devices; silence is a note of the map."""
    clock = ManualClock()
    plain = JobCollector(tree("proc/pods"), clock)
    plain.poll(())
    nameless = next(p for p in processes(plain) if p.pod and p.pod.name is None)
    given = [("aws.amazon.com/neuron", [str(device) for device in nameless.devices])]
    answer = encoded([("ml", "serve-0", given)])
    named = JobCollector(tree("proc/pods"), clock, pods=PodNames(lambda: answer, clock))
    named.poll(())
    found = {one.pid: one.pod.name for one in processes(named) if one.pod}
    before = {one.pid: one.pod.name for one in processes(plain) if one.pod}
    assert found == before | {nameless.pid: "serve-0"}
    silent = JobCollector(tree("proc/pods"), clock, pods=PodNames(Kubelet(fails_from=1), clock))
    silent.poll(())
    assert silent.scan is not None
    assert "names of pods are not known: Permission denied" in silent.scan.notes


def processes(of: JobCollector) -> list[Process]:
    """All of its map."""
    return [rank.process for job in of.jobs for rank in job.ranks]
