"""The configuration file: what is wrong is named with its file, its line and what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.config import Config, load
from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


KNOWN = (
    *("all_devices", "budget", "export", "history", "http", "jobs", "kernel_log", "kubelet"),
    *("lanes", "listen", "log", "monitor", "path_map", "profile", "recorder", "rules"),
    *("socket", "state", "trust_untested_driver", "web"),
)


def written(folder: Path, text: str | bytes) -> str:
    """The path of a file with this text."""
    file = folder / "config.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(file)


@pytest.mark.parametrize(
    "text", ["", "\n", "# nothing\n", "---\n", "{}\n", "path_map:\n  # a: b\n"]
)
def test_an_empty_file_is_the_defaults(tmp_path: Path, text: str) -> None:
    """Nothing said, nothing changed."""
    assert load(written(tmp_path, text)) == Config() == load(None)


def test_a_file_is_read(tmp_path: Path) -> None:
    """A node that a driver moved is named by its metric."""
    text = """
all_devices: true
trust_untested_driver: yes
path_map:
  device.serial: identity/serial
  core.hbm.used: "neuron_core{core}/memory/hbm/total"
"""
    assert load(written(tmp_path, text)) == Config(
        {"device.serial": "identity/serial", "core.hbm.used": "neuron_core{core}/memory/hbm/total"},
        all_devices=True,
        trust_untested_driver=True,
    )


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ("listen: [a\n\n", 1, "expected ',' or ']'", "brackets"),  # a line that is there
        ("path_maps: {}\n", 1, "unknown key 'path_maps'", "'path_map'"),
        ("\n\nall_device: true\n", 3, "unknown key 'all_device'", "'all_devices'"),
        (
            "zzz: 1\n",
            1,
            "unknown key 'zzz'",
            ", ".join(KNOWN),
        ),
        ("path_map:\n  device.serail: a\n", 2, "unknown metric 'device.serail'", "device.serial"),
        ("path_map:\n  a: b\n", 2, "unknown metric 'a'", ""),
        ("all_devices: maybe\n", 1, "true or false", ""),
        ("all_devices: 'true'\n", 1, "true or false", ""),
        ("all_devices: !!bool maybe\n", 1, "true or false", ""),
        ("all_devices: [true]\n", 1, "true or false", ""),
        ("all_devices: true\nall_devices: false\n", 2, "stands twice", ""),
        ("path_map:\n  device.serial: a\n  device.serial: b\n", 3, "stands twice", ""),
        ("- path_map\n", 1, "mapping", ""),
        ("path_map\n", 1, "mapping", ""),
        ("path_map: [a]\n", 1, "mapping", ""),
        ("all_devices: true\n# b\0\n", 2, "control character", ""),
        ("path_map:\n  device.serial: /etc/passwd\n", 2, "below the device", ""),
        ("path_map:\n  device.serial: a/../../b\n", 2, "below the device", ""),
        ("path_map:\n  device.serial: [a]\n", 2, "below the device", ""),
        ("path_map:\n  device.serial:\n", 2, "below the device", ""),
        ("path_map:\n  device.serial: ''\n", 2, "below the device", ""),
        ("path_map:\n  core.hbm.used: hbm/total\n", 2, "every core", "{core}"),
        ("path_map:\n  core.utilization: a\n", 2, "unknown metric", ""),
        ("? [a, b]\n: c\n", 1, "key", ""),
        ("path_map:\n  ? {a: b}\n  : c\n", 2, "key", ""),
        ("all_devices: true\npath_map: {a\n", None, "", ""),
        ("a: b: c\n", 1, "", ""),
        ("a: b\n---\na: b\n", None, "", ""),
        ("all_devices: *nobody\n", 1, "", ""),
        ("\tall_devices: true\n", 1, "", ""),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, text: str, line: int | None, message: str, remedy: str
) -> None:
    """The error has the file, the line (counted from 1) and the nearest match or the remedy."""
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load(file)
    assert raised.value.file == file
    assert raised.value.line is not None
    assert line in {None, raised.value.line}
    assert str(raised.value).startswith(f"{file}:{raised.value.line}: ")
    assert message in str(raised.value)
    assert remedy in raised.value.remedy


@pytest.mark.parametrize(
    "raw",
    [b"a: \xff\n", b"a: \0\n", b"\x07", b"\xff\xfe", b'"\\UFFFFFFFF": a\n', b"[" * 5000],
)
def test_what_is_no_text_is_named(tmp_path: Path, raw: bytes) -> None:
    """Other encodings and control characters are an error of the file, not a traceback."""
    file = written(tmp_path, raw)
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        load(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The system's own words say why."""
    file = str(tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(file)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(str(tmp_path))


WORDS = ("path_map", "all_devices", "device.serial", "true", "<<", "!!bool ", "&a ", "*a")
MARKS = (": ", "\n", "  ", "- ", "{", "}", "[", "]", "'", '"', "?", "|", "%", "#", "\0", "\x85")
FRAGMENTS = st.lists(st.sampled_from((*WORDS, *MARKS)), max_size=12).map("".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(FRAGMENTS, st.text(max_size=30)))
def test_any_text_gives_a_configuration_or_an_error(tmp_path: Path, text: str) -> None:
    """Whatever stands in the file, nothing but ConfigError comes out."""
    file = written(tmp_path, text.encode("utf-8", "surrogatepass"))
    try:
        loaded = load(file)
    except ConfigError as error:
        assert error.file == file  # noqa: PT017 - either outcome is right
    else:
        assert isinstance(loaded, Config)
