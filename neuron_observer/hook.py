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
import logging
import math
import mmap
import os
import stat
import struct
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
_STATE = struct.Struct("<BBB")  # 72: phase, wait source, flags
_PROGRESS = struct.Struct("<Qdd")  # 80: steps, monotonic and wall clock of that
_STEP = struct.Struct("<QddddddIBBH")
_TEXTS = ((256, 64), (320, 64), (384, 128))  # role, replica, hint of the job
_GENERATION, _ENTERED, _COMPLETED, _PAUSES = 2, 13, 14, 24  # in words of 8 bytes
_SINCE, _BEGIN, _ASKED, _PHASE_AT = 15, 21, 22, 23
_STAMP = slice(128, 168)  # name and hash of the last collective
_CHECK_EVERY = 64  # steps between looks at the file itself and at who we are
_SWEEP_AFTER = 600.0  # s that the file of a dead process is left for its readers
_RENEWALS = 8  # a folder that is emptied again and again is somebody's will

_log = logging.getLogger("neuron_observer.hook")


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
    def path(self) -> str:
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
            with suppress(OSError):
                os.unlink(self.path)
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
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process lives
        written = struct.unpack("<d", os.pread(fd, 8, 96))[0] if name.endswith(".hb") else 0.0
        if time.time() - max(written, status.st_mtime) > _SWEEP_AFTER:
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


class Recorder:
    """What this process has done, told to its file as it happens. One thread, its owner, writes.

    The file appears with the first act of training: a data-loader worker, a forked helper or a
    launcher never has one. A write is bracketed by an odd generation, also where it is cut short
    by a signal: the next one brings the generation back to even.
    """

    def __init__(self, *, role: str = "", replica: str = "", folder: str = "") -> None:
        self.texts = (role, replica, "")
        self.folder = folder or os.environ.get("NEURON_OBSERVER_HOOK_DIR") or FOLDER
        self.flags = 0
        self.reset()

    def reset(self) -> None:
        """As at the start of the process; after a fork the child begins anew."""
        self.file: _File | None = None
        self._detach()
        self.owner = 0
        self.pid = os.getpid()
        self.generation = 0
        self.entered = self.steps = self.pauses = self.renewals = 0
        self.inside = False
        self.phase, self.source = INIT, NONE
        self.identity = (-1, -1, -1, 0)
        self.paused_in: dict[int, int] = {}
        self.step_began = 0.0
        self.input_seen = False
        self.stamped = b""
        self.flags &= LOADER_WRAPPED | COLLECTIVES_WRAPPED
        self._clear()

    def _clear(self) -> None:
        """A new step: nothing seen of it yet."""
        self.in_collectives = 0.0
        self.shortest = math.inf
        self.calls = 0
        self.waited = 0.0
        self.tokens = math.nan
        self.step_flags = 0
        self.unknown = False  # time in collectives that nobody sees from here

    # -- the file

    def open(self) -> None:
        """Make the file if there is none; the calling thread becomes the one that writes."""
        if self.file is None:
            self.owner = threading.get_ident()
            self.step_began = time.monotonic()
            self._attach(_File(self.folder))

    def _detach(self) -> None:
        self.words = self.bytes = memoryview(b"")
        self.numbers: memoryview[float] = memoryview(b"").cast("d")

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
        _STATE.pack_into(self.bytes, 72, self.phase, self.source, self.flags)
        _PROGRESS.pack_into(self.bytes, 80, self.steps, now, time.time())
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
        self._attach(new)
        old.close(remove=False)

    def close(self, *, ended: bool) -> None:
        """Stop writing. A file that stays behind says that its process did not end well."""
        file, self.file = self.file, None
        if file is None:
            return
        if ended:
            self.phase = ENDED
            self._odd()
            self._write_state(time.monotonic())
            self._even()
        self._detach()
        file.close(remove=ended)

    def forget(self) -> None:
        """In a forked child: the file is the parent's; not a byte of it may change."""
        file = self.file
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
        self.entered = entered = self.entered + 1
        self.inside = True
        words = self.words
        words[2] = self.generation + 1
        words[13] = entered
        if mark is not self.stamped:
            self.bytes[_STAMP] = mark
            self.stamped = mark
        self.numbers[15] = now = time.monotonic()
        self.generation = generation = self.generation + 2
        words[2] = generation
        return now

    def leave(self, began: float) -> None:
        """It has ended."""
        spent = time.monotonic() - began
        self.inside = False
        words = self.words
        words[2] = self.generation + 1
        words[14] = self.entered
        self.numbers[15] = 0.0
        self.generation = generation = self.generation + 2
        words[2] = generation
        self.in_collectives += spent
        self.calls += 1
        if spent < self.shortest:  # noqa: PLR1730 - min() costs twice as much
            self.shortest = spent

    def ask(self) -> float:
        """The next batch is asked for. Before the first act of training there is no file yet."""
        now = time.monotonic()
        if self.file is not None:
            self.words[2] = self.generation + 1
            self.numbers[_ASKED] = now
            self.generation = generation = self.generation + 2
            self.words[2] = generation
        return now

    def given(self, began: float) -> None:
        """The batch is there."""
        self.waited += time.monotonic() - began
        self.input_seen = True
        if self.file is not None:
            self.words[2] = self.generation + 1
            self.numbers[_ASKED] = 0.0
            self.generation = generation = self.generation + 2
            self.words[2] = generation

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
        known = self.calls > 0 and not self.unknown
        self.source = source = BLOCKING if known else NONE
        steps = self.steps
        self.words[2] = self.generation + 1
        if self.phase != TRAINING:
            self.phase = TRAINING
            self.numbers[_PHASE_AT] = now
        _STEP.pack_into(
            self.bytes, _HEADER + _RECORD * (steps % _RECORDS), steps, self.step_began, now,
            self.in_collectives if known else math.nan,
            self.shortest if known else math.nan,
            self.waited if self.input_seen else math.nan,
            self.tokens, self.calls, self.step_flags, source, 0,
        )  # fmt: skip
        self.steps = steps + 1
        _PROGRESS.pack_into(self.bytes, 80, steps + 1, now, time.time())
        _STATE.pack_into(self.bytes, 72, TRAINING, source, self.flags)
        self.numbers[_BEGIN] = now
        self.generation = generation = self.generation + 2
        self.words[2] = generation
        self.step_began = now
        self._clear()
        if self.steps % _CHECK_EVERY == 0:
            self._check()

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
        last, self.paused_in[phase] = self.paused_in.get(phase, -2), self.steps
        if self.steps - last <= 1 and last != self.steps:
            return False
        self.turn(phase)
        return True

    def resume(self) -> None:
        """Back to training, or to where it was before the first step."""
        self.turn(TRAINING if self.steps else INIT)


