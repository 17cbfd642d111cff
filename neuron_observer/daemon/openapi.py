"""The API's contract as OpenAPI 3.1, and its table of paths, both made from the routes' table.

`python -m neuron_observer.daemon.openapi` prints the contract, with `table` the table: so
docs/openapi.json and the table of docs/api.md are made anew.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from neuron_observer import __version__
from neuron_observer.daemon.acts import PATH as ACTS
from neuron_observer.daemon.acts import SUMMARY as ACTS_SUMMARY
from neuron_observer.daemon.replies import AGE_HEADER, JSON, PROBLEM, STALE_HEADER
from neuron_observer.daemon.schema_forms import ref
from neuron_observer.daemon.schemas import COMPONENTS
from neuron_observer.daemon.table import (
    OPENAPI,
    OPENAPI_SUMMARY,
    ROWS,
    STREAM,
    STREAM_PARAMETERS,
    STREAM_SUMMARY,
    TEXTS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.daemon.asked import Parameter
    from neuron_observer.daemon.table import Row

_WHAT = (
    "What one node's observer knows, read-only. Every answer is made from the last frame and says"
    " how old that is. A field may be added within a major schema number, none is renamed or"
    " removed; an unknown parameter or value is refused."
)
_HEADERS = {
    AGE_HEADER: {
        "description": "Seconds since the frame was read; `none` before the first.",
        "schema": {"type": "string"},
    },
    STALE_HEADER: {
        "description": "Whether the frame is too old to speak of now.",
        "schema": {"type": "string", "enum": ["true", "false"]},
    },
}
_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_LINE = {"content": _TEXT}


def contract() -> dict[str, Any]:
    """The whole file."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "neuron-observer",
            "version": __version__,
            "description": _WHAT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:9744"}],
        "paths": {
            **{row.path: _operation(row) for row in ROWS},
            STREAM: _stream(),
            ACTS: _acts(),
            OPENAPI: _get("openapi", OPENAPI_SUMMARY, (), {"200": _json({"type": "object"})}),
            **{path: _text(path, *told) for path, told in TEXTS.items()},
        },
        "components": {"schemas": COMPONENTS},
    }


def _operation(row: Row) -> dict[str, Any]:
    answers = {"200": _json(ref(row.schema))}
    if row.once:
        answers["304"] = {
            "description": "The same frame as the one whose ETag was sent.",
            "headers": _HEADERS,
        }
    if row.name == "explain":
        answers["404"] = _problem("No finding has this id.")
    answers["503"] = _problem("There is no frame yet.")
    return _get(row.name, row.summary, row.parameters, answers)


def _stream() -> dict[str, Any]:
    answers = {
        "200": {
            "description": "Events whose data are JSON of these schemas, by the event's name.",
            "content": {
                "text/event-stream": {
                    "schema": {"type": "string"},
                    "x-events": {
                        "event": ref("HostEvent"),
                        "finding": ref("FindingChange"),
                        "verdict": ref("VerdictChange"),
                        "gap": ref("Gap"),
                        "frame": ref("FrameNotice"),
                    },
                }
            },
        },
        "503": _problem("There are too many streams."),
    }
    operation = _get("stream", STREAM_SUMMARY, STREAM_PARAMETERS, answers)
    resume = {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "Go on after this entry; what is no longer held is told as a gap.",
        "schema": {"type": "string"},
    }
    operation["get"]["parameters"].append(resume)
    return operation


def _acts() -> dict[str, Any]:
    answers = {
        "200": _json(ref("Done")),
        "400": _problem("It cannot be done; why, and what is known."),
        "403": {"description": "Only root and the daemon's user, by the unix socket.", **_LINE},
        "503": _problem("The loop or the disk hangs."),
    }
    body = {"required": True, "content": {JSON: {"schema": ref("Act")}}}
    operation = {"operationId": "act", "summary": ACTS_SUMMARY, "requestBody": body}
    return {"post": {**operation, "responses": answers}}


def _get(
    name: str, summary: str, parameters: Iterable[Parameter], answers: dict[str, Any]
) -> dict[str, Any]:
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "parameters": [_parameter(one) for one in parameters],
            "responses": {**answers, "400": _problem("A parameter or a value is not known.")},
        }
    }


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": "query",
        "description": one.help,
        "required": one.required,
        "schema": one.schema,
    }


def _text(path: str, summary: str, statuses: Sequence[int]) -> dict[str, Any]:
    operation = _get(path.strip("/") or "index", summary, (), {})
    answer = {"description": "A few lines.", "content": _TEXT}
    operation["get"]["responses"] = {str(status): answer for status in statuses}
    return operation


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    content = {JSON: {"schema": schema}}
    return {"description": "The document.", "headers": _HEADERS, "content": content}


def _problem(why: str) -> dict[str, Any]:
    content = {PROBLEM: {"schema": ref("Problem")}}
    return {"description": why, "headers": _HEADERS, "content": content}


def table() -> str:
    """The paths as a Markdown table."""
    lines = [
        "| path | parameters | answers |",
        "|---|---|---|",
        *(_line(row.path, row.parameters, row.summary) for row in ROWS),
        _line(STREAM, STREAM_PARAMETERS, STREAM_SUMMARY),
        _line(OPENAPI, (), OPENAPI_SUMMARY),
        _line(f"POST {ACTS}", (), ACTS_SUMMARY),
        *(_line(path, (), summary) for path, (summary, _) in TEXTS.items()),
    ]
    return "\n".join(lines)


def _line(path: str, parameters: Sequence[Parameter], summary: str) -> str:
    told = "<br>".join(f"`{one.name}` {one.help}" for one in parameters)
    return f"| `{path}` | {told} | {summary} |".replace("  ", " ")


if __name__ == "__main__":
    made = table() if sys.argv[1:] == ["table"] else json.dumps(contract(), indent=1)
    print(made)  # noqa: T201 - what it is for
