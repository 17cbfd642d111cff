"""Fails open: whatever goes wrong in the hook, the job's calls give what they always gave."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer import hook
from tests.hook.reading import only
from tests.hook.stand_in import Parallel, functions
from tests.hook.test_vectors import Job

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

Modules = dict[str, "ModuleType"]

ENTRIES = (
    *("enter", "leave", "ask", "given", "finish", "turn", "pause", "resume", "uncertain", "open"),
    *("add_tokens", "_check", "_attach", "_write_state"),
)
VECTORS = (
    *("attach", "adopt", "mark", "follow", "_compiled", "_adopt_compiler"),
    *("_replace", "_attach_distributed"),
)


def _train(torch: Modules) -> list[Any]:
    """A job that does everything that is followed; what its calls gave."""
    job = Job(torch)
    model = job.torch.nn.parallel.DistributedDataParallel()
    batches = job.loader(range(140))
    given: list[Any] = []
    for number, batch in enumerate(batches):
        given += [batch, job.reduce(), type(job.reduce(async_op=True)), job.distributed.recv()]
        given += [job.torch.autograd.backward(model), job.first.step()]
        if number % 30 == 10:
            given += [job.torch.nn.Module().eval().training, job.torch.save("model")]
            job.compiler.run()
        with hook.collective("ring"), hook.phase("evaluation"):
            given.append(number)
    with hook.step(tokens=1):
        given += list(hook.data([1, 2]))
    return [*given, list(job.distributed.world.calls)]


def _expected() -> list[Any]:
    """The same without a hook."""
    from tests.hook import stand_in  # noqa: PLC0415 - fresh modules

    return [repr(value) for value in _train(stand_in.modules())]


def _fails_open(
    folder: Path, torch: Modules, before: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The job ran as ever, everything is put back, one line was logged, no file is left."""
    assert [repr(value) for value in _train(torch)] == _expected()
    assert functions(torch) == before
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert lines[0].startswith("neuron-observer hook is off: ")
    if folder.is_dir():
        assert not list(folder.iterdir())


@pytest.mark.parametrize("entry", [*ENTRIES, *(f"vectors.{name}" for name in VECTORS)])
def test_an_error_anywhere_unhooks(
    entry: str,
    folder: Path,
    torch: Modules,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At every entry, one after the other."""
    before = functions(torch)

    def broken(*_: Any, **__: Any) -> None:
        raise LookupError(entry)

    kind: Any = hook._Vectors if entry.startswith("vectors.") else hook.Recorder
    monkeypatch.setattr(kind, entry.rpartition(".")[2], broken)
    hook.install()
    _fails_open(folder, torch, before, caplog)
    assert not hook.install(), "once off it stays off"


@pytest.mark.parametrize(
    "call", ["posix_fallocate", "fchmod", "open", "fstat", "scandir", "mmap", "flock", "pread"]
)
def test_what_the_system_refuses_unhooks(
    call: str,
    folder: Path,
    torch: Modules,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A full disk, a folder that may not be read, no more descriptors."""
    before = functions(torch)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    owner: Any = {"mmap": mmap, "flock": fcntl}.get(call, os)
    (folder / "rank-1-1.hb").write_bytes(bytes(200))
    hook.install()
    with monkeypatch.context() as patched:
        patched.setattr(owner, call, full)
        done = [repr(value) for value in _train(torch)]
    assert done == _expected()
    if call in {"pread", "flock"}:  # of another's file; of ours, which can do without
        assert not caplog.records
        return
    assert functions(torch) == before
    assert len(caplog.records) == 1


def test_no_folder(folder: Path, torch: Modules, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody installed the service here, or it is a file."""
    before = functions(torch)
    folder.rmdir()
    hook.install()
    _fails_open(folder, torch, before, caplog)
    assert str(folder) in caplog.records[0].getMessage()
    assert not folder.exists()


@pytest.mark.parametrize("missing", ["autograd", "nn", "compiler", "utils", "distributed"])
def test_another_pytorch(
    missing: str, folder: Path, torch: Modules, caplog: pytest.LogCaptureFixture
) -> None:
    """What is followed is not there any more: told at once, nothing stays wrapped."""
    kept = torch["torch"].__dict__.pop(missing)
    hook.install()
    torch["torch"].__dict__[missing] = kept
    assert len(caplog.records) == 1
    fresh = functions(torch)
    assert not any(getattr(value, "__wrapped__", None) for value in fresh.values())
    assert fresh["hooks"] == {}


def test_uninstall_puts_everything_back(
    folder: Path, torch: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrapper that somebody kept passes through; one around ours stays."""
    before = functions(torch)
    job = Job(torch)
    hook.install()
    kept, saved = job.distributed.all_reduce, job.torch.save

    def outer(thing: Any) -> Any:
        return saved(thing)

    monkeypatch.setattr(job.torch, "save", outer)
    job.step(job.reduce)
    job.functional.traceable_collective_remaps[kept] = "how it is traced"
    hook.uninstall()
    traced = job.functional.traceable_collective_remaps
    assert traced[job.distributed.all_reduce] == "how it is traced"
    kept(job.torch.Tensor())
    outer("model")
    assert {**functions(torch), "torch.save": None} == {**before, "torch.save": None}
    assert functions(torch)["torch.save"] is outer
    assert not list(folder.iterdir())
    assert isinstance(job.torch.nn.parallel.DistributedDataParallel(), Parallel)


def test_what_a_signal_handler_raises_is_the_jobs(
    folder: Path, torch: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time limit of the job strikes within the hook: it is not swallowed, and the hook stays."""

    def handler(*_: object) -> None:
        raise TimeoutError("time limit of the job")

    job = Job(torch)
    hook.install()
    job.step(job.reduce)
    before = signal.signal(signal.SIGUSR1, handler)

    def struck() -> float:
        os.kill(os.getpid(), signal.SIGUSR1)
        return 0.0

    tensor = job.torch.Tensor()
    tensor.numel = struck
    acts = (lambda: job.distributed.all_reduce(tensor), job.first.step)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", struck)
            for act in acts:
                with pytest.raises(TimeoutError, match="time limit of the job"):
                    act()
    finally:
        signal.signal(signal.SIGUSR1, before)
    job.step(job.reduce)
    job.step(job.reduce)
    assert only(folder).generation % 2 == 0
    assert only(folder).records[-1].source == hook.BLOCKING


@pytest.mark.parametrize("entry", ["ask", "given", "enter", "leave", "turn", "resume", "finish"])
def test_what_is_done_by_hand_fails_open_too(
    entry: str, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No PyTorch here: the blocks run, all batches come."""

    def broken(*_: Any, **__: Any) -> None:
        raise LookupError(entry)

    monkeypatch.setattr(hook.Recorder, entry, broken)
    seen = []
    for batch in hook.data("abc"):
        with hook.step(tokens=1), hook.collective("ring"), hook.phase("evaluation"):
            seen.append(batch)
    assert seen == ["a", "b", "c"]
    assert len(caplog.records) == 1
    assert hook._recorder is None
    assert not list(folder.iterdir())


def test_errors_of_the_body_are_the_jobs(folder: Path) -> None:
    """Also out of step(), collective(), phase() and data()."""
    contexts: tuple[Callable[[], Any], ...] = (
        hook.step,
        lambda: hook.collective("ring"),
        lambda: hook.phase("evaluation"),
    )
    for context in contexts:
        with pytest.raises(ZeroDivisionError), context():
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        list(hook.data(1 / 0 for _ in range(3)))
    with hook.phase("no such phase"):
        pass
    assert hook._recorder is None
