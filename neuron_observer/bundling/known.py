"""Names that are known beforehand: of this host, its users, its jobs, its chips."""

from __future__ import annotations

import os
import pwd
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from neuron_observer.bundle.commands import is_common
from neuron_observer.bundle.redaction import Redactor
from neuron_observer.parsers.process import users
from neuron_observer.store.origin import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from neuron_observer.bundling import Asked
    from neuron_observer.bundling.documents import Told
    from neuron_observer.bundling.kept import Kept
    from neuron_observer.bundling.look import Looked

_PEOPLE = range(1000, 60_000)  # uids of people (login.defs(5))
_HOST_NAMES = ("proc/sys/kernel/hostname", "etc/hostname")
_VERSIONS = (".version", ".firmware")  # metrics
_PASSWD_BYTES = 1 << 20


def redactor(asked: Asked, looked: Looked | None, told: Told | None, kept: Kept) -> Redactor:
    """A redactor that knows what this host is called, who uses it and for what."""
    snapshots = [told.snapshot] if told else []
    versions = [str(one["node"]["driver"]["version"]) for one in snapshots]
    if looked is not None and looked.frame.snapshot.driver.version:
        versions.append(looked.frame.snapshot.driver.version)
    found = Redactor(asked.level, versions)
    _of_machine(found, asked, looked)
    _of_state(found, kept)
    for document in snapshots:
        _of_snapshot(found, document)
    if looked is not None:
        from neuron_observer.contract import snapshot_document  # noqa: PLC0415 - large

        _of_snapshot(found, snapshot_document(looked.frame))
    return found


def _of_machine(found: Redactor, asked: Asked, looked: Looked | None) -> None:
    names = [os.uname().nodename] if asked.machine else []
    if looked is not None:
        for path in _HOST_NAMES:
            try:
                names.append(looked.host.read(path).decode("utf-8", "replace").strip())
            except OSError:
                continue
        found.learn("instance", origin_of(looked.host).instance)
        try:
            accounts = users(looked.host.read("etc/passwd", _PASSWD_BYTES))
        except OSError:
            accounts = {}
        found.learn("user", *(name for uid, name in accounts.items() if uid in _PEOPLE))
    for name in names:
        found.learn_host(name)
    if asked.machine:
        found.learn("user", *_callers())


def _callers() -> Iterable[str]:
    """Whoever calls, and on whose behalf."""
    with suppress(KeyError):
        yield pwd.getpwuid(os.getuid()).pw_name
    yield from filter(None, map(os.environ.get, ("USER", "LOGNAME", "SUDO_USER")))


def _of_state(found: Redactor, kept: Kept) -> None:
    if kept.origin is not None:
        found.learn("instance", kept.origin.instance)
    found.learn("serial", *(key for key in kept.memory.keys.values() if "/" not in key))
    for act in kept.acts:
        found.learn("user", str(act["who"]).partition(" (")[0])


def _of_snapshot(found: Redactor, document: Mapping[str, Any]) -> None:
    for device in document["devices"]:
        found.learn("serial", device["serial"])
    for place in (document["node"], *document["others"]):
        for metric, reading in place["readings"].items():
            if metric.endswith(_VERSIONS):
                found.keep(str(reading.get("value")))
    for job in document["jobs"]:
        found.learn_host((job["master"] or "").rpartition(":")[0] or job["master"])
        found.learn("job", *(job[name] for name in ("id", "name", "run_id", "slurm_job", "tag")))
        found.learn("job", *job["mapped"])
        for rank in job["ranks"]:
            _of_process(found, rank["process"])


def _of_process(found: Redactor, process: Mapping[str, Any]) -> None:
    found.learn("user", process["user"])
    if not is_common(process["name"]):  # a finding may name it
        found.learn("program", process["name"])
    found.learn("container", process["container"])
    pod = process["pod"]
    if pod:
        found.learn("pod", pod["name"])
        found.learn("namespace", pod["namespace"])
