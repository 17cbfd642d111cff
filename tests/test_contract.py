"""The documents that others build on, field by field as the architecture page prints them (§8)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer import contract
from neuron_observer.derive import make_batch
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Core,
    Coverage,
    Device,
    DeviceHealth,
    Driver,
    Entity,
    Event,
    Evidence,
    Finding,
    Frame,
    Gap,
    Health,
    Layout,
    Missing,
    Place,
    Run,
    Severity,
    Snapshot,
    State,
    Verdict,
    Why,
)
from neuron_observer.observer import HostReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import ManualClock
    from neuron_observer.sources.listing import ListingFs

AT = 1_796_032_800.123  # 2026-11-30T10:00:00.123Z
ENTITY = Entity("device", node="ip-10-0-0-1", device=3, serial="1af488531d73e1a4")
ENTITY_DOCUMENT = {
    "kind": "device",
    "node": "ip-10-0-0-1",
    "device": 3,
    "core": None,
    "serial": "1af488531d73e1a4",
    "port": None,
    "job": None,
    "rank": None,
}
FINDING = Finding(
    id="hbm-unrepairable",
    entity=ENTITY,
    severity=Severity.CRITICAL,
    confidence=Confidence.PROBABLE,
    action=Action.WATCH,
    message="HBM error that no reload repairs",
    if_confirmed=Action.REPLACE_INSTANCE,
    confirm_by=("read the ECC count again",),
    blames_hardware=True,
    evidence=(
        Evidence("register", "hardware", "neuron3/stats/x", 2, 0, AT),
        Evidence("kernel_line", "hearsay", "dmesg", at=None, line=17),
        Evidence("statistic", "hearsay", "t.csv", 1.5, fields={"first_step": 4, "ratio": 1.5}),
    ),
    first_seen=AT,
    last_seen=AT + 60,
    runbook="docs/runbooks/hbm.md",
)
FINDING_DOCUMENT = {
    "id": "hbm-unrepairable",
    "entity": ENTITY_DOCUMENT,
    "severity": "critical",
    "confidence": "probable",
    "state": "firing",
    "action": "watch",
    "if_confirmed": "replace_instance",
    "confirm_by": ["read the ECC count again"],
    "blames_hardware": True,
    "message": "HBM error that no reload repairs",
    "evidence": [
        {
            "kind": "register",
            "trust": "hardware",
            "source": "neuron3/stats/x",
            "value": 2,
            "previous": 0,
            "at": "2026-11-30T10:00:00.123Z",
            "line": None,
        },
        {
            "kind": "kernel_line",
            "trust": "hearsay",
            "source": "dmesg",
            "value": None,
            "previous": None,
            "at": None,
            "line": 17,
        },
        {
            "kind": "statistic",
            "trust": "hearsay",
            "source": "t.csv",
            "value": 1.5,
            "previous": None,
            "at": None,
            "line": None,
            "first_step": 4,
            "ratio": 1.5,
        },
    ],
    "first_seen": "2026-11-30T10:00:00.123Z",
    "last_seen": "2026-11-30T10:01:00.123Z",
    "runbook": "docs/runbooks/hbm.md",
    "shadow": False,
    "program": False,
    "impact": None,
    "note": None,
}
COVERAGE = Coverage(
    decided=40,
    required=41,
    missing=(Gap("device.serial", "failed: empty", ENTITY), Gap("kmsg", "denied")),
    not_covered=(Gap("device.health.heartbeat", "Trainium1 does not have it"),),
)
COVERAGE_DOCUMENT = {
    "decided": 40,
    "required": 41,
    "missing": [
        {"id": "device.serial", "entity": ENTITY_DOCUMENT, "why": "failed: empty"},
        {"id": "kmsg", "entity": None, "why": "denied"},
    ],
    "not_covered": [{"id": "device.health.heartbeat", "why": "Trainium1 does not have it"}],
}


def test_a_finding() -> None:
    """FINDING with ENTITY and EVIDENCE."""
    assert contract.finding(FINDING) == FINDING_DOCUMENT


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("healthy", 0), ("degraded", 1), ("unhealthy", 2), ("unknown", 3)],
)
def test_the_findings_document(verdict: str, code: int) -> None:
    """`check --format json`: schema, verdict, exit code, coverage, findings."""
    assert contract.findings_document(Verdict(verdict), [FINDING], COVERAGE) == {
        "schema": "neuron-observer/findings/1",
        "verdict": verdict,
        "exit_code": code,
        "coverage": COVERAGE_DOCUMENT,
        "findings": [FINDING_DOCUMENT],
    }


def test_health() -> None:
    """HEALTH: the node's verdict, what it rests on, each device's verdict."""
    health = Health(
        Verdict.DEGRADED, "1 finding", COVERAGE, (DeviceHealth(3, Verdict.HEALTHY, "all read"),)
    )
    assert contract.health(health) == {
        "verdict": "degraded",
        "reason": "1 finding",
        "coverage": COVERAGE_DOCUMENT,
        "devices": [{"index": 3, "verdict": "healthy", "reason": "all read"}],
        "parts": [],
    }


@pytest.mark.parametrize(
    ("words", "documented"),
    [
        (Severity, "info warning critical"),
        (Confidence, "confirmed probable contradicted"),
        (State, "pending firing acknowledged recovering resolved suppressed"),
        (Verdict, "healthy degraded unhealthy unknown"),
        (Why, "unsupported denied failed stale not_yet"),
        (
            Action,
            (
                "none watch fix_program update_software restart_job look_at_other_workers"
                " reset_device reload_driver reboot replace_instance"
            ),
        ),
    ],
)
def test_the_words_are_the_documented_ones(
    words: type[Severity | Confidence | State | Verdict | Why | Action], documented: str
) -> None:
    """No word was added, renamed or lost."""
    assert [word.value for word in words] == documented.split()


def snapshot() -> Snapshot:
    """Device 3 with one core, a PCI function, and one reading of each kind."""
    read = make_batch(
        "sysfs",
        {
            "driver.version": [(NODE, "2.30.2.0")],
            "device.serial": [(Place(3), Missing(Why.FAILED, "empty"))],
            "core.flops": [(Place(3, 0), 2**63 + 1)],
            "pci.vendor": [(Place(label="0000:cc:00.0"), "0x1d0f")],
        },
        read_at=9.75,
    )
    sources = ("module/neuron/version", "s", "f#part", "")
    read = read._replace(layout=Layout(read.layout.columns, sources, read.layout.rows))
    device = Device(
        3,
        "Trainium2",
        "NDv3",
        None,
        "i-1/3",
        pci="0000:cc:00.0",
        neighbours=(12, 3),
        cores=(Core(3, 0, "NCv3"), Core(3, 1, "NCv3")),
    )
    return Snapshot(
        at=AT,
        monotonic=10.0,
        host_root="/",
        instance_type="trn2.48xlarge",
        driver=Driver("2.30.2.0", "live"),
        devices=(device, Device(4, None, None, None, "i-1/4")),
        batches=(read,),
        events=(Event("driver_reloaded", NODE, AT, "again"),),
        runs=(Run("sysfs", ok=True, seconds=0.004),),
    )


def test_the_snapshot_document() -> None:
    """`snapshot --format json --sources`: every field of the page, at its place."""
    health = Health(Verdict.UNKNOWN, "no rules")
    document = contract.snapshot_document(Frame(snapshot(), (FINDING,), health), sources=True)
    version = {"value": "2.30.2.0", "age": 0.25, "source": "module/neuron/version"}
    expected = {
        "schema": "neuron-observer/snapshot/1",
        "at": "2026-11-30T10:00:00.123Z",
        "host_root": "/",
        "node": {
            "instance_type": "trn2.48xlarge",
            "driver": {"version": "2.30.2.0", "state": "live"},
            "readings": {"driver.version": version},
        },
        "devices": [
            {
                "index": 3,
                "name": "Trainium2",
                "serial": None,
                "key": "i-1/3",
                "pci": "0000:cc:00.0",
                "neighbours": [12, 3],
                "readings": {
                    "device.serial": {"missing": "failed", "detail": "empty", "source": "s"}
                },
                "cores": [
                    {
                        "index": 0,
                        "readings": {
                            "core.flops": {"value": 2**63 + 1, "age": 0.25, "source": "f#part"}
                        },
                    },
                    {"index": 1, "readings": {}},
                ],
            },
            {
                "index": 4,
                "name": None,
                "serial": None,
                "key": "i-1/4",
                "pci": None,
                "neighbours": None,
                "readings": {},
                "cores": [],
            },
        ],
        "health": contract.health(health),
        "findings": [{**FINDING_DOCUMENT, "impact": None}],  # nobody looked for jobs
    }
    assert {name: document[name] for name in expected} == expected


def test_what_belongs_to_no_device_is_in_the_document() -> None:
    """Fields added to the page's: nothing read is lost, events and runs are told."""
    document = contract.snapshot_document(Frame(snapshot(), (), Health(Verdict.UNKNOWN, "")))
    assert document["others"] == [
        {
            "label": "0000:cc:00.0",
            "device": None,
            "core": None,
            "readings": {"pci.vendor": {"value": "0x1d0f", "age": 0.25}},
        }
    ]
    assert document["events"] == [
        {
            "kind": "driver_reloaded",
            "at": "2026-11-30T10:00:00.123Z",
            "message": "again",
            "device": None,
            "core": None,
            "label": "",
            "fields": {},
        }
    ]
    assert document["runs"] == [{"collector": "sysfs", "ok": True, "seconds": 0.004, "error": ""}]


