"""What of a file a recording holds: never more than what is read needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_observer.collectors.holders import COMMAND_BYTES, ENVIRON_BYTES, POD_FOLDER
from neuron_observer.jobs.identity import ENVIRONMENT
from neuron_observer.parsers import process as parse

if TYPE_CHECKING:
    from collections.abc import Callable

_PROCESS = re.compile(r"proc/\d+/(?:task/\d+/)?(environ|cmdline|stat)")
_SKIPPED = ("etc/passwd",)  # names of people
SCRUBBED_FOLDERS = (POD_FOLDER,)
_KTHREADD = b"2"


def held(path: str, raw: bytes, scrub: Callable[[str], str]) -> bytes | None:
    """The content as it is held; None where nothing of the file is.

    Of an environment the variables of launchers and schedulers only, of a command line what looks
    like a secret is masked, of kernel threads nothing.
    """
    if path in _SKIPPED:
        return None
    match = _PROCESS.fullmatch(path)
    if match is None:
        return raw
    kind = match.group(1)
    if kind == "stat":
        return None if _of_the_kernel(raw) else raw
    return _environment(raw, scrub) if kind == "environ" else _command(raw, scrub)


def _environment(raw: bytes, scrub: Callable[[str], str]) -> bytes:
    """Nothing, which reads as unknown, where it is none or was cut; else at least `_`."""
    kept = parse.environ(raw, ENVIRONMENT, cut=len(raw) >= ENVIRON_BYTES)
    pairs = {} if kept is None else {"_": "", **kept}
    text = "".join(f"{name}={scrub(value)}\0" for name, value in pairs.items())
    return text.encode("utf-8", "surrogateescape")


def _command(raw: bytes, scrub: Callable[[str], str]) -> bytes:
    words = parse.masked(parse.arguments(raw[:COMMAND_BYTES]))
    return "".join(f"{scrub(word)}\0" for word in words).encode("utf-8", "surrogateescape")


def _of_the_kernel(raw: bytes) -> bool:
    """Whether a stat line is a kernel thread's: a child of kthreadd, which never holds a device."""
    return raw.rpartition(b")")[2].split()[1:2] == [_KTHREADD]


class LeanStat:
    """`/proc/stat` without the figures of single processors and interrupts: 200 lines a second."""

    def __init__(self) -> None:
        self._names = b""  # of the processors, a line each
        self._count = -1

    def __call__(self, raw: bytes) -> bytes:
        """The rest; a processor's line is its name alone."""
        begin, end = raw.find(b"\ncpu0 "), raw.find(b"\nintr ")
        if not 0 <= begin < end:
            return raw
        count = raw.count(b"\ncpu", begin, end)
        if count != self._count:
            self._count = count
            self._names = b"".join(re.findall(rb"\ncpu\d+", raw[begin:end]))
        after = raw.find(b"\n", end + 1)
        interrupts = b" ".join(raw[end : after if after > 0 else None].split(b" ", 2)[:2])
        return raw[:begin] + self._names + interrupts + (raw[after:] if after > 0 else b"")
