"""Files of a process: round trips, hostile content, and that nothing ever raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.parsers.process import (
    MAX_ARGUMENTS,
    MAX_COMMAND,
    MAX_VALUE,
    Status,
    Waiting,
    arguments,
    command_text,
    environ,
    masked,
    page_size,
    schedstat,
    stat,
    status,
    uptime,
    users,
)

naturals = st.integers(0, 10**9)
# names of processes as the kernel prints them: any bytes, brackets and blanks among them
names = st.binary(max_size=15).map(lambda raw: raw.replace(b"\0", b"").replace(b"\n", b""))
variables = st.dictionaries(
    st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True),
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=40),
    min_size=1,
    max_size=8,
)


def stat_line(name: bytes, state: str = "S", **fields: int) -> bytes:
    """A line of 52 fields as the kernel prints it."""
    rest = [b"0"] * 49
    order = {"parent": 0, "user": 10, "system": 11, "threads": 16, "start": 18, "pages": 20}
    for key, value in fields.items():
        rest[order[key]] = str(value).encode()
    return b"4242 (" + name + b") " + state.encode() + b" " + b" ".join(rest) + b"\n"


@given(names, st.sampled_from("RSDTtZXI"), naturals, naturals, naturals, naturals)
def test_stat_round_trip(
    name: bytes, state: str, parent: int, ticks: int, start: int, pages: int
) -> None:
    """Whatever the name holds, the fields after it are found."""
    line = stat_line(name, state, parent=parent, user=ticks, system=1, start=start, pages=pages)
    found = stat(line)
    assert found is not None
    assert (found.state, found.parent, found.pages) == (state, parent, pages)
    assert found.cpu == pytest.approx((ticks + 1) / 100)
    assert found.start == start / 100
    assert found.name.isprintable()


@given(st.binary(max_size=300))
@settings(max_examples=60)
def test_any_bytes_are_read(raw: bytes) -> None:
    """No parser raises, and all text that comes out may be printed."""
    found = stat(raw)
    assert found is None or found.name.isprintable()
    assert all(pid >= 0 for pid in status(raw).pids)
    assert all(word.isprintable() for word in arguments(raw))
    assert min(schedstat(raw) or (0.0,)) >= 0
    assert all(name.isprintable() for name in users(raw).values())
    moment = uptime(raw)
    assert moment is None or moment >= 0
    kept = environ(raw, {"RANK", "A"})
    assert kept is None or kept.keys() <= {"RANK", "A"}


@pytest.mark.parametrize(
    "raw",
    [b"", b"4242 (python3) S 1", b"4242 python3 S 1 2 3", stat_line(b"x", "?"), b"1 (a) S -1 x"],
)
def test_half_a_stat_line_is_none(raw: bytes) -> None:
    """A process that vanishes in mid-read leaves nothing that looks like a process."""
    assert stat(raw) is None


def test_status_of_a_container() -> None:
    """NSpid lists the pid in every namespace, the reader's first."""
    raw = b"Name:\tpython3\nUid:\t1000\t1001\t1000\t1000\nVmRSS:\t  2048 kB\nNSpid:\t8011\t17\n"
    assert status(raw) == Status(uid=1000, rss=2048 * 1024, pids=(8011, 17))


def test_status_without_its_lines() -> None:
    """Kernel threads have no VmRSS and old kernels no NSpid: unknown, not zero."""
    assert status(b"Name:\tkthreadd\nUid:\tx\n") == Status(None, None, ())


@given(st.sampled_from([4096, 16384, 65536]), st.integers(100, 10**7), st.integers(-20, 20))
def test_page_size_is_found(size: int, pages: int, drift: int) -> None:
    """Two counts of nearly the same instant tell the page size."""
    assert page_size(size * pages + 1024 * drift, pages) == size


def test_page_size_of_nothing() -> None:
    """A process without memory is counted in the usual pages."""
    assert page_size(None, 0) == 4096


