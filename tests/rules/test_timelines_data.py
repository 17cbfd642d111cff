"""The table of faults and the timelines in bytes: complete, in order, and true to their hosts.

Nothing here evaluates a rule. What is checked is that the data can be believed: every path that a
step touches stands in the host's listing, every content has the form that the driver prints there.
"""

from __future__ import annotations

import errno
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from neuron_observer.model import Action, Confidence, Severity, State, Verdict
from neuron_observer.parsers.monitor import parse_report
from neuron_observer.parsers.monitor_report import MonitorReport
from neuron_observer.rules.matcher import Matcher
from neuron_observer.rules.patterns import load
from neuron_observer.sources.listing import Node, read_listing
from tests.conftest import tree_file

HERE = Path(__file__).parent
FILES = sorted((HERE / "timelines").glob("*.yaml"))
DEMANDED = {"fires", "near-miss", "clears", "reset", "not-live"}
ALWAYS_LIVE = {"clock-jump", "collector-stuck", "collector-failing"}

REQUIRED = {
    "id", "section", "source", "grade", "entity", "signal", "live", "threshold", "hold_s",
    "clear_s", "clears", "severity", "confidence", "action", "blames_hardware", "idle", "shadow",
}  # fmt: skip
OPTIONAL = {
    "if_confirmed", "confirm_by", "latched", "contradicted_s", "notes", "escalates", "unknown",
    "covered_by",
}  # fmt: skip
STEP = {
    "at", "every", "until", "write", "add", "fail", "hang", "remove", "restore", "link", "kernel",
    "monitor", "wall", "stall", "space",
}  # fmt: skip
EXPECT = {"at", "findings", "verdict", "others", "not_covered"}
FINDING = {
    "entity", "severity", "confidence", "action", "if_confirmed", "state", "blames_hardware",
}  # fmt: skip
KERNEL_LOG = "dev/kmsg"  # played by the kernel lines; in no listing

# What stands in a file, by the end of its path; the listing's own content must agree, too.
FORMS = (
    (r"stats/hardware/(sram|mem)_ecc_\w+", r"\d{1,6}\n"),
    (r"info/serial_number", r"([0-9a-f]{16})?\n"),
    (r"fw_api_version|fw_build", r"(\d+|busy)\n"),
    (r"health_status/unhealthy_components", r"([a-z_]+(,[a-z_]+)*)?\n"),
    (r"health_status/healthcheck_heartbeat", r"(\d{1,3}|device_unreachable)\n"),
    (r"health_status/hw_error_event", r"\d+\n"),
    (r"neuron\d+/reset", r"[012]\n"),
    (r"stats/(status|other_info)/\w+/(total|present)", r"\d+\n"),
    (r"stats/memory_usage/[a-z_/]+/(total|present|peak)", r"\d+\n"),
    (
        r"stats/power/utilization",
        r"POWER_STATUS_(VALID|NO_DATA|INVALID),\d+(,\d{1,3}\.\d\d){3}\n",
    ),
    (
        r"stats/power/utilization_raw",
        r"die,util_bips,counter\n(\d,(\d+|bogus\(\d+\)),\d+\n|\d,(unavailable|read_error)\n)+",
    ),
    (r"module/neuron/initstate", r"(coming|live|going)\n"),
    (r"module/neuron/parameters/\w+", r"\w+\n"),
    (r"class/neuron_device/(hbm_7200_capable|current_perf_profile)", r"(-?\d+|busy|init_error)\n"),
    (r"dmi/id/product_name", r"[a-z0-9.-]+\n"),
    (r"hw_counters/\w+", r"\d+\n"),
    (r"ports/\d+/state", r"[1-5]: [A-Z_]+\n"),
    (r"ports/\d+/phys_state", r"[1-7]: \w+\n"),
    (r"aer_dev_(correctable|fatal|nonfatal)", r"([A-Za-z_ -]+ \d+\n)+TOTAL_ERR_[A-Z]+ \d+\n"),
    (r"proc/meminfo", r"(\w+: +\d+( kB)?\n)+"),
    (r"proc/sys/fs/file-nr", r"\d+\t0\t\d+\n"),
)


