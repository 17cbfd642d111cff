"""Firmware-register reads in a process of their own, for drivers whose reads cannot be ended.

A thread that sleeps uninterruptibly in the kernel keeps its process from ending, whatever signal
comes. So the helper does the reading, one thread a device, and answers over a pipe; if it hangs it
is left behind and counted. Messages are JSON lines: a request names files, an answer has their
bytes as Latin-1 text or an errno. The helper (`sources.serving`) ends when its input does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from neuron_observer.sources.workers import Answer, Gathering

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.clock import Clock
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.workers import Request

# Neither `site` nor `runpy`: the helper is a third of what a glance costs on such a driver.
# Nothing is imported from the directory that the command happens to be called in.
_SERVE = (
    "import sys; sys.path[:] = filter(None, sys.path);"
    " from neuron_observer.sources.serving import serve; serve(sys.argv[1])"
)


class HelperWorkers:
    """The same as `ThreadWorkers`, with the threads in a helper process."""

    def __init__(self, root: str, clock: Clock) -> None:
        self._root = root
        self._clock = clock
        self._gathering = Gathering()
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-S", "-c", _SERVE, self._root],
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
    return str(item["bytes"]).encode("latin-1")
