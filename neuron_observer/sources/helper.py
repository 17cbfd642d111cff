"""Firmware-register reads in a process of their own, for drivers whose reads cannot be ended.

A thread that sleeps uninterruptibly in the kernel keeps its process from ending, whatever signal
comes. So the helper does the reading, one thread a device, and answers over a pipe; if it hangs it
is left behind and counted. Messages are JSON lines: a request names files, an answer has their
bytes in base64 or an errno. The helper ends when its standard input does.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from neuron_observer.clock import Clock, SystemClock
from neuron_observer.sources.hostfs import Content, DirectoryFs
from neuron_observer.sources.workers import Answer, Gathering, Request, ThreadWorkers

if TYPE_CHECKING:
    from collections.abc import Collection


class HelperWorkers:
    """The same as `ThreadWorkers`, with the threads in a helper process."""

    def __init__(self, root: str, clock: Clock) -> None:
        self._root = root
        self._clock = clock
        self._gathering = Gathering()
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", __spec__.name, self._root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is ours to handle; the end of its input ends it
        )
        self._listener = threading.Thread(
            target=self._listen,
            args=(process, self._gathering),
            name="firmware-helper",
            daemon=True,
        )
        self._listener.start()
        return process

    def submit(self, device: int, request: Request) -> bool:
        """Ask the helper; False while its last answer for the device is owed."""
        if self._process.poll() is not None:  # it died: what it owed will not come
            self._end(self._process)
            self._gathering = Gathering()
            self._process = self._start()
        if not self._gathering.begin(device):
            return False
        message = {
            "device": device,
            "folder": request.folder,
            "names": request.names,
            "limits": request.limits,
        }
        pipe = self._process.stdin
        try:
            if pipe:
                pipe.write(json.dumps(message).encode() + b"\n")
                pipe.flush()
        except OSError:
            return False
        return True

    def _listen(self, process: subprocess.Popen[bytes], gathering: Gathering) -> None:
        if process.stdout is None:
            return
        # Only this thread closes the pipe: closing it from another waits for a read that hangs.
        with process.stdout as answers:
            for line in answers:
                if not line.endswith(b"\n"):
                    return  # it died while it was writing
                message = json.loads(line)
                read_at = self._clock.monotonic() - sum(message["seconds"])
                contents = [_content(item) for item in message["contents"]]
                gathering.put(message["device"], Answer(contents, message["seconds"], read_at))

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """The answers that are there within `seconds`."""
        return self._gathering.take(devices, seconds)

    def close(self) -> None:
        """End the helper; one that hangs in the kernel is left behind, nobody waits for it."""
        self._end(self._process)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        if process.stdin:
            with suppress(OSError):  # what it never took
                process.stdin.close()
        try:
            process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            process.returncode = -9  # it cannot be reaped: keep Popen from warning


def _content(item: dict[str, Any]) -> Content:
    if "errno" in item:
        return OSError(item["errno"], os.strerror(item["errno"]))
    return base64.b64decode(item["bytes"])


def _item(content: Content) -> dict[str, Any]:
    if isinstance(content, OSError):
        return {"errno": content.errno}
    return {"bytes": base64.b64encode(content).decode()}


def serve(root: str) -> None:
    """Answer requests from standard input until it ends."""
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


if __name__ == "__main__":
    # Left behind, it must not hold open the pipe of `neuron-observer … 2>&1 | tee log`.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    serve(sys.argv[1])
    os._exit(0)  # threads that still read must not hold up the end