def form_of(path: str) -> re.Pattern[str]:
    """The form of a file's content."""
    for end, form in FORMS:
        if re.search(f"(^|/)({end})$", path):
            return re.compile(form)
    raise LookupError(f"no form is known of {path}")


@cache
def document(path: Path) -> Any:
    """A YAML file."""
    return yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe one


def rows() -> dict[str, dict[str, Any]]:
    """The table, by id."""
    return {row["id"]: row for row in document(HERE / "faults.yaml")["faults"]}


@cache
def nodes(host: str) -> dict[str, Node]:
    """What stands at each path of a host."""
    file = HERE / "timelines" / host if "/" in host else tree_file(host)
    return read_listing(str(file)).passes[0].nodes


@cache
def folders(host: str) -> frozenset[str]:
    """All folders of a host."""
    return frozenset(
        path[:at] for path in nodes(host) for at, letter in enumerate(path) if letter == "/"
    )


def timelines() -> list[Any]:
    """Every timeline with a name that a failure shows."""
    return [
        pytest.param(path, one, id=f"{path.stem}-{one['name']}")
        for path in FILES
        for one in document(path)["timelines"]
    ]


def test_table_is_complete() -> None:
    """Each row has its keys, known words and times that can be; a guess ships in shadow."""
    table = document(HERE / "faults.yaml")["faults"]
    assert len(table) == len(rows()) >= 45
    for row in table:
        keys = set(row)
        assert keys >= REQUIRED, (row["id"], REQUIRED - keys)
        assert keys <= REQUIRED | OPTIONAL, (row["id"], keys - REQUIRED - OPTIONAL)
        assert row["grade"] in ("source", "document", "capture", "inferred")
        assert row["shadow"] == (row["grade"] == "inferred"), row["id"]
        assert Severity(row["severity"])
        assert Confidence(row["confidence"]) is not Confidence.CONTRADICTED
        assert Action(row["action"])
        assert row["hold_s"] >= 0 <= row["clear_s"]
        assert (row["clear_s"] == 0) == (row.get("latched", False) or not row["signal"]), row["id"]
        assert "if_confirmed" not in row or Action(row["if_confirmed"])


def test_evidence_of_the_table() -> None:
    """Hearsay alone never confirms, and what is seen only while a job runs blames no node."""
    for row in rows().values():
        hearsay = row["signal"] and all(
            signal["where"] == "kernel" or "stats/status/" in signal.get("path", "")
            for signal in row["signal"]
        )
        if hearsay and row["id"] != "kernel-log-overrun":
            assert row["confidence"] == "probable", row["id"]
        if row["action"] in ("fix_program", "look_at_other_workers"):
            assert not row["blames_hardware"], row["id"]
            assert row["severity"] != "critical", row["id"]


def test_every_row_has_its_file() -> None:
    """A row without a file is one whose bytes are not known; no file is without a row."""
    named = {path.stem for path in FILES}
    assert named <= set(rows())
    for name in set(rows()) - named:
        assert not rows()[name]["signal"] or rows()[name]["unknown"], name


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_file(path: Path) -> None:
    """A file names its fault and holds the five timelines, each name once."""
    content = document(path)
    assert set(content) == {"fault", "timelines"}
    assert content["fault"] == rows()[path.stem].get("covered_by", path.stem)
    names = [one["name"] for one in content["timelines"]]
    assert len(names) == len(set(names))
    assert set(names) >= DEMANDED


@pytest.mark.parametrize(("path", "one"), timelines())
def test_order(path: Path, one: dict[str, Any]) -> None:
    """Steps and expectations are in order and within the time that is played."""
    assert set(one) == {"name", "host", "seconds", "wall", "steps", "expect"}, path
    times = [step["at"] for step in one["steps"]]
    assert times == sorted(times)
    for step in one["steps"]:
        assert set(step) <= STEP
        assert set(step) - {"at", "every", "until"}, "a step without a change"
        assert ("every" in step) == ("until" in step)
        assert 0 <= step["at"] <= step.get("until", step["at"]) <= one["seconds"]
    looks = [look["at"] for look in one["expect"]]
    assert looks == sorted(set(looks))
    assert 0 < looks[0] <= looks[-1] <= one["seconds"]


