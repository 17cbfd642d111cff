from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from neuron_observer.cli.group import cli
from neuron_observer.rules.loader import load
from tests.conftest import TREES, tree_file

if TYPE_CHECKING:
    from pathlib import Path

HOST = "host: trn2.3xlarge-2.30.2-busy, seconds: 2"


def test_list_shows_every_rule_in_each_form() -> None:
    """Text, JSON, markdown."""
    ids = sorted(rule.id for rule in load())
    text = CliRunner().invoke(cli, ["rules", "list"]).output
    assert all(id_ in text for id_ in ids)
    document = json.loads(CliRunner().invoke(cli, ["rules", "list", "--format", "json"]).output)
    assert [one["id"] for one in document] == ids
    table = CliRunner().invoke(cli, ["rules", "list", "--format", "markdown"]).output
    assert all(f"| [{id_}](runbooks/{id_}.md) |" in table for id_ in ids)


def test_own_rules_are_listed_too(tmp_path: Path) -> None:
    """`--rules` changes what has its id."""
    (tmp_path / "own.yaml").write_text("rules:\n  - {id: sram-uncorrectable, severity: warning}\n")
    arguments = ["rules", "list", "--format", "json", "--rules", str(tmp_path)]
    found = {one["id"]: one for one in json.loads(CliRunner().invoke(cli, arguments).output)}
    assert found["sram-uncorrectable"]["severity"] == "warning"


def test_test_tells_what_is_as_it_must_be_and_what_is_not(tmp_path: Path) -> None:
    """One line a timeline; 2 if one is wrong."""
    (tmp_path / "t.yaml").write_text(
        "fault: sram-uncorrectable\ntimelines:\n"
        f"  - {{name: good, {HOST}, expect: [{{at: 1, findings: []}}]}}\n"
        f"  - {{name: bad, {HOST}, expect: [{{at: 1, not_covered: true}}]}}\n"
    )
    result = CliRunner().invoke(
        cli, ["rules", "test", "--trees", str(TREES), str(tmp_path / "t.yaml")]
    )
    assert result.exit_code == 2
    assert "ok   sram-uncorrectable: good" in result.output
    assert "FAIL sram-uncorrectable: bad\n     at 1 s: it is not told" in result.output
    assert "1 of 2 timelines are as they must be" in result.output
    only = ["rules", "test", "--trees", str(TREES), "--only", "good", str(tmp_path / "t.yaml")]
    assert CliRunner().invoke(cli, only).exit_code == 0


def test_test_judges_a_capture() -> None:
    """Nothing is expected of it."""
    file = str(tree_file("inf2.48xlarge-2.30.2-worn"))
    result = CliRunner().invoke(cli, ["rules", "test", file])
    assert result.exit_code == 0
    assert f"{file}: degraded: sram-uncorrectable" in result.output
