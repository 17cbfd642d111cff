"""Many kept descriptors read in one system call, by Linux AIO (io_submit(2); fs/aio.c).

A file that is not opened with O_DIRECT is read at once inside io_submit, one after the other, as by
pread. It saves what a pread from Python costs above one from C, a fifth, and the interpreter is
free meanwhile. Where the kernel or a sandbox has no AIO, `open_reads` gives None.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from neuron_observer.sources.slots import Slots

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


class _Channel:
    """A context of the kernel, and room for the results of what is read through it."""

    def __init__(self, call: _Call, room: int) -> None:
        """OSError where the kernel gives none."""
        self.room = room  # reads that it takes at once
        self.context = ctypes.c_ulong(0)
        events = (ctypes.c_int64 * (_EVENT_WORDS * room))()
        self.events = events
        self.first = ctypes.byref(events)
        self.bytes = memoryview(events).cast("B")
        call(call.numbers.setup, ctypes.c_long(room), ctypes.byref(self.context))


class _Call:
    """System calls by number, again where a signal came between."""

    def __init__(self, numbers: _Calls) -> None:
        self.numbers = numbers
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long

    def __call__(self, number: int, *arguments: object) -> int:
        """What it gives; OSError of what it refuses."""
        while (result := self._syscall(ctypes.c_long(number), *arguments)) < 0:
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code))
        return int(result)


class _Channels:
    """Those that nobody uses: a read takes one and gives it back, so a thread has one for all sets.

    None is ever destroyed: that waits for all processors (io_destroy: some 20 ms, more under load).
    They go with the process, all at once.
    """

    _LEAST: ClassVar = 512
    _free: ClassVar[list[_Channel]] = []

    @classmethod
    def take(cls, call: _Call, count: int) -> _Channel:
        """One for so many reads; OSError where the kernel gives none."""
        free = cls._free
        try:
            channel = free.pop()  # not asked whether there is one: another thread may take it
        except IndexError:
            channel = None
        if channel and channel.room >= count:
            return channel
        return _Channel(call, max(count, cls._LEAST))  # a smaller one is left for good

    @classmethod
    def give(cls, channel: _Channel) -> None:
        """Leave one to whoever reads next."""
        cls._free.append(channel)


class Reads:
    """Descriptors that are read together, from their beginning; used by one thread at a time."""

    def __init__(self, calls: _Calls, descriptors: Sequence[int], limits: Sequence[int]) -> None:
        """OSError where the kernel gives no context."""
        count = len(descriptors)
        self._call = _call(calls)
        self._slots = Slots(limits)
        self._requests = (_Request * count)()
        self._pointers = (ctypes.c_void_p * count)()
        request = ctypes.addressof(self._requests)
        places = zip(descriptors, limits, self._slots.addresses(), strict=True)
        for i, (descriptor, limit, address) in enumerate(places):
            one = self._requests[i]  # filled in place: an assignment would keep another object
            one.data, one.opcode, one.descriptor = i, _READ_ONLY, descriptor
            one.buffer, one.size = address, limit
            self._pointers[i] = request + i * ctypes.sizeof(_Request)
        # The arguments of nearly every call, made once.
        self._submit_all = ctypes.c_long(count), ctypes.byref(self._pointers)
        self._every = ctypes.c_long(count)
        self._order = _numbers(count)
        self._results = bytearray()  # of the last read
        self._fresh_sizes: list[int] | None = None  # None: as before
        _Channels.give(_Channels.take(self._call, count))  # refused now, it is refused once

    def read(self) -> list[bytes]:
        """What each holds now; OSError if one fails."""
        self.fetch()
        return self.contents()

    def fetch(self) -> None:
        """Read all; OSError if one fails."""
        self._fresh_sizes = self._transfer() or self._fresh_sizes

    def contents(self) -> list[bytes]:
        """What was read last, the same list as before if nothing is new."""
        sizes, self._fresh_sizes = self._fresh_sizes, None
        contents = self._slots.contents(sizes)
        for number, address in self._slots.moved():
            self._requests[number].buffer = address
        return contents

    def changed_since(self, contents: object) -> list[int] | None:
        """What the last read changed of what the one before it gave; None: that gave another."""
        return self._slots.changed_since(contents)

    def _transfer(self) -> list[int] | None:
        """Read all; how much each gave, or None if as much as before."""
        count, done = len(self._order), 0
        failure: OSError | None = None
        channel = _Channels.take(self._call, count)
        submit = self._call.numbers.submit
        while done < count and failure is None:
            try:
                done += self._call(submit, channel.context, *self._to_submit(done))
            except OSError as error:
                failure = error
        self._gather(channel, done)
        results = channel.bytes[: count * _EVENT_WORDS * 8]
        alike = self._results == results
        if not alike:
            self._results[:] = results
        _Channels.give(channel)  # with nothing owed: what was submitted has been taken
        if failure:
            self._results.clear()  # of some
            raise failure
        return None if alike else self._sizes()

    def _gather(self, channel: _Channel, count: int) -> None:
        """Take the results of so many reads, without a limit of time."""
        got = 0
        while got < count:
            if not got and count == len(self._order):
                left, room = self._every, channel.first
            else:
                left = ctypes.c_long(count - got)
                room = ctypes.byref(channel.events, got * _EVENT_WORDS * 8)
            got += self._call(self._call.numbers.getevents, channel.context, left, left, room, None)

    def _to_submit(self, done: int) -> tuple[object, ...]:
        """How many, and where their pointers begin."""
        if not done:
            return self._submit_all
        pointers = ctypes.byref(self._pointers, done * ctypes.sizeof(ctypes.c_void_p))
        return ctypes.c_long(len(self._order) - done), pointers

    def _sizes(self) -> list[int]:
        """How much each gave; OSError if one failed."""
        words = memoryview(bytes(self._results)).cast("q")
        found, sizes = words[0::_EVENT_WORDS].tolist(), words[2::_EVENT_WORDS].tolist()
        if found != self._order:  # as they came
            sizes = [size for _, size in sorted(zip(found, sizes, strict=True))]
        if min(sizes) < 0:
            number = -min(sizes)
            self._results.clear()
            raise OSError(number, os.strerror(number))
        return sizes


@cache  # one library, however many sets
def _call(numbers: _Calls) -> _Call:
    return _Call(numbers)


def open_reads(descriptors: Sequence[int], limits: Sequence[int]) -> Reads | None:
    """A way to read these together, or None where there is none."""
    calls = _CALLS.get(os.uname().machine)
    if calls is None or sys.maxsize < 1 << 32:
        return None
    try:
        return Reads(calls, descriptors, limits)
    except OSError:
        return None
