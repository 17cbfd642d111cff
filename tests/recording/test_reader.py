from __future__ import annotations

import gzip
import json
import re
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.errors import InputError
from neuron_observer.recording.reader import opened
from neuron_observer.sources.listing import read_listing
from tests.conftest import tree_file
from tests.recordings import record

if TYPE_CHECKING:
    from neuron_observer.sources.passes import Pass


@lru_cache
def recorded() -> bytes:
    """Some seconds of a host, as a file."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "r.nobs.gz")
        record(file, "healthy", 20.0)
        return file.read_bytes()


def ticks_of(file: Path) -> tuple[list[Pass], str]:
    """What can be read of a file: its ticks, and the note."""
    recording = opened(str(file))
    passes = [one for one in recording.passes() if one.tick]
    return passes, recording.note


@settings(max_examples=8, deadline=None)
@given(st.floats(0.2, 0.999))
def test_a_cut_file_gives_what_was_there(share: float) -> None:
    """Whatever the byte: ticks from the beginning, each as it was, and a note."""
    whole = recorded()
    with TemporaryDirectory() as folder:
        file = Path(folder, "cut.nobs.gz")
        file.write_bytes(whole)
        all_ticks, note = ticks_of(file)
        assert note == ""
        file.write_bytes(whole[: int(len(whole) * share)])
        ticks, note = ticks_of(file)
        assert note.startswith("damaged, read up to there")
        assert ticks == all_ticks[: len(ticks)]
        entire = gzip.decompress(whole)
        text = entire[: int(-2 - 100 * share)]
        file.write_bytes(gzip.compress(text))
        ticks, note = ticks_of(file)
        assert note.startswith("damaged") or text.endswith(b"\n")  # else it is whole
        begun = [len(re.findall(rb"#tick .*\n", one)) for one in (entire, text)]
        assert len(ticks) >= len(all_ticks) - (begun[0] - begun[1]) - 1  # whose end is not there


def test_a_file_damaged_in_the_middle_ends_there(tmp_path: Path) -> None:
    """What is before it counts; the row is named."""
    rows = gzip.decompress(recorded()).decode("utf-8", "surrogatepass").splitlines(keepends=True)
    ticks = [number for number, row in enumerate(rows) if row.startswith("#tick")]
    rows[ticks[50] + 1] = '#set [99999, [0], "1"]\n'
    file = tmp_path / "r.nobs"
    file.write_text("".join(rows), "utf-8", "surrogatepass")
    found, note = ticks_of(file)
    assert len(found) == 50
    assert f"{ticks[50] + 2}: no row of a listing" in note


def test_a_later_form_is_refused(tmp_path: Path) -> None:
    """With the version that wrote it, by every reader."""
    header = {"schema": "neuron-observer/recording/2", "version": "9.1.0"}
    file = tmp_path / "r.nobs"
    file.write_text(f'#capture {json.dumps(header)}\n0444\tmodule/neuron/version\t"1\\n"\n')
    for read in (opened, read_listing):
        with pytest.raises(InputError, match=r"recording/2, and this reads .*/1") as caught:
            read(str(file))
        assert "neuron-observer 9.1.0" in caught.value.remedy


@pytest.mark.parametrize("text", ["", "hello\n", "#capture {}\n", "#tick [1.0, 2.0, []]\n"])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    """Nothing in it, or something else."""
    file = tmp_path / "r.nobs"
    file.write_text(text)
    with pytest.raises(InputError):
        opened(str(file))


@pytest.mark.parametrize(
    "head",
    [
        {"wall": "soon"},
        {"monotonic": float("nan")},
        {"options": {"path_map": {"a": 1}}},
        {"options": [1]},
        {"host_root": 3},
    ],
)
def test_a_head_of_other_types_is_refused(tmp_path: Path, head: dict[str, object]) -> None:
    """A file that somebody sent is read with care."""
    file = tmp_path / "r.nobs"
    whole = {"schema": "neuron-observer/recording/1", **head}
    file.write_text(f'#capture {json.dumps(whole)}\n0444\tmodule/neuron/version\t"1\\n"\n')
    with pytest.raises(InputError, match=r"r\.nobs: its head is damaged"):
        opened(str(file))


def test_captures_and_listings_are_recordings_too() -> None:
    """One pass, at 0 s."""
    recording = opened(str(tree_file("trn2.3xlarge-2.30.2-busy")))
    assert (recording.times, recording.timed, recording.recorded_at) == ((0.0,), False, None)
    assert len(list(recording.passes())) == 1


def test_a_recording_is_a_host_root(tmp_path: Path) -> None:
    """Of its ticks the last that read all that moves are passes; nothing else is lost."""
    file = tmp_path / "r.nobs.gz"
    file.write_bytes(recorded())
    listing = read_listing(str(file))
    assert 2 <= len(listing.passes) <= 5
    assert listing.passes[-1].at - listing.passes[-2].at == pytest.approx(1.0)
    assert len(listing.passes[0].nodes) > 500