@pytest.mark.parametrize(("path", "one"), timelines())
def test_paths_and_contents(path: Path, one: dict[str, Any]) -> None:
    """Every path stands in the host's listing, every content has the form of its file."""
    here = nodes(one["host"])
    for step in one["steps"]:
        for file, text in step.get("write", {}).items():
            form = form_of(file)
            assert form.fullmatch(here[file].content.decode()), (path.stem, file, "listing")
            assert form.fullmatch(text), (path.stem, file, text)
        for file, more in step.get("add", {}).items():
            assert here[file].content.decode().strip().isdecimal(), (path.stem, file)
            assert more > 0
        for name in step.get("fail", {}).values():
            assert hasattr(errno, name)
        for report in step.get("monitor", ()):
            assert isinstance(parse_report(json.dumps(report)), MonitorReport)
        others = {*step.get("remove", ()), *step.get("restore", ()), *step.get("hang", ())}
        for place in (others | set(step.get("fail", ()))) - {KERNEL_LOG}:
            assert place in here or place in folders(one["host"]), (path.stem, place)


@pytest.mark.parametrize(("path", "one"), timelines())
def test_expectations(path: Path, one: dict[str, Any]) -> None:
    """What is expected is about the fault of the row, in its words, on a device that is there."""
    table = rows()
    row = table[path.stem]
    fault = table[row.get("covered_by", path.stem)]
    actions = {fault["action"], fault.get("escalates", {}).get("action", fault["action"])}
    there = folders(one["host"])
    for look in one["expect"]:
        assert set(look) <= EXPECT
        assert "findings" in look or look["not_covered"]
        assert set(look.get("others", ())) <= set(table)
        assert "verdict" not in look or Verdict(look["verdict"])
        for finding in look.get("findings", ()):
            assert set(finding) <= FINDING
            # what a line does not place is about the node
            assert finding["entity"]["kind"] in (fault["entity"], "node")
            assert finding.get("severity", fault["severity"]) == fault["severity"]
            assert finding.get("action", fault["action"]) in actions
            assert "state" not in finding or State(finding["state"])
            number, core = finding["entity"].get("device"), finding["entity"].get("core")
            place = "sys/devices/virtual/neuron_device"
            place += "" if number is None else f"/neuron{number}"
            assert place + ("" if core is None else f"/neuron_core{core}") in there


@pytest.mark.parametrize(("path", "one"), timelines())
def test_meaning_of_the_names(path: Path, one: dict[str, Any]) -> None:
    """What must fire does, what nearly fires never does, what clears was there and is gone."""
    looks = one["expect"]
    found = [bool(look.get("findings")) for look in looks]
    name = one["name"]
    if name.startswith("fires"):
        assert found[-1]
    elif name.startswith("near-miss"):
        assert not any(found)
    elif name == "clears":
        assert found[0]
        assert not found[-1]
    elif name == "not-live":
        assert not any(found)
        assert looks[-1].get("not_covered", False) != (path.stem in ALWAYS_LIVE)


def test_kernel_lines_are_known() -> None:
    """Each line that makes a finding fire is known to a pattern."""
    matcher = Matcher(load())
    for path in FILES:
        row = rows()[path.stem]
        if row["signal"][0]["where"] != "kernel" or path.stem == "kernel-log-overrun":
            continue
        (fires,) = (one for one in document(path)["timelines"] if one["name"] == "fires")
        lines = [line for step in fires["steps"] for line in step.get("kernel", ())]
        assert lines, path.stem
        for line in lines:
            hits = matcher.scan(line.encode())
            known = {m.pattern.finding for hit in hits for m in hit.matches}
            assert known, line
