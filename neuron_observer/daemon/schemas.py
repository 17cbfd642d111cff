"""JSON schemas of all documents, as the OpenAPI file holds them (JSON Schema 2020-12).

A field may be added within a major schema number, so what is not named here may come too.
"""

from __future__ import annotations

from neuron_observer import contract
from neuron_observer.checks.devices import SCHEMA as DEVICES_SCHEMA
from neuron_observer.checks.forms import FORMS
from neuron_observer.daemon.acts import SCHEMA as ACT_SCHEMA
from neuron_observer.daemon.columns import SCHEMA as COLUMNS_SCHEMA
from neuron_observer.daemon.documents import EXPLAIN_SCHEMA, HEALTH_SCHEMA
from neuron_observer.daemon.layouts import ID as LAYOUTS_ID
from neuron_observer.daemon.schema_forms import (
    COUNT,
    ENTRY_ID,
    FLAG,
    INSTANT,
    NUMBER,
    SCALAR,
    SECONDS,
    TEXT,
    WHOLE,
    Schema,
    by_name,
    or_null,
    record,
    ref,
    rows,
    schema,
    words,
)
from neuron_observer.daemon.timeline import EVENTS_SCHEMA
from neuron_observer.model import (
    Action,
    Confidence,
    CoreConfidence,
    CoreSource,
    EntityKind,
    EvidenceKind,
    JobKind,
    JobPhase,
    PaceSource,
    RankPhase,
    Severity,
    State,
    StragglerTier,
    TimeSource,
    Trust,
    Verdict,
    Why,
)
from neuron_observer.store.acts import Verb

_DRIVER = record(version=or_null(TEXT), state=TEXT)
_HEAD = {
    "at": INSTANT,
    "host_root": TEXT,
    "instance_type": or_null(TEXT),
    "driver": _DRIVER,
}
_OPINION = {"verdict": words(Verdict), "reason": TEXT}
_HEALTH = {
    **_OPINION,
    "coverage": ref("Coverage"),
    "devices": rows(record(index=COUNT, **_OPINION)),
    "parts": rows(record(entity=ref("Entity"), **_OPINION)),
}
_FINDINGS = {
    "schema": schema(contract.FINDINGS_SCHEMA),
    "verdict": words(Verdict),
    "exit_code": {"type": "integer", "enum": [0, 1, 2, 3]},
    "coverage": ref("Coverage"),
    "findings": rows(ref("Finding")),
    "reason": TEXT,
    "frame": ref("Frame"),
}
_DEVICE = {
    "index": COUNT,
    "name": or_null(TEXT),
    "serial": or_null(TEXT),
    "key": TEXT,
    "pci": or_null(TEXT),
    "neighbours": or_null(rows(COUNT)),
    "readings": ref("Readings"),
}
_IDENTITY = {
    **{name: of for name, of in _DEVICE.items() if name != "readings"},
    "arch": or_null(TEXT),
    "numa": or_null(WHOLE),
}
_PLACE = {"type": "array", "prefixItems": [or_null(COUNT), or_null(COUNT), TEXT]}
_BESIDE = {
    "jobs": rows(ref("Job")),
    "job_scan": or_null(ref("JobScan")),
    "events": rows(ref("Event")),
    "runs": rows(record(collector=TEXT, ok=FLAG, seconds=NUMBER, error=TEXT)),
    "health": ref("Health"),
    "findings": rows(ref("Finding")),
}
_EVENT = {
    "kind": TEXT,
    "at": INSTANT,
    "message": TEXT,
    "device": or_null(WHOLE),
    "core": or_null(WHOLE),
    "label": TEXT,
    "fields": by_name(SCALAR),
}
_CHANGE = {"id": ENTRY_ID}

