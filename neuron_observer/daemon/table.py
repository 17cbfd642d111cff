"""The table of paths: from it the routes are registered and docs/openapi.json, docs/api.md made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.checks.forms import FAIL_ON, FORMS
from neuron_observer.daemon import documents
from neuron_observer.daemon.asked import (
    choice,
    flag,
    instant,
    matching,
    number,
    numbers,
    words,
)
from neuron_observer.daemon.changes import ID, MOST
from neuron_observer.daemon.checking import checked
from neuron_observer.daemon.columns import columns
from neuron_observer.daemon.differences import KINDS
from neuron_observer.daemon.layouts import ID as LAYOUTS_ID
from neuron_observer.daemon.timeline import LIMIT, events
from neuron_observer.model import Confidence, Severity, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from neuron_observer.daemon.asked import Asked, Parameter
    from neuron_observer.daemon.standing import Aged, Standing

    Make = Callable[[Standing, Aged, Asked], dict[str, Any]]

PREFIX = "/api/v1/"

_DEVICES = numbers("device", "Only what is about these devices, e.g. 0,3-5.")
_KINDS = words("type", "Only these kinds; all by default.", KINDS)
_FINDING = r"[a-z0-9][a-z0-9-]{0,63}"


class Row(NamedTuple):
    """A path below /api/v1/ that answers a document."""

    name: str
    summary: str
    schema: str  # its component in the OpenAPI file
    make: Make
    parameters: tuple[Parameter, ...] = ()
    once: bool = True  # the same for as long as the frame is the same
    waits: bool = False  # takes so long that others need not wait for it

    @property
    def path(self) -> str:
        """The whole path."""
        return PREFIX + self.name


ROWS = (
    Row(
        "snapshot",
        "Every reading, what is missing and why, jobs, findings and health: `snapshot --format"
        " json` of the last frame.",
        "Snapshot",
        documents.snapshot,
        (flag("sources", "Say which file each reading comes from."),),
        waits=True,
    ),
    Row(
        "columns",
        "The same as `snapshot`, a quarter as long, for a screen that asks each second: one list of"
        " cells a batch; what they are is told once.",
        "Columns",
        columns,
        (
            matching(
                "layouts",
                "The `layouts_id` of an answer before: what is known is left out.",
                LAYOUTS_ID,
                "sixteen hexadecimal digits",
            ),
        ),
    ),
    Row(
        "devices",
        "The devices with their own readings and verdicts, and what should be here.",
        "Devices",
        documents.devices,
        (_DEVICES,),
        waits=True,
    ),
    Row(
        "health",
        "The verdict on the node, its devices and parts, and what it rests on.",
        "HealthReport",
        documents.health,
    ),
    Row(
        "check",
        "The verdict as `check` gives it, for all devices or some; with `format` also the lines"
        " that it prints.",
        "Check",
        checked,
        (
            choice("format", "Also `output` and `narration`: what the command prints.", FORMS),
            choice("fail_on", "From which verdict on `exit_code` tells it.", FAIL_ON),
            numbers("devices", "Only these devices, e.g. 0,3-5."),
            numbers("cores", "Only the devices of these logical cores."),
            number("core_size", "Physical cores in a logical one; default: the chip's.", 1, 2),
        ),
    ),
    Row(
        "findings",
        "The findings that fit; verdict and coverage are the node's.",
        "Findings",
        documents.findings,
        (
            words("severity", "Only these.", [one.value for one in Severity]),
            words("state", "Only these.", [one.value for one in State]),
            words("confidence", "Only these.", [one.value for one in Confidence]),
            _DEVICES,
            matching("id", "Only the finding of this id.", _FINDING, "the id of a finding"),
            flag("shadow", "false: without what is shown and never counted."),
            flag("all", "true: also those that are over, as far as they are kept."),
        ),
        waits=True,
    ),
    Row(
        "events",
        f"What happened and what changed, oldest first: the last {MOST} entries, and before them"
        " events and findings as far as they are kept.",
        "Events",
        events,
        (
            instant("since", "Only later ones: RFC 3339, or how long ago (15m)."),
            instant("until", "Only these and earlier ones, in the same forms."),
            matching("after", "Only what came after this id, oldest first.", ID, "an entry's id"),
            number("limit", f"At most so many; {LIMIT} by default.", 1, MOST),
            _KINDS,
            _DEVICES,
        ),
        once=False,
        waits=True,
    ),
    Row("jobs", "Who uses the devices: jobs, ranks, cores.", "Jobs", documents.jobs),
    Row(
        "explain",
        "What a finding means, what shows it now, and what to do about it.",
        "Explanation",
        documents.explain,
        (
            matching(
                "finding", "The id of a finding.", _FINDING, "the id of a finding", required=True
            ),
        ),
    ),
)

STREAM = PREFIX + "stream"
STREAM_SUMMARY = (
    "What changes, as it changes, as server-sent events: `event`, `finding`, `verdict`, `gap` where"
    " entries are lost, and `frame` where asked for. A comment each 15 s says that it lives."
)
STREAM_PARAMETERS = (
    _KINDS,
    _DEVICES,
    flag("frames", "Also tell of every frame: its id, age and verdict."),
)

OPENAPI = PREFIX + "openapi.json"
OPENAPI_SUMMARY = "This contract."
TEXTS = {  # path → what it answers, and with which statuses
    "/healthz": ("Whether the loop runs; nothing that it reads has a part in it.", (200, 503)),
    "/readyz": ("Whether a frame is younger than three periods, and what is behind.", (200, 503)),
    "/": ("Version, host, verdict, age, and these paths.", (200,)),
}
