"""The generated pages are what the program makes now; the README's commands are there."""

from __future__ import annotations

from pathlib import Path

from neuron_observer import runbooks
from neuron_observer.cli.metrics import markdown
from neuron_observer.rules.loader import load
from neuron_observer.rules.patterns import load as load_patterns

ROOT = Path(__file__).parent.parent


def test_metrics_page_is_current() -> None:
    """docs/metrics.md is made from the catalogue; make it anew after a change of a row."""
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == markdown() + "\n"


def test_rules_page_is_current() -> None:
    """docs/rules.md: make it anew with `rules list --format markdown` after a change of a rule."""
    rules = sorted(load(), key=lambda rule: rule.id)
    assert (ROOT / "docs/rules.md").read_text(encoding="utf-8") == runbooks.overview(rules)


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
    assert "neuron-observer devices --host-root tests/trees/" in commands[0]
    assert "pytest" in commands[1]
    assert "<!-- test command -->" in readme


def test_readme_shows_only_verbs_that_exist() -> None:
    """Every command in the README's table can be called."""
    from neuron_observer.cli import COMMANDS  # noqa: PLC0415 - what this test is about

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    verbs = {
        line.split("`")[1].split()[1] for line in readme.splitlines() if line.startswith("| `")
    }
    assert verbs <= set(COMMANDS)
    assert verbs
