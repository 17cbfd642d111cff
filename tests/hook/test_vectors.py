"""What the hook makes of a job's calls: steps, waits, input, phases, and what it must not claim."""

from __future__ import annotations

import threading
from math import isnan
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer import hook
from tests.hook.reading import Step, only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

Modules = dict[str, "ModuleType"]


class Job:
    """One rank of a job: the stand-in with a model, an optimizer and batches."""

    def __init__(self, torch: Modules) -> None:
        self.torch, self.distributed = torch["torch"], torch["torch.distributed"]
        self.optimizer = torch["torch.optim.optimizer"].Optimizer
        self.loader = torch["torch.utils.data.dataloader"]._BaseDataLoaderIter
        self.compiler = torch["torch._dynamo.callback"].callback_handler
        self.functional = torch["torch.distributed._functional_collectives"]
        self.first = self.optimizer()

    def step(self, *calls: Callable[[], Any]) -> None:
        """Some calls, then the optimizer."""
        for call in calls:
            call()
        assert self.first.step() == "stepped"

    def reduce(self, **options: Any) -> Any:
        """One all-reduce."""
        return self.distributed.all_reduce(self.torch.Tensor(), **options)


@pytest.fixture
def job(torch: Modules) -> Job:
    """A job that is hooked."""
    assert hook.install()
    return Job(torch)


def _last(folder: Path) -> Step:
    return only(folder).records[-1]


def test_a_step_with_collectives_input_and_tokens(folder: Path, job: Job) -> None:
    """What is inside calls of torch.distributed and next(loader) is told apart from the step."""
    batches = job.loader([1, 2])
    job.step(job.reduce)
    job.step(job.reduce, job.distributed.barrier, lambda: next(batches))
    step, seen = _last(folder), only(folder)
    assert (step.calls, step.source, step.flags) == (2, hook.BLOCKING, 0)
    assert 0 < step.shortest < step.collectives < step.end - step.begin
    assert step.input > 0
    assert (seen.steps, seen.entered, seen.completed, seen.name) == (2, 3, 3, "barrier")
    assert seen.identity[:2] == (1, 2)
    assert seen.flags == hook.LOADER_WRAPPED | hook.COLLECTIVES_WRAPPED
    assert list(batches) == [2], "the end of the batches ends the loop"


@pytest.mark.parametrize(
    "call",
    [
        lambda job: job.reduce(async_op=True),
        lambda job: job.functional.all_reduce(job.torch.Tensor()),
        lambda job: job.distributed._coalescing_manager(),
        lambda job: _elsewhere(job.reduce),
    ],
    ids=["handle", "functional", "coalesced", "another thread"],
)
def test_what_returns_before_it_is_done_is_not_known(
    folder: Path, job: Job, call: Callable[[Job], Any]
) -> None:
    """Beside a collective that is timed: no time, no source, and the step says why."""
    job.step(job.reduce)
    job.step(job.reduce, lambda: call(job))
    step = _last(folder)
    assert isnan(step.collectives)
    assert isnan(step.shortest)
    assert (step.source, step.flags) == (hook.NONE, hook.IN_ASYNC)
    assert only(folder).flags & hook.ASYNC_SEEN
    job.step(job.reduce)
    assert _last(folder).source == hook.BLOCKING