# -- the one recorder of this process, and how it ends

_PHASES = {"training": TRAINING, "checkpoint": CHECKPOINT, "evaluation": EVALUATION}
_recorder: Recorder | None = None
_failed = False
_by_hand = False  # step() marks the steps: an optimizer no longer does


def _active() -> Recorder | None:
    """The recorder; made when first asked for. None once something went wrong."""
    if _recorder is None and not _failed:
        install()
    return _recorder


def _fail(error: BaseException) -> None:
    """Unhook for good and say so once. What a signal handler of the job raised is the job's."""
    global _failed
    if _from_signal_handler(error):
        raise error
    was, _failed = _failed, True
    _unhook(ended=False)
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
    global _recorder
    recorder, _recorder = _recorder, None
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


def install(*, role: str = "", replica: str = "", folder: str = "") -> bool:
    """Begin to record this process; False if it cannot be, which is logged.

    Args:
        role: what sets this rank's work apart from others', e.g. its pipeline stage.
        replica: which copy of the model it belongs to, e.g. its data-parallel index.
        folder: where the heartbeat files are; by default `$NEURON_OBSERVER_HOOK_DIR`, else
            /run/neuron-observer-ranks.
    """
    global _recorder
    if _recorder is not None or _failed:
        return _recorder is not None
    try:
        _recorder = Recorder(
            role=role or os.environ.get("NEURON_OBSERVER_HOOK_ROLE", ""),
            replica=replica or os.environ.get("NEURON_OBSERVER_HOOK_REPLICA", ""),
            folder=folder,
        )
        atexit.register(_at_exit)
        os.register_at_fork(after_in_child=_in_child)
    except Exception as error:
        _fail(error)
    return _recorder is not None


def autoload() -> None:
    """What PyTorch calls at `import torch` (entry point `torch.backends`): off unless asked for."""
    if os.environ.get("NEURON_OBSERVER_HOOK", "").lower() in ("1", "on", "true", "yes"):
        install()


def uninstall() -> None:
    """Put everything back and remove the file: the process trains no more, or unwatched."""
    _unhook(ended=True)


@contextmanager
def step(*, tokens: float | None = None) -> Iterator[None]:
    """One training step, marked by hand: it counts from the end of the one before.

    Optimizers mark no steps once this was used.
    """
    global _by_hand
    recorder = _active()
    if recorder is None:
        yield
        return
    _by_hand = True
    try:
        recorder.open()
    except Exception as error:
        _fail(error)
    yield
    try:
        if _recorder is not None:
            if tokens is not None:
                recorder.add_tokens(tokens)
            recorder.finish()
    except Exception as error:
        _fail(error)


@contextmanager
def collective(name: str, *, signature: str = "") -> Iterator[None]:
    """A wait for other ranks that does not go through torch.distributed and returns when done.

    `signature` is the same on every rank that takes part; where it differs the program does.
    """
    recorder = _active()
    if recorder is None:
        yield
        return
    began = 0.0
    try:
        began = recorder.enter(stamp(name, signature))
    except Exception as error:
        _fail(error)
    yield
    try:
        if _recorder is not None:
            recorder.leave(began)
    except Exception as error:
        _fail(error)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """A stretch that is no training: `checkpoint` or `evaluation`. Nobody is alarmed by it."""
    recorder = _active()
    try:
        if recorder is not None:
            recorder.turn(_PHASES[name])
    except Exception as error:
        _fail(error)
    yield
    try:
        if _recorder is not None:
            _recorder.resume()
    except Exception as error:
        _fail(error)


def data(batches: Iterable[Any]) -> Iterator[Any]:
    """The same batches; the time until each is there counts as waiting for input."""
    iterator = iter(batches)
    while True:
        recorder = _active()
        began = recorder.ask() if recorder else 0.0
        try:
            batch = next(iterator)
        except StopIteration:
            return
        finally:
            if recorder is not None and recorder is _recorder:
                recorder.given(began)
        yield batch
