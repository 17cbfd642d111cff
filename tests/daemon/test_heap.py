"""One heap for all threads, where the C library knows of it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import threading
from neuron_observer.daemon.heap import share_one_heap
assert share_one_heap()
ready, go_on = threading.Barrier(9), threading.Event()
def hold():
    held = bytearray(4000)
    ready.wait()
    go_on.wait()
threads = [threading.Thread(target=hold) for _ in range(8)]
[thread.start() for thread in threads]
ready.wait()
with open("/proc/self/maps") as maps:
    print(sum(line.split()[1] == "---p" and 60 << 20 < int(line.split()[0].split("-")[1], 16)
              - int(line.split()[0].split("-")[0], 16) <= 64 << 20 for line in maps))
go_on.set()
"""


def test_no_thread_has_a_heap_of_its_own() -> None:
    """A heap of a thread is 64 MB of addresses, most of them not in use yet."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "0\n"
