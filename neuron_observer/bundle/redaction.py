"""Redaction: names of people, machines and jobs out of text and documents, the same everywhere.

Three ways lead to a name: it is known beforehand (`learn`: this host's name, its users, its jobs),
it has a form of its own (addresses, ids), or it stands in a field that is for names. Secrets are
masked always (`bundle.secrets`).
"""

from __future__ import annotations

import ipaddress
import json
import re
from typing import TYPE_CHECKING, Any, Final

from neuron_observer.bundle import commands
from neuron_observer.bundle.names import KINDS, Names
from neuron_observer.bundle.secrets import MASK, is_secret, masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from neuron_observer.bundle.names import Kind, Level

# Accounts that every image has: they say nothing about anybody.
_ANYBODY: Final = frozenset(
    ["root", "ubuntu", "ec2-user", "admin", "nobody", "neuron-observer", "slurm", "daemon"]
)
# Words of our own documents and of the driver's lines: a job that is called so cannot be told from
# them in running text, and its name says nothing.
_COMMON: Final = frozenset(
    [
        "neuron", "neuron-observer", "python", "python3", "train", "training", "train.py", "test",
        "main", "main.py", "job", "jobs", "rank", "host", "node", "device", "core", "none", "true",
        "false", "default", "local", "localhost", "error", "errors", "kernel", "memory", "system",
        "data", "model", "inference", "server", "monitor", "user", "value", "counter", "register",
        "driver", "reload", "reboot", "replace", "instance", "hardware", "software", "program",
        "confirmed", "probable", "firing", "critical", "warning", "info", "healthy", "degraded",
        "unhealthy", "unknown", "state", "action", "finding", "findings", "event", "events",
        "link", "port", "efa", "hbm", "sram", "torchrun", "ranks", "slurm", "kubernetes", "worker",
        "process", "processes", "run", "started", "stopped", "bash", "sleep", "notebook",
        "leftover", "profiler", "xla", "read", "write", "total", "name", "serial", "version",
        "release", "first", "last",
    ]
)  # fmt: skip
_FIELDS: Final[Mapping[str, Kind]] = {
    "node": "host",
    "host": "host",
    "hostname": "host",
    "_HOSTNAME": "host",
    "instance_name": "host",
    "master": "host",
    "instance_id": "instance",
    "job": "job",
    "run_id": "job",
    "slurm_job": "job",
    "tag": "job",
    "mapped": "job",
    "user": "user",
    "who": "user",
    "container": "container",
    "container_id": "container",
    "container_name": "container",
    "pod_name": "pod",
    "namespace": "namespace",
    "account_id": "account",
    "serial": "serial",
}
_HOST: Final = re.compile(
    r"(?<![\w.-])(?:ip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w.-]*\w)?"
    r"|\w[\w-]*(?:\.[\w-]+)*\.(?:internal|local|lan|corp|localdomain|amazonaws\.com))(?![\w-])"
)
_PAIR: Final = re.compile(
    r"""(?<![\w-])((?:host_?name|nodename|pod_?name|namespace|user_?name|job_?name|user|host))"""
    r"""("?\s*=\s*"?|"\s*:\s*")([A-Za-z_][\w.@-]*)""",
    re.IGNORECASE,
)
_PAIR_KINDS: Final[Mapping[str, Kind]] = {
    "hostname": "host", "nodename": "host", "host": "host", "podname": "pod",
    "namespace": "namespace", "username": "user", "user": "user", "jobname": "job",
}  # fmt: skip
_FOUR: Final = re.compile(
    r"(?<![\w.])(?<!version )(?<!version:)(?<!-)(?<!v)(?:\d{1,3}\.){3}\d{1,3}(?![\w.-]*\w)"
)
_SIX: Final = re.compile(r"(?<![\w:.-])[0-9A-Fa-f:]{2,39}(?![\w:])")
_FORMS: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (re.compile(r"\bi-[0-9a-f]{8}(?:[0-9a-f]{9})?\b"), "instance"),
    (
        re.compile(
            r"\b(?:ami|subnet|vpc|eni|sg|vol|snap|r|lt|eipalloc|eipassoc|cr|pg|fs|fsx|nat|igw|rtb"
            r"|acl|vpce|tgw)-[0-9a-f]{8}(?:[0-9a-f]{9})?\b"
        ),
        "resource",
    ),
    (re.compile(r"(?<=:)\d{12}(?=:)|\b\d{12}(?=\.dkr\.ecr\.)"), "account"),
    (
        re.compile(r"(?i)(?<=account[_-]id=)\d{12}|(?<=account=)\d{12}|(?<=account )\d{12}"),
        "account",
    ),
    (re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])"), "mac"),
    (re.compile(r"(?<=enx)[0-9a-f]{12}\b"), "mac"),
    (re.compile(r"(?<![\w:])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}(?![\w:])"), "guid"),
    (
        re.compile(r"\b[0-9a-fA-F]{8}(?:[-_][0-9a-fA-F]{4}){3}[-_][0-9a-fA-F]{12}\b"),
        "uuid",
    ),
    (re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])"), "container"),
    (re.compile(r"(?<![\w.-])[\w.-]+(?= \(uid \d)"), "user"),  # of what somebody said
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "user"),
    (re.compile(r"(?<=/home/)[^/\s\"':,\\]+|(?<=/Users/)[^/\s\"':,\\]+"), "user"),
)
_ANYWHERE: Final = frozenset(["0.0.0.0", "127.0.0.1", "255.255.255.255", "169.254.169.254"])  # noqa: S104 - compared, nothing is bound

_SHORT, _REMEMBERED = 200, 20_000  # characters, texts


