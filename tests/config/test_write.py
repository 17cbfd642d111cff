"""What is written: a file to begin with, the values in force, all of it loads again."""

from __future__ import annotations

import json
import re
import stat
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from neuron_observer.config import Config, Sources, load, read
from neuron_observer.config.document import Reader
from neuron_observer.config.files import Text
from neuron_observer.config.keys import keys
from neuron_observer.config.layers import shown_secrets
from neuron_observer.config.schema import key_meta
from neuron_observer.config.write import (
    MASK,
    as_json,
    as_yaml,
    lines,
    reference,
    template,
    write,
    written,
)
from neuron_observer.errors import UsageError
from tests.config.said import DOCUMENT, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from neuron_observer.errors import ConfigError


def saved(folder: Path, text: str) -> str:
    """The path of a file with this text."""
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_the_template_says_nothing(tmp_path: Path) -> None:
    """As it is written it is the defaults."""
    assert load(saved(tmp_path, template())) == Config()


def test_the_template_shows_every_key_with_its_default(tmp_path: Path) -> None:
    """With the # taken away before every key it is the defaults too, and says all of them."""
    bare = re.sub(r"(?m)^( *)#(\w+:)", r"\1\2", template())
    loaded = read(Sources(saved(tmp_path, bare)))
    assert loaded.config == Config()
    # an empty mapping says nothing
    assert {("path_map",), *loaded.origins} == set(keys())


def test_the_template_is_as_narrow_as_a_terminal() -> None:
    """No line is longer than 100 characters."""
    assert max(map(len, template().splitlines())) <= 100


@settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(document=DOCUMENT)
def test_what_holds_loads_again(tmp_path: Path, document: Mapping[tuple[str, ...], Any]) -> None:
    """`print --effective --format yaml` is a file that says the same; so are its other forms."""
    loaded = read(Sources(saved(tmp_path, text_of(document))))
    effective = list(lines(loaded, effective=True))
    again = load(saved(tmp_path, as_yaml(effective)))
    assert again == loaded.config
    said = list(lines(loaded, effective=False))
    assert load(saved(tmp_path, as_yaml(said))) == loaded.config
    values = json.loads(as_json(effective))
    for one in effective:
        assert values[one.key.name]["origin"] == one.origin
        assert yaml.safe_load(written(one.key, one.value)) == values[one.key.name]["value"]


def test_only_what_somebody_said_is_shown_unless_asked(tmp_path: Path) -> None:
    """Each metric of a path map has a line of its own, with its origin."""
    file = saved(tmp_path, "path_map:\n  device.serial: a\n  device.name: b\nlanes: {fast: 1s}\n")
    said = [
        (one.key.name, one.value, one.origin) for one in lines(read(Sources(file)), effective=False)
    ]
    assert said == [
        ("path_map.device.name", "b", f"{file}:3"),
        ("path_map.device.serial", "a", f"{file}:2"),
        ("lanes.fast", 1.0, f"{file}:4"),
    ]


def test_a_strange_file_name_stays_a_comment(tmp_path: Path) -> None:
    """A line break in it does not begin another key."""
    folder = tmp_path / "a\nkubelet: true\n"
    folder.mkdir()
    loaded = read(Sources(saved(folder, "all_devices: true\n")))
    again = load(saved(tmp_path, as_yaml(list(lines(loaded, effective=False)))))
    assert again == Config(all_devices=True)


def test_the_reference_has_a_row_a_key() -> None:
    """With its default, its bounds and its variable."""
    rows = [line for line in reference().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [key.name for key in keys().values()]
    [row] = [row for row in rows if row.startswith("| `lanes.fast`")]
    assert "| `250ms` | 100ms to 10s |" in row
    assert "`NEURON_OBSERVER_LANES__FAST`" in row


class Secretive(msgspec.Struct, frozen=True):
    """A configuration with a secret."""

    word: Annotated[str | None, key_meta("text", "A password.", secret=True)] = None
    name: Annotated[str, key_meta("text", "A name.")] = ""


def test_a_secret_is_not_shown_and_not_lent() -> None:
    """It is masked wherever it is written, and refused in a file that anybody may read."""
    known = keys(Secretive)
    key = known["word",]
    assert written(key, "xyzzy") == MASK
    assert written(key, None) == "null"
    problems: list[ConfigError] = []
    text = "name: a\nword: xyzzy\n"
    layer = Reader(Secretive, problems).read(text, "f")
    assert not problems
    assert shown_secrets(layer, Text("f", text, public=False), known) == []
    [problem] = shown_secrets(layer, Text("f", text, public=True), known)
    assert str(problem) == ("f:2: word is a secret, and anybody may read this file\n  chmod o-r f")
    assert "xyzzy" not in str(problem)


def test_a_file_is_written_whole_and_never_over_another(tmp_path: Path) -> None:
    """With its folder; over one that is there only if that is asked for."""
    file = tmp_path / "new" / "config.yaml"
    write(file, "a\n", force=False)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    with pytest.raises(UsageError, match="is there already"):
        write(file, "b\n", force=False)
    assert file.read_text() == "a\n"
    write(file, "b\n", force=True)
    assert file.read_text() == "b\n"
    assert [one.name for one in file.parent.iterdir()] == ["config.yaml"]
    link = tmp_path / "link.yaml"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is there already"):
        write(link, "c\n", force=False)


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A file in the place of its folder."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "file" / "config.yaml", "", force=False)
