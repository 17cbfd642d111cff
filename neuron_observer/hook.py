"""Heartbeat of one training process: its steps, waits and phase, in a small file that others read.

Standard library only, and nothing else of this package: the file also works copied into a job
(`neuron-observer hook --write DIR`). It is off until asked: `NEURON_OBSERVER_HOOK=1` where the
package is installed, or `install()`, `step()` or `callback()` in the script. It fails open:
whatever goes wrong in here, everything that was wrapped is put back, one line is logged, and the
job goes on as if it had never been asked. What is written, byte by byte, and what each style of
training gives: docs/hook.md. Python 3.8 and later.

`None` is "not known" and becomes NaN in the file. Times are CLOCK_MONOTONIC, in seconds.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import importlib
import inspect
import json
import logging
import math
import mmap
import os
import stat
import struct
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

VERSION = 1
FOLDER = "/run/neuron-observer-ranks"
INIT, COMPILE, TRAINING, CHECKPOINT, EVALUATION, ENDED = range(6)
NONE, BLOCKING, EVENT = range(3)  # where the time in collectives is from
LOADER_WRAPPED, COLLECTIVES_WRAPPED, TOKENS_GIVEN, ASYNC_SEEN, COMPILED = 1, 2, 4, 8, 16
IN_COMPILED, IN_PAUSE, IN_ASYNC = 1, 2, 4  # flags of a record

_MAGIC = b"NOBSRANK"
_HEADER, _RECORD, _RECORDS = 1024, 64, 256
_SIZE = _HEADER + _RECORD * _RECORDS
_FIXED = struct.Struct("<8sHHHHQIIQ16s")  # 0: what never changes, and the generation
_IDENTITY = struct.Struct("<iiii")  # 56: rank, world size, local rank, restart count
# 72: phase, wait source, flags; 80: steps, monotonic and wall clock of that
_PROGRESS = struct.Struct("<BBB5xQdd")
_STEP = struct.Struct("<QddddddIBBH")
_TEXTS = ((256, 64), (320, 64), (384, 128))  # role, replica, hint of the job
_GENERATION, _ENTERED, _COMPLETED, _PAUSES = 2, 13, 14, 24  # in words of 8 bytes
_SINCE, _BEGIN, _ASKED, _PHASE_AT = 15, 21, 22, 23
_STAMP = slice(128, 168)  # name and hash of the last collective
_CHECK_PERIOD = 5.0  # s between looks at the file itself and at who we are
_SWEEP_AFTER = 600.0  # s that the file of a dead process is left for its readers
_RENEWALS = 8  # a folder that is emptied again and again is somebody's will

_log = logging.getLogger("neuron_observer.hook")
_monotonic = time.monotonic  # looked up once: the least is taken from the job


class _File:
    """The mapped file: whole from the start (no write can find the disk full), locked for life."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.name = f"rank-{os.getpid()}-{_start_ticks()}.hb"
        self.fd = self._create()
        try:
            self.map = mmap.mmap(self.fd, _SIZE)
        except BaseException:
            os.close(self.fd)
            raise
        self.bytes = memoryview(self.map)
        self.words = self.bytes.cast("Q")
        self.numbers: memoryview[float] = self.bytes.cast("d")

    @property
    def dump(self) -> str:
        """Name of the FlightRecorder dump beside it."""
        return self.name[: -len(".hb")] + ".fr.json"

    @property
    def path(self) -> str:
        """Where the file is."""
        return os.path.join(self.folder, self.name)

    def _create(self) -> int:
        """A new file of our own; one of our name can only be ours from before an exec."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sweep(folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                fd = os.open(self.name, flags, 0o644, dir_fd=folder)
            except FileExistsError:
                os.unlink(self.name, dir_fd=folder)  # refused by the folder if it is another's
                fd = os.open(self.name, flags, 0o644, dir_fd=folder)
            try:
                os.fchmod(fd, 0o644)  # whatever the umask: the daemon is another user
                with suppress(OSError):  # somebody who may read it may have been quicker
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # goes when this process does
                os.posix_fallocate(fd, 0, _SIZE)  # a full disk says so here, not as SIGBUS later
            except BaseException:
                os.unlink(self.name, dir_fd=folder)
                os.close(fd)
                raise
        finally:
            os.close(folder)
        return fd

    def gone(self) -> bool:
        return os.fstat(self.fd).st_nlink == 0

    def close(self, *, remove: bool) -> None:
        """Let go of the mapping and the lock; `remove` the name if it is still ours."""
        for view in (self.numbers, self.words, self.bytes):
            view.release()
        self.map.close()
        if remove and not self.gone():
            for path in (self.path, os.path.join(self.folder, self.dump)):
                with suppress(OSError):
                    os.unlink(path)
        os.close(self.fd)


def _sweep(folder: int) -> None:
    """Remove what dead processes of this user left long enough ago: nobody holds its lock."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith("rank-")][:4096]
    for name in names:
        with suppress(OSError, struct.error):
            _remove_if_dead(folder, name)


def _remove_if_dead(folder: int, name: str) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=folder)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return
        written = struct.unpack("<d", os.pread(fd, 8, 96))[0] if name.endswith(".hb") else 0.0
        if time.time() - max(written, status.st_mtime) > _SWEEP_AFTER:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process lives
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(fd)


