from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from neuron_observer.cli.group import cli, exit_code
from tests.conftest import tree_file
from tests.recordings import record

ROOT = Path(__file__).parent.parent.parent
TEMPORARY = TemporaryDirectory()


@lru_cache
def recording(
    scenario: str = "hbm-unrepairable", seconds: float = 12.0, begin: float = 98.0
) -> Path:
    """A device whose memory breaks; or another scenario, from a second of it on."""
    file = Path(TEMPORARY.name, f"{scenario}.nobs.gz")
    record(file, scenario, seconds, begin=begin)
    return file


def played(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The verb in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "neuron_observer", "replay", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        cwd=environment.get("PWD", ROOT),
        capture_output=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("form", ["page", "json"])
def test_the_same_on_any_machine(form: str, tmp_path: Path) -> None:
    """Byte by byte: in another time zone, language, folder, with other hashes."""
    arguments = (str(recording()), "--format", form)
    one = played(*arguments, TZ="Asia/Tokyo", PYTHONHASHSEED="1", LC_ALL="C")
    other = played(
        *arguments, TZ="America/Lima", PYTHONHASHSEED="77", LC_ALL="C.UTF-8", PWD=str(tmp_path)
    )
    assert (one.returncode, other.returncode) == (1, 1)
    assert one.stdout == other.stdout
    assert one.stderr == other.stderr
    assert b"hbm-uncorrectable" in one.stdout


def test_the_same_though_the_driver_was_loaded_anew() -> None:
    """All that is read anew then comes in the same order, whatever the hashes."""
    arguments = (str(recording("driver-reload", 40.0, 132.0)), "--format", "json")
    one, other = (played(*arguments, PYTHONHASHSEED=seed) for seed in ("1", "77"))
    assert b"driver-reloaded" in one.stderr
    assert one.stdout == other.stdout


def test_what_begins_is_narrated_and_the_end_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Seconds since the beginning on stderr, the findings on stdout."""
    assert exit_code(["replay", str(recording())]) == 1
    said = capsys.readouterr()
    assert "DEGRADED: " in said.out
    assert "s: firing: hbm-uncorrectable: " in said.err


def test_seek_and_until(capsys: pytest.CaptureFixture[str]) -> None:
    """What is before is played but not told; what is after is not played; below 0 from the end."""
    assert exit_code(["replay", str(recording()), "--until", "1"]) == 0
    assert "HEALTHY" in capsys.readouterr().out
    assert exit_code(["replay", str(recording()), "--seek", "-0.5"]) == 1
    assert "hbm-uncorrectable" not in capsys.readouterr().err
    assert exit_code(["replay", str(recording()), "--seek", "99"]) == 64
    assert "s long" in capsys.readouterr().err
    assert exit_code(["replay", str(recording()), "--seek", "1", "--until", "0.5"]) == 64
    assert "--seek 1 comes after --until 0.5" in capsys.readouterr().err


def test_each_frame_with_step() -> None:
    """Where nobody can press a key they come one after the other."""
    arguments = ["replay", str(recording()), "--step", "--until", "1", "--format", "findings"]
    result = CliRunner().invoke(cli, arguments)
    decoder, text, documents = json.JSONDecoder(), result.stdout.strip(), []
    while text:
        document, end = decoder.raw_decode(text)
        documents.append(document)
        text = text[end:].lstrip()
    assert len(documents) == 5
    assert {one["source"] for one in documents} == {"recording"}


def test_a_damaged_file_is_played_up_to_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code says so."""
    file = tmp_path / "cut.nobs.gz"
    file.write_bytes(recording().read_bytes()[:-100])
    assert exit_code(["replay", str(file)]) == 66
    said = capsys.readouterr()
    assert "damaged, read up to there" in said.err
    assert "before-we-watched" in said.out


def test_listings_are_played_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Of one instant."""
    file = str(tree_file("inf2.48xlarge-2.30.2-worn"))
    assert exit_code(["replay", file, "--format", "openmetrics"]) == 1
    page = capsys.readouterr().out
    assert page.endswith("# EOF\n")
    assert 'python="unknown"' in page
