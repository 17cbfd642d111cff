"""A bundle that somebody handed over: what the node told, and the logs that it holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.bundle.contents import MANIFEST, SCHEMA
from neuron_observer.bundle.unpack import members
from neuron_observer.client import frames
from neuron_observer.contract import FINDINGS_SCHEMA
from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.bundle.unpack import Unpacked
    from neuron_observer.model import Coverage, Finding, Verdict

FINDINGS = "findings.json"
DOCUMENT_MOST = 8 << 20  # bytes of a document: as objects it takes many times as much
LOGS = ("kernel.log", "neuron-ls.txt", "neuron-monitor.txt")
_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class Told(NamedTuple):
    """What the node said of itself."""

    verdict: Verdict
    reason: str
    coverage: Coverage
    findings: tuple[Finding, ...]  # those that are over too
    about: Mapping[str, Any]  # version, at, source, redaction


class Log(NamedTuple):
    """A log that stands in a bundle."""

    name: str
    data: bytes


class Bundle(NamedTuple):
    """A bundle as far as it could be read."""

    told: Told
    logs: tuple[Log, ...]
    members: int
    problems: tuple[str, ...]


def read(chunks: Iterator[bytes]) -> Bundle:
    """Read a bundle; `InputError` where not even the findings are whole.

    What comes after the findings and is damaged is a problem that is told, and the rest counts.
    """
    wanted = (MANIFEST, FINDINGS, *LOGS)
    problems: list[str] = []
    found: dict[str, Unpacked] = {}
    try:
        for member in members(chunks, wanted.__contains__):
            found[member.name] = member
    except InputError as error:
        if FINDINGS not in found or MANIFEST not in found:
            raise
        problems.append(f"{error.message}: read up to there")
    manifest = _document(found, MANIFEST, SCHEMA)
    problems += _altered(manifest, found, cut=bool(problems))
    told = _told(manifest, _document(found, FINDINGS, FINDINGS_SCHEMA))
    logs = tuple(Log(name, found[name].data or b"") for name in LOGS if name in found)
    return Bundle(told, logs, len(found), tuple(problems))


def _document(found: Mapping[str, Unpacked], name: str, schema: str) -> dict[str, Any]:
    if name not in found:
        raise InputError(f"it holds no {name}")
    if found[name].size > DOCUMENT_MOST:
        raise InputError(f"{name} has {found[name].size} bytes; {DOCUMENT_MOST} is the most")
    try:
        document = json.loads(found[name].data or b"")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise InputError(f"{name} is not of the form {schema}, which is known here")
    return document


def _altered(
    manifest: Mapping[str, Any], found: Mapping[str, Unpacked], *, cut: bool
) -> Iterator[str]:
    """Members that are not what the manifest says; damage, or somebody changed them."""
    try:
        listed = {str(one["name"]): str(one["sha256"]) for one in manifest["members"]}
    except _UNDERSTOOD as error:
        raise InputError(f"{MANIFEST} cannot be understood: {error}") from error
    for name, digest in listed.items():
        if name not in found:
            if not cut:
                yield f"member {name} is missing"
        elif found[name].sha256 != digest:
            yield f"member {name} was altered or is damaged: it is not what the manifest says"
    for name in found.keys() - listed.keys() - {MANIFEST, "README.txt"}:
        yield f"member {name} is in no manifest: somebody added it"


def _told(manifest: Mapping[str, Any], document: Mapping[str, Any]) -> Told:
    try:
        whole = {**document, "devices": [], "parts": []}
        health = frames.health(whole)
        return Told(
            health.verdict,
            str(health.reason),
            health.coverage,
            tuple(frames.finding(one) for one in document["findings"]),
            {name: manifest.get(name) for name in ("version", "at", "source", "redaction")},
        )
    except _UNDERSTOOD as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{FINDINGS} cannot be understood: {why}") from error
