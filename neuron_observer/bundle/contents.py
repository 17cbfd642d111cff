"""What goes into a bundle, what was left out and why, and how much of it there may be."""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer import __version__
from neuron_observer.bundle.archive import Member
from neuron_observer.bundle.redaction import json_text
from neuron_observer.bundle.unpack import MEMBER_MOST, TOTAL_MOST
from neuron_observer.contract import instant
from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA = "neuron-observer/bundle/1"
MANIFEST, README = "manifest.json", "README.txt"
ORDER = (  # what counts most comes first: a bundle that is cut short still has it
    "findings.json",
    "kernel.log",
    "versions.json",
    "doctor.json",
    "counters.json",
    "events.json",
    "jobs.json",
    "topology.json",
    "acts.json",
    "configuration.txt",
    "observer.log",
    "neuron-ls.txt",
    "neuron-monitor.txt",
    "snapshot.json",
    "capture.tsv.gz",
)
_NEEDED = ("findings.json", "versions.json")
_OVERHEAD = 40_000  # bytes for manifest, README and headers


class Gone(NamedTuple):
    """Something that is not in the bundle, or not all of it."""

    what: str
    why: str


class Contents:
    """Members as they come, each with a word on what it is."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}
        self._about: dict[str, str] = {}
        self.left_out: list[Gone] = []

    def add(self, name: str, about: str, data: bytes) -> None:
        """A member."""
        if len(data) > MEMBER_MOST:
            self.leave_out(name, f"it has {len(data)} bytes; a member has {MEMBER_MOST} at most")
            return
        self._members[name] = data
        self._about[name] = about

    def document(self, name: str, about: str, document: Any) -> None:
        """A member that is JSON."""
        self.add(name, about, f"{json_text(document)}\n".encode("utf-8", "backslashreplace"))

    def leave_out(self, what: str, why: str) -> None:
        """Say that something is not there."""
        self.left_out.append(Gone(what, why))

    def redact(self, text: Callable[[str], str]) -> None:
        """Why something is not there names files and users too."""
        self.left_out = [Gone(text(one.what), text(one.why)) for one in self.left_out]

    def fit(self, most: int) -> None:
        """Take out, from the end of the order, what is too much; `UsageError` if that is all."""
        sizes = {name: len(zlib.compress(data, 1)) for name, data in self._members.items()}
        plain = {name: len(data) for name, data in self._members.items()}
        for name in reversed(self._ordered()):
            if sum(sizes.values()) + _OVERHEAD <= most and sum(plain.values()) < TOTAL_MOST // 2:
                return
            if name in _NEEDED:
                continue
            del self._members[name], plain[name]
            self.leave_out(name, f"its {sizes.pop(name)} bytes are over --max-bytes")
        if sum(sizes.values()) + _OVERHEAD > most:
            raise UsageError(
                f"--max-bytes {most}: the findings alone are more", remedy="Allow more."
            )

    def _ordered(self) -> list[str]:
        rest = sorted((name for name in self._members if name not in ORDER), reverse=True)
        return [*(name for name in ORDER if name in self._members), *rest]

    def members(self, about: dict[str, Any], at: float) -> list[Member]:
        """Manifest and README first, then all others in their order."""
        found = [Member(name, self._members[name]) for name in self._ordered()]
        manifest = {
            "schema": SCHEMA,
            "version": __version__,
            "at": instant(at),
            **about,
            "members": [
                {
                    "name": one.name,
                    "bytes": len(one.data),
                    "sha256": hashlib.sha256(one.data).hexdigest(),
                    "about": self._about[one.name],
                }
                for one in found
            ],
            "left_out": [one._asdict() for one in self.left_out],
        }
        text = f"{json_text(manifest)}\n".encode("utf-8", "backslashreplace")
        readme = "".join(f"{line}\n" for line in self._readme(manifest)).encode()
        return [Member(MANIFEST, text), Member(README, readme), *found]

    def _readme(self, manifest: dict[str, Any]) -> Iterator[str]:
        yield f"Made by neuron-observer {__version__} on {manifest['at']}."
        yield "On another machine: neuron-observer triage THIS_FILE"
        yield ""
        yield f"Verdict of the node: {manifest['verdict']}: {manifest['reason']}"
        yield ""
        width = max(len(name) for name in self._members)
        for name in self._ordered():
            yield f"{name:<{width}}  {self._about[name]}"
        yield ""
        yield _REDACTION[manifest["redaction"]["level"]]
        yield "Secrets (passwords, tokens, keys) are masked always; environments are not read, but"
        yield "for the variables by which launchers number their ranks."
        if self.left_out:
            yield ""
            yield "Not in here:"
            for one in self.left_out:
                yield f"  {one.what}: {one.why}"


_REDACTION = {
    "none": "Names are as they are (--redact none).",
    "ids": "Names of hosts, users, jobs and programs, addresses and ids are replaced, the same by\n"
    "the same everywhere; serial numbers of chips are as they are (--redact ids).",
    "all": "Names of hosts, users, jobs and programs, addresses, ids and serial numbers are\n"
    "replaced, the same by the same everywhere (--redact all).",
}


def folder(members: list[Member], at: float) -> str:
    """The archive's one folder: told apart by time and content, and saying nothing else."""
    stamp = (instant(at) or "").partition(".")[0].replace("-", "").replace(":", "")
    digest = hashlib.sha256(b"".join(one.data for one in members)).hexdigest()
    return f"neuron-bundle-{stamp}Z-{digest[:8]}"
