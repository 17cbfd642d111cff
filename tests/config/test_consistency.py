"""Values that are right by themselves and wrong together are told with both places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.config import Sources, read
from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lanes:\n  fast: 2s\n", ":2: lanes.fast (2s) is more than lanes.normal (1s)"),
        (
            "lanes:\n  slow: 5s\n  normal: 6s\n",
            ":3: lanes.normal (6s) is more than lanes.slow (5s)",
        ),
        (
            "history:\n  max_bytes: 100MB\n",
            ":2: history.max_bytes (100MB) is more than budget.memory (80MB); budget.memory: def",
        ),
        ("monitor:\n  mode: file\n", ":2: monitor.mode is file, and monitor.file says none"),
        ("monitor:\n  file: /a\n", ":2: monitor.file is set, and monitor.mode is off"),
        (
            "monitor:\n  mode: pipe\n  file: /a\n",
            ":3: monitor.file is set, and monitor.mode is pipe",
        ),
        ("budget:\n  memory: 30MB\nhistory:\n  max_bytes: 31MB\n", "budget.memory: "),
    ],
)
def test_a_contradiction_is_told(tmp_path: Path, text: str, message: str) -> None:
    """At the line of the value that somebody said."""
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read(Sources(str(file)))
    assert message in str(raised.value)
    assert raised.value.remedy


def test_it_is_told_at_the_value_that_was_said(tmp_path: Path) -> None:
    """Where the default is the greater one the other is at fault."""
    file = tmp_path / "config.yaml"
    file.write_text("lanes: {normal: 500ms, fast: 400ms}\n")
    environment = {"NEURON_OBSERVER_LANES__FAST": "600ms"}
    with pytest.raises(ConfigError, match=r"NEURON_OBSERVER_LANES__FAST: .*lanes.normal: .*yaml:1"):
        read(Sources(str(file), environment=environment))


def test_what_goes_together_is_taken(tmp_path: Path) -> None:
    """A file with its mode, lanes in order."""
    file = tmp_path / "config.yaml"
    file.write_text("monitor: {mode: file, file: /a}\nlanes: {fast: 1s, normal: 1s, slow: 1m}\n")
    config = read(Sources(str(file))).config
    file.write_text("budget: {memory: 0B, cpu: 0%}\nhistory: {max_bytes: 1GB}\n")
    assert read(Sources(str(file))).config.budget.memory == 0
    assert (config.monitor.file, config.lanes.slow) == ("/a", 60.0)