def test_sources_are_told_on_request_only() -> None:
    """Without --sources a reading has a value and its age, nothing else."""
    document = contract.snapshot_document(Frame(snapshot(), (), Health(Verdict.UNKNOWN, "")))
    assert document["node"]["readings"] == {"driver.version": {"value": "2.30.2.0", "age": 0.25}}


def test_numbers_survive_json_exactly() -> None:
    """Above 2⁵³ a float would lie; the document keeps integers as the driver printed them."""
    document = contract.snapshot_document(Frame(snapshot(), (), Health(Verdict.UNKNOWN, "")))
    read = json.loads(json.dumps(document))
    assert read == document
    assert read["devices"][0]["cores"][0]["readings"]["core.flops"]["value"] == 2**63 + 1


@pytest.mark.parametrize("batches", [1, 2])
def test_every_reading_of_every_batch_is_in_the_document(batches: int) -> None:
    """Two devices read by two batches are both there."""
    whole = snapshot()
    more = make_batch("sysfs", {"device.name": [(Place(4), "Trainium2")]}, read_at=10.5)
    whole = whole._replace(batches=(*whole.batches, more)[:batches])
    document = contract.snapshot_document(Frame(whole, (), Health(Verdict.UNKNOWN, "")))
    found: list[dict[str, object]] = [
        document["node"]["readings"],
        *(other["readings"] for other in document["others"]),
        *(device["readings"] for device in document["devices"]),
        *(core["readings"] for device in document["devices"] for core in device["cores"]),
    ]
    assert sum(map(len, found)) == sum(len(batch.cells) for batch in whole.batches)


