"""How a run ended and what was seen of it: lines for people, a document for programs."""

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.contract import event, instant
from neuron_observer.errors import InputError
from neuron_observer.jobs.documents import report_document
from neuron_observer.text import seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from neuron_observer.jobs.report import JobReport
    from neuron_observer.launch.deaths import Death
    from neuron_observer.launch.foreground import Exit
    from neuron_observer.model import Event

SCHEMA = "neuron-observer/run-report/1"
_NAME = 70  # characters of a command in a headline


class Checked(NamedTuple):
    """What the check before the job said."""

    code: int
    text: str


class Outcome(NamedTuple):
    """A run from its begin to its end."""

    command: tuple[str, ...]
    began: float  # wall clock
    ended: float
    seconds: float
    exit: Exit
    checked: Checked | None  # None: it was not asked for
    watched_by: str  # daemon or run
    watched: bool  # at all
    hooked_ranks: int  # whose heartbeat file was seen
    jobs: tuple[JobReport, ...]
    deaths: tuple[Death, ...]  # who was the first to end, each time that a job broke
    kernel: tuple[Event, ...]  # lines of the kernel log


def document(of: Outcome) -> dict[str, Any]:
    """run-report/1; null is unknown."""
    checked = of.checked
    return {
        "schema": SCHEMA,
        "command": list(of.command),
        "began": instant(of.began),
        "ended": instant(of.ended),
        "seconds": round(of.seconds, 3),
        "exit_code": of.exit.code,
        "signal": of.exit.signal,
        "check": None if checked is None else {"exit_code": checked.code, "text": checked.text},
        "watched_by": of.watched_by,
        "hooked_ranks": of.hooked_ranks,
        "jobs": [report_document(one) for one in of.jobs],
        "first_to_end": [{**one._asdict(), "at": instant(one.at)} for one in of.deaths],
        "kernel_lines": [event(one) for one in of.kernel],
        "notes": list(notes(of)),
    }


def headline(of: Outcome) -> str:
    """The first line: what ended, how and when."""
    how = f"exit code {of.exit.code}"
    if of.exit.signal is not None:
        how = f"signal {of.exit.signal}, {how}"
    name = shlex.join(of.command)
    if len(name) > _NAME:
        name = f"{name[: _NAME - 1]}…"
    return f"{name}: {how} after {seconds_text(of.seconds)}"


def notes(of: Outcome) -> Iterator[str]:
    """What is not known of it, and why."""
    if not of.watched:
        yield "nothing was watched: no frame came while it ran"
    elif not of.hooked_ranks:
        yield (
            "no step hook was heard, so no rank can be compared with its peers: install"
            " neuron-observer beside torch, or copy the hook (docs/hook.md)"
        )
    elif not of.jobs:
        yield "its ranks were there too shortly to be judged"


def course(of: Outcome) -> Iterator[str]:
    """Who was the first to end, and what the kernel log said meanwhile."""
    for death in of.deaths:
        yield f"broke           {instant(death.at)} {death}"
    for one in of.kernel:
        yield f"kernel log      {instant(one.at)} {one.kind}: {one.message}"


@contextmanager
def report_file(name: str | None) -> Iterator[TextIO | None]:
    """The file of the report, opened before the job begins: where that fails nothing is lost."""
    if name is None:
        yield None
        return
    try:
        file = Path(name).open("w", encoding="utf-8")  # noqa: SIM115 - below
    except OSError as error:
        raise InputError(
            f"{name}: cannot be written: {error.strerror}",
            remedy="--report takes a file; the job was not started.",
        ) from error
    try:
        yield file
    finally:
        with suppress(OSError):  # what could not be written was told
            file.close()


def write(of: Outcome, file: TextIO) -> str:
    """Write the document; why it could not be written, for the job's exit code is worth more."""
    try:
        file.write(json.dumps(document(of), indent=1) + "\n")
        file.flush()
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""
