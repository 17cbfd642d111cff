"""Lines of text without what tells whose they are."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_observer.sources.hostfs import HostFs


class Scrubber:
    """Replaces host names, instance and network ids and addresses in lines of text."""

    def __init__(self, host: HostFs) -> None:
        name = ""
        with contextlib.suppress(OSError):  # without it, names of the usual form are replaced
            name = host.read("proc/sys/kernel/hostname").decode("utf-8", "replace").strip()
        short = name.partition(".")[0]
        rules = [
            (r"\bi-[0-9a-f]{8,17}\b", "i-0"),
            (r"\b(ami|subnet|vpc|eni|sg|vol|r|lt|eipalloc)-[0-9a-f]{8,17}\b", r"\1-0"),
            (r"\bip-\d+-\d+-\d+-\d+(?:\.[\w.-]+)?", "host"),
            (r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", "00:00:00:00:00:00"),
            (r"\b(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2,3}\b", "10.0.0.0"),
            (r"(hostname=)\S+", r"\1host"),
            (r'("(?:instance_name|pod_name|namespace)"\s*:\s*)"[^"]*"', r'\1"x"'),
        ]
        if len(short) > 2 and short != "localhost":
            rules.append((rf"\b{re.escape(short)}\b(?:\.[\w.-]+)?", "host"))
        self._rules = [(re.compile(pattern), to) for pattern, to in rules]

    def __call__(self, line: str) -> str:
        """The line without what tells whose it is."""
        for pattern, to in self._rules:
            line = pattern.sub(to, line)
        return line
