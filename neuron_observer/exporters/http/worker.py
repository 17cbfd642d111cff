"""A thread beside the server's, for what may take long: it waits in a queue that has an end."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    _Work: TypeAlias = "Callable[[], None]"


class Worker:
    """Does one thing after the other; its thread begins with the first."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._queue: Queue[_Work | None] = Queue(most)
        self._thread: Thread | None = None

    def submit(self, work: _Work) -> bool:
        """Have something done that raises nothing; False if too much waits already."""
        try:
            self._queue.put_nowait(work)
        except Full:
            return False
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return True

    def close(self) -> None:
        """Do nothing more; what hangs is left behind."""
        with suppress(Empty):
            while True:
                self._queue.get_nowait()
        with suppress(Full):
            self._queue.put_nowait(None)

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
