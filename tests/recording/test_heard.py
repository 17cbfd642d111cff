from __future__ import annotations

import errno
import gzip
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.parsers.proc import cpu_stat
from neuron_observer.recording.filters import LeanStat
from neuron_observer.recording.patches import BLOCK
from neuron_observer.recording.tape import HostTape
from neuron_observer.sources.form import Patch, patched
from neuron_observer.sources.recorded import RecordedFs
from neuron_observer.sources.regular import regular
from neuron_observer.sources.rows import RowReader
from neuron_observer.sources.tapped import TappedDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from neuron_observer.recording.tape import Chunk

PATH = "run/neuron-observer-ranks/rank-7-99.hb"


EDITS = st.lists(st.tuples(st.integers(0, 4999), st.binary(min_size=1, max_size=90)), max_size=3)


def versions(all_edits: list[list[tuple[int, bytes]]]) -> Iterator[bytes]:
    """Contents of one large file, one after another: mostly as long, a few bytes another."""
    content = bytes(5000)
    for some in all_edits:
        content = patched(content, [Patch(at, new) for at, new in some])
        yield content


def hear(tape: HostTape, content: bytes, edits: list[tuple[int, bytes]], *, whole: bool) -> None:
    """All of a file, twice; or, if the tape knows it, some of its blocks, one of them in vain."""
    at = {offset // BLOCK * BLOCK for offset, _ in edits} | {1024}
    blocks = [Patch(one, content[one : one + 3 * BLOCK]) for one in sorted(at)]
    if whole or not tape.pieces(PATH, len(content), blocks):
        tape.read(PATH, content)
        tape.read(PATH, content)


@settings(max_examples=40)
@given(
    st.lists(EDITS, min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_large_files_come_back_from_what_changed_in_them(
    edits: list[list[tuple[int, bytes]]], flushed: list[bool], whole: list[bool]
) -> None:
    """Over chunks and bases, several versions in one tick, another length, cut short, in pieces."""
    contents = list(versions(edits))
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    packed = [b"".join(tape.base())]
    for number, content in enumerate(contents):
        hear(tape, content, edits[number], whole=whole[number])
        if flushed[number]:
            tape.tick(float(number), 0.0, ())
            tape.flush()
    tape.tick(100.0, 0.0, ())
    tape.flush()
    packed += [chunk.content for chunk in chunks]
    for held in (b"".join(packed), b"".join(tape.base())):
        reader, host = RowReader("made up"), None
        for row in [*gzip.decompress(held).decode("utf-8", "surrogatepass").splitlines(True)]:
            done = reader.take(row)
            if done is not None and host is None:
                host = RecordedFs("/", done)
            elif done is not None and host is not None:
                host.apply(done)
        assert host is not None
        host.apply(reader.latest)
        assert host.read(PATH, 10_000) == contents[-1]


def test_pieces_of_what_was_never_read_as_a_whole_are_not_enough() -> None:
    """Nor of a file of another length, of one that could not be read, and while all is anew."""
    tape = HostTape(lambda _: None)
    assert not tape.pieces(PATH, 3, [Patch(0, b"b")])
    tape.read(PATH, b"aaa")
    assert not tape.pieces(PATH, 4, [Patch(0, b"b")])
    with tape.around():
        assert not tape.pieces(PATH, 3, [Patch(0, b"b")])
    assert tape.pieces(PATH, 3, [Patch(0, b"b")])
    assert b"baa" in gzip.decompress(b"".join(tape.base()))
    tape.read(PATH, OSError(errno.EACCES, "no"))
    assert not tape.pieces(PATH, 3, [Patch(0, b"b")])


def test_pieces_weigh_what_they_hold() -> None:
    """Nothing if they say nothing new."""
    before, tape = bytes(2048), HostTape(lambda _: None)
    tape.read(PATH, before)
    tape.tick(0.0, 0.0, ())
    tape.flush()
    assert tape.pieces(PATH, 2048, [Patch(512, before[512:1536])])
    assert tape.waiting_bytes == 0
    assert tape.pieces(PATH, 2048, [Patch(512, b"x" * 192 + before[:832])])
    assert 192 < tape.waiting_bytes < 1024


STAT = b"cpu  1 2 3 4 5 6 7\ncpu0 1 2\ncpu1 3 4\nintr 99 1 2 3\nctxt 5\nbtime 6\nprocs_running 7\n"


def test_the_figures_of_single_processors_are_left_out() -> None:
    """What is parsed is the same, their number too; of another form nothing is."""
    lean = LeanStat()
    assert lean(STAT) == (
        b"cpu  1 2 3 4 5 6 7\ncpu0\ncpu1\nintr 99\nctxt 5\nbtime 6\nprocs_running 7\n"
    )
    fewer = STAT.replace(b"cpu1 3 4\n", b"")
    assert cpu_stat(lean(STAT)) == cpu_stat(STAT)
    assert cpu_stat(lean(fewer)) == cpu_stat(fewer)


@given(st.binary(max_size=60) | st.sampled_from([STAT, STAT[:70], b"\ncpu0 \nintr "]))
def test_any_bytes_may_stand_there(raw: bytes) -> None:
    """Whatever a kernel prints."""
    assert len(LeanStat()(raw)) <= len(raw)


def test_an_open_file_is_heard_when_all_of_it_was_read(tmp_path: Path) -> None:
    """A glance at its front tells nothing."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    host = TappedDirectory(str(tmp_path), tape)
    (tmp_path / "a").write_bytes(b"0123456789")
    with regular(host, "a") as opened:
        assert (opened.read(4), opened.piece(0, 64)) == (b"0123", b"0123456789")
        assert b"0123" not in gzip.decompress(b"".join(tape.base()))
        assert opened.read(64) == b"0123456789"
        assert b"0123456789" in gzip.decompress(b"".join(tape.base()))
    with regular(host.untapped, "a") as opened:
        assert opened.read(64) == b"0123456789"
        assert opened.tell(())
