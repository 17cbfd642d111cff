"""Settings: what is kept, what a bad file does, which folder they are in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.tui.settings import Settings, settings_of
from neuron_observer.tui.themes import DEFAULT, THEMES
from neuron_observer.tui.view import Way

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(["theme", "ascii", "page", "tables", "other"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "neuron-observer" / "top.json"


def written(path: Path, text: str) -> Settings:
    """Settings of a file with that text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Settings(path)


def test_no_file_is_no_trouble(path: Path) -> None:
    """The defaults, and nothing is made before something is set."""
    settings = Settings(path)
    assert (settings.theme, settings.ascii, settings.trouble) == (DEFAULT, False, "")
    assert not path.parent.exists()
    assert settings.wear("light") == ""
    assert Settings(path).theme == "light"


@pytest.mark.parametrize("text", ["{", "[1]", "", '"dark"', "\x00", "[" * 50_000])
def test_a_bad_file_is_never_lost(path: Path, text: str) -> None:
    """It is told, the defaults are in force, and what stood there is set aside."""
    settings = written(path, text)
    assert str(path) in settings.trouble
    assert "defaults are in force" in settings.trouble
    assert settings.theme == DEFAULT
    assert path.read_text(encoding="utf-8") == text
    assert settings.wear("mono") == ""
    assert path.with_name("top.json.bad").read_text(encoding="utf-8") == text
    assert Settings(path).theme == "mono"


def test_a_file_that_cannot_be_read_is_left_alone(path: Path) -> None:
    """Here a directory stands in its place."""
    path.mkdir(parents=True)
    settings = Settings(path)
    assert "defaults are in force" in settings.trouble
    assert "kept until the end only" in settings.wear("light")
    assert settings.theme == "light"
    assert path.is_dir()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """It is told; the screen goes on."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    settings = Settings(tmp_path / "file" / "top.json")
    assert "kept until the end only" in settings.use_ascii(wanted=True)
    assert settings.ascii


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({"theme": "pink"}, "no theme 'pink'"),
        ({"page": 3}, "no page 3"),
        ({"tables": []}, "tables"),
    ],
)
def test_what_is_not_valid_is_told(path: Path, document: dict[str, object], word: str) -> None:
    """The rest of the file is taken, and nothing of it is lost when something is set."""
    settings = written(path, json.dumps(document | {"ascii": True, "mine": 1}))
    assert word in settings.trouble
    assert settings.ascii
    settings.look_at("cores", Way(sort="core", columns=("core.utilization",)))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["mine"] == 1
    assert kept["tables"]["cores"]["columns"] == ["core.utilization"]
    assert all(kept[name] == value for name, value in document.items() if name != "tables")


def test_columns_and_order_come_back(path: Path) -> None:
    """Of each view on its own; a filter is of the moment and is not kept."""
    settings = Settings(path)
    way = Way("device.hbm.used", falling=False, filter="x", columns=("device.name",), row="neuron3")
    settings.look_at("devices", way)
    again = Settings(path).ways
    assert again == {"devices": Way("device.hbm.used", falling=False, columns=("device.name",))}


@given(st.dictionaries(KEYS, JSON) | JSON)
def test_any_document_is_taken(document: object) -> None:
    """Whatever stands in it, the settings are valid."""
    settings = Settings()
    if isinstance(document, dict):
        settings._take(document)
    assert settings.theme in THEMES
    assert all(isinstance(way, Way) for way in settings.ways.values())


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CONFIG_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/neuron-observer/top.json"),
        ({"HOME": "/home/me"}, "/home/me/.config/neuron-observer/top.json"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/neuron-observer/top.json"),
        ({"XDG_CONFIG_HOME": "", "HOME": "/h"}, "/h/.config/neuron-observer/top.json"),
    ],
)
def test_the_folder_is_xdgs(environment: dict[str, str], expected: str) -> None:
    """A relative folder is ignored, as the specification has it."""
    assert settings_of(environment).path == Path(expected)


def test_no_color_and_an_option_win(tmp_path: Path) -> None:
    """For this time only: the file keeps what somebody chose."""
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    settings_of(home).wear("light")
    assert settings_of(home).theme == "light"
    assert settings_of(home | {"NO_COLOR": "1"}).theme == "mono"
    chosen = settings_of(home | {"NO_COLOR": "1"}, "safe")
    assert chosen.theme == "safe"
    chosen.use_ascii(wanted=True)
    assert settings_of(home).theme == "light"
