"""Which configuration a verb goes by, and what that costs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli import configured
from neuron_observer.cli.configured import chosen_file, config_of, rule_paths
from neuron_observer.config import Config, load
from neuron_observer.errors import ConfigError
from tests.conftest import tree_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the place of /etc/neuron-observer."""
    monkeypatch.setattr(configured, "FOLDER", str(tmp_path / "etc"))
    for name in list(os.environ):
        if name.startswith("NEURON_OBSERVER_"):
            monkeypatch.delenv(name)
    return tmp_path / "etc"


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A host that is a directory, with a driver that nobody has tested."""
    module = tmp_path / "host" / "sys" / "module" / "neuron"
    module.mkdir(parents=True)
    (module / "version").write_text("2.99.0.0\n")
    return str(tmp_path / "host")


def test_nothing_there_is_nothing_read(folder: Path) -> None:
    """So that a glance need not import what reads it."""
    assert chosen_file(None, of_this_machine=True) is None
    assert config_of(None) is None
    assert chosen_file("named", of_this_machine=False) == "named"
    folder.mkdir()
    assert chosen_file(None, of_this_machine=True) == str(folder / "config.yaml")
    assert chosen_file(None, of_this_machine=False) is None
    assert config_of(str(folder / "config.yaml")) == Config()


def test_a_variable_needs_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a simulation too; then the machine's own file is not read."""
    monkeypatch.setenv("NEURON_OBSERVER_HOOK_FOLDER", "/x")
    assert chosen_file(None, of_this_machine=True) is None
    monkeypatch.setenv("NEURON_OBSERVER_KUBELET", "true")
    folder.mkdir()
    (folder / "config.yaml").write_text("all_devices: true\n")
    for of_this_machine in (True, False):
        config = config_of(chosen_file(None, of_this_machine=of_this_machine))
        assert config is not None
        assert (config.kubelet, config.all_devices) == (True, of_this_machine)


def test_a_verb_goes_by_the_file_of_its_machine(
    folder: Path, root: str, call: Callable[..., Result]
) -> None:
    """As the daemon does: what is wrong with it is said by every verb; a capture does not care."""
    folder.mkdir()
    (folder / "config.yaml").write_text("kubelett: true\n")
    for verb in ("devices", "check", "status", "findings", "doctor", "snapshot"):
        with pytest.raises(ConfigError, match="unknown key 'kubelett'"):
            call(verb, "--host-root", root)
    assert call("devices", "--host-root", SMALL).code == 0
    assert call("devices", "--simulate").code == 0
    assert call("devices", "--host-root", root, "--config", "/dev/null").code == 0


def test_a_verb_judges_by_the_rules_of_its_machine(
    folder: Path, root: str, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule in rules.d that says nonsense is an error of `check` as it is of the daemon."""
    (folder / "rules.d").mkdir(parents=True)
    (folder / "rules.d" / "a.yaml").write_text("rules: [{id: a}]\n")
    monkeypatch.setenv("NEURON_OBSERVER_RULES__DIRECTORIES", str(folder / "rules.d"))
    with pytest.raises(ConfigError, match=r"rules\.d/a\.yaml:1"):
        call("check", "--host-root", root)


def test_the_default_folder_of_rules_may_be_missing_a_named_one_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a call come last."""
    assert Config().rules.directories == (configured.RULES,)
    monkeypatch.setattr(configured, "RULES", str(tmp_path / "rules.d"))
    assert rule_paths(None, ("x",)) == ["x"]
    file = tmp_path / "c.yaml"
    file.write_text(f"rules: {{directories: [{configured.RULES}, {tmp_path}]}}\n")
    assert rule_paths(load(str(file)), ("x",)) == [str(tmp_path), "x"]
    file.write_text(f"rules: {{directories: [{tmp_path / 'gone'}]}}\n")
    with pytest.raises(ConfigError, match=r"gone: cannot be read: No such file"):
        rule_paths(load(str(file)))


def test_without_a_configuration_its_reader_is_not_loaded(root: str) -> None:
    """`devices` of a host imports neither yaml nor msgspec."""
    code = (
        "import sys\n"
        "from neuron_observer.cli import configured\n"
        f"configured.FOLDER = {root + '/nowhere'!r}\n"
        "from neuron_observer.cli.group import cli\n"
        f"cli.main(['devices', '--host-root', {root!r}], standalone_mode=False)\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NEURON_OBSERVER_")}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert not {"yaml", "msgspec", "neuron_observer.config"} & set(run.stderr.splitlines())
