"""Runbooks: every finding has a page that tells what it means, how it is seen and what to do."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from neuron_observer import runbooks
from neuron_observer.catalogue import METRICS
from neuron_observer.errors import InputError
from neuron_observer.model import Action
from neuron_observer.rules.findings import BEFORE_WATCHED
from neuron_observer.rules.loader import load
from neuron_observer.rules.patterns import load as load_patterns
from neuron_observer.stragglers.names import OF_JOBS

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.rules.rule import Rule

HEADS = (
    *("What it means", "How it is seen", "How sure it is, and why", "What clears it"),
    *("What to do", "What else it could be", "Where this is known from"),
)


@cache
def pages() -> dict[str, str]:
    """The pages of the shipped rules."""
    return runbooks.pages(load(), load_patterns())


@pytest.mark.parametrize("rule", load(), ids=lambda rule: rule.id)
def test_a_page_says_all_that_is_asked_at_night(rule: Rule) -> None:
    """All heads, in order, each with a text; numbered steps from 1; nothing left to fill in."""
    text = pages()[f"{rule.id}.md"]
    found = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [head for head in found if head in HEADS] == list(HEADS)
    assert not re.search(r"^## .*\n\n(## |$)", text, re.MULTILINE)
    steps = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1))
    assert not re.search(r"\{(?:id|device|core|port|value)\}", text)


def test_every_action_has_commands_and_every_line_is_used() -> None:
    """One remedy an action; nothing is told for actions that do not exist."""
    told = runbooks.remedies()
    assert set(told) == {action.value for action in Action}
    assert all(remedy.steps for remedy in told.values())


def test_commands_name_verbs_that_exist() -> None:
    """What a page tells to type is a command of ours."""
    from neuron_observer.cli import COMMANDS  # noqa: PLC0415 - what this test is about

    coming = {"top", "check"}  # verbs of parts that are merged apart
    for name, text in pages().items():
        for verb in re.findall(r"neuron-observer ([a-z]+)", text):
            assert verb in {*COMMANDS, *coming}, f"{name}: {verb}"


def test_pages_of_findings_that_no_rule_makes() -> None:
    """Each has one, kept by hand, with all heads; it says where it is kept, not that it is made."""
    names = {"device-held", BEFORE_WATCHED, *OF_JOBS}
    assert {file.stem for file in runbooks.BY_HAND.glob("*.md")} == names
    for name in names:
        text = pages()[f"{name}.md"]
        assert text.startswith(f"# {name}\n\nKept in `neuron_observer/rules/pages`")
        assert "Made from the rules" not in text
        found = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert [head for head in found if head in HEADS] == list(HEADS)


def test_a_page_for_a_terminal() -> None:
    """Headings without their signs; of a finding of a rule, or of none, there is no such page."""
    lines = runbooks.told("hang-input")
    assert lines[0] == "hang-input"
    assert {f"{head}:" for head in HEADS} <= set(lines)
    assert not [line for line in lines if line.startswith("#") or "**" in line]
    assert [runbooks.told(name) for name in ("hbm-unrepairable", "../pages/straggler", "")] == [
        ()
    ] * 3


def test_pages_name_the_files_that_are_read() -> None:
    """The path of each reading that a rule rests on, as it stands on a host."""
    text = pages()["sram-uncorrectable.md"]
    assert "/sys/devices/virtual/neuron_device/neuronN/stats/hardware/sram_ecc_uncorrected" in text
    assert "NEURON_HW_ERR" in text
    assert "stood still for 60 s" in text
    assert METRICS["device.sram.ecc_uncorrected"].sources[0].path in text


def test_what_rests_on_lines_alone_is_never_called_evidence() -> None:
    """A rule of lines tells that it is hearsay, and not that hardware confirms it."""
    text = pages()["driver-bug.md"]
    assert "hearsay" in text
    assert "confirmed` at the second" not in text


def test_pages_are_written_where_they_are_wanted(tmp_path: Path) -> None:
    """One file a finding, as text; a second time they are the same."""
    folder = tmp_path / "made" / "here"
    for _ in range(2):
        runbooks.write(folder, pages())
    found = {file.name: file.read_text("utf-8") for file in folder.iterdir()}
    assert found == pages()


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    """One line with the place and the reason, not a traceback."""
    (in_the_way := tmp_path / "file").write_text("")
    with pytest.raises(InputError) as raised:
        runbooks.write(in_the_way / "made", pages())
    assert str(raised.value) == (
        f"{in_the_way}/made: Not a directory\n  Name a folder that you may write to."
    )
    (page := tmp_path / "hbm-unrepairable.md").mkdir()
    with pytest.raises(InputError, match=f"{page}: Is a directory"):
        runbooks.write(tmp_path, pages())
