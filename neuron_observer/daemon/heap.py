"""One heap for all threads.

The C library gives each thread a heap of its own (mallopt(3), M_ARENA_MAX), against waits that
Python's own lock makes impossible; two dozen threads that hold little make half a megabyte of them.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8  # malloc.h


def share_one_heap() -> bool:
    """For threads that begin from now on; False where the C library is another."""
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1))
    return False
