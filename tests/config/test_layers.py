"""Layers: what comes later wins, everything wrong is told at once, every value has its origin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.config import Config, Sources, examine, load, read
from neuron_observer.config.keys import keys, plain, value_at
from neuron_observer.errors import ConfigError
from tests.config.said import DOCUMENT, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def layered(folder: Path, main: str, **fragments: str) -> str:
    """A file with a conf.d beside it."""
    file = folder / "config.yaml"
    file.write_text(main, encoding="utf-8")
    (folder / "conf.d").mkdir(exist_ok=True)
    for old in (folder / "conf.d").iterdir():
        old.unlink()
    for name, text in fragments.items():
        (folder / "conf.d" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return str(file)


def test_later_files_win(tmp_path: Path) -> None:
    """By name, key by key; of a list the last one stands alone."""
    file = layered(
        tmp_path,
        "export: {detail: node, job_labels: true}\nlisten: [127.0.0.1:1, 127.0.0.1:2]\n",
        b="export: {detail: full}\n",
        a="export: {detail: device}\nlisten: 127.0.0.1:3\n",
    )
    loaded = read(Sources(file))
    assert loaded.config.export.detail == "full"
    assert loaded.config.export.job_labels is True
    assert loaded.config.listen == ("127.0.0.1:3",)
    assert [Path(one).name for one in loaded.files] == ["config.yaml", "a.yaml", "b.yaml"]


def test_environment_wins_over_files_and_flags_over_both(tmp_path: Path) -> None:
    """Each with its own name as origin."""
    file = layered(tmp_path, "export: {detail: node}\nlog: {level: error}\nkubelet: true\n")
    environment = {
        "NEURON_OBSERVER_EXPORT__DETAIL": "device",
        "NEURON_OBSERVER_LOG__LEVEL": "debug",
        "NEURON_OBSERVER_LISTEN": "127.0.0.1:1, [::1]:2",
        "PATH": "/bin",
    }
    flags = {"export.detail": ("--detail", "full"), "kubelet": ("--kubelet", "true")}
    loaded = read(Sources(file, environment=environment, flags=flags))
    assert loaded.config.export.detail == "full"
    assert loaded.config.log.level == "debug"
    assert loaded.config.listen == ("127.0.0.1:1", "[::1]:2")
    origins = {".".join(path): str(origin) for path, origin in loaded.origins.items()}
    assert origins == {
        "export.detail": "--detail",
        "log.level": "NEURON_OBSERVER_LOG__LEVEL",
        "listen": "NEURON_OBSERVER_LISTEN",
        "kubelet": "--kubelet",
    }


def test_an_empty_variable_says_the_empty_value() -> None:
    """No listener, no socket; of what cannot be empty it is an error."""
    said = {"NEURON_OBSERVER_LISTEN": "", "NEURON_OBSERVER_SOCKET": ""}
    config = load(None, environment=said)
    assert (config.listen, config.socket) == ((), "")
    with pytest.raises(ConfigError, match=r"NEURON_OBSERVER_KUBELET: kubelet must be true"):
        load(None, environment={"NEURON_OBSERVER_KUBELET": ""})


@pytest.mark.parametrize(
    "name",
    [
        "NEURON_OBSERVER_CONFIG",
        "NEURON_OBSERVER_HOST_ROOT",
        "NEURON_OBSERVER_HOOK",
        "NEURON_OBSERVER_HOOK_FOLDER",
        "NEURON_OBSERVER_CONNECT_PASSWORD",
        "NEURON_OBSERVER_SERVICE_HOST",
        "NEURON_OBSERVER_SERVICE_PORT_METRICS",
        "NEURON_OBSERVER_PORT",
        "NEURON_OBSERVER_PORT_9744_TCP_ADDR",
    ],
)
def test_variables_of_others_are_no_keys(name: str) -> None:
    """Of the hook, of options, and of Kubernetes for a service of our name."""
    assert load(None, environment={name: "tcp://10.0.0.1:9744"}) == Config()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("NEURON_OBSERVER_DETAIL", "full", "Did you mean 'NEURON_OBSERVER_"),
        ("NEURON_OBSERVER_EXPORT_DETAIL", "full", "Did you mean 'NEURON_OBSERVER_EXPORT__DETAIL'"),
        ("NEURON_OBSERVER_PATH_MAP", "{}", "Put it into a file"),
        ("NEURON_OBSERVER_HISTORY__WINDOW", "10", "its unit is missing"),
        ("NEURON_OBSERVER_RULES__DIRECTORIES", "/a,b", "absolute path"),
        ("NEURON_OBSERVER_STATE__DIRECTORY", "/\udcff", "is no text"),
    ],
)
def test_a_wrong_variable_is_named(name: str, text: str, message: str) -> None:
    """With its remedy."""
    with pytest.raises(ConfigError) as raised:
        load(None, environment={name: text})
    assert raised.value.file == name
    assert message in str(raised.value)


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    """Of all files, variables and flags; `load` tells the first one and how many more there are."""
    file = layered(
        tmp_path,
        "exprt: 1\nlog: {level: loud}\nhttp: {idle: 30}\n",
        a="- 1\n",
        b="listen: 9744\n",
    )
    sources = Sources(file, environment={"NEURON_OBSERVER_KUBELET": "1"})
    loaded, problems = examine(sources)
    assert loaded is None
    places = [f"{Path(one.file).name}:{one.line}" for one in problems]
    assert sorted(places) == sorted(
        [
            *("config.yaml:1", "config.yaml:2", "config.yaml:3"),
            *("a.yaml:1", "b.yaml:1", "NEURON_OBSERVER_KUBELET:None"),
        ]
    )
    with pytest.raises(ConfigError, match="5 more: `neuron-observer config validate`"):
        read(sources)


def test_a_wrong_value_is_told_where_a_later_file_hides_it(tmp_path: Path) -> None:
    """It would come to light on the day that file is taken away."""
    file = layered(tmp_path, "log: {level: loud}\n", a="log: {level: error}\n")
    with pytest.raises(ConfigError, match=r"config\.yaml:1: log\.level must be"):
        load(file)


def test_the_default_file_may_be_missing_a_named_one_not(tmp_path: Path) -> None:
    """With its conf.d alone there is a configuration too."""
    file = str(tmp_path / "config.yaml")
    assert read(Sources(file, required=False)).config == Config()
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.yaml").write_text("kubelet: true\n")
    assert read(Sources(file, required=False)).config.kubelet is True
    with pytest.raises(ConfigError, match="No such file"):
        read(Sources(file))


def test_a_value_without_contradiction_is_kept_with_its_line(tmp_path: Path) -> None:
    """The last one that said it is its origin."""
    file = layered(tmp_path, "\nkubelet: true\n", a="\n\n\nkubelet: false\n")
    [origin] = read(Sources(file)).origins.values()
    assert str(origin) == f"{tmp_path / 'conf.d' / 'a.yaml'}:4"


@settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(documents=st.lists(DOCUMENT, min_size=1, max_size=4))
def test_merging_is_by_key_and_the_last_one_wins(
    tmp_path: Path, documents: list[Mapping[tuple[str, ...], Any]]
) -> None:
    """Whatever files say: each key has the last value that was said, a map those of each metric."""
    texts = {f"f{number}": text_of(one) for number, one in enumerate(documents[1:])}
    config = load(layered(tmp_path, text_of(documents[0]), **texts))
    for path, key in keys().items():
        said = [one[path] for one in documents if path in one]
        if key.form == "map":
            expected: Any = {metric: to for one in said for metric, to in one.items()}
        else:
            expected = said[-1] if said else plain(key, key.default)
        assert plain(key, value_at(config, path)) == expected


NAMES = [key.path for key in keys().values() if key.form != "map"]


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    path=st.sampled_from(NAMES),
    at=st.integers(0, 40),
    cut=st.integers(0, 1),
    sign=st.sampled_from(["", *"abcxyz_A9"]),
    blank=st.integers(0, 3),
)
def test_any_mutation_of_a_key_is_refused_with_its_line(
    tmp_path: Path, path: tuple[str, ...], at: int, cut: int, sign: str, blank: int
) -> None:
    """One letter more, less or another one, wherever it stands: the error names the line."""
    name = path[-1]
    at = min(at, len(name) - cut)
    mutated = name[:at] + sign + name[at + cut :]
    if (*path[:-1], mutated) in keys():
        return
    group = f"{path[0]}:\n  " if len(path) > 1 else ""
    file = layered(tmp_path, "#\n" * blank + f"{group}{mutated}: 1\n")
    with pytest.raises(ConfigError) as raised:
        load(file)
    assert raised.value.line == blank + len(path)
    assert f"unknown key {'in ' + path[0] + ' ' if group else ''}{mutated!r}" in str(raised.value)
    assert name in raised.value.remedy