class Redactor:
    """Takes names out of all parts of one bundle."""

    def __init__(self, level: Level, versions: Iterable[str] = ()) -> None:
        """`versions` that stand in text: some have the form of an address."""
        self.level = level
        self.names = Names(KINDS[level])
        self._versions = set(versions)
        self._known: dict[str, Kind] = {}
        self._pattern: re.Pattern[str] | None = None
        self._told: dict[str, str] = {}  # short texts: documents repeat theirs

    def learn(self, kind: Kind, *real: str | None) -> None:
        """Names that are replaced wherever they stand as a word."""
        for name in real:
            if name and kind in self.names.kinds and _tells(name):
                self._known.setdefault(name.lower(), kind)
                self._pattern = None
                self._told.clear()

    def keep(self, *versions: str | None) -> None:
        """Versions that are met: some have the form of an address."""
        self._versions.update(filter(None, versions))

    def learn_host(self, name: str | None) -> None:
        """A host's name, whole and without its domain."""
        if name and not _FOUR.fullmatch(name):
            self.learn("host", name, name.partition(".")[0])

    def text(self, text: str) -> str:
        """Running text."""
        told = self._told.get(text)
        if told is None:
            told = self._redacted(text)
            if len(text) <= _SHORT and len(self._told) < _REMEMBERED:
                self._told[text] = told
        return told

    def _redacted(self, text: str) -> str:
        text = masked(text)
        if not self.names.kinds:
            return text
        if self._known:
            text = self._matcher().sub(
                lambda found: self.names.of(self._known[found[0].lower()], found[0]), text
            )
        for pattern, kind in _FORMS:
            text = pattern.sub(lambda found, kind=kind: self._name(kind, found[0]), text)  # type: ignore[misc]
        text = _FOUR.sub(lambda found: self._address(found[0]), text)
        if ":" in text:
            text = _SIX.sub(lambda found: self._address6(found[0]), text)
        text = _HOST.sub(lambda found: self._name("host", found[0]), text)
        return _PAIR.sub(self._pair, text)

    def _matcher(self) -> re.Pattern[str]:
        if self._pattern is None:
            longest_first = sorted(self._known, key=len, reverse=True)
            words = "|".join(map(re.escape, longest_first))
            self._pattern = re.compile(
                rf"(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_])", re.IGNORECASE
            )
        return self._pattern

    def _name(self, kind: Kind, real: str) -> str:
        if (kind == "user" and real in _ANYBODY) or not real.strip("0:-_"):
            return real
        return self.names.of(kind, real)

    def _pair(self, found: re.Match[str]) -> str:
        kind = _PAIR_KINDS[found[1].lower().replace("_", "")]
        return f"{found[1]}{found[2]}{self._field(kind, found[3])}"

    def _address(self, real: str) -> str:
        parts = real.split(".")
        if real in _ANYWHERE or real in self._versions or any(int(part) > 255 for part in parts):
            return real
        return self.names.of("address4", real)

    def _address6(self, real: str) -> str:
        if real.count(":") < 2:
            return real
        try:
            address = ipaddress.IPv6Address(real)
        except ValueError:
            return real
        if address.is_unspecified or address.is_loopback:
            return real
        return self.names.of("address6", real)

    def document(self, value: Any) -> Any:
        """A document of ours: names in their fields, and in all its texts."""
        return self._walk(value, "")

    def _walk(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {
                self._key(name): self._walk(one, _meant(value, name)) for name, one in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._walk(one, key) for one in value]
        if not isinstance(value, str) or not value:
            return value
        if is_secret(key):
            return MASK
        return self._string(value, key)

    def _key(self, name: object) -> str:
        return self.text(name) if isinstance(name, str) else str(name)

    def _string(self, value: str, key: str) -> str:
        if key in _VERSIONS:
            return masked(value)
        special = _SPECIAL.get(key)
        if special:
            return self.text(special(self.names, value))
        kind = _FIELDS.get(key)
        return self.text(self._field(kind, value) if kind else value)

    def _field(self, kind: Kind, value: str) -> str:
        """What stands in a field for names of a kind."""
        if kind == "user":  # `alice (uid 1001)`, or the name alone
            name, bracket, uid = value.partition(" (")
            return f"{self._name('user', name)}{bracket}{uid}"
        if kind == "host" and _PORT.search(value):
            name, colon, port = value.rpartition(":")
            return f"{self._host(name)}{colon}{port}"
        return self._host(value) if kind == "host" else self.names.of(kind, value)

    def _host(self, value: str) -> str:
        if value == "localhost" or value.startswith("127.") or value in _ANYWHERE:
            return value
        return self._address(value) if _FOUR.fullmatch(value) else self.names.of("host", value)


_VERSIONS: Final = frozenset(["version", "neuron_observer", "python"])
_PORT: Final = re.compile(r"^[^:]+:\d{1,5}$")
_SPECIAL: Final[Mapping[str, Callable[[Names, str], str]]] = {
    "command": commands.text,
    "program": commands.program,
    "cgroup": commands.group,
    "environ": commands.environment,
}


def _meant(of: Mapping[str, Any], name: str) -> str:
    """By which field's rules a value goes: some names mean something in one document only."""
    if "ranks" in of and name in ("id", "name"):
        return "job"
    if "pid" in of and "command" in of and name == "name":
        return "program"
    if "uid" in of and "namespace" in of and name == "name":
        return "pod_name"
    return name


def _tells(name: str) -> bool:
    """Whether a name is one that nothing else in a bundle is called."""
    if len(name) < 3 or name.lower() in _COMMON or name in _ANYBODY:
        return False
    return not (name.isdigit() and len(name) < 6) and name != "localhost"


def json_text(value: Any) -> str:
    """A document as it is written."""
    return json.dumps(value, indent=1, ensure_ascii=False)
