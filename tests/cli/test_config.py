"""`config` as a user calls it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from neuron_observer.config import load
from neuron_observer.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result


def test_from_nothing_to_a_valid_file(tmp_path: Path, call: Callable[..., Result]) -> None:
    """`init` writes it, `validate` takes it, a second `init` leaves it alone."""
    file = tmp_path / "etc" / "config.yaml"
    done = call("config", "init", "--path", str(file))
    assert (done.code, done.out) == (0, "")
    assert "every key in it is a comment" in done.err
    done = call("config", "validate", str(file))
    assert done.code == 0
    assert done.out.startswith(f"valid: {file}; 0 keys said, ")
    with pytest.raises(UsageError, match="is there already"):
        call("config", "init", "--path", str(file))
    file.write_text("kubelet: true\n")
    call("config", "init", "--path", str(file), "--force")
    assert load(str(file)) == load(None)


def test_init_prints(call: Callable[..., Result]) -> None:
    """`-` is standard output."""
    done = call("config", "init", "--path", "-")
    assert "#listen: ['127.0.0.1:9744']\n" in done.out


def test_everything_wrong_is_said(tmp_path: Path, call: Callable[..., Result]) -> None:
    """On standard error, each with file and line; 64 as any verb ends that meets it."""
    file = tmp_path / "config.yaml"
    file.write_text("exprt: 1\nlog: {level: inf}\n")
    done = call("config", "validate", str(file))
    assert (done.code, done.out) == (64, "")
    assert f"{file}:1: unknown key 'exprt'\n  Did you mean 'export'?" in done.err
    assert f"{file}:2: log.level must be debug, info, warning or error" in done.err
    assert "2 errors" in done.err


def test_wrong_rules_are_said_too(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A folder that is not there, a file that is no rule."""
    file, rules = tmp_path / "config.yaml", tmp_path / "rules"
    file.write_text(f"rules: {{directories: [{rules}]}}\n")
    done = call("config", "validate", str(file))
    assert done.code == 64
    assert f"{rules}: cannot be read: No such file or directory" in done.err
    assert "rules.directories names it" in done.err
    rules.mkdir()
    (rules / "a.yaml").write_text("rules: [{id: a}]\n")
    done = call("config", "validate", str(file))
    assert done.code == 64
    assert "a.yaml:1" in done.err


def test_a_named_file_is_validated_without_the_environment(
    tmp_path: Path, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be meant for another machine; what the daemon would take has the environment too."""
    file = tmp_path / "config.yaml"
    file.write_text("")
    monkeypatch.setenv("NEURON_OBSERVER_LOG__LEVEL", "loud")
    assert call("config", "validate", str(file)).code == 0
    done = call("config", "validate", "--config", str(file))
    assert done.code == 64
    assert "NEURON_OBSERVER_LOG__LEVEL: log.level must be" in done.err


def test_values_and_where_they_come_from(
    tmp_path: Path, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """File and line, variable; with --effective the defaults too."""
    file = tmp_path / "config.yaml"
    file.write_text("\nlanes:\n  fast: 500ms\n")
    monkeypatch.setenv("NEURON_OBSERVER_KUBELET", "yes")
    done = call("config", "print", "--config", str(file))
    assert [line.split() for line in done.out.splitlines()] == [
        ["KEY", "VALUE", "FROM"],
        ["lanes.fast", "500ms", f"{file}:3"],
        ["kubelet", "true", "NEURON_OBSERVER_KUBELET"],
    ]
    done = call("config", "print", "--config", str(file), "--effective", "--format", "json")
    told = json.loads(done.out)
    assert told["lanes.fast"] == {"value": "500ms", "origin": f"{file}:3"}
    assert told["lanes.normal"] == {"value": "1s", "origin": "default"}
    again = tmp_path / "again.yaml"
    done = call("config", "print", "--config", str(file), "--effective", "--format", "yaml")
    again.write_text(done.out)
    assert load(str(again)).lanes.fast == 0.5
    assert load(str(again)).kubelet is True


def test_print_of_a_wrong_file_is_the_error(tmp_path: Path, call: Callable[..., Result]) -> None:
    """As the daemon has it."""
    file = tmp_path / "config.yaml"
    file.write_text("a: 1\n")
    with pytest.raises(ConfigError, match="unknown key 'a'"):
        call("config", "print", "--config", str(file))


def test_what_is_not_read_is_remarked(tmp_path: Path, call: Callable[..., Result]) -> None:
    """On standard error; it is no error."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.yml").write_text("")
    file = tmp_path / "config.yaml"
    file.write_text("")
    done = call("config", "validate", str(file))
    assert done.code == 0
    assert "a.yml: not read" in done.err
