"""The helper process of `sources.helper`: requests on standard input, answers on standard output.

What it imports is paid by every command that reads a driver whose reads can block.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from neuron_observer.clock import SystemClock
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.workers import Request, ThreadWorkers

if TYPE_CHECKING:
    from neuron_observer.sources.filesets import Content


def _item(content: Content) -> dict[str, Any]:
    if isinstance(content, OSError):
        return {"errno": content.errno}
    return {"bytes": content.decode("latin-1")}


def serve(root: str) -> None:
    """Answer requests from standard input until it ends."""
    # Left behind, it must not hold open the pipe of `neuron-observer … 2>&1 | tee log`.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    workers = ThreadWorkers(DirectoryFs(root), SystemClock())
    lock = threading.Lock()

    def answer(message: dict[str, Any]) -> None:
        request = Request(message["folder"], tuple(message["names"]), tuple(message["limits"]))
        device = message["device"]
        workers.submit(device, request)
        found = workers.gather([device], threading.TIMEOUT_MAX)[device]
        reply = {
            "device": device,
            "contents": [_item(content) for content in found.contents],
            "seconds": found.seconds,
        }
        with lock, suppress(OSError):  # nobody listens any more: the input has ended too
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()

    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
    os._exit(0)  # threads that still read must not hold up the end
