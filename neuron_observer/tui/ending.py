"""How a screen ends: when a signal says so, or when its terminal is gone; also while it is blocked.

A terminal that takes nothing any more (a connection that stalls) blocks whoever writes to it, and
with it the event loop. So nothing here waits for the loop: an alarm ends what does not end itself.
"""

from __future__ import annotations

import select
import signal
import sys
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Leave = Callable[[int], None]

PATIENCE = 3  # seconds after which the kernel ends the program even if the terminal blocks it
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def end_by_signals(leave: Leave) -> Callable[[], None]:
    """Have signals end it, with their exit code; what is given back has them do as before."""
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def told(number: int, _: object) -> None:
        signal.alarm(PATIENCE)
        leave(128 + number)

    for number in SIGNALS:
        signal.signal(number, told)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


def end_with_terminal(leave: Leave) -> None:
    """Have it end when the terminal hangs up, whether or not a signal tells."""
    terminal = sys.__stdin__
    if terminal is None or terminal.closed or not terminal.isatty():
        return
    poll = select.poll()
    poll.register(terminal.fileno(), 0)  # hanging up is told in any case

    def wait() -> None:
        poll.poll()
        signal.alarm(PATIENCE)
        leave(128 + signal.SIGHUP)

    Thread(target=wait, name="terminal", daemon=True).start()
