"""Work that may hang in the kernel, in a thread of its own, with a deadline for its result."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

IDLE = 15.0  # seconds until a thread without work ends; to start one costs more than to wake it


class Background(Generic[Result]):
    """Runs one piece of work at a time; while one is owed no other is begun."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()  # of the two below
        self._asked: SimpleQueue[Callable[[], Result]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._owed = False
        self._done = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None

    def run(self, work: Callable[[], Result], seconds: float) -> Result | None:
        """The result within `seconds`, or None; a late result is given by a later call.

        Nobody waits for a late one a second time. An exception of the work is raised here.
        """
        if not self._owed:
            self._owed = True
            self._done.clear()
            self._ask(work)
            self._done.wait(seconds)
        if not self._done.is_set():
            return None
        self._owed = False
        result, error = self._result, self._error
        self._result = self._error = None
        if error:
            raise error
        return result

    def _ask(self, work: Callable[[], Result]) -> None:
        with self._lock:
            self._asked.put(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while (work := self._next()) is not None:
            try:
                self._result = work()
            except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
                self._error = error
            del work  # it may hold what its owner has given up
            self._done.set()

    def _next(self) -> Callable[[], Result] | None:
        try:
            return self._asked.get(timeout=IDLE)
        except Empty:
            with self._lock:  # nobody asks meanwhile
                if not self._asked.empty():
                    return self._asked.get()
                self._thread = None
                return None
