"""Verbs that show a daemon's host as if they read it themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.servers import answering
from tests.daemon.daemons import Simulated, faulty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Result

    Connected = Callable[..., Result]


@pytest.fixture
def connected(call: Callable[..., Result], tmp_path: Any) -> Iterator[Connected]:
    """Calls a verb on the daemon of a host with an SRAM error."""
    with answering(faulty().answers, tmp_path) as client:
        yield lambda *arguments: call(*arguments, "--connect", str(client.address))


@pytest.mark.parametrize("verb", ["snapshot", "jobs", "devices"])
def test_documents_are_the_daemons(connected: Connected, verb: str) -> None:
    """As they are, with the age of their frame."""
    told = json.loads(connected(verb, "--format", "json").out)
    document = faulty().get(f"/api/v1/{verb}")
    if verb == "snapshot":  # lines of the kernel log on request
        document["events"] = [e for e in document["events"] if "printed_by" not in e["fields"]]
    assert told == document


@pytest.mark.parametrize("health", [(), ("--health",)])
def test_devices_are_one_document(
    call: Callable[..., Result], connected: Connected, health: tuple[str, ...]
) -> None:
    """A look of one's own and a daemon tell the same, but for what a glance leaves unread."""
    scenario = ("--simulate", "sram-error@140", "--instance", "trn2.3xlarge")
    own = json.loads(call("devices", "--format", "json", *health, *scenario).out)
    theirs = json.loads(connected("devices", "--format", "json").out)
    assert own["schema"] == theirs["schema"] == "neuron-observer/devices/1"
    assert own.keys() - {"health"} == theirs.keys() - {"frame"}
    assert ("health" in own) is bool(health)
    (mine,), (other,) = own["devices"], theirs["devices"]
    assert mine.keys() == other.keys()
    assert mine["readings"].keys() <= other["readings"].keys()
    assert (mine["verdict"] == "unknown") is not bool(health)
    topics = [item["topic"] for item in own["inventory"]]
    assert topics[:4] == ["devices", "cores", "pci", "driver"]


def test_the_inventory_of_an_ultraserver_is_read(call: Callable[..., Result]) -> None:
    """Its place is no part of the table; the document tells of it."""
    scenario = ("--simulate", "healthy", "--instance", "trn2u.48xlarge")
    told = json.loads(call("devices", "--format", "json", *scenario).out)
    assert told["inventory"][-1] == {"topic": "ultraserver", "right": None, "text": "mode 1,3,4"}


def test_lines_of_the_kernel_log_on_request(connected: Connected) -> None:
    """Then the document is whole."""
    told = json.loads(connected("snapshot", "--format", "json", "--kernel-log").out)
    assert told == faulty().get("/api/v1/snapshot")


def test_snapshot_as_text(connected: Connected) -> None:
    """Verdict, findings and every reading; sources on request."""
    text = connected("snapshot").out
    assert text.startswith("# verdict unhealthy: ")
    assert "neuron0\tdevice.name\tTrainium2" in text.splitlines()
    with_sources = connected("snapshot", "--sources").out.splitlines()
    assert any(line.endswith("info/serial_number") for line in with_sources)
    readings = [line for line in text.splitlines() if line[:1] != "#"]
    held = faulty().loop.feed.latest()
    assert held
    assert len(readings) == sum(len(batch.cells) for batch in held.snapshot.batches)


def test_devices_as_text(connected: Connected) -> None:
    """The table with its verdicts, and nothing that is wrong with the inventory."""
    lines = connected("devices", "--health").out.splitlines()
    assert lines[0] == "trn2.3xlarge · driver 2.30.2.0 live · 1 of 1 devices"
    assert "unhealthy" in lines[2]
    assert not any(line.startswith("WRONG") for line in lines)


def test_a_device_that_is_missing(call: Callable[..., Result], tmp_path: Any) -> None:
    """The inventory says which."""
    made = Simulated("device-missing", begin=130.0)
    with answering(made.answers, tmp_path) as client:
        text = call("devices", "--connect", str(client.address)).out
    made.close()
    assert "0 of 1 devices" in text
    assert "WRONG: devices: 0 of 1 (trn2.3xlarge); missing: neuron0" in text.splitlines()


def test_jobs_as_text(call: Callable[..., Result], tmp_path: Any) -> None:
    """The tree of a host with a job."""
    made = Simulated("healthy")
    with answering(made.answers, tmp_path) as client:
        text = call("jobs", "--connect", str(client.address)).out
    made.close()
    assert "pretrain" in text
    assert "DEVICE" in text


def test_one_frame_of_top(connected: Connected) -> None:
    """The screen of that host."""
    text = connected("top", "--once", "--width", "100", "--ascii").out
    assert "trn2.3xlarge" in text
    assert "sram-uncorrectable" in text
