"""The driver's and the kernel's small files: bytes → cell, or part → cell for tables.

Every function is total: any bytes give a value or a `Missing` that says why. Forms are those of
driver 2.24.7 to 2.30.2 `neuron_sysfs_metrics.c`, `neuron_cdev.c`, `neuron_power.c` (2.29.0),
`vc/neuron_dhal_vc.c` and of the kernel's hwmon, PCI and InfiniBand documentation.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.model import Cell

COUNT_MAX: Final = (1 << 64) - 1
NUMBER_MAX: Final = (1 << 63) - 1
REGISTER_MAX: Final = (1 << 32) - 1
ALL_ONES: Final = "all ones: the device fell off the bus"
DEAD: Final = "0xdeadbeef: in reset, or the firmware does not answer"
UNREACHABLE: Final = "device_unreachable: the firmware's register reads 0xdeadbeef"

EMPTY: Final = Missing(Why.FAILED, "empty")
NOT_A_NUMBER: Final = Missing(Why.FAILED, "no number")
TOO_LARGE: Final = Missing(Why.FAILED, "more than 64 bits")
NOT_TEXT: Final = Missing(Why.FAILED, "no line of printable text")
MALFORMED: Final = Missing(Why.FAILED, "not of the documented form")
FELL_OFF: Final = Missing(Why.FAILED, ALL_ONES)
NOT_ANSWERING: Final = Missing(Why.FAILED, DEAD)

_LAST: Final = itemgetter(-1)
_HEX16: Final = re.compile(r"[0-9a-f]{16}")
_DECIMAL: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?", re.ASCII)
_SPEED: Final = re.compile(
    r"(\d{1,6}(?:\.\d{1,6})?) (?:GT/s(?: PCIe)?|Gb/sec(?: \([0-9A-Z. ]{1,24}\))?)", re.ASCII
)
_LONGEST_LINE: Final = 512


def count(raw: bytes) -> Cell:
    """Unsigned decimal of at most 64 bits, with or without a newline."""
    digits = raw[:-1] if raw[-1:] == b"\n" else raw
    if digits.isdigit() and len(digits) <= 20:
        number = int(digits)
        return number if number <= COUNT_MAX else TOO_LARGE
    if digits.isdigit():
        return TOO_LARGE
    if digits.lower().startswith(b"0xdeadbeef"):
        return NOT_ANSWERING
    return EMPTY if not digits.strip() else NOT_A_NUMBER


def counts(contents: Sequence[Any]) -> list[int] | None:
    """Many counts at once, each digits and a newline; None if one is anything else.

    Three times as fast as one by one; whoever gets None looks at each with `count`.
    """
    try:
        text = b"".join(contents)
        ends = bytes(map(_LAST, contents))
        digits = text.replace(b"\n", b"")
        if not (len(text) - len(digits) == len(contents) == ends.count(b"\n") and digits.isdigit()):
            return None
        numbers = list(map(int, contents))
    except (TypeError, IndexError, ValueError):  # an error for content; nothing; no digit
        return None
    return numbers if max(numbers) <= COUNT_MAX else None


def number(raw: bytes) -> Cell:
    """Signed decimal of at most 64 bits."""
    negative = raw[:1] == b"-"
    cell = count(raw[1:] if negative else raw)
    if not isinstance(cell, int):
        return cell
    if cell > NUMBER_MAX + negative:
        return TOO_LARGE
    return -cell if negative else cell


def line(raw: bytes) -> Cell:
    """One line of printable text; an empty line is the value ''."""
    if not raw:
        return EMPTY
    text = raw[:-1] if raw[-1:] == b"\n" else raw
    if len(text) > _LONGEST_LINE:
        return NOT_TEXT
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        return NOT_TEXT
    return decoded if decoded.isprintable() else NOT_TEXT


def word(raw: bytes) -> Cell:
    """One line of printable text that is not empty."""
    cell = line(raw)
    if not isinstance(cell, str):
        return cell
    return cell.strip() or EMPTY


def serial(raw: bytes) -> Cell:
    """16 hex digits; an empty line, zeros and 0xdeadbeef mean unreadable, all ones off the bus."""
    cell = line(raw)
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    if not text or set(text) == {"0"}:
        return Missing(Why.FAILED, "empty: the register cannot be read")
    if text == "f" * 16:
        return FELL_OFF
    if not _HEX16.fullmatch(text):
        return MALFORMED
    return NOT_ANSWERING if "deadbeef" in (text[:8], text[8:]) else text


def components(raw: bytes) -> Cell:
    """Names joined by commas; an empty line means healthy, if the heartbeat moves."""
    cell = line(raw)
    if cell == "device_unreachable":
        return Missing(Why.FAILED, UNREACHABLE)
    if not isinstance(cell, str) or re.fullmatch(r"(?:[a-z0-9_]+(?:,[a-z0-9_]+)*)?", cell):
        return cell
    return MALFORMED


def heartbeat(raw: bytes) -> Cell:
    """0 to 255, or device_unreachable."""
    return Missing(Why.FAILED, UNREACHABLE) if raw.strip() == b"device_unreachable" else count(raw)


def firmware(raw: bytes) -> Cell:
    """A 32-bit number, or busy while the register reads 0xdeadbeef."""
    if raw.strip() == b"busy":
        return Missing(Why.FAILED, f"busy: {DEAD}")
    cell = count(raw)
    if cell == REGISTER_MAX:
        return FELL_OFF
    if isinstance(cell, int) and cell > REGISTER_MAX:
        return Missing(Why.FAILED, "more than 32 bits")
    return NOT_ANSWERING if cell == 0xDEADBEEF else cell


def _class(raw: bytes, parse: Callable[[bytes], Cell]) -> Cell:
    text = raw.strip()
    if text == b"busy":
        return Missing(Why.NOT_YET, "busy: the driver is probing or electing")
    if text == b"init_error":
        return Missing(Why.FAILED, "init_error: a counted device failed or is missing")
    if not raw:
        return Missing(Why.NOT_YET, "empty: no device has been probed yet")
    return parse(raw)


def class_number(raw: bytes) -> Cell:
    """A signed decimal, busy while the driver probes, or init_error."""
    return _class(raw, number)


def class_line(raw: bytes) -> Cell:
    """A line of text that may be empty, busy or init_error."""
    return _class(raw, line)


def class_hex(raw: bytes) -> Cell:
    """16 hex digits (zeros mean none), busy or init_error."""
    cell = _class(raw, line)
    if not isinstance(cell, str):
        return cell
    return cell if _HEX16.fullmatch(cell) else MALFORMED


def decimal(raw: bytes) -> Cell:
    """A decimal; a speed may carry its unit (`16.0 GT/s PCIe`, `100 Gb/sec (4X EDR)`).

    `Unknown` is no value.
    """
    cell = word(raw)
    if not isinstance(cell, str):
        return cell
    speed = _SPEED.fullmatch(cell)
    text = speed.group(1) if speed else cell
    if not _DECIMAL.fullmatch(text):
        return NOT_A_NUMBER
    return float(text) if "." in text else int(text)


def millidegrees(raw: bytes) -> Cell:
    """Thousandths of a degree Celsius, as hwmon and thermal zones print, in degrees."""
    cell = number(raw)
    if not isinstance(cell, int):
        return cell
    return cell / 1000 if -100_000 <= cell <= 250_000 else Missing(Why.FAILED, "no temperature")


def temperature(raw: bytes) -> Cell:
    """A temp* leaf of unknown form, in degrees; the two possible units cannot be confused.

    A chip is between 1 and 250 °C, so 1,000 and more can only be thousandths of a degree.
    """
    cell = decimal(raw)
    if isinstance(cell, int) and 1_000 <= cell <= 250_000:
        return cell / 1000
    if isinstance(cell, int | float) and 1 <= cell <= 250:
        return float(cell)
    return cell if isinstance(cell, Missing) else Missing(Why.FAILED, "unit unknown")


def port_state(raw: bytes) -> Cell:
    """`4: ACTIVE` → ACTIVE."""
    cell = word(raw)
    if not isinstance(cell, str):
        return cell
    code, colon, name = cell.partition(":")
    known = colon and code.isascii() and code.isdecimal()
    return name.strip() if known and name.strip() else MALFORMED


SCALARS: Final[dict[str, Callable[[bytes], Cell]]] = {
    "count": count,
    "number": number,
    "word": word,
    "line": line,
    "serial": serial,
    "hex": class_hex,
    "components": components,
    "heartbeat": heartbeat,
    "firmware": firmware,
    "class_number": class_number,
    "class_hex": class_hex,
    "class_line": class_line,
    "decimal": decimal,
    "millidegrees": millidegrees,
    "temperature": temperature,
    "port_state": port_state,
}
