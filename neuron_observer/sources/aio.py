"""Many kept descriptors read in one system call, by Linux AIO (io_submit(2); fs/aio.c).

A file that is not opened with O_DIRECT is read at once inside io_submit, one after the other, as by
pread. It saves what a pread from Python costs above one from C, a fifth, and the interpreter is
free meanwhile. Where the kernel or a sandbox has no AIO, `open_reads` gives None.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from functools import cache
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_READ_ONLY = 0  # IOCB_CMD_PREAD; no other command is ever given (linux/aio_abi.h)


class _Calls(NamedTuple):
    """Numbers of system calls (asm/unistd.h)."""

    setup: int
    destroy: int
    getevents: int
    submit: int


_CALLS = {"x86_64": _Calls(206, 207, 208, 209), "aarch64": _Calls(0, 1, 4, 2)}


class _Request(ctypes.Structure):
    """struct iocb on a 64-bit little-endian machine."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_int32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("descriptor", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("event_descriptor", ctypes.c_uint32),
    )


_EVENT_WORDS = 4  # struct io_event: data, request, result, second result


@cache  # most devices have as many files as the next
def _numbers(count: int) -> list[int]:
    return list(range(count))


class Reads:
    """Descriptors that are read together, from their beginning; used by one thread at a time."""

    def __init__(self, calls: _Calls, descriptors: Sequence[int], limits: Sequence[int]) -> None:
        """OSError where the kernel gives no context."""
        count = len(descriptors)
        self._calls = calls
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long
        self._context = ctypes.c_ulong(0)
        self._buffer = ctypes.create_string_buffer(sum(limits))
        self._limits = tuple(limits)
        self._events = (ctypes.c_int64 * (_EVENT_WORDS * count))()
        self._words = memoryview(self._events).cast("B").cast("q")
        self._requests = (_Request * count)()
        self._pointers = (ctypes.c_void_p * count)()
        where, request = ctypes.addressof(self._buffer), ctypes.addressof(self._requests)
        starts = accumulate(limits, initial=0)
        for i, (descriptor, limit, start) in enumerate(
            zip(descriptors, limits, starts, strict=False)
        ):
            one = self._requests[i]  # filled in place: an assignment would keep another object
            one.data, one.opcode, one.descriptor = i, _READ_ONLY, descriptor
            one.buffer, one.size = where + start, limit
            self._pointers[i] = request + i * ctypes.sizeof(_Request)
        # The arguments of nearly every call, made once.
        self._submit_all = ctypes.c_long(count), ctypes.byref(self._pointers)
        self._gather_all = *2 * (ctypes.c_long(count),), ctypes.byref(self._events), None
        self._order = _numbers(count)
        self._results = b""  # the events of the last read
        self._sizes: list[int] = []
        self._form = struct.Struct("")
        self._data = b""
        self._contents: list[bytes] = []
        self._room = _Spare.take(self._context, count)  # reads that the context takes at once
        if not self._room:
            self._room = count
            self._call(calls.setup, ctypes.c_long(count), ctypes.byref(self._context))

    def read(self) -> list[bytes]:
        """What each holds now, the same list as before if nothing is new; OSError if one fails."""
        self._transfer()
        results, data = bytes(self._events), self._buffer.raw
        if data == self._data and results == self._results:
            return self._contents
        if results != self._results:
            self._take_sizes()
            self._results = results
        self._data = data
        self._contents = list(self._form.unpack(data))
        return self._contents

    def _transfer(self) -> None:
        """Read all into the buffer."""
        count, done = len(self._order), 0
        failure: OSError | None = None
        while done < count and failure is None:
            try:
                done += self._call(self._calls.submit, self._context, *self._to_submit(done))
            except OSError as error:
                failure = error
        self._gather(done)
        if failure:
            self._results = b""  # of some
            raise failure

    def _gather(self, count: int) -> None:
        """Take the results of so many reads."""
        got = 0
        while got < count:
            wanted = self._to_gather(got, count)
            got += self._call(self._calls.getevents, self._context, *wanted)

    def _to_submit(self, done: int) -> tuple[object, ...]:
        """How many, and where their pointers begin."""
        if not done:
            return self._submit_all
        pointers = ctypes.byref(self._pointers, done * ctypes.sizeof(ctypes.c_void_p))
        return ctypes.c_long(len(self._order) - done), pointers

    def _to_gather(self, got: int, count: int) -> tuple[object, ...]:
        """How many at least and at most, and where to put them; without a limit of time."""
        if not got and count == len(self._order):
            return self._gather_all
        left = ctypes.c_long(count - got)
        return left, left, ctypes.byref(self._events, got * _EVENT_WORDS * 8), None

    def _take_sizes(self) -> None:
        """How much each gave, of the results that are there."""
        found, sizes = self._words[0::_EVENT_WORDS].tolist(), self._words[2::_EVENT_WORDS].tolist()
        if found != self._order:  # as they came
            sizes = [size for _, size in sorted(zip(found, sizes, strict=True))]
        if min(sizes) < 0:
            number = -min(sizes)
            self._results = b""
            raise OSError(number, os.strerror(number))
        if sizes != self._sizes:
            parts = [f"{n}s{most - n}x" for n, most in zip(sizes, self._limits, strict=True)]
            self._form, self._sizes = struct.Struct("".join(parts)), sizes

    def _call(self, number: int, *arguments: object) -> int:
        """A system call, again where a signal came between."""
        while (result := self._syscall(ctypes.c_long(number), *arguments)) < 0:
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code))
        return int(result)

    def close(self) -> None:
        """Leave the context to whoever needs one next; the descriptors are the caller's."""
        if self._context.value:
            every, none = ctypes.c_long(len(self._order)), ctypes.c_long(0)
            left_over = ctypes.byref(self._events)
            self._call(self._calls.getevents, self._context, none, every, left_over, None)
            if not _Spare.keep(self._context, self._room):
                self._call(self._calls.destroy, self._context)
            self._context.value = 0


class _Spare:
    """Contexts that nobody uses.

    To destroy one waits for all processors (io_destroy: some 20 ms, more under load), and a driver
    that is loaded again, or a daemon that ends, closes a hundred. Those that are left go with the
    process, all at once.
    """

    _MOST: ClassVar = 256
    _lock: ClassVar = Lock()
    _free: ClassVar[list[tuple[int, int]]] = []  # (room, context)

    @classmethod
    def take(cls, context: ctypes.c_ulong, count: int) -> int:
        """Set a context that takes so many reads; its room, 0 if there is none."""
        with cls._lock:
            fitting = [each for each in cls._free if each[0] >= count]
            if not fitting:
                return 0
            best = min(fitting)
            cls._free.remove(best)
        context.value = best[1]
        return best[0]

    @classmethod
    def keep(cls, context: ctypes.c_ulong, room: int) -> bool:
        """Keep one for the next; False if there are enough."""
        with cls._lock:
            if len(cls._free) >= cls._MOST:
                return False
            cls._free.append((room, context.value))
            return True


def open_reads(descriptors: Sequence[int], limits: Sequence[int]) -> Reads | None:
    """A way to read these together, or None where there is none."""
    calls = _CALLS.get(os.uname().machine)
    if calls is None or sys.maxsize < 1 << 32:
        return None
    try:
        return Reads(calls, descriptors, limits)
    except OSError:
        return None
