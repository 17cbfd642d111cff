"""Kernel log lines in every form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.kmsg import (
    KernelRecord,
    join_pieces,
    parse,
    parse_journal,
    parse_kmsg,
    parse_text,
    unescape,
    whole_records,
)

FAULT = (
    "NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0123456789abcdef0 hostname=ip-10-0-0-1 "
    "nd-id=0 nc-id=0 serial-num=0123456789abcdef action=TERMINATE_INSTANCE"
)


def escaped(text: str) -> bytes:
    r"""As the kernel writes a message: `\xNN` for controls, bytes above 126 and the backslash."""
    return b"".join(
        b"\\x%02x" % byte if byte < 32 or byte >= 127 or byte == 92 else bytes((byte,))
        for byte in text.encode()
    )


messages = st.text(st.characters(codec="utf-8")).map(lambda text: text.rstrip("\r\n"))


@given(
    message=messages,
    level=st.integers(0, 7),
    facility=st.integers(0, 255),
    sequence=st.integers(0, 2**63),
    microseconds=st.integers(0, 2**50),
    continues=st.booleans(),
    device=messages,
)
def test_what_the_kernel_writes_is_what_we_read(
    message: str,
    level: int,
    facility: int,
    sequence: int,
    microseconds: int,
    continues: bool,
    device: str,
) -> None:
    """A record of /dev/kmsg gives back message, level, facility, sequence, time and fields."""
    head = f"{facility << 3 | level},{sequence},{microseconds},{'c' if continues else '-'};"
    data = head.encode() + escaped(message) + b"\n DEVICE=" + escaped(device) + b"\n"
    record = parse(data)
    assert record == KernelRecord(
        message,
        level=level,
        facility=facility,
        sequence=sequence,
        monotonic=microseconds / 1e6,
        continues=continues,
        fields=(("DEVICE", device),),
    )


@given(st.binary())
def test_no_bytes_make_the_parser_raise(data: bytes) -> None:
    """Whatever stands in a log, the answer is a record whose text can be printed."""
    message = parse(data).message
    assert message.encode().decode() == message
    records = list(whole_records(data.split(b"\n")))
    assert len(records) <= data.count(b"\n") + 1


@given(st.text(st.characters()))
def test_no_text_makes_the_parser_raise(line: str) -> None:
    """Text with lone surrogates is read too."""
    message = parse(line, year=2026).message
    assert message.encode().decode() == message


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_no_journal_entry_makes_the_parser_raise(value: object) -> None:
    """Fields of a journal entry may hold anything JSON can."""
    entry = {"MESSAGE": value, "PRIORITY": value, "__REALTIME_TIMESTAMP": value, "_PID": value}
    record = parse_journal(json.dumps(entry))
    assert record is not None
    record.message.encode()


def test_a_record_tells_kernel_from_user_space() -> None:
    """Facility 0 is the kernel's own print call; a line written to /dev/kmsg has another."""
    kernel = parse(f"3,339,5140900123,-;{FAULT}")
    user = parse(f"12,340,5140900999,-;kernel: {FAULT}")
    assert kernel.from_kernel is True
    assert kernel.message == FAULT
    assert user.from_kernel is False
    assert (user.level, user.facility) == (4, 1)
    assert user.message == f"kernel: {FAULT}"


def test_dictionary_lines_and_caller_become_fields() -> None:
    """`SUBSYSTEM` and `DEVICE` follow on lines of their own, the caller after the flags."""
    record = parse(
        b"6,206,204315,-,caller=T1;pci 0000:00:03.0: BAR 0\n SUBSYSTEM=pci\n DEVICE=+pci:0"
    )
    assert record.message == "pci 0000:00:03.0: BAR 0"
    assert record.fields == (("caller", "T1"), ("SUBSYSTEM", "pci"), ("DEVICE", "+pci:0"))


def test_stray_level_byte_and_trailing_newline_of_the_driver() -> None:
    r"""`\x013` stands in the middle of one message, `\x0a` at the end of another (2.26.5)."""
    stray = parse(rb"3,7,1,-;neuron:fw_io_execute_request: \x013seq: 5, cmd: 1 failed 2")
    ended = parse(rb"6,8,2,-;neuron:nr_reset_thread_fn: nd3: reset request 4711 failed\x0a")
    assert stray.message == "neuron:fw_io_execute_request: \x013seq: 5, cmd: 1 failed 2"
    assert ended.message.endswith("nd3: reset request 4711 failed")


def test_bytes_that_are_no_utf8_stay_visible() -> None:
    """Nothing is lost, and the text can be printed."""
    assert parse(b"6,1,2,-;name \xff\\xfe end").message == "name \\xff\\xfe end"
    assert unescape(b"a\\x5cx41") == b"a\\x41"


