"""What a terminal cannot show is said in signs that it can."""

from __future__ import annotations

import codecs
import io
import sys


def speak_what_the_terminal_can() -> None:
    """Where the encoding has no dash or arrow, say it in ASCII, other signs by number."""
    codecs.register_error("neuron_ascii", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="neuron_ascii")


_ASCII = {"—": "-", "·": "|", "→": "->", "…": "...", "°": "deg ", "µ": "u"}


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    spoken = (_ASCII.get(sign) or f"\\u{ord(sign):04x}" for sign in wrong)
    return "".join(spoken), error.end
