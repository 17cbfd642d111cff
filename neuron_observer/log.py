"""What a program that runs for months says on standard error: one line an occasion.

Three forms: `key=value` (logfmt), JSON, and what journald takes (a priority as `<N>`, sd-daemon(3);
it adds the time itself). The same problem repeated is told once and then summed up. A line is
written in one write that never waits: a reader that is gone or does not read costs lines, which
are counted, and never the program.
"""

from __future__ import annotations

import json
import os
import select
import threading
from contextlib import suppress
from datetime import datetime, timezone
from enum import IntEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from neuron_observer.clock import Clock
    from neuron_observer.model import Scalar

Form: TypeAlias = Literal["keyvalue", "json", "journal"]

FORMS = ("auto", "keyvalue", "json", "journal")
REPEAT = 600.0  # seconds in which the same problem is counted instead of told
_REMEMBERED = 256  # problems
_LINE = 4096  # bytes: PIPE_BUF, up to which a write to a pipe is whole or waits (pipe(7))
_VALUES = (1000, 200, 40)  # characters that a value may have, until a line is short enough
_PLAIN = frozenset("!#$%&'()*+,-./0123456789:;<>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`") | frozenset(
    "abcdefghijklmnopqrstuvwxyz{|}~"
)


class Level(IntEnum):
    """How grave a line is, by the numbers of syslog(3)."""

    ERROR = 3
    WARNING = 4
    INFO = 6
    DEBUG = 7


LEVELS = tuple(level.name.lower() for level in Level)


class Line(NamedTuple):
    """What is said once."""

    at: float  # wall clock
    level: Level
    event: str  # a name that does not change
    message: str  # for people
    fields: Mapping[str, Scalar | None]


class _Problem:
    """One that was told, and how often it came again since."""

    def __init__(self, line: Line, until: float) -> None:
        self.line, self.until, self.repeated = line, until, 0


class Log:
    """Says lines; from any thread, and from a signal's handler."""

    def __init__(
        self,
        clock: Clock,
        write: Callable[[bytes], bool],
        form: Form = "keyvalue",
        level: Level = Level.INFO,
    ) -> None:
        """`write` takes one line and says whether it could; it must not wait."""
        self.form: Form = form
        self.level = level
        self._clock = clock
        self._write = write
        self._lock = threading.RLock()
        self._problems: dict[tuple[str, str], _Problem] = {}
        self.dropped = 0  # lines that nobody took, since the last one that somebody did

    def follow(self, form: str, level: str) -> None:
        """Take other words of the configuration from the next line on."""
        self.form = next((known for known in _FORMS if known == form), form_here())
        self.level = Level[level.upper()]

    def debug(self, event: str, message: str, **fields: Scalar | None) -> None:
        """For whoever looks for an error of ours."""
        self._tell(Level.DEBUG, event, message, fields)

    def info(self, event: str, message: str, **fields: Scalar | None) -> None:
        """Something that happens once in a while."""
        self._tell(Level.INFO, event, message, fields)

    def warning(self, event: str, message: str, about: str = "", **fields: Scalar | None) -> None:
        """A problem; `event` and `about` make it the same one as before."""
        self._problem(Level.WARNING, event, message, about, fields)

    def error(self, event: str, message: str, about: str = "", **fields: Scalar | None) -> None:
        """A problem that takes something away from the program's work."""
        self._problem(Level.ERROR, event, message, about, fields)

    def over(self, event: str, about: str = "") -> int:
        """A problem has passed, and would be news again; how often it came since it was told."""
        with self._lock:
            passed = self._problems.pop((event, about), None)
            return passed.repeated if passed else 0

    def close(self) -> None:
        """Sum up what was only counted."""
        with self._lock:
            for problem in self._problems.values():
                if problem.repeated:
                    self._say(problem.line, problem.repeated)
            self._problems.clear()

    def _tell(
        self, level: Level, event: str, message: str, fields: Mapping[str, Scalar | None]
    ) -> None:
        if level <= self.level:
            with self._lock:
                self._say(Line(self._clock.wall(), level, event, message, fields))

    def _problem(
        self,
        level: Level,
        event: str,
        message: str,
        about: str,
        fields: Mapping[str, Scalar | None],
    ) -> None:
        if level > self.level:
            return
        line = Line(self._clock.wall(), level, event, message, fields)
        now, key = self._clock.monotonic(), (event, about)
        with self._lock:
            known = self._problems.pop(key, None)
            if known and now < known.until:
                known.repeated += 1
                known.line = line
                self._problems[key] = known  # the last one in the order of forgetting
                return
            if len(self._problems) >= _REMEMBERED:
                del self._problems[next(iter(self._problems))]
            self._problems[key] = _Problem(line, now + REPEAT)
            self._say(line, known.repeated if known else 0)

    def _say(self, line: Line, repeated: int = 0) -> None:
        extra: dict[str, Scalar | None] = {}
        if repeated:
            extra["repeated"] = repeated
        if self.dropped:
            extra["lines_dropped"] = self.dropped
        said = line._replace(fields={**line.fields, **extra})
        if self._write(written(said, self.form)):
            self.dropped = 0
        else:
            self.dropped += 1


