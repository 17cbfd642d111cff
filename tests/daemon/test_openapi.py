"""The contract holds: real answers of a simulated daemon fit the schemas that it promises."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from neuron_observer.daemon.openapi import contract, table
from neuron_observer.daemon.table import ROWS, STREAM
from neuron_observer.exporters.message import Response, Stream
from tests.daemon.daemons import Simulated, asked, faulty, got

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent.parent


def closed(schema: Any) -> Any:
    """The same schema where a field that it does not name is an error."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(value) for name, value in schema.items()}
    if "properties" in schema and "additionalProperties" not in schema:
        made["additionalProperties"] = False
    return made


@cache
def validator(name: str) -> Draft202012Validator:
    """Of one component, with all others at hand."""
    components = {"schemas": closed(contract()["components"]["schemas"])}
    whole = {"$ref": f"#/components/schemas/{name}", "components": components}
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator(whole)


def fits(document: Any, name: str) -> None:
    """An assertion with the place of the first error."""
    errors = sorted(validator(name).iter_errors(document), key=lambda one: list(one.path))
    assert not errors, (list(errors[0].absolute_path), errors[0].message)


def test_the_file_is_current() -> None:
    """Made anew with `python -m neuron_observer.daemon.openapi > docs/openapi.json`."""
    stored = (ROOT / "docs/openapi.json").read_text(encoding="utf-8")
    assert stored == json.dumps(contract(), indent=1) + "\n"


def test_the_table_of_the_page_is_current() -> None:
    """Made anew with `python -m neuron_observer.daemon.openapi table`."""
    assert table() in (ROOT / "docs/api.md").read_text(encoding="utf-8")


def test_every_route_is_in_the_file() -> None:
    """And nothing else is; what is not below /api and answers text is there too."""
    routes = {path for path in faulty().answers.routes() if not path.endswith("*")}
    assert set(contract()["paths"]) == routes


QUERIES = {
    "columns": ("", "?layouts=0123456789abcdef"),
    "snapshot": ("", "?sources=true", "?sources=false"),
    "devices": ("", "?device=0", "?device=7"),
    "check": ("", "?format=text", "?format=slurm&fail_on=warning", "?devices=0", "?cores=0-3"),
    "findings": (
        "",
        "?severity=critical,warning&state=firing",
        "?device=0&confidence=confirmed&shadow=false",
        "?id=sram-uncorrectable",
    ),
    "events": ("", "?since=10s", "?limit=1", "?type=verdict,finding", "?device=0"),
    "explain": ("?finding=sram-uncorrectable",),
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_answers_fit_their_schema(row: Any) -> None:
    """Every path, with every parameter, on a host with findings, events and jobs."""
    for query in QUERIES.get(row.name, ("",)):
        response = got(faulty().answers, row.path + query)
        assert response.status == 200, response.body
        assert response.content_type == "application/json"
        fits(json.loads(response.body), row.schema)


def test_a_host_with_jobs_fits() -> None:
    """Ranks, processes, cores and what the job map rests on."""
    made = Simulated("healthy")
    made.go(2.0)
    jobs = made.get("/api/v1/jobs")
    assert jobs["jobs"]
    fits(jobs, "Jobs")
    fits(made.get("/api/v1/snapshot"), "Snapshot")
    made.close()


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/api/v1/jobs?a=1", 400),
        ("/api/v1/explain?finding=nobody-knows-it", 404),
        ("/api/v1/nowhere", 404),
        ("/api/v2/snapshot", 404),
    ],
)
def test_problems_fit_theirs(target: str, status: int) -> None:
    """In the form of RFC 9457, with the status inside as well."""
    response = got(faulty().answers, target)
    assert (response.status, response.content_type) == (status, "application/problem+json")
    fits(json.loads(response.body), "Problem")
    assert json.loads(response.body)["status"] == status


def streamed(stream: Response | Stream) -> tuple[list[bytes], Callable[[], None]]:
    """What a stream sends, and what ends it."""
    assert isinstance(stream, Stream)
    sent: list[bytes] = []
    return sent, stream.open(sent.append)


def test_messages_of_the_stream_fit() -> None:
    """Each kind is told by the contract; all that were held and a frame."""
    made = Simulated("sram-error")
    sent, end = streamed(asked(made.answers, f"{STREAM}?frames=true", last_event_id="deadbeef-7"))
    made.go(25.0)
    end()
    made.close()
    names = contract()["paths"][STREAM]["get"]["responses"]["200"]["content"]
    schemas = names["text/event-stream"]["x-events"]
    seen = set()
    for message in b"".join(sent).decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in message.splitlines() if line[:1] != ":")
        if "event" not in fields:
            continue
        seen.add(fields["event"])
        fits(json.loads(fields["data"]), schemas[fields["event"]]["$ref"].rpartition("/")[2])
    assert seen == set(schemas)
