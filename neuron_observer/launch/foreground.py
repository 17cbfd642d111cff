"""A job in the foreground, as a shell would run it: terminal, signals, and how it ends.

The job gets a process group of its own, and the terminal where we have that: at once, or in a
pipeline (`run … | less`), whose programs share it, only when the job asks for it. What is sent to
us, by the terminal too, is passed on to the job's group; once, also where it was sent to our group
and to us, because a second SIGTERM makes torchrun leave its workers behind.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import ObserverError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from neuron_observer.clock import Clock

_PASSED_ON = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGTSTP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_WANT_TERMINAL = frozenset((signal.SIGTTIN, signal.SIGTTOU))
_STOPS = _WANT_TERMINAL | {signal.SIGTSTP}  # SIGSTOP is the business of whoever sends it
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # a job is not to inherit that
_ONCE = 0.2  # seconds in which the same signal again was sent to our group and to us
_NOT_FOUND, _NOT_EXECUTABLE, _SIGNALLED = 127, 126, 128  # as sh has them


class NotStartedError(ObserverError):
    """The job could not be started; the code is a shell's: 127 not found, 126 not executable."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Exit(NamedTuple):
    """How a job ended."""

    code: int  # its own, or 128 and the number of the signal that ended it
    signal: int | None = None


@contextmanager
def signals_caught() -> Iterator[int]:
    """A pipe to which the number of each signal is written that would else end or stop us.

    What was ignored before, as under nohup, stays so: for the job too. Call it in the main thread.
    """
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    before = {signal.SIGCHLD: signal.signal(signal.SIGCHLD, _caught)}
    for number in _PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, _caught)
    try:
        yield reading
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        os.close(reading)
        os.close(writing)


def _caught(_number: int, _frame: object) -> None:
    """Python writes its number to the pipe before it calls this."""


def start(
    command: Sequence[str], environment: Mapping[str, str], signals: int, clock: Clock
) -> Job:
    """Start a job where signals are caught; `NotStartedError` as a shell says it."""
    try:
        pid = os.posix_spawnp(
            command[0],
            list(command),
            dict(environment),
            setpgroup=0,
            setsigdef=_IGNORED_BY_PYTHON,
        )
    except OSError as error:
        code = _NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE
        raise NotStartedError(f"{command[0]}: {error.strerror}", code) from error
    job = Job(pid, _terminal(), signals, clock)
    if not any(map(_is_pipe, (0, 1))):
        job.give_terminal()
    return job


def _terminal() -> int | None:
    """A descriptor of the terminal that controls us, if there is one."""
    try:
        return os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None


def _is_pipe(descriptor: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:  # closed
        return False


class Job:
    """A job that was started; `wait` until it ends."""

    def __init__(self, pid: int, terminal: int | None, signals: int, clock: Clock) -> None:
        """`signals`: the pipe that tells them."""
        self.pid = pid  # and its process group
        self._signals = signals
        self._terminal = terminal
        self._clock = clock
        self._given = False  # whether the terminal is the job's
        self._passed: dict[int, float] = {}  # signal → when it was passed on (monotonic)

    def wait(self) -> Exit:
        """Pass signals on until the job ends, and take the terminal back."""
        try:
            while (ended := self._ended()) is None:
                select.select([self._signals], [], [])
                for number in os.read(self._signals, 4096):
                    self._pass_on(number)
            return ended
        finally:
            self._take_terminal()
            if self._terminal is not None:
                os.close(self._terminal)

    def asked_to_end(self) -> bool:
        """Whether a signal was passed on that ends what does not catch it."""
        return not self._passed.keys().isdisjoint(_ENDING)

    def _ended(self) -> Exit | None:
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return None
            if os.WIFSIGNALED(status):
                number = os.WTERMSIG(status)
                return Exit(_SIGNALLED + number, number)
            if os.WIFEXITED(status):
                return Exit(os.WEXITSTATUS(status))
            if os.WSTOPSIG(status) in _STOPS:
                self._stopped(os.WSTOPSIG(status))

    def _pass_on(self, number: int) -> None:
        if number not in _PASSED_ON:
            return
        now = self._clock.monotonic()
        if now - self._passed.get(number, -_ONCE) >= _ONCE:
            self._passed[number] = now
            self._send(number)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _stopped(self, number: int) -> None:
        """Stop as the job did, so that our shell sees it, and go on with it.

        A job that only wants the terminal, which we have by now, is given it.
        """
        if not (number in _WANT_TERMINAL and self._in_front()):
            self._take_terminal()
            handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            # a script that runs us stops too; without a terminal nobody does
            os.kill(os.getpid() if self._terminal is None else 0, signal.SIGTSTP)
            signal.signal(signal.SIGTSTP, handler)
        self.give_terminal()
        self._send(signal.SIGCONT)

    def _in_front(self) -> bool:
        """Whether the terminal is our group's."""
        if self._terminal is None:
            return False
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:  # hung up
            return False

    def give_terminal(self) -> None:
        """Let the job have the terminal if it is ours; it may have asked before it had it."""
        if self._in_front():
            self._put_in_front(self.pid)
            self._given = True
            self._send(signal.SIGCONT)

    def _take_terminal(self) -> None:
        if self._given:
            self._put_in_front(os.getpgrp())
            self._given = False

    def _put_in_front(self, group: int) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})  # to take it back
        with suppress(OSError):  # hung up, or the job is over
            os.tcsetpgrp(self._terminal or 0, group)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