def written(line: Line, form: Form) -> bytes:
    """A line as bytes: whole, ended by the only newline in it, at most 4096 of them."""
    render = _RENDER[form]
    found = b""
    for most in _VALUES:
        found = render(_cut(line, most)).encode("utf-8", "backslashreplace")
        if len(found) < _LINE:
            return found + b"\n"
    return found[: _LINE - 1].decode("utf-8", "ignore").encode() + b"\n"


def _cut(line: Line, most: int) -> Line:
    def short(value: Scalar | None) -> Scalar | None:
        too_long = isinstance(value, str) and len(value) > most
        return f"{str(value)[:most]}…" if too_long else value

    fields = {name: short(value) for name, value in line.fields.items()}
    return line._replace(message=str(short(line.message)), fields=fields)


def _instant(at: float) -> str:
    with suppress(ValueError, OverflowError, OSError):  # a clock may be set to any year
        moment = datetime.fromtimestamp(at, tz=timezone.utc)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(at)


def _pairs(line: Line) -> Iterator[str]:
    for name, value in line.fields.items():
        if value is not None:
            yield f"{name}={_value(value)}"


def _value(value: Scalar) -> str:
    text = str(value)
    return text if text and _PLAIN.issuperset(text) else quoted(text)


def quoted(text: str) -> str:
    """In quotes, on one line; nothing in it can move a terminal's cursor or turn its direction."""
    safe = json.dumps(text, ensure_ascii=False)
    if safe.isprintable():
        return safe
    return "".join([c if c.isprintable() else json.dumps(c)[1:-1] for c in safe])


def _keyvalue(line: Line) -> str:
    head = f"time={_instant(line.at)} level={line.level.name.lower()} event={line.event}"
    return " ".join((head, f"message={quoted(line.message)}", *_pairs(line)))


def _json(line: Line) -> str:
    fields = {name: value for name, value in line.fields.items() if value is not None}
    head = {"time": _instant(line.at), "level": line.level.name.lower(), "event": line.event}
    return json.dumps({**head, "message": line.message, **fields})


def _journal(line: Line) -> str:
    message = quoted(line.message)[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return " ".join((f"<{line.level.value}>{message}", f"event={line.event}", *_pairs(line)))


_RENDER: dict[str, Callable[[Line], str]] = {
    "keyvalue": _keyvalue,
    "json": _json,
    "journal": _journal,
}


class Descriptor:
    """A descriptor of our own for standard error: whoever closes or reuses 2 changes nothing."""

    def __init__(self, number: int = 2) -> None:
        self._number = -1
        with suppress(OSError):  # closed before we began: then there is nobody to hear us
            self._number = os.dup(number)

    def __call__(self, line: bytes) -> bool:
        """Write if that is possible at once."""
        if self._number < 0:
            return False
        try:
            poll = select.poll()
            poll.register(self._number, select.POLLOUT)
            return bool(poll.poll(0)) and os.write(self._number, line) == len(line)
        except OSError:
            return False

    def close(self) -> None:
        """Give it back."""
        if self._number >= 0:
            os.close(self._number)
        self._number = -1


def form_here(number: int = 2) -> Form:
    """The journal's where journald reads standard error itself, by JOURNAL_STREAM."""
    try:
        about = os.fstat(number)
    except OSError:
        return "keyvalue"
    ours = os.environ.get("JOURNAL_STREAM") == f"{about.st_dev}:{about.st_ino}"
    return "journal" if ours else "keyvalue"


def open_log(clock: Clock, form: str = "auto", level: str = "info") -> Log:
    """A log on standard error, by the words of the configuration (`log.format`, `log.level`)."""
    log = Log(clock, Descriptor())
    log.follow(form, level)
    return log


_FORMS: tuple[Form, ...] = ("keyvalue", "json", "journal")


def _nobody(_line: bytes) -> bool:
    return True


def silent(clock: Clock) -> Log:
    """A log that nobody reads."""
    return Log(clock, _nobody)
