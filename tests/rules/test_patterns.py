"""The rows of the patterns: what the loader refuses, and what must hold over the shipped ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import ConfigError
from neuron_observer.model import Action, Severity
from neuron_observer.rules.pattern import REPORTED, Pattern
from neuron_observer.rules.patterns import SHIPPED, load

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
patterns:
  - id: one
    where: kernel
    verdict: suspect
    match: 'some message (?P<device>\\d+)'
    meaning: It means something.
    action: watch
    fact: {grade: document, source: a page}
"""


def read(tmp_path: Path, text: str, name: str = "p.yaml") -> tuple[Pattern, ...]:
    """The rows of a file with this text."""
    path = tmp_path / name
    path.write_text(text)
    return load([path])


def test_defaults_of_a_row(tmp_path: Path) -> None:
    """What a row leaves out follows from its verdict."""
    (row,) = read(tmp_path, GOOD)
    assert row.finding == "one"
    assert row.severity is Severity.WARNING
    assert row.action is Action.WATCH
    assert not row.blames_hardware
    assert not row.ours


def test_defaults_of_a_file(tmp_path: Path) -> None:
    """The defaults of a file hold for each row that does not say otherwise."""
    text = "defaults:\n  ours: true\n" + GOOD
    assert read(tmp_path, text)[0].ours
    assert not read(tmp_path, text + "    ours: false\n")[0].ours


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("    action: watch\n", "    action: panic\n"), 7, "one: action: 'panic' is none of"),
        (("    action: watch\n", ""), 2, "one: the key 'action' is missing"),
        (
            ("    action: watch\n", "    action: watch\n    colour: blue\n"),
            8,
            "unknown key 'colour'",
        ),
        (("verdict: suspect", "verdict: bad"), 4, "one: verdict: 'bad' is none of hw_fault"),
        (("verdict: suspect", "verdict: info\n    severity: warning"), 2, "never has severity"),
        (
            ("    action: watch\n", "    action: watch\n    action: none\n"),
            8,
            "'action' stands twice",
        ),
        (("verdict: suspect", "verdict: hw_fault"), 2, "needs if_confirmed and confirm_by"),
        (("verdict: suspect", "verdict: app_error\n    blames_hardware: true"), 2, "never blames"),
        (("where: kernel", "where: monitor"), 2, "do not agree"),
        (
            ("grade: document, source: a page", "grade: rumour, source: x"),
            8,
            "fact.grade: 'rumour'",
        ),
        (("grade: document, source: a page", "grade: document"), 8, "keys grade and source"),
        (("patterns:\n", "patterns:\n  - just a text\n"), 2, "a row must be a mapping"),
        (("patterns:", "colours: 1\npatterns:"), 1, "unknown key 'colours'"),
        (("some message", "söme message"), 5, "ASCII"),
        (("meaning: It", "meaning: [It"), 6, "YAML"),
    ],
)
def test_a_wrong_row_is_named(
    tmp_path: Path, change: tuple[str, str], line: int, says: str
) -> None:
    """An error names the file, the line, the row and the key."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, GOOD.replace(*change))
    assert says in caught.value.message
    assert str(tmp_path / "p.yaml") in caught.value.message
    assert caught.value.line is not None
    assert abs(caught.value.line - line) <= 1


def test_an_id_twice(tmp_path: Path) -> None:
    """Ids are unique over all files."""
    with pytest.raises(ConfigError, match="one: this id is taken"):
        read(tmp_path, GOOD + GOOD.removeprefix("patterns:\n"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be read is an error that names it."""
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        load([tmp_path / "absent.yaml"])


ROWS = load()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_shipped_rows(row: Pattern) -> None:
    """Every shipped row says what it means in a sentence, and its expressions compile as bytes."""
    assert row.meaning[0].isupper() or row.meaning.startswith("neuron-monitor")
    assert row.meaning.endswith(".")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.finding)
    for text in row.match:
        expression = re.compile(text.encode("ascii"))
        assert not expression.search(b"")
        assert not text.startswith("^")


def test_programs_are_never_blamed_on_hardware() -> None:
    """No row of a program, a victim or a full memory asks for another machine."""
    for row in ROWS:
        if row.verdict in {"victim", "app_error", "capacity"}:
            assert Action.REPLACE_INSTANCE not in {row.action, row.if_confirmed}


def test_what_our_own_reads_cause_is_no_evidence() -> None:
    """Lines that our own reads cause are informative at most."""
    ours = [row for row in ROWS if row.ours]
    assert ours
    assert {row.severity for row in ours} == {Severity.INFO}
    assert {row.verdict for row in ours} == {"info"}


def test_every_status_code_has_a_row() -> None:
    """The runtime's codes (nrt_status.h) all have a row, but for success and the empty queue."""
    codes = {row.code for row in ROWS if row.id.startswith("status-")}
    low = {"1", "2", "3", "4", "5", "6", "7", "9", "10", "11", "13", "14", "101"}
    high = {"1002", "1003", "1004", "1005", "1006", "1100"}
    assert codes == low | high | {str(code) for code in range(1200, 1207)}


def test_reports_have_no_expression() -> None:
    """Rows of reports are found by parsers, all others by expressions."""
    assert all(bool(row.match) != (row.where in REPORTED) for row in ROWS)


def test_one_verdict_for_one_finding() -> None:
    """Rows of one finding that lead do not contradict one another on whom to blame."""
    blamed: dict[str, set[bool]] = {}
    for row in ROWS:
        if not row.weak and not row.quiet and row.severity is Severity.CRITICAL:
            blamed.setdefault(row.finding, set()).add(row.blames_hardware)
    assert all(len(answers) == 1 for answers in blamed.values())


def test_shipped_files() -> None:
    """The shipped patterns are spread over files by who writes the lines."""
    assert len(list(SHIPPED.glob("*.yaml"))) >= 10
