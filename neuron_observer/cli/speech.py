"""What a terminal cannot show is said in signs that it can."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from encodings import ascii as plain

from neuron_observer.locales import ascii_was_said

# The command line's library takes a stream that is called ASCII for a mistake, and writes UTF-8.
_NAME = "neuron-ascii"
_ASCII = {"—": "-", "·": "|", "→": "->", "…": "...", "°": "deg ", "µ": "u"}


def speak_what_the_terminal_can() -> None:
    """Where the encoding has no dash or arrow, say it in ASCII, other signs by number.

    So too where the locale was said to be C, but for files: who reads those is not known.
    """
    codecs.register_error(_NAME, _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = _NAME if _takes_ascii_alone(stream) else None
            stream.reconfigure(encoding=encoding, errors=_NAME)


def _takes_ascii_alone(stream: io.TextIOWrapper) -> bool:
    if codecs.lookup(stream.encoding).name == "ascii":
        return True
    return ascii_was_said(os.environ) and not _is_file(stream)


def _is_file(stream: io.TextIOWrapper) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # closed, or in memory
        return False


def _found(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != _NAME:
        return None
    return codecs.CodecInfo(
        codecs.ascii_encode,
        codecs.ascii_decode,
        incrementalencoder=plain.IncrementalEncoder,
        incrementaldecoder=plain.IncrementalDecoder,
        name=_NAME,
    )


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    spoken = (_ASCII.get(sign) or f"\\u{ord(sign):04x}" for sign in wrong)
    return "".join(spoken), error.end


codecs.register(_found)