COMPONENTS: dict[str, Schema] = {
    "Act": {
        **record(
            {
                "subject": {**TEXT, "description": "The finding or rule; not of set-healthy."},
                "device": {**COUNT, "description": "Its index; left out: all of them."},
                "until": {**TEXT, "description": "RFC 3339, or a duration from now: 2h, 7d."},
            },
            verb=words(Verb),
            reason={**TEXT, "description": "Kept with who and when."},
        ),
        "additionalProperties": False,
    },
    "Done": record(schema=schema(ACT_SCHEMA), text=TEXT, kept=FLAG, problem=TEXT),
    "Frame": {
        **record(at=INSTANT, age=SECONDS, stale=FLAG, stale_after=SECONDS, id=TEXT),
        "description": "The frame that an answer is made from. `age` is taken from a clock that"
        " never jumps; where `stale` is true the answer does not speak of now.",
    },
    "Reading": {
        "oneOf": [
            record({"source": TEXT}, value=SCALAR, age=SECONDS),
            record({"source": TEXT}, missing=words(Why), detail=TEXT),
        ],
        "description": "A value and its age in the frame, or why there is none; never a zero.",
    },
    "Readings": by_name(ref("Reading")),
    "Entity": record(
        kind=words(EntityKind),
        node=or_null(TEXT),
        device=or_null(WHOLE),
        core=or_null(WHOLE),
        serial=or_null(TEXT),
        port=or_null(TEXT),
        job=or_null(TEXT),
        rank=or_null(WHOLE),
    ),
    "Evidence": record(
        kind=words(EvidenceKind),
        trust=words(Trust),
        source=TEXT,
        value=or_null(SCALAR),
        previous=or_null(SCALAR),
        at=or_null(INSTANT),
        line=or_null(WHOLE),
    )
    | {"additionalProperties": or_null(SCALAR)},
    "Finding": record(
        id=TEXT,
        entity=ref("Entity"),
        severity=words(Severity),
        confidence=words(Confidence),
        state=words(State),
        action=words(Action),
        if_confirmed=or_null(words(Action)),
        confirm_by=rows(TEXT),
        blames_hardware=FLAG,
        message=TEXT,
        evidence=rows(ref("Evidence")),
        first_seen=or_null(INSTANT),
        last_seen=or_null(INSTANT),
        runbook=TEXT,
        shadow=FLAG,
        program=FLAG,
        impact=or_null(TEXT),
        note=or_null(TEXT),
    ),
    "Coverage": record(
        decided=COUNT,
        required=COUNT,
        missing=rows(record(id=TEXT, why=TEXT, entity=or_null(ref("Entity")))),
        not_covered=rows(record(id=TEXT, why=TEXT)),
    ),
    "Health": record(**_HEALTH),
    "Event": record(**_EVENT),
    "Process": record(
        pid=COUNT,
        start=NUMBER,
        name=TEXT,
        command=TEXT,
        devices=rows(COUNT),
        state=or_null(TEXT),
        threads=or_null(COUNT),
        uid=or_null(COUNT),
        user=or_null(TEXT),
        age=or_null(NUMBER),
        cpu=or_null(NUMBER),
        processors=or_null(NUMBER),
        waited=or_null(NUMBER),
        rss=or_null(COUNT),
        cgroup=or_null(TEXT),
        container=or_null(TEXT),
        pod=or_null(record(uid=TEXT, name=or_null(TEXT), namespace=or_null(TEXT))),
        own_pid=or_null(COUNT),
        hook=or_null(FLAG),
        unknown=rows(TEXT),
    ),
    "Job": record(
        id=TEXT,
        name=TEXT,
        kind=words(JobKind),
        why=TEXT,
        launcher=or_null(TEXT),
        ranks=rows(
            record(
                rank=or_null(WHOLE),
                local_rank=or_null(WHOLE),
                cores=record(
                    numbers=rows(COUNT),
                    size=or_null(COUNT),
                    how_many=or_null(COUNT),
                    source=words(CoreSource),
                    confidence=words(CoreConfidence),
                    detail=TEXT,
                ),
                process=ref("Process"),
                pace=or_null(ref("RankPace")),
            )
        ),
        devices=rows(COUNT),
        world_size=or_null(WHOLE),
        run_id=or_null(TEXT),
        master=or_null(TEXT),
        restarts=or_null(WHOLE),
        slurm_job=or_null(TEXT),
        slurm_step=or_null(TEXT),
        node_rank=or_null(WHOLE),
        tag=or_null(TEXT),
        started=or_null(INSTANT),
        mapped=rows(TEXT),
        pace=or_null(
            record(
                phase=words(JobPhase),
                since=or_null(INSTANT),
                source=words(PaceSource),
                period=or_null(NUMBER),
                ratio=or_null(NUMBER),
                heard=COUNT,
                slowest=or_null(COUNT),
                limit=or_null(NUMBER),
                detail=TEXT,
                learned=FLAG,
                quiet=or_null(NUMBER),
            )
        ),
    ),
    "RankPace": record(
        phase=words(RankPhase),
        step=COUNT,
        age=NUMBER,
        period=or_null(NUMBER),
        busy=or_null(NUMBER),
        wait=or_null(NUMBER),
        input=or_null(NUMBER),
        tokens=or_null(NUMBER),
        source=words(TimeSource),
        entered=COUNT,
        completed=COUNT,
        inside=or_null(TEXT),
        inside_for=or_null(NUMBER),
        behind=or_null(COUNT),
        straggler=or_null(words(StragglerTier)),
        kind=TEXT,
        ratio=or_null(NUMBER),
        role=or_null(TEXT),
        replica=or_null(TEXT),
    ),
    "JobScan": record(
        processes=COUNT,
        holders=COUNT,
        denied=COUNT,
        pending=COUNT,
        notes=rows(TEXT),
        mapped=by_name(rows(TEXT)),
        stray_hooks=rows(COUNT),
    ),
    "Item": record(topic=TEXT, right=or_null(FLAG), text=TEXT),
    "Snapshot": record(
        schema=schema(contract.SNAPSHOT_SCHEMA),
        at=INSTANT,
        host_root=TEXT,
        node=record(instance_type=or_null(TEXT), driver=_DRIVER, readings=ref("Readings")),
        devices=rows(record(**_DEVICE, cores=rows(record(index=COUNT, readings=ref("Readings"))))),
        others=rows(
            record(
                label=TEXT,
                device=or_null(COUNT),
                core=or_null(COUNT),
                readings=ref("Readings"),
            )
        ),
        **_BESIDE,
        frame=ref("Frame"),
    ),
    "Columns": record(
        schema=schema(COLUMNS_SCHEMA),
        **_HEAD,
        devices=rows(record(**_IDENTITY, cores=rows(record(index=COUNT, arch=or_null(TEXT))))),
        layouts_id={"type": "string", "pattern": f"^{LAYOUTS_ID}$"},
        layouts={
            **or_null(rows(by_name(rows(_PLACE)))),
            "description": "By number: metric and places, in the order of the cells; null where"
            " the question named the `layouts_id`.",
        },
        batches=rows(
            record(
                collector=TEXT,
                lane=TEXT,
                device=or_null(COUNT),
                layout=COUNT,
                read={**NUMBER, "description": "The same for as long as it was not read again."},
                age=SECONDS,
                cells={
                    **rows(
                        {"anyOf": [SCALAR, {"type": "array", "prefixItems": [words(Why), TEXT]}]}
                    ),
                    "description": "A value, or why there is none and a detail.",
                },
            )
        ),
        **_BESIDE,
        frame=ref("Frame"),
    ),
    "Devices": record(
        schema=schema(DEVICES_SCHEMA),
        **_HEAD,
        inventory=rows(ref("Item")),
        devices=rows(record(**_DEVICE, cores=rows(COUNT), **_OPINION)),
        frame=ref("Frame"),
    ),
    "HealthReport": record(
        schema=schema(HEALTH_SCHEMA),
        **_HEAD,
        **_HEALTH,
        findings=record(critical=COUNT, warning=COUNT, info=COUNT),
        frame=ref("Frame"),
    ),
    "Findings": record(**_FINDINGS, **_HEAD),
    "Check": record(
        {
            "output": {**TEXT, "description": f"With `format`: {', '.join(FORMS)}."},
            "narration": {**TEXT, "description": "The same, for standard error."},
        },
        **_FINDINGS,
        scope=record(devices=or_null(rows(COUNT)), told=TEXT),
        devices=rows(record(index=COUNT, **_OPINION)),
        inventory=rows(ref("Item")),
        seconds=SECONDS,
        source={"type": "string", "enum": ["daemon", "direct"]},
        host_root=TEXT,
        settled={
            **FLAG,
            "description": "false: a look at the host itself may know more now, because a fault is"
            " held back until it has stood for a while, or something was not read yet.",
        },
    ),
    "HostEvent": record(**_CHANGE, type=schema("event"), **_EVENT),
    "FindingChange": record(
        **_CHANGE,
        type=schema("finding"),
        at=INSTANT,
        change={"type": "string", "enum": ["begun", "changed", "ended"]},
        finding=ref("Finding"),
    ),
    "VerdictChange": record(
        **_CHANGE,
        type=schema("verdict"),
        at=INSTANT,
        previous=or_null(words(Verdict)),
        **_OPINION,
        devices=rows(
            record(index=COUNT, verdict=or_null(words(Verdict)), previous=or_null(words(Verdict)))
        ),
    ),
    "Events": record(
        schema=schema(EVENTS_SCHEMA),
        last_id=ENTRY_ID,
        missed=or_null(COUNT),
        more=FLAG,
        events=rows({"oneOf": [ref("HostEvent"), ref("FindingChange"), ref("VerdictChange")]}),
        frame=ref("Frame"),
    ),
    "Gap": {
        **record(type=schema("gap"), after=or_null(ENTRY_ID), missed=or_null(COUNT), why=TEXT),
        "description": "On the stream: entries after `after` that cannot be had any more;"
        " `missed` null where nobody can tell how many.",
    },
    "FrameNotice": record(type=schema("frame"), at=INSTANT, id=TEXT, **_OPINION, findings=COUNT),
    "Jobs": record(
        schema=schema(contract.JOBS_SCHEMA),
        at=INSTANT,
        host_root=TEXT,
        jobs=rows(ref("Job")),
        scan=or_null(ref("JobScan")),
        frame=ref("Frame"),
    ),
    "Explanation": record(
        schema=schema(EXPLAIN_SCHEMA), finding=TEXT, text=TEXT, frame=ref("Frame")
    ),
    "Problem": {
        **record(
            {"known": rows(TEXT)},
            type=TEXT,
            title=TEXT,
            status={"type": "integer", "minimum": 400, "maximum": 599},
            detail=TEXT,
        ),
        "description": "What went wrong (RFC 9457).",
    },
}
