"""The generated pages are what the program makes now; the README's commands are there."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from neuron_observer import runbooks
from neuron_observer.cli.metrics import markdown
from neuron_observer.config.write import reference
from neuron_observer.rules.loader import load
from neuron_observer.rules.patterns import load as load_patterns
from tests.tui import page
from tests.tui.picture import picture

ROOT = Path(__file__).parent.parent


def test_metrics_page_is_current() -> None:
    """docs/metrics.md is made from the catalogue; make it anew after a change of a row."""
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == markdown() + "\n"


def test_configuration_page_is_current() -> None:
    """docs/config.md: make it anew with `config print --format markdown` after a change."""
    assert (ROOT / "docs/config.md").read_text(encoding="utf-8") == reference()


def test_rules_page_is_current() -> None:
    """docs/rules.md: make it anew with `rules list --format markdown` after a change of a rule."""
    rules = sorted(load(), key=lambda rule: rule.id)
    assert (ROOT / "docs/rules.md").read_text(encoding="utf-8") == runbooks.overview(rules)


def test_the_screens_page_is_current() -> None:
    """docs/top.md: make its tables anew with `python -m tests.tui.page` after a change of a key."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- end -->") == len(page.PARTS)
    assert page.current(text) == text


def test_runbooks_are_current() -> None:
    """docs/runbooks: make them anew with `rules runbooks docs/runbooks`; remove what is no more."""
    folder = ROOT / "docs/runbooks"
    found = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    assert found == runbooks.pages(load(), load_patterns())


def test_readme_has_two_commands_that_set_themselves_up() -> None:
    """Both commands make their environment; the second is the one that CI calls."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for line in readme.splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[0].endswith(".venv/bin/neuron-observer top --simulate")
    assert "pytest" in commands[1]
    assert "<!-- test command -->" in readme


def test_the_picture_is_made_by_its_command() -> None:
    """README shows it; it is well formed, small, asks no other host, and the same each time."""
    assert "](docs/top.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")
    stored = (ROOT / "docs/top.svg").read_text(encoding="utf-8")
    made = picture()
    assert made == picture()
    for text in (stored, made):
        assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314 - our own
        assert len(text.encode()) < 200_000
        assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
        assert "trn2.48xlarge" in text


def test_readme_shows_only_verbs_that_exist() -> None:
    """Every command in the README's table can be called."""
    from neuron_observer.cli import COMMANDS  # noqa: PLC0415 - what this test is about

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    verbs = {
        line.split("`")[1].split()[1] for line in readme.splitlines() if line.startswith("| `")
    }
    assert verbs <= set(COMMANDS)
    assert verbs
