"""The generated pages are what the program makes now; the README's commands are there."""

from __future__ import annotations

from pathlib import Path

from neuron_observer.cli.metrics import markdown

ROOT = Path(__file__).parent.parent


def test_metrics_page_is_current() -> None:
    """docs/metrics.md is made from the catalogue; make it anew after a change of a row."""
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == markdown() + "\n"


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