def _elsewhere(call: Callable[[], Any]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_a_backend_whose_calls_do_not_wait_is_not_known(folder: Path, job: Job) -> None:
    """On a device a call returns at once: it is counted, not timed."""
    job.distributed.world.backend = "neuron"
    job.step(job.reduce)
    assert (_last(folder).calls, _last(folder).source) == (1, hook.NONE)
    assert only(folder).entered == 1
    hook.uninstall()
    assert hook.install(blocking=["neuron"])
    job.step(job.reduce)
    assert _last(folder).source == hook.BLOCKING, "the script says that they do"


def test_a_step_without_a_collective_is_not_known(folder: Path, job: Job) -> None:
    """Whoever reduces its gradients does it where it is not seen."""
    job.step()
    assert (_last(folder).calls, _last(folder).source) == (0, hook.NONE)


def test_a_world_that_changes(folder: Path, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that came or went, another group: the file follows, also its signatures."""
    monkeypatch.setattr(hook, "_CHECK_PERIOD", 0.0)
    job.step(job.reduce)
    assert only(folder).signature == hook.fnv1a(b"all_reduce 4 2")
    job.distributed.world.size = 3
    job.step()
    job.step(job.reduce)
    assert only(folder).identity[:2] == (1, 3)
    assert only(folder).signature == hook.fnv1a(b"all_reduce 4 3")


def test_a_collective_made_of_others_is_one(folder: Path, job: Job) -> None:
    """Objects are gathered by two collectives; one that was received is a number, no handle."""
    job.step(job.distributed.all_gather_object, job.distributed.recv)
    assert (_last(folder).calls, _last(folder).source) == (2, hook.BLOCKING)
    assert only(folder).name == "recv"
    assert only(folder).signature == 0, "not the same on every rank"


def test_while_stuck_the_file_says_in_what(folder: Path, job: Job) -> None:
    """Sequence, name, signature and since when; before: that a batch was asked for."""
    seen = []
    job.distributed.world.during = lambda _: seen.append(only(folder))
    job.step(job.reduce, job.reduce, lambda: job.distributed.broadcast(job.torch.Tensor(9)))
    first, second, other = seen
    assert [(s.entered, s.completed) for s in seen] == [(1, 0), (2, 1), (3, 2)]
    assert [s.name for s in seen] == ["all_reduce", "all_reduce", "broadcast"]
    assert first.signature == second.signature == hook.fnv1a(b"all_reduce 4 2")
    assert other.signature == hook.fnv1a(b"broadcast 9 2")
    assert 0 < first.since < second.since < other.since
    waiting = job.loader(iter(lambda: only(folder).asked, 0.0))
    assert next(waiting) > 0
    assert only(folder).asked == 0.0


def test_a_collective_that_fails_stays_open(folder: Path, job: Job) -> None:
    """Its error is the job's; it was called once, and the step is not known."""

    def fail(_: str) -> None:
        raise ConnectionError("peer is gone")

    job.step(job.reduce)
    job.distributed.world.during = fail
    with pytest.raises(ConnectionError, match="peer is gone"):
        job.reduce()
    assert job.distributed.world.calls == ["all_reduce"] * 2
    job.step()
    seen = only(folder)
    assert (seen.entered, seen.completed, seen.since) == (2, 1, 0.0)
    assert seen.records[-1].source == hook.NONE


def test_the_first_optimizer_marks_the_steps(folder: Path, job: Job) -> None:
    """Two optimizers an iteration are one step; one that takes over for good is followed."""
    critic = job.optimizer()
    for _ in range(3):
        job.first.step()
        critic.step()
        critic.step()
    assert only(folder).steps == 3
    for _ in range(10):
        critic.step()
    assert only(folder).steps == 3 + 4, "after eight without the first"
    del critic
    job.first.step()
    assert only(folder).steps == 8


def test_steps_by_hand_count_instead(folder: Path, job: Job) -> None:
    """Gradient accumulation or a compiled step: the script says what a step is."""
    with hook.step(tokens=512):
        job.step(job.reduce)
        job.step(job.reduce)
    assert only(folder).steps == 1
    assert (_last(folder).calls, _last(folder).tokens) == (2, 512.0)


def test_input_of_another_kind_and_a_wait_of_another_kind(folder: Path, job: Job) -> None:
    """`data()` and `collective()` for what PyTorch has no part in."""
    for batch in hook.data("ab"):
        with hook.step(), hook.collective("ring", signature="2"):
            assert batch in "ab"
    step = _last(folder)
    assert (step.calls, step.source, only(folder).name) == (1, hook.BLOCKING, "ring")
    assert step.input > 0


def test_evaluation_and_checkpoint_are_pauses(folder: Path, job: Job) -> None:
    """From eval() until the next backward pass; during save()."""
    phases = []
    model = job.torch.nn.Module()
    model.eval()
    assert not list(folder.iterdir()), "set up, before anything was trained"
    job.step(job.torch.autograd.backward)
    job.distributed.world.during = lambda _: phases.append(only(folder).phase)
    job.step(lambda: job.torch.save("model"))
    assert only(folder).phase == hook.TRAINING
    assert (_last(folder).flags, only(folder).pauses) == (hook.IN_PAUSE, 1)
    model.eval()
    assert only(folder).phase == hook.EVALUATION
    job.torch.save("best model")
    assert only(folder).phase == hook.EVALUATION
    job.step(job.torch.autograd.backward)
    assert _last(folder).flags == hook.IN_PAUSE
    assert phases == [hook.CHECKPOINT, hook.CHECKPOINT, hook.TRAINING]
    with hook.phase("evaluation"):
        assert only(folder).phase == hook.EVALUATION
    assert only(folder).phase == hook.TRAINING


def test_what_every_step_does_is_no_pause(folder: Path, job: Job) -> None:
    """A teacher that is set to eval() each time; else no step would ever count."""
    model = job.torch.nn.Module()
    for _ in range(6):
        job.step(model.eval, job.reduce)
    flags = [step.flags for step in only(folder).records]
    assert flags[3:] == [0, 0, 0]


@pytest.mark.parametrize("local", [False, True])
def test_compiled_graphs(folder: Path, torch: Modules, local: bool) -> None:
    """Collectives may be inside: not known, unless the script says that there are none."""
    assert hook.install(local_graphs=local)
    job = Job(torch)
    job.step(job.reduce)
    job.step(job.reduce, job.compiler.run)
    assert _last(folder).flags == hook.IN_PAUSE | (0 if local else hook.IN_COMPILED)
    job.step(job.reduce)
    assert _last(folder).source == (hook.BLOCKING if local else hook.NONE)
    assert _last(folder).flags == (0 if local else hook.IN_COMPILED)
    assert bool(only(folder).flags & hook.COMPILED) is not local


def test_gradients_that_ddp_reduces(folder: Path, job: Job) -> None:
    """From the last gradient to the end of backward() is waiting; without that: not known."""
    model = job.torch.nn.parallel.DistributedDataParallel()
    seen = []
    job.distributed.world.during = lambda _: seen.append(only(folder))
    job.step()
    job.step(lambda: job.torch.autograd.backward(model))
    step = _last(folder)
    assert (step.calls, step.source) == (1, hook.BLOCKING)
    assert 0 < step.collectives < step.end - step.begin
    assert (seen[0].name, seen[0].entered, seen[0].completed) == ("ddp_gradients", 1, 0)
    model.require_backward_grad_sync = False
    job.step(lambda: job.torch.autograd.backward(model))
    assert (_last(folder).calls, only(folder).entered) == (0, 1), "no_sync()"
    job.step(job.reduce)
    assert _last(folder).source == hook.NONE, "the gradients were reduced out of sight"


def test_the_end_of_training(folder: Path, torch: Modules) -> None:
    """After destroy_process_group() nothing is expected any more; one group less is no end."""
    assert hook.install()
    job = Job(torch)
    world = job.distributed.world
    job.step(job.reduce)
    assert job.distributed.destroy_process_group("a group") == "destroyed"
    assert only(folder).phase == hook.TRAINING
    world.initialized = False
    assert job.distributed.destroy_process_group() == "destroyed"
    assert only(folder).phase == hook.ENDED
    job.step()
    assert only(folder).phase == hook.TRAINING
