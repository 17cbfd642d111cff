"""Lines of the log: one an occasion, whole, harmless, and never waited for."""

from __future__ import annotations

import json
import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.log import (
    FORMS,
    REPEAT,
    Descriptor,
    Form,
    Level,
    Line,
    Log,
    form_here,
    open_log,
    written,
)

PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^\s"]+)(?: |$)')
AT = 1_788_000_000.25


class Paper:
    """What takes lines; with `full` nobody does."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.full = False

    def __call__(self, line: bytes) -> bool:
        """Take one."""
        if not self.full:
            self.lines.append(line.decode())
        return not self.full


def log_on(
    paper: Paper, form: Form = "keyvalue", level: Level = Level.INFO
) -> tuple[Log, ManualClock]:
    """A log and the clock that it goes by."""
    clock = ManualClock(wall=AT)
    return Log(clock, paper, form, level), clock


def test_key_and_value() -> None:
    """A head, the message in quotes, fields; bare words bare, what is None left out."""
    paper = Paper()
    ours, _ = log_on(paper)
    ours.info("started", 'reads "/"', url="http://[::1]:9744/metrics", port=9744, job=None, x="a b")
    assert paper.lines[0] == (
        'time=2026-08-29T10:40:00.250Z level=info event=started message="reads \\"/\\""'
        ' url=http://[::1]:9744/metrics port=9744 x="a b"\n'
    )


def test_json() -> None:
    """One object a line; numbers stay numbers."""
    paper = Paper()
    ours, _ = log_on(paper, "json")
    ours.warning("collector_failed", "ä\x1b[31m", collector="sysfs", seconds=0.5, none=None)
    assert json.loads(paper.lines[0]) == {
        "time": "2026-08-29T10:40:00.250Z",
        "level": "warning",
        "event": "collector_failed",
        "message": "ä\x1b[31m",
        "collector": "sysfs",
        "seconds": 0.5,
    }
    assert paper.lines[0].isascii()


@pytest.mark.parametrize(("level", "priority"), [("error", 3), ("warning", 4), ("info", 6)])
def test_journal(level: str, priority: int) -> None:
    """A priority first and no time: journald has its own."""
    paper = Paper()
    ours, _ = log_on(paper, "journal")
    getattr(ours, level)("clock_stepped", 'the "clock" moved\n', device=3)
    assert paper.lines == [f'<{priority}>the "clock" moved\\n event=clock_stepped device=3\n']


@given(
    st.text(),
    st.dictionaries(st.sampled_from("abcdef"), st.text() | st.integers() | st.none()),
    st.sampled_from(["keyvalue", "json", "journal"]),
)
@settings(max_examples=150)
def test_any_text_is_one_harmless_line(
    message: str, fields: dict[str, str | int | None], form: Form
) -> None:
    """Whatever stands in it: one newline, at its end; nothing that moves a cursor; 4096 bytes."""
    line = written(Line(AT, Level.ERROR, "e", message, fields), form)
    assert len(line) <= 4096
    text = line.decode()
    assert text.endswith("\n")
    assert text[:-1].isprintable()
    if form == "keyvalue":
        names = [name for name, _ in PAIR.findall(text[:-1])]
        told = [name for name, value in fields.items() if value is not None]
        assert names == ["time", "level", "event", "message", *told]


@given(st.integers(0, 20_000), st.sampled_from('aä\x00"\U0001f9e0'), st.integers(1, 30))
@settings(max_examples=60)
def test_long_text_is_cut(size: int, letter: str, fields: int) -> None:
    """A line always fits a pipe's atomic write, and stays JSON."""
    line = Line(AT, Level.INFO, "e", letter * size, {f"f{n}": letter * size for n in range(fields)})
    for form in ("keyvalue", "journal"):
        assert len(written(line, form)) <= 4096
    if fields <= 5:
        assert json.loads(written(line, "json"))["event"] == "e"


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_clock(at: float) -> None:
    """A clock that is years off, or no time at all, costs no line."""
    assert written(Line(at, Level.INFO, "e", "m", {}), "keyvalue").startswith(b"time=")


def test_the_same_problem_is_told_once_and_summed_up() -> None:
    """Ten minutes of it are one line; the next one says how often it came."""
    paper = Paper()
    ours, clock = log_on(paper)
    for number in range(2 * int(REPEAT)):
        ours.error("collector_failed", f"broken {number}", about="sysfs")
        ours.error("collector_failed", "also broken", about="efa")
        clock.advance(1.0)
    assert len(paper.lines) == 4
    assert 'message="broken 600" repeated=599\n' in paper.lines[2]
    ours.close()
    assert len(paper.lines) == 6
    assert 'message="broken 1199" repeated=599\n' in paper.lines[4]


