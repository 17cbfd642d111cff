"""`POST /api/v1/acts`: what a person says of a finding or a device; by the unix socket only."""

from __future__ import annotations

import json
import pwd
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from neuron_observer.daemon.asked import read_instant
from neuron_observer.daemon.replies import JSON, Problem, frame_headers
from neuron_observer.errors import UsageError
from neuron_observer.exporters.message import Response
from neuron_observer.exporters.routes import Route, owner_only
from neuron_observer.rules.memory import Word
from neuron_observer.store.acts import Act, Verb

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from neuron_observer.daemon.standing import Standing
    from neuron_observer.exporters.message import Peer, Request
    from neuron_observer.store.acts import Done

PATH = "/api/v1/acts"
SCHEMA = "neuron-observer/act/1"
SUMMARY = (
    "What a person says: `ack` a finding, `suppress` or `unsuppress` a rule, `set-healthy` a"
    " device, `dump` what the flight recorder holds. Only by the unix socket, only root and the"
    " daemon's own user; audited."
)
VERBS = get_args(Verb)
PATIENCE = 10.0  # seconds for two frames and the disk
_NAMES = {"verb", "subject", "device", "until", "reason"}

Submit: TypeAlias = "Callable[[Act], Future[Done]]"


class Acts:
    """The handler over what takes acts."""

    def __init__(self, standing: Standing, submit: Submit) -> None:
        self._standing, self._submit = standing, submit

    def route(self) -> Route:
        """It waits for a frame and for the disk, and only root and our own user may."""
        return Route(owner_only(self._handle), ("POST",), waits=True)

    def _handle(self, request: Request) -> Response:
        from concurrent.futures import TimeoutError as Late  # noqa: PLC0415 - brings logging along

        last = self._standing.last()
        try:
            act = read(request.body, request.peer, self._standing.clock.wall())
            done = self._submit(act).result(PATIENCE)
        except UsageError as error:
            return Problem(400, error.message, error.remedy).response(last)
        except Late:
            why = "the loop or the disk hangs; it may still be done: `findings` shows it then"
            return Problem(503, f"no answer in {PATIENCE:g} s", why).response(last)
        told = {"schema": SCHEMA, **done._asdict()}
        return Response(json.dumps(told).encode(), 200, JSON, frame_headers(last))


def read(body: bytes, peer: Peer | None, now: float) -> Act:
    """The act that a body asks for; `UsageError` for anything that is not quite one."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not given.keys() <= _NAMES:
        raise UsageError("the body must be a JSON object", remedy=f"Known: {sorted(_NAMES)}.")
    if given.get("verb") not in VERBS:
        raise UsageError("unknown verb", remedy=f"Known: {', '.join(VERBS)}.")
    device = given.get("device")
    if not (device is None or (type(device) is int and 0 <= device < 4096)):
        raise UsageError("device must be the index of one")
    word = Word(_name(peer), now, _text(given, "reason"))
    until = _until(given.get("until"), now)
    return Act(given["verb"], word, _text(given, "subject"), device, until)


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str) or not (value.isprintable() or not value):
        raise UsageError(f"{name} must be a line of text")
    return value


def _until(value: object, now: float) -> float | None:
    """RFC 3339, or a duration from now on."""
    if value is None:
        return None
    found = read_instant(value) if isinstance(value, str) else None
    if found is None:
        raise UsageError(
            "until must be an instant or a duration",
            remedy="2h, 7d, or RFC 3339 with its zone: 2026-12-01T10:00:00Z.",
        )
    return found.wall if found.ago is None else now + found.ago


def _name(peer: Peer | None) -> str:
    if peer is None:
        return "nobody"
    try:
        name = pwd.getpwuid(peer.uid).pw_name
    except KeyError:
        return f"uid {peer.uid}"
    return f"{name} (uid {peer.uid})"