def test_a_reading_has_no_negative_age() -> None:
    """A batch read while the snapshot was being put together is of now."""
    late = snapshot()._replace(monotonic=9.0)
    document = contract.snapshot_document(Frame(late, (), Health(Verdict.UNKNOWN, "")))
    assert document["node"]["readings"]["driver.version"]["age"] == 0


@pytest.mark.parametrize(
    ("wall", "text"),
    [
        (None, None),
        (0.0, "1970-01-01T00:00:00.000Z"),
        (AT, "2026-11-30T10:00:00.123Z"),
        (1_796_032_800, "2026-11-30T10:00:00.000Z"),
        (253_402_300_799, "9999-12-31T23:59:59.000Z"),
    ],
)
def test_instants(wall: float | None, text: str | None) -> None:
    """RFC 3339 in UTC with milliseconds."""
    assert contract.instant(wall) == text


@given(st.integers(0, 4_102_444_800_000))
def test_an_instant_keeps_its_milliseconds(milliseconds: int) -> None:
    """Times are cut to the millisecond, at most one below what was given."""
    text = contract.instant(milliseconds / 1000)
    assert text is not None
    assert (int(text[20:23]) - milliseconds) % 1000 in {0, 999}


def test_a_snapshot_holds_its_jobs(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """The same rows as in the document of jobs, and what they rest on."""
    snapshot = HostReader(tree("proc/pods"), clock).poll(("jobs",))
    whole = contract.snapshot_document(Frame(snapshot, (), Health(Verdict.UNKNOWN, "")))
    alone = contract.jobs_document(snapshot)
    assert json.loads(json.dumps(whole["jobs"])) == json.loads(json.dumps(alone["jobs"]))
    assert len(alone["jobs"]) == 3
    assert whole["job_scan"] == alone["scan"]
    pod = alone["jobs"][0]["ranks"][0]["process"]["pod"]
    assert pod["name"] == "llama-worker-0"
    assert alone["jobs"][0]["started"].endswith("Z")


def test_a_finding_says_whom_it_hits() -> None:
    """The job and its ranks; null where that is not known."""
    entity = Entity("device", device=5)
    found = Finding(
        "sram", entity, Severity.CRITICAL, Confidence.CONFIRMED, Action.NONE, "x", impact="job a"
    )
    assert contract.finding(found)["impact"] == "job a"
    assert contract.finding(found._replace(impact=""))["impact"] is None
