"""The daemon's API from outside: by its unix socket, or by HTTP from another machine.

Standard library only, and as little of it as the call needs: a cached `check` has 50 ms in all.
Everything is bounded: how long an answer may take, and how many bytes it may have.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.client.wire import Exchange, exchange
from neuron_observer.errors import DaemonError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.client.address import Address

PREFIX = "/api/v1/"
AGE_HEADER = "neuron-observer-frame-age"
PATIENCE = 5.0  # seconds that an answer may take
MOST_BYTES = 64_000_000  # of an answer, uncompressed


class Reply(NamedTuple):
    """A document and what names its frame; no document where the client has that frame."""

    document: dict[str, Any] | None
    tag: str


class Client:
    """Asks one daemon."""

    def __init__(self, address: Address, *, patience: float = PATIENCE) -> None:
        self.address = address
        self.patience = patience

    def get(self, name: str, query: Mapping[str, str | None] | None = None) -> dict[str, Any]:
        """A document below /api/v1/; `DaemonError` where there is none to be had.

        `UsageError` where the daemon says that the question is wrong.
        """
        document = self.fetch(name, query).document
        if document is None:
            raise DaemonError(f"{self.address}: answered without a document")
        return document

    def fetch(
        self, name: str, query: Mapping[str, str | None] | None = None, *, tag: str = ""
    ) -> Reply:
        """The same, unless the frame is still the one that the tag names."""
        headers = {"If-None-Match": tag} if tag else {}
        answer = exchange(self.address, target(name, query), headers, self.patience, MOST_BYTES)
        if answer.status == 304 and tag:
            return Reply(None, tag)
        document = read(answer, self.address)
        if answer.status == 200:
            known(document, self.address)
            return Reply(document, answer.headers.get("etag", ""))
        raise _refused(answer, document, self.address)

    def post(self, name: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Have something changed; what came of it. `DaemonError`, `UsageError`."""
        body = json.dumps(document).encode()
        answer = exchange(
            self.address, target(name, None), {}, self.patience, MOST_BYTES, body=body
        )
        if answer.status == 403:
            why = answer.body.decode("utf-8", "replace").strip()
            raise DaemonError(f"{self.address}: {why}", remedy="Ask as root, on that machine.")
        told = read(answer, self.address)
        if answer.status == 200:
            known(told, self.address)
            return told
        raise _refused(answer, told, self.address)


def target(name: str, query: Mapping[str, str | None] | None) -> str:
    """Path and query; what is None is left out."""
    pairs = [(name, value) for name, value in (query or {}).items() if value is not None]
    if not pairs:
        return PREFIX + name
    words = "".join(value for _, value in pairs)
    if words.isascii() and words.replace(",", "").replace("-", "").isalnum():
        return f"{PREFIX}{name}?{'&'.join(f'{key}={value}' for key, value in pairs)}"
    from urllib.parse import urlencode  # noqa: PLC0415 - costs as much as the whole exchange

    return f"{PREFIX}{name}?{urlencode(pairs)}"


def read(answer: Exchange, address: Address) -> dict[str, Any]:
    """The body as a JSON object; `DaemonError` for anything else."""
    if AGE_HEADER not in answer.headers:
        _tell_of_login(answer, address)
        raise DaemonError(
            f"{address}: what answers there (status {answer.status}) is no neuron-observer",
            remedy="--connect takes the address that the daemon says when it starts.",
        )
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise DaemonError(f"{address}: the answer is no JSON document")
    return document


def known(document: Mapping[str, Any], address: Address) -> None:
    """`DaemonError` where a document is of a major schema number that is not known here."""
    schema = document.get("schema")
    name, _, major = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    if not name.startswith("neuron-observer/"):
        raise DaemonError(f"{address}: the answer has no schema of neuron-observer's")
    if major != "1":
        raise DaemonError(
            f"{address}: speaks {schema}, here {name}/1 is known",
            remedy="Command and daemon must be of versions that go together: update the older one.",
        )


def _tell_of_login(answer: Exchange, address: Address) -> None:
    if answer.status == 401:
        raise DaemonError(
            f"{address}: a user and password are needed, or those given are wrong",
            remedy="Put them into ~/.netrc (machine HOST login USER password WORD, mode 600), or"
            " into NEURON_OBSERVER_CONNECT_USER and NEURON_OBSERVER_CONNECT_PASSWORD.",
        )


def _refused(answer: Exchange, document: Mapping[str, Any], address: Address) -> Exception:
    title, detail = str(document.get("title", "")), str(document.get("detail", ""))
    if answer.status == 400:
        return UsageError(title, remedy=detail)
    told = title or f"status {answer.status}"
    return DaemonError(f"{address}: {told}", remedy=detail, status=answer.status)