PREFIXES = [
    "",
    "[  298.502143] ",
    "[298850.502143] ",
    "[  298.502143] [ T1234] ",
    "[  298.502143][    C0] ",
    "[  298.502143 <    0.000123>] ",
    "[Thu Nov 23 22:35:01 2026] ",
    "[Do 23. Nov 22:35:01 2026] ",
    "[jeu. nov. 23 22:35:01 2026] ",
    "[四 11月 23 22:35:01 2026] ",
    "[Nov23 22:35] ",
    "[  +0.000012] ",
    "2026-11-23T22:35:01,123456+00:00 ",
    "<3>[  298.502143] ",
    "<3>",
    "kern  :err   : [  298.502143] ",
    "kern  :err   : [Thu Nov 23 22:35:01 2026] ",
    "kernel: ",
    "kernel: [726415.485022] ",
    "Nov 23 22:35:01 ip-10-0-0-1 kernel: ",
    "Nov  3 22:35:01 ip-10-0-0-1 kernel: [  298.502143] ",
    "Nov 23 22:35:01.123456 ip-10-0-0-1 kernel: ",
    "2026-11-23T22:35:01.123456+00:00 ip-10-0-0-1 kernel: [  298.502143] ",
    "2026-11-23T22:35:01+0000 ip-10-0-0-1 kernel: ",
    "Mon 2026-11-23 22:35:01 UTC ip-10-0-0-1 kernel: ",
    "[  298.502143] ip-10-0-0-1 kernel: ",
    "6,339,5140900,-;",
]
BARE = [
    FAULT,
    "neuron:nr_reset_thread_fn: nd3: reset request 4711 failed",
    "neuron-driver 0000:10:1b.0: Failed to init neuron_dhal",
    "[ND 3] Total Uncorrected ecc err count is 2, but repair state is 3 which is invalid.",
    "Elastic Fabric Adapter (EFA) v2.6.0g",
    "nd0nc1: pid:7 - reader starved. writer:9",
    "EXT4-fs (vda): mounted filesystem",
]


@pytest.mark.parametrize("message", BARE)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_prefix_leaves_the_message(prefix: str, message: str) -> None:
    """What tools put before a message is taken off, and not one word more."""
    assert parse(prefix + message, year=2026).message == message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[  298.502143] x", KernelRecord("x", monotonic=298.502143)),
        ("<4>[  298.5] x", KernelRecord("x", level=4, facility=0, monotonic=298.5)),
        ("user  :warn  : [  298.5] x", KernelRecord("x", level=4, facility=1, monotonic=298.5)),
        ("[Thu Nov 23 22:35:01 2026] x", KernelRecord("x", wall=1795473301.0)),
        ("[四 11月 23 22:35:01 2026] x", KernelRecord("x")),
        (
            "2026-11-23T22:35:01.5+01:00 h kernel: [  298.5] x",
            KernelRecord(
                "x", monotonic=298.5, wall=1795469701.5, zoned=True, host="h", identifier="kernel"
            ),
        ),
        (
            "Nov 23 22:35:01 h python3[77]: [  298.5] x",
            KernelRecord("[  298.5] x", wall=1795473301.0, host="h", identifier="python3", pid=77),
        ),
    ],
)
def test_prefixes_give_their_values(line: str, expected: KernelRecord) -> None:
    """Times, level, host and program are read from what stands before the message."""
    assert parse(line, year=2026) == expected


def test_a_stamp_without_year_gives_no_time() -> None:
    """The year is never guessed."""
    assert parse_text("Nov 23 22:35:01 h kernel: x").wall is None


def test_journal_entries_as_text_bytes_and_lists() -> None:
    """MESSAGE may be an array of byte values or be given twice; times are in microseconds."""
    entry = {
        "MESSAGE": list(b"neuron: \xff"),
        "PRIORITY": "3",
        "SYSLOG_IDENTIFIER": ["kernel", "other"],
        "_TRANSPORT": "kernel",
        "_SOURCE_MONOTONIC_TIMESTAMP": "298502143",
        "__MONOTONIC_TIMESTAMP": "298502999",
        "__REALTIME_TIMESTAMP": "1795473301000000",
        "_BOOT_ID": "5b1c",
        "_HOSTNAME": "ip-10-0-0-1",
        "_KERNEL_DEVICE": "+pci:0000:10:1b.0",
    }
    assert parse(json.dumps(entry)) == KernelRecord(
        "neuron: \\xff",
        level=3,
        facility=0,
        monotonic=298.502143,
        wall=1795473301.0,
        zoned=True,
        host="ip-10-0-0-1",
        identifier="kernel",
        boot_id="5b1c",
        fields=(("DEVICE", "+pci:0000:10:1b.0"),),
    )


def test_what_is_no_record_is_a_message() -> None:
    """JSON of another kind and half a record are lines like any other."""
    assert parse('{"a": 1}') == KernelRecord('{"a": 1}')
    assert parse(b"6,339") == KernelRecord("6,339")
    assert parse_kmsg(b"6,339,1,-") is None


def test_copied_records_get_their_dictionary_lines_back() -> None:
    """A file made from /dev/kmsg has them on lines of their own; indented text is none."""
    lines = [b"6,1,2,-;a", b" SUBSYSTEM=pci", b" DEVICE=+pci:1", b"6,2,3,-;b", b"plain", b" X=1"]
    assert list(whole_records(lines)) == [
        b"6,1,2,-;a\n SUBSYSTEM=pci\n DEVICE=+pci:1",
        b"6,2,3,-;b",
        b"plain",
        b" X=1",
    ]


def test_pieces_are_joined_to_their_neighbour_only() -> None:
    """The kernel's hint is followed where the sequence numbers agree."""
    first, piece = parse(b"6,1,2,-;reading "), parse(b"6,2,3,c;nd3")
    stranger, late = parse(b"12,3,4,c;written"), parse(b"6,9,5,c;far")
    assert [r.message for r in join_pieces([first, piece, stranger, late])] == [
        "reading nd3",
        "written",
        "far",
    ]
