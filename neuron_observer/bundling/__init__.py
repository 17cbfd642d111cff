"""Gathering a bundle: from a daemon, from what it keeps, and from a look of one's own.

Each source may be missing or refuse; then the bundle says so, and holds the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.bundle.archive import pack
from neuron_observer.bundle.contents import Contents, folder
from neuron_observer.bundling import documents, known, texts
from neuron_observer.bundling.counters import counters
from neuron_observer.bundling.kept import Kept, recordings
from neuron_observer.bundling.look import Looked, captured, look_at
from neuron_observer.bundling.narrow import Narrow, chosen, only
from neuron_observer.bundling.versions import versions
from neuron_observer.errors import DaemonError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.bundle.names import Level
    from neuron_observer.bundle.redaction import Redactor
    from neuron_observer.client import Client
    from neuron_observer.clock import Clock
    from neuron_observer.config import Sources


class Asked(NamedTuple):
    """What a call asks for."""

    host_root: str
    config_file: str | None
    sources: Sources  # of the configuration
    clock: Clock
    client: Client | None = None
    remote: bool = False  # the daemon is of another machine: nothing is looked at here
    machine: bool = False  # the host is the one that this process runs on
    all_devices: bool = False
    rules: tuple[str, ...] = ()
    state: str | None = None
    narrow: Narrow = Narrow()
    level: Level = "ids"
    most: int = 32_000_000
    monitor: str | None = None  # files with output of the tools of the Neuron SDK
    neuron_ls: str | None = None
    log: str | None = None
    dump: bool = False  # have the flight recorder write what it holds first


class Bundled(NamedTuple):
    """A bundle that is ready to be written."""

    name: str
    data: bytes
    contents: Contents
    redactor: Redactor


def bundle(asked: Asked, say: Callable[[str], None] = lambda _: None) -> Bundled:
    """Gather everything and pack it; `UsageError` for a finding or job that nobody knows."""
    contents = Contents()
    kept = Kept.of(asked, contents)
    told = _of_daemon(asked, contents)
    if asked.dump:
        _dump(asked, contents)
    say("the daemon answered" if told else "no daemon answered: looking at the host alone")
    looked = None if told and told.elsewhere else look_at(asked, kept, contents)
    if looked is not None and kept.is_of_another(looked.host):
        contents.leave_out("state of the daemon", "it is of another machine")
        kept = Kept()
    redactor = known.redactor(asked, looked, told, kept)
    about = _documents(asked, contents, redactor, looked, told, kept)
    if looked is not None:
        texts.kernel_log(contents, redactor, looked)
        _capture(contents, redactor, looked)
    recordings(asked, contents, redactor, kept)
    texts.logs(asked, contents, redactor)
    at = asked.clock.wall()
    about["redaction"] = {"level": asked.level, "replaced": redactor.names.counts()}
    contents.fit(asked.most)
    contents.redact(redactor.text)
    members = contents.members(about, at)
    name = folder(members, at)
    return Bundled(name, pack(name, members, at), contents, redactor)


_DAEMON = "what a daemon knows"
_LOOK = "capture, kernel log, doctor, state of the daemon"


def _of_daemon(asked: Asked, contents: Contents) -> documents.Told | None:
    """What a daemon tells; one of this host whose frame is old is no better than a look."""
    if asked.client is None:
        contents.leave_out(_DAEMON, "no daemon runs here, or it was not to be asked")
        return None
    try:
        told = documents.told(asked.client, asked)
    except DaemonError as error:
        if asked.remote:
            raise
        contents.leave_out(_DAEMON, error.message)
        return None
    if told.elsewhere:
        contents.leave_out(_LOOK, f"the daemon reads {told.elsewhere}: run `bundle` there")
    elif told.source["stale"]:
        contents.leave_out(_DAEMON, f"its last frame is {told.source['frame_age']} s old")
        return None
    return told


def _dump(asked: Asked, contents: Contents) -> None:
    """Have the flight recorder write what it holds now; it stands among the recordings then."""
    why = "no daemon answered"
    if asked.client is not None and not asked.remote:
        try:
            asked.client.post("acts", {"verb": "dump", "reason": "for a bundle"})
        except (DaemonError, UsageError) as error:
            why = error.message
        else:
            return
    contents.leave_out("a recording of now (--dump)", why)


def _documents(
    asked: Asked,
    contents: Contents,
    redactor: Redactor,
    looked: Looked | None,
    told: documents.Told | None,
    kept: Kept,
) -> dict[str, Any]:
    """The members that are JSON; what the manifest says of the node."""
    snapshot = told.snapshot if told else documents.snapshot(looked)
    findings = told.findings if told else documents.findings(looked, kept, asked)
    findings = only(findings, asked.narrow, snapshot["jobs"], contents)
    devices = chosen(findings, snapshot, asked.narrow)
    events = told.events if told else documents.events(looked, kept, asked)
    found: dict[str, Any] = {
        "findings.json": findings,
        "events.json": documents.events_of(events, devices),
        "snapshot.json": snapshot,
        "jobs.json": documents.jobs_of(snapshot, asked.narrow),
        "counters.json": counters(told, looked, kept),
        "topology.json": documents.topology(looked, snapshot),
        "versions.json": versions(asked, looked, snapshot),
        "doctor.json": looked.doctor if looked else None,
        "acts.json": kept.acts or None,
    }
    for name, document in found.items():
        if document is not None:
            contents.document(name, _ABOUT[name], redactor.document(document))
    texts.configuration(asked, contents, redactor)
    return {
        "verdict": findings["verdict"],
        "reason": redactor.text(str(findings.get("reason", ""))),
        "source": told.source if told else {"by": "look", "reads": 2},
        "instance_type": snapshot["node"]["instance_type"],
        "driver": snapshot["node"]["driver"],
    }


_ABOUT = {
    "findings.json": "what was found, and what is over (neuron-observer/findings/1)",
    "events.json": "what happened",
    "snapshot.json": "every reading, with its source (neuron-observer/snapshot/1)",
    "jobs.json": "who uses the devices",
    "counters.json": "counters: kept before, at first, at last",
    "topology.json": "devices, links, PCI functions, adapters",
    "versions.json": "ours, python, kernel, driver, Neuron packages",
    "doctor.json": "what cannot be read, why, and what brings it",
    "acts.json": "what people said: who, when, why",
}


def _capture(contents: Contents, redactor: Redactor, looked: Looked) -> None:
    about = "the host's files, twice: works as --host-root of every verb"
    try:
        data = captured(looked, redactor)
    except OSError as error:  # the helper process for reads that hang, say
        contents.leave_out("capture.tsv.gz", f"the host cannot be read for it: {error}")
        return
    contents.add("capture.tsv.gz", about, data)
