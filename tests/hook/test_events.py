"""Time in collectives that return at once, told by the device's events: when, and when not."""

from __future__ import annotations

import threading
from math import isnan
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer import hook
from tests.hook.reading import only
from tests.hook.stand_in import functions
from tests.hook.test_vectors import Job

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from tests.hook.reading import Step

Modules = dict[str, "ModuleType"]

STEP, WORK = 0.5, 0.3  # seconds of a step; of work in it
AHEAD = 3  # steps that the host is ahead of the device


class Remote(Job):
    """A rank whose device works through a queue behind the host."""

    def __init__(self, torch: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(torch)
        self.world = self.distributed.world
        self.world.backend = "neuron"
        self.device = self.world.device
        self.device.work(AHEAD * STEP)
        clock = SimpleNamespace(monotonic=lambda: self.device.now, time=lambda: 1.79e9)
        monkeypatch.setattr(hook, "time", clock)
        self.world.during = lambda _: self.device.work((STEP - WORK) / 2)

    def train(self, steps: int = 1, *calls: Callable[[], Any]) -> None:
        """Steps of which the host waits for the one before last: work, two collectives."""
        for _ in range(steps):
            self.device.work(WORK)
            self.step(*(calls or (self.reduce, self.reduce)))
            self.device.now += STEP


@pytest.fixture
def job(torch: Modules, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """A rank that is hooked, with events."""
    job = Remote(torch, monkeypatch)
    assert hook.install(events=True)
    return job


def _record(folder: Path, number: int) -> Step:
    (step,) = [step for step in only(folder).records if step.number == number]
    return step


def _known(folder: Path) -> list[int]:
    return [step.number for step in only(folder).records if not isnan(step.collectives)]


def test_every_tenth_step_is_known_some_steps_later(folder: Path, job: Remote) -> None:
    """In its own record, when the device is through; nothing waits for that."""
    job.train(11)
    before, seen = _record(folder, 10), only(folder)
    assert (before.source, before.calls, seen.source) == (hook.NONE, 2, hook.NONE)
    assert isnan(before.collectives)
    job.train(AHEAD + 2)
    after, seen = _record(folder, 10), only(folder)
    assert (after.source, after.calls, seen.source) == (hook.EVENT, 2, hook.EVENT)
    assert after.collectives == pytest.approx(STEP - WORK)
    assert after.shortest == pytest.approx((STEP - WORK) / 2)
    assert (after.begin, after.end) == (before.begin, before.end)
    job.train(30)
    assert _known(folder) == [10, 20, 30, 40]
    assert only(folder).source == hook.EVENT
    assert job.device.made == 2 * 3, "events are used again"


def test_the_share_of_the_devices_step_is_told_not_its_seconds(folder: Path, job: Remote) -> None:
    """The host's step was 0.6 s when the device's was 0.5: a step less collectives stays sound."""
    job.train(10)
    job.device.now += 0.1
    job.train(9)
    step = _record(folder, 10)
    assert step.end - step.begin == pytest.approx(STEP + 0.1)
    assert step.collectives == pytest.approx((STEP + 0.1) * (STEP - WORK) / STEP)


def test_events_that_stamp_the_hosts_clock_are_not_believed(folder: Path, job: Remote) -> None:
    """They tell how long the host took to ask for a collective, which is not how long it took."""

    def ask(_: str) -> None:
        job.device.now += 25e-6
        job.device.work((STEP - WORK) / 2)

    job.world.during = ask
    job.device.stamps_host = True
    job.train(60)
    assert _known(folder) == []
    assert only(folder).source == hook.NONE
    job.device.stamps_host = False
    job.train(20)
    assert _known(folder) == [70]
    job.train(300)
    assert _known(folder)[-1] == 370


def test_what_proves_nothing_is_not_tried_for_ever(folder: Path, job: Remote) -> None:
    """After 20 samples no event is recorded any more: each may cost the job something."""
    called: list[str] = []
    job.device.called = called.append
    job.device.stamps_host = True
    job.train(400)
    assert called.count("record") == 20 * 2 * 3, "around a step and its two collectives"
    assert _known(folder) == []


def test_a_device_that_stands_still_is_given_up(folder: Path, job: Remote) -> None:
    """No step is known, and old events, to which it may come later, are not used again."""
    job.train(25)
    assert _known(folder) == [10, 20]
    few = job.device.made
    job.device.stuck = True
    job.train(20)
    assert _known(folder) == [10, 20]
    assert only(folder).source == hook.NONE
    assert job.device.made == 2 * few
    job.device.stuck = False
    job.train(20)
    assert _known(folder) == [10, 20, 40, 50, 60], "not step 30"
    assert job.device.made == 2 * few


def _on_a_stream_of_its_own(job: Remote) -> None:
    job.device.stream = "side"
    job.reduce()
    job.device.stream = "default"


def _that_waits(job: Remote) -> None:
    with hook.collective("ring"):
        pass


def _of_another_backend(job: Remote) -> None:
    job.world.backend = "gloo"
    job.distributed.broadcast(job.torch.Tensor(77))
    job.world.backend = "neuron"


def _too_many(job: Remote) -> None:
    job.world.during = lambda _: job.device.work((STEP - WORK) / 2 / 80)
    for _ in range(80):
        job.reduce()


@pytest.mark.parametrize(
    "act",
    [
        _on_a_stream_of_its_own,
        _that_waits,
        _of_another_backend,
        _too_many,
        lambda job: job.reduce(async_op=True),
        lambda job: job.functional.all_reduce(job.torch.Tensor()),
    ],
    ids=["stream", "by hand", "backend", "many", "handle", "functional"],
)
def test_a_step_that_is_not_seen_as_a_whole_is_not_known(
    folder: Path, job: Remote, act: Callable[[Remote], Any]
) -> None:
    """One collective beside the others that no event tells of; the next sample is."""
    job.train(10)
    job.train(1, job.reduce, lambda: act(job))
    job.world.during = lambda _: job.device.work((STEP - WORK) / 2)
    job.train(9)
    job.device.now = job.device.tail
    job.train(9)
    assert 10 not in _known(folder)
    job.train(20)
    assert 30 in _known(folder)


def test_a_collective_made_of_others_is_one(folder: Path, job: Remote) -> None:
    """Objects are gathered by two: the events lie around both."""
    job.train(10)
    job.train(1, job.distributed.all_gather_object)
    job.train(9)
    assert (_record(folder, 10).calls, _known(folder)) == (1, [10])
    assert _record(folder, 10).shortest == pytest.approx(STEP - WORK)


def test_a_graph_that_is_traced_and_another_thread_get_no_event(
    folder: Path, torch: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a sampled step: nothing of us may be in a graph, or on another's stream."""
    job, tracing = Remote(torch, monkeypatch), [False]
    job.torch.compiler.is_dynamo_compiling = lambda: tracing[0]
    assert hook.install(events=True)
    job.train(10)
    job.device.broken = "record"
    tracing[0] = True
    job.reduce()
    tracing[0] = False
    thread = threading.Thread(target=job.reduce)
    thread.start()
    thread.join()
    job.device.broken = ""
    job.train(20)
    assert _known(folder) == [20]


def test_a_host_that_only_runs_ahead_is_no_measure(folder: Path, job: Remote) -> None:
    """Its step is a fifth of the device's: no share of it would mean anything."""
    job.train(10)
    job.device.now -= STEP * 0.8
    job.train(19)
    assert _record(folder, 10).source == hook.NONE
    assert _known(folder) == [20]


def test_a_record_that_is_another_steps_by_now_is_left_alone(folder: Path, job: Remote) -> None:
    """The ring went round."""
    job.train(260)
    recorder = hook._recorder
    assert recorder is not None
    before = repr(_record(folder, 258))
    recorder.fill(2, 0.25, 0.125)
    assert repr(_record(folder, 258)) == before
    assert only(folder).generation % 2 == 0


@pytest.mark.parametrize("call", ["current_stream", "Event", "record", "query", "elapsed_time"])
def test_an_error_of_the_device_unhooks(
    call: str, folder: Path, torch: Modules, job: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    """Everything is put back, one line is logged, the job's calls are done once each."""
    job.train(7)
    job.device.broken = call
    job.train(20)
    assert job.world.calls == ["all_reduce"] * 54
    assert hook._recorder is None
    assert not any(getattr(value, "__wrapped__", None) for value in functions(torch).values())
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"neuron-observer hook is off: RuntimeError: {call} is not supported here"]
    assert not list(folder.iterdir())


def test_an_error_between_the_events_of_a_collective_unhooks(
    folder: Path, job: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    """The event after it cannot be recorded; the one before could."""

    def breaks(_: str) -> None:
        job.device.broken = "record"

    job.train(10)
    job.world.during = breaks
    assert job.reduce() is None
    assert len(caplog.records) == 1
    assert hook._recorder is None
    assert not list(folder.iterdir())


def test_without_being_asked_no_event_is_made(
    folder: Path, torch: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on the host, whether calls wait there or not; the variable asks as the argument does."""
    job = Remote(torch, monkeypatch)
    assert hook.install()
    job.train(30)
    assert (job.device.made, _known(folder)) == (0, [])
    hook.uninstall()
    monkeypatch.setenv("NEURON_OBSERVER_HOOK_EVENTS", "1")
    assert hook.install()
    job.world.backend = "gloo"
    job.train(30)
    assert job.device.made == 0
    assert only(folder).records[-1].source == hook.BLOCKING
    monkeypatch.setattr(job.torch, "cpu", job.device, raising=False)
    job.world.backend = "ucc"
    hook.uninstall()
    assert hook.install()
    job.train(30)
    assert (job.device.made, _known(folder)) == (0, [])
    monkeypatch.delattr(job.torch, "cpu")
    job.world.backend = "neuron"
    hook.uninstall()
    assert hook.install()
    job.train(15)
    assert _known(folder) == [10]


def test_a_forked_child_leaves_the_device_alone(folder: Path, job: Remote) -> None:
    """In the middle of a sampled step: not an event more is recorded there."""
    job.train(10)
    recorder = hook._recorder
    assert recorder is not None
    events = recorder.events
    assert events is not None
    assert events.sampling
    recorder.forget()
    job.device.broken = "record"
    job.train(30)
    assert hook._recorder is recorder
    assert _known(folder) == []
