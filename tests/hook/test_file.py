"""The heartbeat file itself: its bytes, who may read it, and what becomes of it."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from math import isnan
from pathlib import Path

import pytest

from neuron_observer import hook
from tests.hook.reading import heartbeat, only


def _ticks() -> int:
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])


def test_every_field_stands_where_the_table_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/hook.md: a reader that knows only the table finds who writes and what it did."""
    for name, value in (("RANK", "3"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "llm-7b")
    recorder = hook.Recorder(role="stage2", replica="é" * 40)
    recorder.leave(recorder.enter(hook.stamp("all_reduce", "4 8")))
    recorder.given(recorder.ask())
    recorder.add_tokens(4096)
    recorder.finish()
    recorder.enter(hook.stamp("barrier", "0 8"))
    seen = only(folder)
    assert (seen.pid, seen.uid, seen.ticks) == (os.getpid(), os.geteuid(), _ticks())
    assert seen.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    assert seen.identity == (3, 8, 1, 2)
    assert (seen.phase, seen.source, seen.flags) == (
        hook.TRAINING,
        hook.BLOCKING,
        hook.TOKENS_GIVEN,
    )
    assert (seen.steps, seen.entered, seen.completed) == (1, 2, 1)
    assert seen.since >= seen.at >= seen.phase_at > 0
    assert (seen.name, seen.signature) == ("barrier", hook.fnv1a(b"barrier 0 8"))
    assert (seen.asked, seen.pauses, seen.role) == (0.0, 0, "stage2")
    assert seen.replica == "é" * 32, "cut to 64 bytes, never within a character"
    assert seen.hint == "TORCHELASTIC_RUN_ID=llm-7b"
    (step,) = seen.records
    assert (step.number, step.tokens, step.calls, step.flags, step.source) == (0, 4096.0, 1, 0, 1)
    assert step.end == seen.begin == seen.at
    assert 0 < step.shortest == step.collectives < step.end - step.begin
    assert 0 < step.input < step.end - step.begin
    recorder.close(ended=True)


def test_the_ring_holds_the_last_256_steps(folder: Path) -> None:
    """Step k stands at slot k mod 256."""
    recorder = hook.Recorder()
    for number in range(300):
        recorder.add_tokens(number)
        recorder.finish()
    seen = only(folder)
    assert [step.number for step in seen.records] == list(range(44, 300))
    assert [step.tokens for step in seen.records] == list(range(44, 300))
    assert all(a.end == b.begin for a, b in zip(seen.records, seen.records[1:], strict=False))
    recorder.close(ended=True)


def test_what_is_not_known_is_no_number(folder: Path) -> None:
    """No collective, no loader, no tokens: NaN and source none, never zero."""
    recorder = hook.Recorder()
    recorder.finish()
    (step,) = only(folder).records
    assert all(map(isnan, (step.collectives, step.shortest, step.input, step.tokens)))
    assert step.source == hook.NONE
    assert only(folder).identity == (-1, -1, -1, 0)
    recorder.close(ended=True)


def test_others_may_read_it_and_only_its_user_writes(folder: Path) -> None:
    """Mode 0644 whatever the umask; locked, so that anybody can tell that its process lives."""
    before = os.umask(0o077)
    try:
        recorder = hook.Recorder()
        recorder.finish()
    finally:
        os.umask(before)
    (path,) = folder.iterdir()
    assert path.name == f"rank-{os.getpid()}-{_ticks()}.hb"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert path.stat().st_blocks * 512 >= 17_408, "its space is taken at once"
    with path.open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    recorder.close(ended=True)
    assert not list(folder.iterdir())


def test_a_file_that_was_removed_comes_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a step within seconds, with the steps that were in it; but not for ever."""
    monkeypatch.setattr(hook, "_CHECK_PERIOD", 0.0)
    recorder = hook.Recorder()
    recorder.finish()
    for path in folder.iterdir():
        path.unlink()
    recorder.finish()
    seen = only(folder)
    assert (seen.steps, [step.number for step in seen.records]) == (2, [0, 1])
    assert seen.generation % 2 == 0
    with pytest.raises(OSError, match="removed 9 times"):
        _remove_again_and_again(folder, recorder)
    recorder.close(ended=False)


def _remove_again_and_again(folder: Path, recorder: hook.Recorder) -> None:
    for _ in range(10):
        recorder.finish()
        for path in folder.iterdir():
            path.unlink()


def test_the_file_from_before_an_exec_is_replaced(folder: Path, tmp_path: Path) -> None:
    """Same pid, same start; also where somebody put a link there, which is not followed."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    name = f"rank-{os.getpid()}-{_ticks()}.hb"
    for linked in (False, True):
        if linked:
            (folder / name).symlink_to(precious)
        else:
            (folder / name).write_text("old")
        recorder = hook.Recorder()
        recorder.finish()
        assert only(folder).steps == 1
        recorder.close(ended=True)
    assert precious.read_text() == "precious"


def _left(folder: Path, pid: int, written: float) -> Path:
    path = folder / f"rank-{pid}-1.hb"
    path.write_bytes(bytes(96) + struct.pack("<d", written) + bytes(17_304))
    os.utime(path, (written, written))
    return path


def test_what_dead_ranks_left_is_swept_after_ten_minutes(folder: Path) -> None:
    """Not what is younger, locked by a living process, or no file."""
    now = (folder.stat()).st_mtime
    old, young, alive = (
        _left(folder, pid, now - age) for pid, age in ((1, 700), (2, 60), (3, 700))
    )
    os.mkfifo(folder / "rank-4-1.hb")
    other = folder / "notes.txt"
    other.write_text("mine")
    with alive.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        recorder = hook.Recorder()
        recorder.finish()
        recorder.close(ended=True)
    assert {path.name for path in folder.iterdir()} == {
        *(young.name, alive.name, "rank-4-1.hb", "notes.txt"),
    }
    assert not old.exists()


def test_a_file_without_its_end_says_so(folder: Path) -> None:
    """Closed at a normal end it says `ended` and goes; else it stays as it was."""
    recorder = hook.Recorder()
    recorder.finish()
    (path,) = folder.iterdir()
    with path.open("rb") as opened:
        recorder.close(ended=True)
        assert heartbeat(opened.read()).phase == hook.ENDED
    recorder = hook.Recorder()
    recorder.finish()
    recorder.close(ended=False)
    assert only(folder).phase == hook.TRAINING


def test_stamps() -> None:
    """A name of at most 31 bytes and the published vectors of FNV-1a; unknown is zero."""
    assert hook.fnv1a(b"") == 0xCBF29CE484222325
    assert hook.fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert hook.fnv1a(b"foobar") == 0x85944171F73967E8
    assert hook.stamp("x" * 40, "") == bytes([31]) + b"x" * 31 + bytes(8)
