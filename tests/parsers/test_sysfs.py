"""Small files by the forms that the driver and the kernel document, and whatever else comes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neuron_observer.model import Missing, Why
from neuron_observer.parsers import sysfs

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Cell

Parser = "Callable[[bytes], Cell]"

# Bytes that come near a number: signs, blanks, separators, digits of other scripts.
NEAR_NUMBERS = st.text(alphabet="0123456789+-_., eExX\n\r\t\0\x1c\u0663\u096b\uff15\u00b2").map(
    str.encode
)
ANYTHING = st.one_of(st.binary(max_size=80), NEAR_NUMBERS)
PLAIN_NUMBER = re.compile(rb"-?[0-9]+\n?")
DECIMAL = re.compile(
    rb"\s*-?[0-9]+(?:\.[0-9]+)?(?: GT/s(?: PCIe)?| Gb/sec(?: \([0-9A-Z. ]+\))?)?\s*"
)
NUMERIC = ("count", "number", "heartbeat", "firmware", "class_number")

# The list of bad input: none of it is a number.
BAD_NUMBERS = {
    "empty": b"",
    "blank line": b"\n",
    "NUL": b"\0",
    "number and NUL": b"7\0",
    "garbage": bytes(range(128, 256)) * 32,
    "not UTF-8": b"\xff\xfe7\n",
    "unit": b"7 MiB\n",
    "unit without a blank": b"7k\n",
    "percent": b"7%\n",
    "hexadecimal": b"0x7\n",
    "0xdeadbeef": b"0xdeadbeef\n",
    "busy": b"busy\n",
    "init_error": b"init_error\n",
    "device_unreachable": b"device_unreachable\n",
    "plus": b"+7\n",
    "underscore": b"7_000\n",
    "comma": b"7,000\n",
    "fraction": b"7.0\n",
    "exponent": b"7e3\n",
    "blank before": b" 7\n",
    "blank behind": b"7 \n",
    "carriage return": b"7\r\n",
    "two lines": b"7\n8\n",
    "two newlines": b"7\n\n",
    "other script": "\u0667\n".encode(),
    "superscript": "\u00b2\n".encode(),
    "full width": "\uff17\n".encode(),
    "2**64": b"18446744073709551616\n",
    "a page of digits": b"9" * 4096,
}


def reason(cell: Cell) -> Why | None:
    """Why a cell is missing, None where it is a value."""
    return cell.why if isinstance(cell, Missing) else None


@pytest.mark.parametrize("name", sorted(sysfs.SCALARS))
@settings(max_examples=40)
@given(raw=ANYTHING)
@example(raw=b"")
@example(raw=b"\0" * 4096)
@example(raw=b"9" * 5000)
@example(raw=b"-")
def test_any_bytes_give_a_value_or_a_reason(name: str, raw: bytes) -> None:
    """No parser raises; a missing value always says why."""
    cell = sysfs.SCALARS[name](raw)
    assert isinstance(cell, int | float | str | Missing)
    if isinstance(cell, Missing):
        assert cell.why in {Why.FAILED, Why.NOT_YET}
        assert cell.detail


@pytest.mark.parametrize("name", NUMERIC)
@given(raw=ANYTHING)
def test_only_a_plain_number_is_a_number(name: str, raw: bytes) -> None:
    """Whatever gives a number is its decimal digits, a minus sign and one newline at most."""
    cell = sysfs.SCALARS[name](raw)
    if not isinstance(cell, Missing):
        text = raw.strip() if name == "class_number" else raw
        assert PLAIN_NUMBER.fullmatch(text)
        assert cell == int(text)


@given(raw=ANYTHING)
def test_only_a_decimal_is_a_decimal(raw: bytes) -> None:
    """A decimal is ASCII digits with a fraction or a documented unit at most."""
    cell = sysfs.decimal(raw)
    if not isinstance(cell, Missing):
        assert DECIMAL.fullmatch(raw)


@pytest.mark.parametrize("raw", BAD_NUMBERS.values(), ids=BAD_NUMBERS.keys())
@pytest.mark.parametrize("parse", [sysfs.count, sysfs.number, sysfs.heartbeat, sysfs.firmware])
def test_bad_input_is_no_number(parse: Callable[[bytes], Cell], raw: bytes) -> None:
    """Each bad input of a number file gives a failed reading."""
    assert reason(parse(raw)) is Why.FAILED


@pytest.mark.parametrize("raw", [*BAD_NUMBERS.values(), b"-7\n"])
def test_a_wrong_count_is_not_negative(raw: bytes) -> None:
    """A count has no sign."""
    assert reason(sysfs.count(raw)) is Why.FAILED


@given(st.integers(0, 2**64 - 1), st.sampled_from(["", "\n"]))
@example(0, "")
@example(2**63, "\n")
@example(2**64 - 1, "\n")
def test_a_printed_count_reads_back(value: int, end: str) -> None:
    """`%llu` with and without a newline (core_count has none), exactly up to 64 bits."""
    cell = sysfs.count(f"{value}{end}".encode())
    assert type(cell) is int
    assert cell == value


@given(st.integers(2**64, 10**40))
def test_more_than_64_bits_is_no_count(value: int) -> None:
    """No count is cut to fit."""
    assert sysfs.count(f"{value}\n".encode()) == sysfs.TOO_LARGE


@given(st.integers(-(2**63), 2**63 - 1))
@example(-1)
@example(-(2**63))
def test_a_printed_signed_number_reads_back(value: int) -> None:
    """`%d` reads back with its sign."""
    assert sysfs.number(f"{value}\n".encode()) == value


@pytest.mark.parametrize(
    "raw",
    [b"-", b"--5\n", b"- 5\n", b"-+5\n", b"-9223372036854775809\n", b"9223372036854775808\n"],
)
def test_a_sign_needs_a_number_of_64_bits(raw: bytes) -> None:
    """A lone or double sign is no number, nor is one beyond 64 bits."""
    assert reason(sysfs.number(raw)) is Why.FAILED


def test_the_register_pattern_is_named() -> None:
    """0xdeadbeef says that the firmware does not answer, not just that it is no number."""
    assert sysfs.count(b"0xdeadbeef\n") == sysfs.NOT_ANSWERING


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"12, 3, 4, 1\n", "12, 3, 4, 1"), (b"\n", ""), (b"1,3,4", "1,3,4"), ("é\n".encode(), "é")],
)
def test_a_line_is_its_text(raw: bytes, text: str) -> None:
    """One line without its newline; an empty line is a value."""
    assert sysfs.line(raw) == text


@pytest.mark.parametrize(
    "raw", [b"", b"\0", b"a\0\n", b"a\nb\n", b"\xff\n", b"a\x1b[31m\n", b"a" * 513]
)
def test_what_is_no_line(raw: bytes) -> None:
    """Nothing at all, control bytes, two lines, other encodings and long texts are no line."""
    assert reason(sysfs.line(raw)) is Why.FAILED


@pytest.mark.parametrize(("raw", "text"), [(b"Trainium2\n", "Trainium2"), (b" NDv3 \n", "NDv3")])
def test_a_word_is_stripped(raw: bytes, text: str) -> None:
    """A word has no blanks around it."""
    assert sysfs.word(raw) == text


@pytest.mark.parametrize("raw", [b"", b"\n", b"  \n"])
def test_an_empty_word_is_missing(raw: bytes) -> None:
    """A chip without a name is unknown, not the chip ''."""
    assert sysfs.word(raw) == sysfs.EMPTY


@given(st.integers(1, 2**64 - 2))
@example(0x1AF488531D73E1A4)
def test_a_serial_number_is_its_16_digits(value: int) -> None:
    """`%016llx`, zeros in front included; half of it 0xdeadbeef is no serial number."""
    text = f"{value:016x}"
    cell = sysfs.serial(f"{text}\n".encode())
    unreadable = "deadbeef" in (text[:8], text[8:])
    assert cell == (sysfs.NOT_ANSWERING if unreadable else text)


@pytest.mark.parametrize(
    "raw",
    [
        b"\n",
        b"",
        b"0000000000000000\n",
        b"0\n",
        b"1af488531d73e1a\n",
        b"1af488531d73e1a4f\n",
        b"1AF488531D73E1A4\n",
        b"not a serial num\n",
        b"deadbeefdeadbeef\n",
        b"1af488531d73e1a4\x00\n",
    ],
)
def test_an_unreadable_serial_number_is_missing(raw: bytes) -> None:
    """Empty, zero, too short, too long, no hex digits: never a serial number."""
    assert reason(sysfs.serial(raw)) is Why.FAILED


def test_all_ones_is_a_device_off_the_bus() -> None:
    """PCIe reads of a device that is gone return ones: that has a name of its own."""
    assert sysfs.serial(b"ffffffffffffffff\n") == sysfs.FELL_OFF
    assert sysfs.firmware(b"4294967295\n") == sysfs.FELL_OFF


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (b"\n", ""),
        (b"hbm\n", "hbm"),
        (b"link_efa,sram\n", "link_efa,sram"),
        (b"bit_17\n", "bit_17"),
    ],
)
def test_components(raw: bytes, names: str) -> None:
    """Names joined by commas without blanks; an empty line when none is unhealthy."""
    assert sysfs.components(raw) == names


@pytest.mark.parametrize("raw", [b"", b"hbm, sram\n", b",hbm\n", b"hbm,\n", b"HBM!\n", b"\0"])
def test_no_components(raw: bytes) -> None:
    """An empty file (an unknown metric prints nothing) is not the empty line of a healthy one."""
    assert reason(sysfs.components(raw)) is Why.FAILED


@pytest.mark.parametrize("parse", [sysfs.components, sysfs.heartbeat])
def test_an_unreachable_device_has_no_health(parse: Callable[[bytes], Cell]) -> None:
    """`device_unreachable` is no component and no beat."""
    cell = parse(b"device_unreachable\n")
    assert isinstance(cell, Missing)
    assert cell.why is Why.FAILED
    assert "device_unreachable" in cell.detail


@pytest.mark.parametrize("value", [0, 1, 254, 255])
def test_a_heartbeat_is_a_byte(value: int) -> None:
    """0 to 255 are beats."""
    assert sysfs.heartbeat(f"{value}\n".encode()) == value


@pytest.mark.parametrize("value", [0, 6, 20260611, 2**32 - 2])
def test_a_firmware_number(value: int) -> None:
    """`%u` of 32 bits."""
    assert sysfs.firmware(f"{value}\n".encode()) == value


@pytest.mark.parametrize("raw", [b"busy\n", b"3735928559\n", b"4294967296\n", b"-1\n"])
def test_no_firmware_number(raw: bytes) -> None:
    """`busy` and 0xdeadbeef are a register that cannot be read; 33 bits do not fit in it."""
    assert reason(sysfs.firmware(raw)) is Why.FAILED


@pytest.mark.parametrize("parse", [sysfs.class_number, sysfs.class_hex, sysfs.class_line])
def test_class_attributes_that_are_not_there_yet(parse: Callable[[bytes], Cell]) -> None:
    """`busy` will end, `init_error` will not, and 0 bytes mean that no device was probed."""
    assert reason(parse(b"busy\n")) is Why.NOT_YET
    assert reason(parse(b"")) is Why.NOT_YET
    failed = parse(b"init_error\n")
    assert isinstance(failed, Missing)
    assert failed.why is Why.FAILED
    assert "init_error" in failed.detail


@pytest.mark.parametrize(
    ("parse", "raw", "value"),
    [
        (sysfs.class_number, b"-1\n", -1),
        (sysfs.class_number, b"0\n", 0),
        (sysfs.class_hex, b"0000000000000001\n", "0000000000000001"),
        (sysfs.class_hex, b"0000000000000000\n", "0000000000000000"),
        (sysfs.class_line, b"1,3,4\n", "1,3,4"),
        (sysfs.class_line, b"\n", ""),
    ],
)
def test_class_attributes(parse: Callable[[bytes], Cell], raw: bytes, value: int | str) -> None:
    """-1 is 'no member' and zeros are 'none': values, for the rules to judge."""
    assert parse(raw) == value


@pytest.mark.parametrize("raw", [b"1\n", b"000000000000000g\n", b"00000000000000001\n", b"\xff"])
def test_no_reservation(raw: bytes) -> None:
    """An id has 16 hex digits."""
    assert reason(sysfs.class_hex(raw)) is Why.FAILED


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"16.0 GT/s PCIe\n", 16.0),
        (b"8 GT/s\n", 8),
        (b"2.5 GT/s PCIe\n", 2.5),
        (b"100 Gb/sec (4X EDR)\n", 100),
        (b"12\n", 12),
        (b"-3.5\n", -3.5),
    ],
)
def test_decimals(raw: bytes, value: float) -> None:
    """A decimal, or a speed with the unit that the kernel prints."""
    assert sysfs.decimal(raw) == value


@pytest.mark.parametrize(
    "raw",
    [
        b"Unknown\n",
        b"Unknown speed\n",
        b"16.0 MT/s\n",
        b"1e3\n",
        b"nan\n",
        b"inf\n",
        b"-\n",
        b".",
        b"1.2.3\n",
        b"0x10\n",
        "٣\n".encode(),
        "1٣.0 GT/s\n".encode(),
        b"5 GT/s x\n",
    ],
)
def test_no_decimals(raw: bytes) -> None:
    """`Unknown`, other units, exponents and digits of other scripts are no decimal."""
    assert reason(sysfs.decimal(raw)) is Why.FAILED


@pytest.mark.parametrize(
    ("raw", "celsius"),
    [(b"45000\n", 45.0), (b"-5000\n", -5.0), (b"0\n", 0.0), (b"45125\n", 45.125)],
)
def test_millidegrees(raw: bytes, celsius: float) -> None:
    """The kernel prints thousandths of a degree."""
    assert sysfs.millidegrees(raw) == celsius


@pytest.mark.parametrize("raw", [b"250001\n", b"-100001\n", b"45 C\n", b"4294967295\n", b""])
def test_no_millidegrees(raw: bytes) -> None:
    """What no chip can be is no temperature."""
    assert reason(sysfs.millidegrees(raw)) is Why.FAILED


@pytest.mark.parametrize(
    ("raw", "celsius"), [(b"45\n", 45.0), (b"45000\n", 45.0), (b"45.5\n", 45.5), (b"1000\n", 1.0)]
)
def test_temperatures_of_unknown_form(raw: bytes, celsius: float) -> None:
    """1 to 250 can only be degrees, 1,000 and more only thousandths."""
    assert sysfs.temperature(raw) == celsius


@pytest.mark.parametrize("raw", [b"0\n", b"500\n", b"250001\n", b"-40\n", b"45 C\n", b"0.5\n", b""])
def test_temperatures_that_nobody_can_tell(raw: bytes) -> None:
    """Between the two units, and 0, nothing is said: never 0 °C."""
    assert reason(sysfs.temperature(raw)) is Why.FAILED


@pytest.mark.parametrize(
    ("raw", "state"),
    [(b"4: ACTIVE\n", "ACTIVE"), (b"1: DOWN\n", "DOWN"), (b"5: LinkUp\n", "LinkUp")],
)
def test_port_states(raw: bytes, state: str) -> None:
    """The name behind the kernel's number."""
    assert sysfs.port_state(raw) == state


@pytest.mark.parametrize("raw", [b"ACTIVE\n", b"4:\n", b": ACTIVE\n", b"x: ACTIVE\n", b"4\n", b""])
def test_no_port_states(raw: bytes) -> None:
    """A number, a colon and a name, all three."""
    assert reason(sysfs.port_state(raw)) is Why.FAILED
