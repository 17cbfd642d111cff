"""`check` by the daemon says what `check` says that looks itself, in every form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.checks.documents import document
from neuron_observer.checks.forms import FORMS, said
from neuron_observer.checks.inventory import take
from neuron_observer.checks.judging import judge_by, look
from neuron_observer.checks.scope import by_devices
from neuron_observer.checks.verdict import check
from neuron_observer.clock import ManualClock
from neuron_observer.contract import EXIT_CODES
from neuron_observer.model import Health, Verdict
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from tests.daemon.daemons import WALL, Simulated, Still, faulty, rules
from tests.daemon.daemons import document as got
from tests.daemon.daemons import got as response
from tests.daemon.test_changes import ILL, frame

if TYPE_CHECKING:
    from neuron_observer.checks.verdict import Checked

# faults whose evidence stays: what a look now sees, a watch since before has seen
FAULTS = ("sram-error", "component", "healthy", "hbm-repair", "hbm-unrepairable")
HELD = ("device-missing", "unbound", "driver-absent")  # certain once they have stood for a while


def direct(scenario: str, begin: float) -> Checked:
    """What a look of one's own finds at that time."""
    clock = ManualClock(WALL)
    host = simulate(load(scenario, instance="trn2.3xlarge"), clock, begin=begin)
    options = Options(thorough=False, kernel_log=True, firmware_period=0.0)
    reader = HostReader(host, clock, options)
    found = look(reader, lambda: judge_by(rules(), one_shot=True)).frame
    reader.close()
    return check(found, inventory=take(reader.topology, found.snapshot))


def essence(told: dict[str, Any]) -> dict[str, Any]:
    """What both must agree on; what only a longer look decides stands in the coverage."""
    findings = sorted(
        (one["id"], one["entity"]["device"] or 0, one["severity"], one["confidence"], one["action"])
        for one in told["findings"]
        if one["severity"] != "info" and not one["shadow"]
    )
    return {
        "verdict": told["verdict"],
        "exit_code": told["exit_code"],
        "findings": findings,
        "devices": [(one["index"], one["verdict"]) for one in told["devices"]],
        "inventory": told["inventory"],
    }


def both(scenario: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the daemon tells once that is settled, and what a look of one's own tells then."""
    made = Simulated(scenario, begin=130.0)
    by_daemon = made.get("/api/v1/check")
    while not by_daemon["settled"]:
        made.go(5.0)
        assert made.clock.wall() < WALL + 60.0
        by_daemon = made.get("/api/v1/check")
    made.close()
    checked = direct(scenario, 130.0 + made.clock.wall() - WALL)
    told = document(checked, said(checked, "json").code)
    return by_daemon, json.loads(json.dumps(told))


@pytest.mark.parametrize("scenario", FAULTS)
def test_both_agree(scenario: str) -> None:
    """Verdict, exit code, findings with confidence and action, devices, inventory."""
    by_daemon, by_look = both(scenario)
    assert essence(by_daemon) == essence(by_look)
    assert by_daemon.keys() - {"frame", "host_root", "settled"} == by_look.keys()
    assert (by_daemon["source"], by_look["source"]) == ("daemon", "direct")


@pytest.mark.parametrize("scenario", HELD)
def test_the_daemon_is_surer(scenario: str) -> None:
    """The same faults and remedies; it has watched for as long as they take to be certain."""
    by_daemon, by_look = map(essence, both(scenario))
    assert [one[:3] + one[4:] for one in by_daemon["findings"]] == [
        one[:3] + one[4:] for one in by_look["findings"]
    ]
    assert {one[3] for one in by_daemon["findings"]} == {"confirmed"}
    assert {one[3] for one in by_look["findings"]} == {"probable"}
    assert (by_daemon["exit_code"], by_look["exit_code"]) == (2, 1)


def test_what_is_held_back_is_not_settled() -> None:
    """A device that is missing counts after a while only; a look of one's own knows at once."""
    made = Simulated("device-missing", begin=130.0)
    made.go(2.0)
    early = made.get("/api/v1/check")
    made.go(30.0)
    late = made.get("/api/v1/check")
    made.close()
    assert [one["state"] for one in early["findings"]] == ["pending"]
    assert (early["settled"], late["settled"]) == (False, True)
    assert late["verdict"] == "unhealthy"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fail_on", [None, "warning", "critical"])
def test_forms_are_those_of_the_command(form: str, fail_on: str | None) -> None:
    """Line for line, with the same exit code."""
    daemon = faulty()
    last = daemon.loop.feed.latest()
    assert last
    checked = check(last, inventory=take(daemon.reader.topology, last.snapshot))
    expected = said(checked, form, fail_on)
    query = f"&fail_on={fail_on}" if fail_on else ""
    told = daemon.get(f"/api/v1/check?format={form}{query}")
    assert (told["exit_code"], told["output"], told["narration"]) == expected
    assert told["verdict"] == "unhealthy"


def test_some_devices() -> None:
    """By number and by core, as the options; a device that cannot be is an error."""
    daemon = faulty()
    told = daemon.get("/api/v1/check?devices=0")
    scope = by_devices((0,), daemon.reader.topology)
    assert told["scope"] == {"devices": [0], "told": scope.told}
    assert daemon.get("/api/v1/check?cores=0-3")["scope"]["devices"] == [0]
    wrong = response(daemon.answers, "/api/v1/check?devices=7")
    assert wrong.status == 400
    assert json.loads(wrong.body)["title"] == "neuron7: no such device"
    both = response(daemon.answers, "/api/v1/check?devices=0&cores=1")
    assert both.status == 400


def test_devices_of_a_host_that_nobody_knows() -> None:
    """Without a topology only the whole node can be judged."""
    still = Still(frame(ILL))
    assert response(still.answers, "/api/v1/check?devices=0").status == 400
    assert got(still.answers, "/api/v1/check")["verdict"] == "unhealthy"


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_stale_frame_never_says_healthy(verdict: Verdict) -> None:
    """It is unknown then; what was found stays found, and all say how old that is."""
    still = Still(frame(Health(verdict, "as it was")))
    fresh = got(still.answers, "/api/v1/check")
    assert (fresh["verdict"], fresh["exit_code"]) == (verdict.value, EXIT_CODES[verdict.value])
    still.clock.advance(60.0)
    stale = got(still.answers, "/api/v1/check")
    expected = "unknown" if verdict is Verdict.HEALTHY else verdict.value
    assert (stale["verdict"], stale["exit_code"]) == (expected, EXIT_CODES[expected])
    assert "the last frame is 60 s old" in stale["reason"]
    assert stale["coverage"]["missing"][0]["id"] == "frame"
