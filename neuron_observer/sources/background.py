"""Work that may hang in the kernel, in a thread of its own, with a deadline for its result."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class Background(Generic[Result]):
    """Runs one piece of work at a time; while one is owed no other is begun."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._result: Result | None = None
        self._error: BaseException | None = None

    def run(self, work: Callable[[], Result], seconds: float) -> Result | None:
        """The result within `seconds`, or None; a late result is given by a later call.

        Nobody waits for a late one a second time. An exception of the work is raised here.
        """
        if self._thread is None:
            self._done.clear()
            self._thread = threading.Thread(
                target=self._work, args=(work,), name=self._name, daemon=True
            )
            self._thread.start()
            self._done.wait(seconds)
        if not self._done.is_set():
            return None
        self._thread = None
        result, error = self._result, self._error
        self._result = self._error = None
        if error:
            raise error
        return result

    def _work(self, work: Callable[[], Result]) -> None:
        try:
            self._result = work()
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._error = error
        self._done.set()