def test_a_problem_that_passed_is_news_again() -> None:
    """`over` says how often it came, and the next time it is told at once."""
    paper = Paper()
    ours, _ = log_on(paper)
    for _ in range(3):
        ours.warning("finding", "hot", about="device 3")
    assert ours.over("finding", "device 3") == 2
    assert ours.over("finding", "device 3") == 0
    ours.warning("finding", "hot", about="device 3")
    assert len(paper.lines) == 2


def test_no_more_problems_are_remembered_than_there_is_room_for() -> None:
    """A stream of new problems does not grow us."""
    paper = Paper()
    ours, _ = log_on(paper)
    for number in range(1000):
        ours.warning("finding", "m", about=str(number))
    assert len(paper.lines) == 1000
    assert len(ours._problems) == 256


@pytest.mark.parametrize(
    ("level", "told"), [("error", 1), ("warning", 2), ("info", 3), ("debug", 4)]
)
def test_level(level: str, told: int) -> None:
    """Only what is as grave as that, or graver."""
    paper = Paper()
    ours, _ = log_on(paper, level=Level[level.upper()])
    for name in ("error", "warning", "info", "debug"):
        getattr(ours, name)(f"an_{name}", "m")
    assert len(paper.lines) == told


def test_lines_that_nobody_took_are_counted() -> None:
    """And told with the first one that somebody does."""
    paper = Paper()
    ours, _ = log_on(paper)
    paper.full = True
    for _ in range(7):
        ours.info("e", "m")
    paper.full = False
    ours.info("e", "m")
    ours.info("e", "m")
    assert ["lines_dropped=7" in line for line in paper.lines] == [True, False]


def test_a_full_pipe_is_never_waited_for() -> None:
    """Whoever does not read loses lines; reading again, he gets whole ones."""
    reader, writer = os.pipe()
    out = Descriptor(writer)
    ours = Log(ManualClock(), out)
    for number in range(500):
        ours.info("e", "x" * 900, number=number)
    assert ours.dropped > 0
    first = os.read(reader, 1 << 20).decode()
    assert first.endswith("\n")
    assert all(line.startswith("time=") for line in first.splitlines())
    ours.info("e", "again")
    assert "lines_dropped=" in os.read(reader, 1 << 20).decode()
    os.close(reader)
    ours.info("e", "nobody is there")
    assert ours.dropped == 1
    out.close()
    os.close(writer)


def test_a_descriptor_that_is_closed_or_taken_by_another() -> None:
    """We write to our own copy, so that what opens a file under number 2 is not written to."""
    reader, writer = os.pipe()
    out = Descriptor(writer)
    os.close(writer)
    assert out(b"still heard\n")
    assert os.read(reader, 100) == b"still heard\n"
    out.close()
    os.close(reader)
    assert not out(b"closed\n")
    assert not Descriptor(writer)(b"never open\n")


def test_a_full_disk_costs_lines_only() -> None:
    """ENOSPC, of a file that standard error was sent to."""
    full = os.open("/dev/full", os.O_WRONLY)
    out = Descriptor(full)
    assert not out(b"line\n")
    out.close()
    os.close(full)


def test_the_journal_is_known_by_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """JOURNAL_STREAM names the very file that standard error is; any other is not the journal."""
    reader, writer = os.pipe()
    about = os.fstat(writer)
    monkeypatch.setenv("JOURNAL_STREAM", f"{about.st_dev}:{about.st_ino}")
    assert form_here(writer) == "journal"
    monkeypatch.setenv("JOURNAL_STREAM", f"{about.st_dev}:{about.st_ino + 1}")
    assert form_here(writer) == "keyvalue"
    monkeypatch.delenv("JOURNAL_STREAM")
    assert form_here(writer) == "keyvalue"
    os.close(reader)
    os.close(writer)
    assert form_here(writer) == "keyvalue"


@pytest.mark.parametrize("form", FORMS)
def test_the_words_of_the_configuration(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every form and level has its word; `auto` chooses."""
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    ours = open_log(ManualClock(), form, "error")
    assert ours.form == ("keyvalue" if form == "auto" else form)
    assert ours.level is Level.ERROR