def test_schedstat_counts_nanoseconds() -> None:
    """Running, waiting, slices."""
    assert schedstat(b"1500000000 250000000 12\n") == Waiting(1.5, 0.25)


def test_schedstat_that_is_not_kept_is_unknown() -> None:
    """Three zeros are a kernel that does not count, not a process that never waited."""
    assert schedstat(b"0 0 0\n") is None


def test_a_hostile_command_line_is_bounded() -> None:
    """A megabyte of control characters becomes a short line that may be printed."""
    words = arguments(b"python3\0" + b"\x1b[2J\n\r\t" * 200_000 + b"\0" + b"a\0" * 10_000)
    assert len(words) <= MAX_ARGUMENTS
    text = command_text(words)
    assert len(text) <= MAX_COMMAND
    assert text.isprintable()


def test_a_title_is_one_argument() -> None:
    """What setproctitle wrote: one word and the rest of the area as zeros."""
    assert arguments(b"VLLM::Worker_TP0\0\0\0\0") == ("VLLM::Worker_TP0",)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["run", "--hf-token", "abc"], "run --hf-token ***"),
        (["run", "--api_key=abc", "x"], "run --api_key=*** x"),
        (["run", "DB_PASSWORD=abc"], "run DB_PASSWORD=***"),
        (["get", "https://me:pw@host/x"], "get https://***@host/x"),
        (["run", "--name", "hf_abcdefghijkl"], "run --name ***"),
        (["run", "--tokenizer", "gpt2", "--lr=1"], "run --tokenizer gpt2 --lr=1"),
        (["run", "--hf-token", "--lr", "1"], "run --hf-token --lr 1"),
        (["run", "--max-tokens", "512"], "run --max-tokens 512"),
        (["get", "-H", "Authorization: Bearer abc"], "get -H Authorization: Bearer ***"),
    ],
)
def test_secrets_are_masked(words: list[str], shown: str) -> None:
    """Tokens, passwords and keys of a command line are not shown."""
    assert command_text(masked(words)) == shown


@given(variables, st.sets(st.sampled_from(["RANK", "HOME", "A", "B"])))
def test_only_wanted_variables_are_kept(found: dict[str, str], wanted: set[str]) -> None:
    """What is wanted comes back as it was; nothing else does."""
    raw = b"".join(f"{name}={value}\0".encode() for name, value in found.items())
    kept = environ(raw, wanted)
    assert kept == {name: value for name, value in found.items() if name in wanted}


def test_a_value_is_bounded_and_plain() -> None:
    """Control characters and length of a value cannot harm a screen."""
    kept = environ(b"RANK=\x1b[31m" + b"9" * 5000 + b"\0", {"RANK"})
    assert kept is not None
    assert len(kept["RANK"]) == MAX_VALUE
    assert kept["RANK"].isprintable()


@pytest.mark.parametrize("raw", [b"", b"VLLM::EngineCore\0\0\0", b"\0\0"])
def test_an_environment_that_is_none_is_unknown(raw: bytes) -> None:
    """Written over by a title, or gone with an ending process: unknown, not empty."""
    assert environ(raw, {"RANK"}) is None


def test_an_environment_that_was_cut_is_unknown() -> None:
    """A variable may stand behind the cut."""
    assert environ(b"RANK=1\0", {"RANK"}, cut=True) is None


def test_the_first_of_two_values_counts() -> None:
    """getenv(3) finds the first."""
    assert environ(b"RANK=1\0RANK=2\0", {"RANK"}) == {"RANK": "1"}


def test_passwd_lines() -> None:
    """Names by uid; a broken line costs only itself."""
    raw = b"root:x:0:0:r:/root:/bin/sh\nbroken\nana:x:1001:1:,:/h:/bin/sh\ntoor:x:0:0::/:/b\n"
    assert users(raw) == {0: "root", 1001: "ana"}


@pytest.mark.parametrize("raw", [b"", b"x y", b"-3 1", b"nan 1", b"1e400 1"])
def test_no_uptime(raw: bytes) -> None:
    """What is no time since boot is none."""
    assert uptime(raw) is None