def _start_ticks() -> int:
    with open("/proc/self/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def _boot_id() -> bytes:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return bytes.fromhex(file.read().strip().replace("-", ""))


def fnv1a(data: bytes) -> int:
    """FNV-1a, 64 bits (Fowler, Noll, Vo; offset basis 0xcbf29ce484222325)."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def stamp(name: str, signature: str) -> bytes:
    """The 40 bytes that name a collective in the file; an empty signature is "unknown"."""
    text = name.encode("ascii", "replace")[:31]
    known = fnv1a(f"{name} {signature}".encode()) if signature else 0
    return struct.pack("<B31sQ", len(text), text, known)


def _number(*names: str, default: int = -1) -> int:
    """The first of these environment variables that holds a whole number of 31 bits."""
    for name in names:
        with suppress(ValueError):
            value = int(os.environ.get(name, ""))
            if -1 <= value < 1 << 31:
                return value
    return default


def _identity() -> tuple[int, int, int, int]:
    """Rank, world size, local rank, restart count: of torch.distributed, else the launcher's."""
    rank = _number("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
    world = _number("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        rank, world = distributed.get_rank(), distributed.get_world_size()
    local = _number("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")
    return rank, world, local, _number("TORCHELASTIC_RESTART_COUNT", default=0)


def _job_hint() -> str:
    names = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "MASTER_ADDR", "MASTER_PORT")
    return " ".join(f"{name}={os.environ[name]}" for name in names if name in os.environ)


def _nothing() -> None:
    """Nobody else looks now and then."""


class Recorder:
    """What this process has done, told to its file as it happens. One thread, its owner, writes.

    The file appears with the first act of training: a data-loader worker, a forked helper or a
    launcher never has one. A write is bracketed by an odd generation, also where it is cut short
    by a signal: the next one brings the generation back to even.
    """

    __slots__ = (  # a third less time for each act than with a dictionary
        "asking", "bytes", "check_at", "checked", "compiled", "direct", "early", "entered",
        "entered_before", "events", "expects", "file", "flags", "folder", "free", "generation",
        "helper", "identity", "in_collectives", "input_seen", "met", "numbers", "owner",
        "paused_in", "pauses", "phase", "pid", "renewals", "sampled", "shortest", "source",
        "stamped", "step_began", "step_flags", "steps", "texts", "tokens", "unknown", "waited",
        "words",
    )  # fmt: skip

    def __init__(self, *, role: str = "", replica: str = "", folder: str = "") -> None:
        self.texts = (role, replica, "")
        self.folder = folder or os.environ.get("NEURON_OBSERVER_HOOK_DIR") or FOLDER
        self.checked: Callable[[], None] = _nothing  # whoever wants to look now and then too
        self.helper: _FlightRecorder | None = None
        self.events: _Events | None = None
        self.flags = 0
        self.reset()

    def reset(self) -> None:
        """As at the start of the process; after a fork the child begins anew."""
        self.file: _File | None = None
        self._detach()
        self.owner = 0  # the thread that writes, once there is one
        self.free = 0  # the same while it is in no collective
        self.pid = os.getpid()
        self.generation = 0
        self.entered = self.steps = self.pauses = self.renewals = 0
        self.asking = False
        self.phase, self.source = INIT, NONE
        self.sampled = NONE  # EVENT while times of some steps are filled in later
        self.identity = (-1, -1, -1, 0)
        self.paused_in: dict[int, tuple[int, int]] = {}
        self.step_began = self.check_at = 0.0
        self.input_seen = False
        self.expects = False  # gradients are reduced out of sight: a step without is not known
        self.compiled = False
        self.flags &= LOADER_WRAPPED | COLLECTIVES_WRAPPED
        self._clear()

    def _clear(self) -> None:
        """A new step: nothing seen of it yet."""
        self.free = self.owner  # also where a signal cut a collective short
        self.in_collectives = 0.0
        self.shortest = math.inf
        self.entered_before = self.entered
        self.waited = 0.0
        self.tokens = math.nan
        self.step_flags = 0
        self.unknown = False  # time in collectives that nobody sees from here
        self.early = self.direct = False  # calls that return before they are done; that do not
        self.stamped = b""  # the first collective is looked at
        self.met = False  # gradients were reduced where it can be seen

    # -- the file

    def open(self) -> None:
        """Make the file if there is none; the calling thread becomes the one that writes."""
        if self.file is None:
            self.owner = self.free = threading.get_ident()
            self.step_began = time.monotonic()
            self._take(_File(self.folder))

    def _detach(self) -> None:
        self.words = self.bytes = memoryview(b"")
        self.numbers: memoryview[float] = memoryview(b"").cast("d")

    def _take(self, file: _File) -> None:
        try:
            self._attach(file)
        except BaseException:
            self.file = None
            self._detach()
            file.close(remove=True)
            raise

    def _attach(self, file: _File) -> None:
        self.file, self.bytes = file, file.bytes
        self.words, self.numbers = file.words, file.numbers
        self.generation = 0
        self.identity = _identity()
        starts = int(file.name.rpartition("-")[2][:-3])
        self.words[_GENERATION] = 1
        _FIXED.pack_into(
            file.map, 0, b"\0" * 8, VERSION, _HEADER, _RECORD, _RECORDS, 1,
            self.pid, os.geteuid(), starts, _boot_id(),
        )  # fmt: skip
        _IDENTITY.pack_into(file.map, 56, *self.identity)
        role, replica, _ = self.texts
        for (offset, size), text in zip(_TEXTS, (role, replica, _job_hint())):
            data = text.encode("utf-8", "replace")[:size]
            data = data.decode("utf-8", "ignore").encode()  # never half a character
            file.bytes[offset : offset + len(data)] = data
        self._write_state(time.monotonic())
        self.words[_ENTERED] = self.words[_COMPLETED] = self.entered
        self.numbers[_BEGIN] = self.step_began
        self.bytes[0:8] = _MAGIC  # last: a file without it is one in the making
        self._even()

    def _odd(self) -> None:
        self.words[_GENERATION] = self.generation + 1

    def _even(self) -> None:
        self.generation += 2
        self.words[_GENERATION] = self.generation

    def _write_state(self, now: float) -> None:
        state = self.phase, self.source, self.flags
        _PROGRESS.pack_into(self.bytes, 72, *state, self.steps, now, time.time())
        self.numbers[_PHASE_AT] = now
        self.words[_PAUSES] = self.pauses

    def _check(self) -> None:
        """Now and then: is the file still there, and are we still who we were?"""
        file = self.file
        if file is None:
            return
        if file.gone():
            self._renew(file)
        identity = _identity()
        if identity != self.identity:
            self.identity = identity
            self._odd()
            _IDENTITY.pack_into(self.bytes, 56, *identity)
            self._even()

    def _renew(self, old: _File) -> None:
        """Somebody removed the file: a new one, with the steps that the old one holds."""
        self.renewals += 1
        if self.renewals > _RENEWALS:
            raise OSError(f"{old.path} was removed {self.renewals} times")
        new = _File(self.folder)
        new.bytes[_HEADER:] = old.bytes[_HEADER:]
        self.stamped = b""
        self._take(new)
        old.close(remove=False)

    def close(self, *, ended: bool) -> None:
        """Stop writing. A file that stays behind says that its process did not end well."""
        self.free, self.owner, self.asking = 0, -1, True  # wrappers still held pass through
        if self.helper is not None:
            self.helper.stopped.set()
        file, self.file = self.file, None
        if file is None:
            return
        try:
            if ended:
                self.phase = ENDED
                self._odd()
                self._write_state(time.monotonic())
                self._even()
        finally:
            self._detach()
            file.close(remove=ended)

    def forget(self) -> None:
        """In a forked child: the file is the parent's; not a byte of it may change."""
        file = self.file
        self.helper = None
        if self.events is not None:
            self.events.drop()
            self.events = None
        self.reset()
        if file is not None:
            for view in (file.numbers, file.words, file.bytes):
                view.release()
            file.map.close()
            os.close(file.fd)

    # -- what happens

    def enter(self, mark: bytes) -> float:
        """A collective begins: `mark` is its stamp. Returns its time."""
        if self.file is None:
            self.open()
        self.free = 0
        self.direct = True
        self.entered = entered = self.entered + 1
        if mark is not self.stamped:
            self.stamp(mark)
        self.numbers[15] = now = _monotonic()
        self.words[13] = entered
        return now

    def stamp(self, mark: bytes) -> None:
        """The collective that is entered next is of another kind than the last one."""
        self._odd()
        self.bytes[_STAMP] = self.stamped = mark
        self._even()

    def leave(self, began: float) -> None:
        """It has ended."""
        spent = _monotonic() - began
        self.free = self.owner
        self.words[14] = self.entered
        self.in_collectives += spent
        if spent < self.shortest:  # noqa: PLR1730 - min() costs twice as much
            self.shortest = spent

    def abandon(self) -> None:
        """It failed: it stays entered and not completed, and the step is not known."""
        self.free = self.owner
        self.unknown = True
        if self.file is not None:
            self._odd()
            self.numbers[_SINCE] = 0.0
            self._even()

    def ask(self) -> float:
        """The next batch is asked for. Before the first act of training there is no file yet."""
        self.asking = True
        now = _monotonic()
        if self.file is not None:
            self.numbers[22] = now
        return now - self.in_collectives

    def given(self, began: float) -> None:
        """The batch is there; what a loader waited for other ranks is not input."""
        self.waited += _monotonic() - self.in_collectives - began
        self.asking = False
        self.input_seen = True
        if self.file is not None:
            self.numbers[22] = 0.0

    def uncertain(self) -> None:
        """A collective whose time cannot be seen from here: who waits cannot be told."""
        self.unknown = True
        self.step_flags |= IN_ASYNC
        self.flags |= ASYNC_SEEN

    def add_tokens(self, count: float) -> None:
        """`count` tokens (or samples) belong to the running step."""
        self.tokens = count if math.isnan(self.tokens) else self.tokens + count
        self.flags |= TOKENS_GIVEN

    def finish(self) -> None:
        """A step ends here, and the next begins."""
        if self.file is None:
            self.open()
        now = time.monotonic()
        seen = not (self.unknown or self.compiled) and (self.met or not self.expects)
        calls, early = self.entered - self.entered_before, self.early
        known = seen and calls > 0 and not early
        source = BLOCKING if known else NONE
        self.source = source or self.sampled
        steps, began = self.steps, self.step_began
        self.words[2] = self.generation + 1
        if self.phase != TRAINING:
            self.phase = TRAINING
            self.numbers[_PHASE_AT] = now
        _STEP.pack_into(
            self.bytes, _HEADER + _RECORD * (steps % _RECORDS), steps, began, now,
            self.in_collectives if known else math.nan,
            self.shortest if known else math.nan,
            self.waited if self.input_seen else math.nan,
            self.tokens, calls, self.step_flags | self.compiled, source, 0,
        )  # fmt: skip
        self.steps = steps + 1
        _PROGRESS.pack_into(
            self.bytes, 72, TRAINING, self.source, self.flags, steps + 1, now, time.time()
        )
        self.numbers[_BEGIN] = now
        self.generation = generation = self.generation + 2
        self.words[2] = generation
        self.step_began = now
        if self.events is not None:
            whole = calls if seen and not self.direct else 0
            self.events.turn(steps, now - began, whole, early=early)
        self._clear()
        if now >= self.check_at:
            self.check_at = now + _CHECK_PERIOD
            self._check()
            self.checked()

    def fill(self, number: int, inside: float, shortest: float) -> None:
        """The time in collectives of an earlier step is known now, if the ring still has it."""
        offset = _HEADER + _RECORD * (number % _RECORDS)
        self.sampled = self.source = EVENT
        self._odd()
        if self.words[offset // 8] == number:
            self.numbers[offset // 8 + 3], self.numbers[offset // 8 + 4] = inside, shortest
            self.bytes[offset + 61] = EVENT
        self.bytes[73] = EVENT
        self._even()

    def turn(self, phase: int) -> None:
        """The job turns to another phase; a step in which it did is not like the others."""
        if phase == self.phase:
            return
        if phase in (CHECKPOINT, EVALUATION):
            self.pauses += 1
        if TRAINING not in (phase, self.phase) or self.steps:
            self.step_flags |= IN_PAUSE
        self.phase = phase
        if self.file is not None:
            self._odd()
            self._write_state(time.monotonic())
            self._even()

    def pause(self, phase: int) -> bool:
        """Turn to `phase`, unless this is a thing that every step does. Whether it was turned."""
        last, row = self.paused_in.get(phase, (-2, 0))
        if last != self.steps:
            row = row + 1 if last == self.steps - 1 else 0
            self.paused_in[phase] = (self.steps, row)
        if row > 1:  # the third step in a row
            return False
        self.turn(phase)
        return True

    def resume(self) -> None:
        """Back to training, or to where it was before the first step."""
        self.turn(TRAINING if self.steps else INIT)


# -- what is wrapped in torch and its companions, when they are there

# name → whether its first tensor has as many elements on every rank
_COLLECTIVES = {
    "all_reduce": True, "broadcast": True, "reduce": True, "all_gather_into_tensor": True,
    "all_gather_single": True, "reduce_scatter_tensor": True, "reduce_scatter_single": True,
    "_all_gather_base": True, "_reduce_scatter_base": True, "all_gather": False,
    "all_gather_coalesced": False, "all_reduce_coalesced": False, "reduce_scatter": False,
    "all_to_all": False, "all_to_all_single": False, "gather": False, "scatter": False,
    "barrier": False, "monitored_barrier": False, "all_gather_object": False,
    "gather_object": False, "scatter_object_list": False, "broadcast_object_list": False,
    "_broadcast_coalesced": False,
}  # fmt: skip
# their sequence is not the same on every rank, so they have no signature
_POINT_TO_POINT = (
    "send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list",
)  # fmt: skip
_BLOCKING_BACKENDS = ("gloo", "mpi")  # a call returns when the result is there, on the host
_FUNCTIONAL = "torch.distributed._functional_collectives"
# module, class or "", name, phase: a call is a pause in training
_PAUSING = (
    ("torch", "", "save", CHECKPOINT),
    ("torch.distributed.checkpoint", "", "save", CHECKPOINT),
    ("safetensors.torch", "", "save_file", CHECKPOINT),
    ("transformers.trainer", "Trainer", "_save_checkpoint", CHECKPOINT),
    ("transformers.trainer", "Trainer", "evaluate", EVALUATION),
    ("transformers.trainer", "Trainer", "predict", EVALUATION),
)
# after these the process trains no more, until it does
_ENDS = (
    ("torch.distributed", "", "destroy_process_group"),
    ("transformers.trainer_callback", "CallbackHandler", "on_train_end"),
)
_OTHERS = 8  # steps of another optimizer before it takes over as the one that marks steps


class _Vectors:
    """Wrappers in place of public functions: each calls the original once and changes nothing."""

    def __init__(
        self, recorder: Recorder, blocking: set[str], *, local_graphs: bool, events: bool
    ) -> None:
        self.recorder = recorder
        self.events = events  # asked for
        self.blocking = {*_BLOCKING_BACKENDS, *blocking}
        self.local_graphs = local_graphs  # the user says: no collectives in compiled graphs
        self.replaced: list[tuple[Any, str, Any, Any]] = []
        self.seen: set[tuple[str, str, str]] = set()
        self.handles: list[Callable[[], None]] = []
        self.anchor: Callable[[], Any] = _nothing  # the optimizer that marks steps
        self.others: dict[int, int] = {}
        self.marks: list[dict[Any, bytes]] = []
        self.early: set[bytes] = set()  # stamps of calls that return before the wait is over
        self.depth = 0  # of backward passes
        self.reducing = 0.0  # since when
        self.announced = True  # the model says that this pass reduces
        self.models: set[int] = set()
        self.adopted = False

    def attach(self, torch: Any) -> None:
        """Everything that is there now; `adopt` looks again later for what is imported then."""
        self.distributed = torch.distributed
        self.engine = torch.autograd.Variable._execution_engine  # noqa: SLF001 - as FSDP uses it
        self.transient = torch.utils.hooks.unserializable_hook
        self.compiling = getattr(torch.compiler, "is_dynamo_compiling", bool)
        optimizer = importlib.import_module("torch.optim.optimizer")
        loader = importlib.import_module("torch.utils.data.dataloader")
        handle = optimizer.register_optimizer_step_post_hook(self.stepped)
        self.handles.append(handle.remove)
        self._replace(loader._BaseDataLoaderIter, "__next__", self._loader)  # noqa: SLF001 - all have it
        self._replace(torch.nn.Module, "eval", self._evaluating)
        self._replace(torch.autograd, "backward", self._backward)
        self._replace(torch, "compile", self._compile)
        self.recorder.flags |= LOADER_WRAPPED
        if self.distributed.is_available():
            self._attach_distributed(torch)
        self.adopt()
        self.adopted = False  # once more when the first batch is asked for

    def _attach_distributed(self, torch: Any) -> None:
        core = self.distributed.distributed_c10d
        if self.events and hasattr(torch, "get_device_module"):
            self.recorder.events = _Events(self.recorder, torch)
        for name in (*_COLLECTIVES, *_POINT_TO_POINT):
            if hasattr(self.distributed, name):
                self._replace(self.distributed, name, self._collective, name, also=core)
            elif hasattr(core, name):
                self._replace(core, name, self._collective, name)
        if hasattr(core, "_coalescing_manager"):
            self._replace(self.distributed, "_coalescing_manager", self._out_of_sight, also=core)
        self.recorder.flags |= COLLECTIVES_WRAPPED
        parallel = torch.nn.parallel.DistributedDataParallel
        self._replace(parallel, "__init__", self._parallel)
        if self.distributed.is_initialized():
            for thing in gc.get_objects():
                if issubclass(type(thing), parallel):
                    self.follow(thing)

    def adopt(self) -> None:
        """What is imported only by some jobs, and late."""
        self.adopted = True
        self.early.clear()
        for marks in self.marks:  # another group may be where one was
            marks.clear()
        for module, kind, name, turned in _PAUSING:
            self._adopt(module, kind, name, self._pausing, turned)
        for module, kind, name in _ENDS:
            self._adopt(module, kind, name, self._ending)
        functional = sys.modules.get(_FUNCTIONAL)
        for name in _functions(functional):
            self._adopt(_FUNCTIONAL, "", name, self._out_of_sight)
        self._adopt_compiler()

    def _adopt(
        self, module: str, kind: str, name: str, wrap: Callable[..., Any], *args: Any
    ) -> None:
        owner = sys.modules.get(module)
        owner = getattr(owner, kind, None) if kind else owner
        if owner is not None and hasattr(owner, name) and (module, kind, name) not in self.seen:
            self.seen.add((module, kind, name))
            self._replace(owner, name, wrap, *args)

    def _adopt_compiler(self) -> None:
        module = sys.modules.get("torch._dynamo.callback")
        handler = getattr(module, "callback_handler", None)
        if handler is None or ("dynamo", "", "") in self.seen:
            return
        self.seen.add(("dynamo", "", ""))
        handler.register_start_callback(self.compile_begins)
        handler.register_end_callback(self.compile_ends)
        self.handles.append(lambda: handler.remove_start_callback(self.compile_begins))
        self.handles.append(lambda: handler.remove_end_callback(self.compile_ends))
        counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
        if counters.get("frames"):  # something was compiled before we looked
            self._compiled()

    def _replace(
        self, owner: Any, name: str, wrap: Callable[..., Any], *args: Any, also: Any = None
    ) -> None:
        original = getattr(owner, name)
        wrapped = functools.wraps(original)(wrap(original, *args))
        for place in (owner, also):
            if place is not None and place.__dict__.get(name) is original:
                setattr(place, name, wrapped)
                self.replaced.append((place, name, original, wrapped))

    def detach(self) -> None:
        """Put back what is still ours; what others wrapped around ours passes through.

        PyTorch's table of collectives that can be traced may have been made while ours stood there.
        """
        for owner, name, original, wrapped in reversed(self.replaced):
            if owner.__dict__.get(name) is wrapped:
                setattr(owner, name, original)
        for remove in self.handles:
            with suppress(Exception):
                remove()
        done, self.replaced, self.handles = self.replaced, [], []
        functional = sys.modules.get(_FUNCTIONAL)
        traceable = getattr(functional, "traceable_collective_remaps", {})
        for _, _, original, wrapped in done:
            if wrapped in traceable:
                traceable[original] = traceable[wrapped]

    # -- who calls

    def passes(self) -> bool:
        """Whether a call is none to be timed: part of another, or of a thread that does not write.

        The first thread that trains is the one that writes.
        """
        recorder = self.recorder
        if recorder.owner == 0:
            recorder.open()
        if recorder.owner == threading.get_ident():
            return not recorder.free
        if recorder.owner > 0:
            recorder.uncertain()
        return True

    def here(self) -> bool:
        """Whether this is the thread that writes, or there is none yet."""
        return self.recorder.owner in (0, threading.get_ident())

    # -- collectives

    def _collective(self, original: Any, name: str) -> Any:  # noqa: C901, PLR0915 - inlined
        recorder, compiling, ident = self.recorder, self.compiling, threading.get_ident
        monotonic, early = time.monotonic, self.early
        if recorder.events is not None:
            original = recorder.events.around(original)
        tensors = int(_COLLECTIVES.get(name, False))
        marks: dict[Any, bytes] = {}
        self.marks.append(marks)
        handle = name != "recv"  # which returns a rank
        mark = functools.partial(self.mark, marks, name, *_parameters(original))

        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: C901, PLR0912 - it is dear
            if compiling():  # a graph is traced: not a trace of us may be in it
                return original(*args, **kwargs)
            began: float | None = None
            tensor: Any = None
            me, entered, plain = ident(), 0, False
            try:
                if recorder.free == me or not self.passes():
                    if kwargs or len(args) != tensors:
                        named = mark(args, kwargs)
                    elif tensors:  # most calls: a tensor alone, or nothing
                        (tensor,) = args
                        named = marks.get(tensor.numel()) or mark(args, kwargs)
                    else:
                        plain = True
                        named = marks.get(0) or mark(args, kwargs)
                    # as Recorder.enter(), whose call would cost a tenth of all this
                    recorder.free = 0
                    recorder.entered = entered = recorder.entered + 1
                    if named is not recorder.stamped:  # nor at the first of a step
                        recorder.stamp(named)
                        if named in early:
                            recorder.early = True
                        else:
                            recorder.direct = True
                    recorder.numbers[15] = began = monotonic()
                    recorder.words[13] = entered
            except Exception as error:
                _fail(error)
            if began is None:
                return original(*args, **kwargs)
            try:  # without a tuple and a dictionary on the way where there need be none
                if tensor is not None:
                    result = original(tensor)
                elif plain:
                    result = original()
                else:
                    result = original(*args, **kwargs)
            except BaseException:
                recorder.abandon()
                raise
            try:
                spent = monotonic() - began
                recorder.free = me
                recorder.words[14] = entered
                recorder.in_collectives += spent
                if spent < recorder.shortest:  # noqa: PLR1730 - see leave()
                    recorder.shortest = spent
                if result is not None and handle:
                    recorder.uncertain()
            except Exception as error:
                _fail(error)
            return result

        return call

    def mark(
        self,
        marks: dict[Any, bytes],
        name: str,
        place: int,
        first: str,
        args: Any,
        kwargs: Any,
    ) -> bytes:
        """The stamp of a collective; in `early` if a call of it does not last as long as the wait.

        Kept in `marks` by its size, and its group if it names one.
        """
        group = args[place] if len(args) > place else kwargs.get("group")
        even = _COLLECTIVES.get(name, False)
        size = (args[0] if args else kwargs[first]).numel() if even else 0
        key = size if group is None else (size, id(group))
        found = marks.get(key)
        if found is None:
            members = self.distributed.get_world_size(group)
            blocking = self.distributed.get_backend(group) in self.blocking
            found = stamp(name, f"{size} {members}" if name in _COLLECTIVES else "")
            if not blocking:
                self.early.add(found)
            if len(marks) > 4096:  # shapes that never come back
                marks.clear()
            marks[key] = found
        return found

    def _out_of_sight(self, original: Any) -> Any:
        """A collective that returns before it is done, or is issued later."""
        recorder = self.recorder

        def before(*_: Any) -> None:
            if recorder.free or recorder.owner == 0:
                recorder.uncertain()

        return self._around(original, before)

    # -- gradients that DistributedDataParallel reduces in C++

    def _parallel(self, original: Any) -> Any:
        return self._around(original, lambda model, *_: model, self.follow)

    def follow(self, model: Any) -> None:
        """From when all gradients are computed until backward() returns it waits for the others.

        A hook on one parameter asks the engine for a call when the graph is done; what the
        reducer asks for comes later in the same pass, so it runs after ours.
        """
        if id(model) in self.models or not hasattr(model, "require_backward_grad_sync"):
            return
        parameter = next((p for p in model.parameters() if p.requires_grad), None)
        if parameter is None:
            return
        self.models.add(id(model))
        self.recorder.expects = True
        engine, known = self.engine, weakref.ref(model)
        blocking = self.distributed.get_backend(model.process_group) in self.blocking

        def gradient(_: Any) -> None:
            try:
                here = blocking and self.here()
                owner = known()
                if here and owner is not None and not _uneven(owner):
                    self.announced = owner.require_backward_grad_sync
                    engine.queue_callback(self.computed)
            except Exception as error:
                _fail(error)

        handle = parameter.register_hook(self.transient(gradient))
        self.handles.append(handle.remove)

    def computed(self) -> None:
        """All gradients of the outermost pass are there; an inner one would end too early."""
        try:
            if self.depth == 1 and not self.reducing and not self.passes():
                enter = self.recorder.enter if self.announced else _clock
                self.reducing = enter(_REDUCING)
        except Exception as error:
            _fail(error)

    def _backward(self, original: Any) -> Any:
        recorder = self.recorder

        def before(*_: Any) -> bool:
            if not self.here():
                return False
            self.depth += 1
            if recorder.phase == EVALUATION:
                recorder.resume()
            return True

        def after(here: bool) -> None:  # noqa: FBT001 - what `before` said
            if here:
                self.depth -= 1
                if self.depth == 0 and self.reducing:
                    if self.announced:
                        recorder.leave(self.reducing)
                    else:  # no_sync(): nothing is reduced, if the forward pass was in it too
                        recorder.in_collectives += time.monotonic() - self.reducing
                    self.reducing, recorder.met = 0.0, True

        return self._around(original, before, after)

    # -- steps, input, phases

    def stepped(self, optimizer: Any, *_: Any) -> None:
        """An optimizer stepped. The first to do so marks the steps; others belong to them."""
        try:
            recorder = self.recorder
            if _by_hand or (recorder.owner != threading.get_ident() and not self.here()):
                return
            if (self.anchor() is optimizer and not self.others) or self._marks(optimizer):
                recorder.finish()
        except Exception as error:
            _fail(error)

    def _marks(self, optimizer: Any) -> bool:
        """Whether a step of this optimizer ends a step, if another's was seen."""
        anchor = self.anchor()
        if anchor is not optimizer:
            count = self.others[id(optimizer)] = self.others.get(id(optimizer), 0) + 1
            if anchor is not None and count <= _OTHERS:
                return False
            self.anchor = weakref.ref(optimizer)
        self.others.clear()
        return True

    def _loader(self, original: Any) -> Any:
        recorder, compiling, ident = self.recorder, self.compiling, threading.get_ident

        def call(batches: Any) -> Any:
            if compiling():
                return original(batches)
            began = None
            try:
                if not recorder.asking and (recorder.owner == ident() or self.here()):
                    if not self.adopted:
                        self.adopt()
                    began = recorder.ask()
            except Exception as error:
                _fail(error)
            if began is None:
                return original(batches)
            try:
                return original(batches)
            finally:
                try:
                    recorder.given(began)
                except Exception as error:
                    _fail(error)

        return call

    def _evaluating(self, original: Any) -> Any:
        def before(*_: Any) -> None:
            if self.recorder.steps and self.recorder.owner == threading.get_ident():
                self.recorder.pause(EVALUATION)

        return self._around(original, before)

    def _pausing(self, original: Any, phase: int) -> Any:
        recorder = self.recorder

        def before(*_: Any) -> int | None:
            was = recorder.phase
            here = self.here() and was != phase
            return was if here and recorder.pause(phase) else None

        return self._around(original, before, recorder.turn)

    def _ending(self, original: Any) -> Any:
        """The default group is gone, or a Trainer is through."""
        whole = original.__name__ != "destroy_process_group"

        def after(_: Any) -> None:
            if self.here() and (whole or not self.distributed.is_initialized()):
                self.recorder.turn(ENDED)

        return self._around(original, lambda *_: True, after)

    def _compile(self, original: Any) -> Any:
        return self._around(original, lambda *_: True, lambda _: self._adopt_compiler())

    def compile_begins(self, *_: Any) -> None:
        """A graph is compiled: it takes long, and what is in it is not seen any more."""
        try:
            self._compiled()
            if self.here():
                self.recorder.turn(COMPILE)
        except Exception as error:
            _fail(error)

    def compile_ends(self, *_: Any) -> None:
        """Back to what it did."""
        try:
            if self.recorder.phase == COMPILE:
                self.recorder.resume()
        except Exception as error:
            _fail(error)

    def _compiled(self) -> None:
        if not self.local_graphs:
            self.recorder.compiled = True
            self.recorder.flags |= COMPILED

    def _around(
        self, original: Any, before: Callable[..., Any], after: Callable[[Any], Any] | None = None
    ) -> Any:
        """`after` gets what `before` returned, unless that is None; neither alters the call."""
        compiling = self.compiling

        def call(*args: Any, **kwargs: Any) -> Any:
            if compiling():
                return original(*args, **kwargs)
            token = None
            try:
                token = before(*args)
            except Exception as error:
                _fail(error)
            if token is None or after is None:
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                try:
                    after(token)
                except Exception as error:
                    _fail(error)

        return call


class _Events:
    """The device's own time in collectives that return at once, of every tenth step.

    Two timing events lie around each of them and around the step, all on one stream. Nothing waits:
    later steps ask the last one, and what is not done before the next sample is given up. Events
    may be the host's clock in disguise (torch-neuronx 2.12 stamps them when they are recorded):
    they are believed once they tell of more time than the host itself spent around that call,
    which such ones never can.
    """

    PERIOD = 10  # steps
    MOST = 64  # collectives in one
    STEADY = 1.5  # by how much a step of the host may differ from the device's
    MORE = 1.05  # than the host's time
    DOUBTS = 20  # samples that prove nothing before no more are taken

    def __init__(self, recorder: Recorder, torch: Any) -> None:
        self.recorder, self.torch = recorder, torch
        self.compiling = getattr(torch.compiler, "is_dynamo_compiling", bool)
        self.free: list[tuple[Any, Any]] = []  # done, to be used again
        self.believed = False
        self.doubts = 0
        self.drop()

    def drop(self) -> None:
        """Forget this sample and its events: the device may still come to them."""
        self.sampling = self.inside = False
        self.whole: tuple[Any, Any] | None = None  # around the step
        self.taken: list[tuple[Any, Any]] = []
        self.step = -1  # that waits for the device
        self.length = self.spent = 0.0  # the host's: of the step; between the events of collectives

    def turn(self, number: int, length: float, calls: int, *, early: bool) -> None:
        """A step has ended; `calls` are its collectives, 0 if others than those seen here count."""
        if self.sampling and self.whole is not None:
            self.sampling = False
            self.whole[1].record()
            if calls == len(self.taken) > 0:
                self.step, self.length = number, length
            else:
                self._give_up()
        elif self.step >= 0 and self.whole is not None and self.whole[1].query():
            self._read(self.whole)
        if early and (number + 1) % self.PERIOD == 0 and self.doubts < self.DOUBTS:
            self._begin()

    def _begin(self) -> None:
        """The next step is a sample."""
        self.device = self.torch.get_device_module()
        if self.step >= 0:
            self._give_up()
        if self.device is getattr(self.torch, "cpu", None):
            return  # which has no events
        self.stream = self.device.current_stream()
        self.whole = self._pair()
        self.whole[0].record()
        self.sampling = True

    def _give_up(self) -> None:
        self.drop()
        self.recorder.sampled = NONE

    def _pair(self) -> tuple[Any, Any]:
        if self.free:
            return self.free.pop()
        event = self.device.Event
        return event(enable_timing=True), event(enable_timing=True)

    def _read(self, whole: tuple[Any, Any]) -> None:
        """All is done: the share of the device's step, as a share of the host's."""
        span = whole[0].elapsed_time(whole[1]) / 1e3  # from ms
        times = [begin.elapsed_time(end) / 1e3 for begin, end in self.taken]
        inside, number, length = sum(times), self.step, self.length
        self.believed = self.believed or inside > self.spent * self.MORE
        self.doubts = 0 if self.believed else self.doubts + 1
        self.free += [whole, *self.taken]
        steady = span < length * self.STEADY and length < span * self.STEADY
        if not (self.believed and steady and min(times) >= 0 and inside <= span):
            self._give_up()
            return
        self.drop()
        self.recorder.fill(number, inside * length / span, min(times) * length / span)

    def around(self, original: Any) -> Any:
        """`original` between two events, where it is a collective of a sampled step."""
        compiling, ident, recorder = self.compiling, threading.get_ident, self.recorder

        def call(*args: Any, **kwargs: Any) -> Any:
            if compiling() or not self.sampling or self.inside or recorder.owner != ident():
                return original(*args, **kwargs)
            pair: tuple[Any, Any] | None = None
            began = time.monotonic()
            try:
                pair = self._before()
            except Exception as error:
                _fail(error)
            if pair is None:
                return original(*args, **kwargs)
            self.inside = True
            try:
                result = original(*args, **kwargs)
            finally:
                self.inside = False
            try:
                pair[1].record()
                self.spent += time.monotonic() - began
                self.taken.append(pair)
            except Exception as error:
                _fail(error)
            return result

        return functools.wraps(original)(call)

    def _before(self) -> tuple[Any, Any] | None:
        """None where it cannot be told: too many, or another stream, which waits beside ours."""
        if len(self.taken) >= self.MOST or self.device.current_stream() != self.stream:
            return None
        pair = self._pair()
        pair[0].record()
        return pair


_REDUCING = stamp("ddp_gradients", "ddp")


def _clock(_: bytes) -> float:
    return time.monotonic()


def _uneven(model: Any) -> bool:
    """In DDP's join() the ranks that ran out of input shadow the others' collectives."""
    return bool(getattr(getattr(model, "_join_config", None), "enable", False))


def _functions(module: Any) -> list[str]:
    """The public collectives of functional torch.distributed."""
    if module is None:
        return []
    kinds = ("all_", "reduce_scatter", "broadcast", "permute_tensor", "wait_tensor")
    return [
        name
        for name, value in vars(module).items()
        if name.startswith(kinds) and inspect.isfunction(value) and value.__module__ == _FUNCTIONAL
    ]


def _parameters(function: Any) -> tuple[int, str]:
    """Where the group stands among the positional arguments, and the name of the first."""
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # written in C++
        names = []
    return names.index("group") if "group" in names else 99, names[0] if names else ""


# -- PyTorch's own record of collectives, on request


class _FlightRecorder(threading.Thread):
    """Writes PyTorch's FlightRecorder beside the file when nothing moved for a while.

    Only with NEURON_OBSERVER_HOOK_FLIGHT_RECORDER=1 (or the seconds to wait): it is a thread in
    the job and calls into torch. Each stall is written once.
    """

    PATIENCE = 30.0  # s
    LIMIT = 1 << 20  # bytes

    def __init__(self, recorder: Recorder, patience: float) -> None:
        super().__init__(name="neuron-observer-hook", daemon=True)
        self.recorder, self.patience = recorder, patience
        self.stopped = threading.Event()

    @classmethod
    def start_if_asked(cls, recorder: Recorder) -> None:
        """Read the switch; the buffer is asked for before torch makes its process groups."""
        try:
            asked = float(os.environ.get("NEURON_OBSERVER_HOOK_FLIGHT_RECORDER") or 0)
        except ValueError:
            asked = 1.0
        if asked > 0:
            os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "2000")
            recorder.helper = cls(recorder, cls.PATIENCE if asked == 1 else asked)
            recorder.helper.start()

    def run(self) -> None:
        """Look four times in the time to wait. Whatever goes wrong ends this thread, no more."""
        last, since, told = (-1, -1), time.monotonic(), False
        with suppress(Exception):
            while not self.stopped.wait(self.patience / 4):
                moved = (self.recorder.entered, self.recorder.steps)
                if moved != last:
                    last, since, told = moved, time.monotonic(), False
                elif not told and self._stuck(since):
                    told = True
                    self._write(_trace(self.LIMIT))

    def _stuck(self, since: float) -> bool:
        training = self.recorder.phase == TRAINING or not self.recorder.free
        return training and time.monotonic() - since >= self.patience

    def _write(self, data: bytes) -> None:
        file = self.recorder.file
        if file is None or not data:
            return
        folder = os.open(file.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            made, name = file.name[:-3] + ".part", file.dump
            with suppress(FileNotFoundError):
                os.unlink(made, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(made, flags, 0o644, dir_fd=folder)
            with open(fd, "wb") as target:
                os.fchmod(fd, 0o644)
                target.write(data)
            os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)


def _trace(limit: int) -> bytes:
    """The dump as torch writes it (JSON), without its oldest entries if it is too long."""
    core = importlib.import_module("torch._C._distributed_c10d")
    data = core._dump_fr_trace_json()  # noqa: SLF001 - with no argument: torch 2.13 aborts with one
    data = data.encode() if isinstance(data, str) else data
    kept = 256
    while len(data) > limit and kept:
        document = json.loads(data)
        document["entries"] = document["entries"][-kept:]
        data, kept = json.dumps(document).encode(), kept // 2
    return data if len(data) <= limit else b""


# -- the one recorder of this process, and how it ends

_PHASES = {"training": TRAINING, "checkpoint": CHECKPOINT, "evaluation": EVALUATION}
_recorder: Recorder | None = None
_vectors: _Vectors | None = None
_failed = False
_registered = False
_by_hand = False  # step() marks the steps: an optimizer no longer does


def _active() -> Recorder | None:
    """The recorder; made when first asked for. None once something went wrong."""
    if _recorder is None and not _failed:
        _begin("", "", "", local_graphs=False)
    return _recorder


def _fail(error: BaseException) -> None:
    """Unhook for good and say so once. What a signal handler of the job raised is the job's."""
    global _failed
    if _from_signal_handler(error):
        raise error
    was, _failed = _failed, True
    _unhook(ended=True)  # a file that stands still would look like a rank that hangs
    if not was:
        with suppress(Exception):
            _log.warning("neuron-observer hook is off: %s: %s", type(error).__name__, error)


def _from_signal_handler(error: BaseException) -> bool:
    import signal

    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _unhook(*, ended: bool) -> None:
    global _recorder, _vectors
    recorder, _recorder = _recorder, None
    vectors, _vectors = _vectors, None
    if vectors is not None:
        with suppress(Exception):
            vectors.detach()
    if recorder is not None:
        with suppress(Exception):
            recorder.close(ended=ended)


def _at_exit() -> None:
    """A process that ends well takes its file with it; one that died leaves it as it was."""
    recorder = _recorder
    if recorder is not None and recorder.pid == os.getpid():
        _unhook(ended=getattr(sys, "last_value", None) is None)


def _in_child() -> None:
    if _recorder is not None:
        try:
            _recorder.forget()
        except Exception as error:
            _fail(error)


def install(
    *,
    role: str = "",
    replica: str = "",
    folder: str = "",
    local_graphs: bool = False,
    blocking: Iterable[str] = (),
    events: bool = False,
) -> bool:
    """Begin to record this process; False if it cannot be, which is logged.

    Imports torch if it is installed: what it wraps has to be there.

    Args:
        role: what sets this rank's work apart from others', e.g. its pipeline stage.
        replica: which copy of the model it belongs to, e.g. its data-parallel index.
        folder: where the heartbeat files are; by default `$NEURON_OBSERVER_HOOK_DIR`, else
            /run/neuron-observer-ranks.
        local_graphs: graphs of torch.compile hold no collectives, so what is outside them is all.
        blocking: further backends of torch.distributed whose calls return when the result is there.
        events: put the device's timing events around collectives that return at once, every tenth
            step.
    """
    if _recorder is None and not _failed:
        with suppress(Exception):  # none, or a broken one: that is told where the job needs it
            importlib.import_module("torch")
        _begin(role, replica, folder, local_graphs=local_graphs, blocking=blocking, events=events)
    return _recorder is not None


def _begin(
    role: str,
    replica: str,
    folder: str,
    *,
    local_graphs: bool,
    blocking: Iterable[str] = (),
    events: bool = False,
) -> None:
    global _recorder, _vectors, _registered
    try:
        role = role or os.environ.get("NEURON_OBSERVER_HOOK_ROLE", "")
        replica = replica or os.environ.get("NEURON_OBSERVER_HOOK_REPLICA", "")
        local_graphs = local_graphs or os.environ.get("NEURON_OBSERVER_HOOK_GRAPHS") == "local"
        if sys.byteorder != "little":
            raise OSError("the heartbeat file is little-endian, this machine is not")
        _recorder = recorder = Recorder(role=role, replica=replica, folder=folder)
        if not _registered:
            atexit.register(_at_exit)
            os.register_at_fork(after_in_child=_in_child)
            _registered = True
        torch = sys.modules.get("torch")
        if torch is not None:
            backends = {*blocking, *os.environ.get("NEURON_OBSERVER_HOOK_BLOCKING", "").split(",")}
            events = events or _on("NEURON_OBSERVER_HOOK_EVENTS")
            _vectors = vectors = _Vectors(
                recorder, backends, local_graphs=local_graphs, events=events
            )
            vectors.attach(torch)
            recorder.checked = vectors.adopt
        _FlightRecorder.start_if_asked(recorder)
    except Exception as error:
        _fail(error)


def autoload() -> None:
    """What PyTorch calls at `import torch` (entry point `torch.backends`): off unless asked for."""
    if _on("NEURON_OBSERVER_HOOK"):
        install()


def _on(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "on", "true", "yes")


def uninstall() -> None:
    """Put everything back and remove the file: the process trains no more, or unwatched."""
    _unhook(ended=True)


class _Around:
    """What is done before and after a block; neither can fail it."""

    __slots__ = ("_after", "_before", "_token")

    def __init__(self, before: Callable[[], Any], after: Callable[[Any, bool], None]) -> None:
        self._before, self._after = before, after
        self._token: Any = None

    def __enter__(self) -> None:
        try:
            self._token = self._before()
        except Exception as error:
            _fail(error)

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if self._token is not None and _recorder is not None:
                self._after(self._token, kind is not None)
        except Exception as error:
            _fail(error)


class _Step:
    """As `_Around`, without what that costs: it is there in every step."""

    __slots__ = ("_tokens",)

    def __init__(self, tokens: float | None) -> None:
        self._tokens = tokens

    def __enter__(self) -> None:
        global _by_hand
        try:
            recorder = _recorder or _active()
            if recorder is not None:
                _by_hand = True
                if recorder.file is None:
                    recorder.open()
        except Exception as error:
            _fail(error)

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            recorder = _recorder
            if recorder is not None and kind is None:
                if self._tokens is not None:
                    recorder.add_tokens(self._tokens)
                recorder.finish()
        except Exception as error:
            _fail(error)


def step(*, tokens: float | None = None) -> AbstractContextManager[None]:
    """One training step, marked by hand: it counts from the end of the one before.

    Optimizers mark no steps once this was used.
    """
    return _Step(tokens)


def collective(name: str, *, signature: str = "") -> AbstractContextManager[None]:
    """A wait for other ranks that does not go through torch.distributed and returns when done.

    `signature` is the same on every rank that takes part; where it differs the program does.
    """

    def begin() -> float | None:
        recorder = _active()
        return recorder.enter(stamp(name, signature)) if recorder is not None else None

    def end(began: float, failed: bool) -> None:  # noqa: FBT001 - of the block
        if _recorder is not None:
            _recorder.abandon() if failed else _recorder.leave(began)

    return _Around(begin, end)


def phase(name: str) -> AbstractContextManager[None]:
    """A stretch that is no training: `checkpoint` or `evaluation`. Nobody is alarmed by it."""

    def begin() -> Recorder | None:
        recorder = _active()
        if recorder is not None:
            recorder.turn(_PHASES[name])
        return recorder

    return _Around(begin, lambda recorder, _: recorder.resume())


def data(batches: Iterable[Any]) -> Iterator[Any]:
    """The same batches; the time until each is there counts as waiting for input."""

    def begin() -> float | None:
        recorder = _active()
        return recorder.ask() if recorder is not None else None

    def end(began: float, _: object) -> None:
        if _recorder is not None:
            _recorder.given(began)

    iterator, waiting = iter(batches), _Around(begin, end)
    while True:
        with waiting:
            batch = next(iterator, _OVER)
        if batch is _OVER:
            return
        yield batch


_OVER = object()


def callback() -> Any:
    """A TrainerCallback for Transformers' Trainer and TRL's: steps, evaluations, checkpoints.

    Raises:
        ImportError: Transformers is not installed.
    """
    kind = importlib.import_module("transformers").TrainerCallback
    return type("HeartbeatCallback", (kind,), {n: _event(act) for n, act in _EVENTS.items()})()


def _event(act: Callable[[Recorder, Any], None]) -> Callable[..., None]:
    def event(*given: Any, **_: Any) -> None:  # self, arguments, state, control
        try:
            recorder = _active()
            if recorder is not None:
                act(recorder, given[3])
        except Exception as error:
            _fail(error)

    return event


def _train_begins(recorder: Recorder, _: Any) -> None:
    global _by_hand
    _by_hand = True
    recorder.open()


def _step_ends(recorder: Recorder, control: Any) -> None:
    recorder.finish()
    _pause_due(recorder, control)


def _pause_due(recorder: Recorder, control: Any) -> None:
    if control.should_evaluate:
        recorder.turn(EVALUATION)
    elif control.should_save:
        recorder.turn(CHECKPOINT)


def _evaluated(recorder: Recorder, control: Any) -> None:
    recorder.turn(CHECKPOINT) if control.should_save else recorder.resume()


_EVENTS: dict[str, Callable[[Recorder, Any], None]] = {
    "on_train_begin": _train_begins,
    "on_step_end": _step_ends,
    "on_epoch_end": _pause_due,
    "on_prediction_step": lambda recorder, _: recorder.turn(EVALUATION),
    "on_evaluate": _evaluated,
    "on_predict": lambda recorder, _: recorder.resume(),
    "on_save": lambda recorder, _: recorder.resume(),
    "on_train_end": lambda recorder, _: recorder.turn(ENDED),
}


# -- for the command line


def check(folder: str = "") -> str:
    """Make a heartbeat file in the folder and remove it again; its path.

    Raises:
        OSError: a job could not either.
    """
    file = _File(folder or os.environ.get("NEURON_OBSERVER_HOOK_DIR") or FOLDER)
    file.close(remove=True)
    return file.path


def write_copy(folder: str) -> str:
    """Copy this file into `folder` as neuron_observer_hook.py; its path."""
    with open(__file__, encoding="utf-8") as source:
        text = source.read()
    path = os.path.join(folder, "neuron_observer_hook.py")
    with open(path, "w", encoding="utf-8") as target:
        target.write(text)
    return path
