"""Every message that the patterns must know, in every spelling, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.rules.matcher import LINE_LIMIT, Matcher, whereabouts
from neuron_observer.rules.patterns import load

PATTERNS = load()
MATCHER = Matcher(PATTERNS)


class Line(NamedTuple):
    """A line and what stands in it."""

    row: str
    device: int | None
    core: int | None
    text: bytes


def _lines() -> list[Line]:
    found = []
    for raw in (Path(__file__).parent / "lines.tsv").read_text().splitlines():
        if raw.startswith("#"):
            continue
        row, device, core, text = raw.split("\t", 3)
        found.append(Line(row, _number(device), _number(core), text.encode()))
    return found


def _number(word: str) -> int | None:
    return None if word == "-" else int(word)


LINES = _lines()


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.row}:{line.text[:40].decode()}")
def test_every_message_is_known(line: Line) -> None:
    """A message is found by its own row first, with device and core."""
    matches = MATCHER.match(line.text)
    assert [match.pattern.id for match in matches][:1] == [line.row]
    assert tuple(matches[0].details().place) == (line.device, line.core)


def test_no_row_is_without_a_line() -> None:
    """Each row that has expressions is tried by a line; codes are all of one form."""
    tried = {line.row for line in LINES}
    rows = {row.id for row in PATTERNS if row.match and not row.id.startswith("status-")}
    assert rows - tried == set()


@pytest.mark.parametrize(
    ("spelled", "device", "core"),
    [
        ("nd3", 3, None),
        ("nd03", 3, None),
        ("nd 3", 3, None),
        ("nd[3]", 3, None),
        ("[ND 3]", 3, None),
        ("nd3nc1", 3, 1),
        ("nd 3 nc 1", 3, 1),
        ("nd3:nc1", 3, 1),
        ("nd3 nc1", 3, 1),
        ("[ND 3][NC 1]", 3, 1),
        ("[MLA 3][NC 1]", 3, 1),
        ("neuron_device 3", 3, None),
        ("Neuron Device 3 NC 1", 3, 1),
        ("Neuron device: 3", 3, None),
        ("/dev/neuron3", 3, None),
        ("NC:1", None, 1),
        ("ND 15", 15, None),
    ],
)
def test_spellings_of_a_device(spelled: str, device: int | None, core: int | None) -> None:
    """A device and a core are read in each spelling of driver and runtime."""
    line = f"something failed on {spelled}, and so on".encode()
    assert tuple(whereabouts(line, 0, len(line))) == (device, core)


@pytest.mark.parametrize("word", ["nds allocation", "0x3nd3", "command3", "10.0.0.1", "nd 12345"])
def test_what_is_no_device(word: str) -> None:
    """Words and numbers that look a little like a device are none."""
    line = f"something failed: {word}".encode()
    assert whereabouts(line, 0, len(line)).device is None


def test_fields_of_a_hardware_error_are_kept() -> None:
    """All fields of NEURON_HW_ERR are kept, whatever they are called."""
    line = b"NEURON_HW_ERR=NEW_KIND nd-id=4 nc-id=5 serial-num=00ab colour=blue action=REBOOT"
    (match,) = MATCHER.match(line)
    details = match.details()
    assert details.code == "NEW_KIND"
    assert details.fields["colour"] == "blue"
    assert details.fields["action"] == "REBOOT"
    assert details.fields["serial-num"] == "00ab"


@settings(deadline=None, max_examples=60)
@given(
    kind=st.from_regex(r"[A-Z][A-Z_]{2,40}", fullmatch=True),
    before=st.sampled_from(["", " ", "kernel: ", "[ 12.5] ", "<3>", "x"]),
    keys=st.sampled_from(
        [("nd-id", "nc-id"), ("nd_id", "nc_id"), ("device", "core"), ("nd", "nc")]
    ),
    device=st.integers(0, 63),
    core=st.integers(0, 7),
)
def test_any_kind_of_hardware_error(
    kind: str, before: str, keys: tuple[str, str], device: int, core: int
) -> None:
    """NEURON_HW_ERR is found with any kind, any field names, and with or without a blank."""
    text = f"{before}NEURON_HW_ERR={kind} {keys[0]}={device} {keys[1]}={core} action=X"
    (match,) = MATCHER.match(text.encode())
    assert match.pattern.verdict == "hw_fault"
    assert match.details().code == kind
    assert tuple(match.details().place) == (device, core)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([line.text for line in LINES] + [b"step 1", b""]), max_size=12))
def test_a_block_gives_what_its_lines_give(lines: list[bytes]) -> None:
    """Searching a block finds what searching each of its lines finds, in order."""
    block = b"\n".join(lines)
    found = [match.pattern.id for hit in MATCHER.scan(block) for match in hit.matches]
    assert found == [match.pattern.id for line in lines for match in MATCHER.match(line)]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 200), st.sampled_from([line for line in LINES if b"\\x" not in line.text]))
def test_two_pieces_of_a_long_line(cut: int, line: Line) -> None:
    """A message is found once, wherever a long line is cut into two overlapping pieces."""
    block = b"x" * 3000 + b" " + line.text + b" " + b"y" * 3000
    until = 3001 + min(cut, len(line.text))
    overlap = block[until - 2048 :]
    first = list(MATCHER.scan(block[: until + 2048], 0, until))
    second = list(MATCHER.scan(overlap, 2048))
    rows = [match.pattern.id for hit in (*first, *second) for match in hit.matches]
    assert rows.count(line.row) == 1


def test_a_line_is_looked_at_around_its_message_only() -> None:
    """A line of megabytes costs no more than the part around the message."""
    block = b"a" * 5_000_000 + b" RX, connection closed by remote peer " + b"b" * 5_000_000
    (hit,) = MATCHER.scan(block)
    assert [match.pattern.id for match in hit.matches] == ["cc-peer-gone"]
    assert len(hit.text) <= 2 * LINE_LIMIT


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=200))
def test_a_random_line_is_nothing(text: str) -> None:
    """A random line gets no verdict."""
    assert MATCHER.match(text.encode("utf-8", "surrogatepass")) == ()


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=400))
def test_random_bytes_are_nothing(data: bytes) -> None:
    """Random bytes get no verdict and raise nothing."""
    assert [hit.matches for hit in MATCHER.scan(data) if hit.matches] == []


@pytest.mark.parametrize(
    "line",
    [
        b"[12.5] neuron:nr_frobnicate: nd3: quite new",
        b"2025-Jan-03 21:00:33.247541 13423:13423 ERROR   NRT:nrt_new     quite new",
        b"NEURON_HW_ERR: written otherwise",
    ],
)
def test_unknown_lines_of_the_driver_are_novel(line: bytes) -> None:
    """A line of the driver or the runtime that no row knows is reported as such."""
    (hit,) = MATCHER.scan(line)
    assert hit.novel
    assert hit.matches == ()


def test_messages_that_are_mixed_in_one_line() -> None:
    """Two messages of two processes within one line are both found."""
    line = b"Too many open filesRX, connection closed by remote peer"
    assert [match.pattern.id for match in MATCHER.match(line)] == ["cc-open-files", "cc-peer-gone"]


def test_a_spot_is_what_the_details_say() -> None:
    """The quick answer is the whole one's, for every line; else there is none."""
    told = 0
    for line in (Path(__file__).parent / "lines.tsv").read_text().splitlines():
        for match in MATCHER.match(line.encode()):
            spot, details = match.spot(), match.details()
            assert spot is None or spot == (details.place, details.code), line
            assert spot is not None or {"fields", "hostname"} & match.found.re.groupindex.keys()
            told += spot is not None
    assert told > 200


def test_a_quick_look_misses_no_line() -> None:
    """What holds a message passes the quick look, and an ordinary line does not."""
    for line in (Path(__file__).parent / "lines.tsv").read_text().splitlines():
        assert not MATCHER.match(line.encode()) or MATCHER.holds(line.encode()), line
    assert not MATCHER.holds(b"usb 1-1: new high-speed device")
