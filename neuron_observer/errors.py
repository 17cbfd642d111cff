"""The exception tree and the exit codes.

    ObserverError            anything that ends a command; carries its exit code
    ├── UsageError           the call itself is wrong                         64
    ├── ConfigError          a configuration, rule or pattern file is wrong    64
    ├── InputError           a file that the user handed over cannot be read   66
    ├── DaemonError          no daemon answers as it should                     3
    └── HostError            this host cannot be read at all                   2

What nobody foresaw is a fault of our own and ends with 70: never with a code that is a verdict.
A device that fails is never an exception: it is a `Missing` reading.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes; 0 to 3 follow the Nagios plugin convention, from 64 on sysexits.h."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3
    USAGE = 64
    NO_INPUT = 66
    SOFTWARE = 70


class ObserverError(Exception):
    """Ends a command with a message that says what to do."""

    exit_code = ExitCode.UNKNOWN

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """The message and, where there is one, the remedy."""
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class UsageError(ObserverError):
    """The call itself is wrong."""

    exit_code = ExitCode.USAGE


class ConfigError(ObserverError):
    """A configuration, rule or pattern file is wrong; names the file, the line and the key."""

    exit_code = ExitCode.USAGE

    def __init__(
        self, message: str, *, file: str, line: int | None = None, remedy: str = ""
    ) -> None:
        place = file if line is None else f"{file}:{line}"
        super().__init__(f"{place}: {message}", remedy=remedy)
        self.file = file
        self.line = line


class InputError(ObserverError):
    """A file that the user handed over cannot be read or understood."""

    exit_code = ExitCode.NO_INPUT


class DaemonError(ObserverError):
    """No daemon answers as it should.

    `absent`: there is none where it was looked for; `status`: of its answer, 0 where none came.
    """

    exit_code = ExitCode.UNKNOWN

    def __init__(
        self, message: str, *, remedy: str = "", absent: bool = False, status: int = 0
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.absent = absent
        self.status = status


class HostError(ObserverError):
    """This host cannot be read at all."""

    exit_code = ExitCode.CRITICAL
