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
    from collections.abc import Iterable, Iterator, Mapping

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
            _known(health.coverage),
            tuple(_checked(frames.finding(one)) for one in document["findings"]),
            {name: manifest.get(name) for name in ("version", "at", "source", "redaction")},
        )
    except _UNDERSTOOD as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{FINDINGS} cannot be understood: {why}") from error


_SCALAR = (str, int, float, type(None))
_TEXT, _NUMBER = (str, type(None)), (int, type(None))
_ENTITY = dict.fromkeys(("kind", "node", "serial", "port", "job"), _TEXT) | dict.fromkeys(
    ("device", "core", "rank"), _NUMBER
)


def _checked(finding: Finding) -> Finding:
    """The finding, if all in it is of the type that it must have; `TypeError`."""
    texts = (finding.id, finding.message, finding.runbook, finding.impact, finding.note)
    _of((*texts, *finding.confirm_by), (str,))
    for name, types in _ENTITY.items():
        _of([getattr(finding.entity, name)], types)
    _of((finding.shadow, finding.program, finding.blames_hardware), (bool,))
    for one in finding.evidence:
        _of((one.kind, one.trust, one.source), (str,))
        _of((one.value, one.previous, *one.fields.values()), _SCALAR)
        _of([one.line], _NUMBER)
    return finding


def _known(coverage: Coverage) -> Coverage:
    """The same of a coverage."""
    _of((coverage.decided, coverage.required), (int,))
    for gap in (*coverage.missing, *coverage.not_covered):
        _of((gap.id, gap.why), (str,))
        if gap.entity is not None:
            for name, types in _ENTITY.items():
                _of([getattr(gap.entity, name)], types)
    return coverage


def _of(values: Iterable[object], types: tuple[type, ...]) -> None:
    for value in values:
        if not isinstance(value, types):
            raise TypeError(f"{type(value).__name__} in place of {types[0].__name__}")
