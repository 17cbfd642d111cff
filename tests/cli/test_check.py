"""`check`, `findings`, `status`: forms, exit codes, scopes; the same judgement in each."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from neuron_observer.cli.hosts import make_judge
from neuron_observer.cli.judged import look_and_check
from neuron_observer.errors import UsageError
from tests.checks.looks import DEVICE, reader_of, twice
from tests.conftest import tree_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sources.listing import ListingFs
    from tests.cli.conftest import Result

GOLDEN = Path(__file__).parent.parent / "golden"
SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))
SICK = ("--simulate", "sram-error@140", "--instance", "trn2.3xlarge")
WELL = ("--simulate", "healthy@140", "--instance", "trn2.3xlarge")


@pytest.mark.parametrize("name", ["trn1.32xlarge-2.24.7-busy", "inf2.48xlarge-2.30.2-worn"])
def test_text(name: str, call: Callable[..., Result]) -> None:
    """The whole output, as reviewed; tests/golden/README.md tells how to renew it."""
    found = call("check", "--host-root", str(tree_file(name)))
    assert found.out == (GOLDEN / f"check-{name}.txt").read_text(encoding="utf-8")
    assert found.err == ""


@pytest.mark.parametrize(
    ("form", "sick", "well"),
    [("text", 2, 0), ("json", 2, 0), ("nagios", 2, 0), ("npd", 1, 0), ("slurm", 1, 0)],
)
def test_exit_codes(form: str, sick: int, well: int, call: Callable[..., Result]) -> None:
    """Each form has its own; stdout is the answer and nothing else."""
    found = call("check", "--format", form, *SICK)
    assert (found.code, found.err) == (sick, "")
    assert "sram-uncorrectable" in found.out
    assert call("check", "--format", form, *WELL).code == well


def test_slurm_is_silent_where_all_is_well(call: Callable[..., Result]) -> None:
    """A health check program must not chatter."""
    found = call("check", "--format", "slurm", *WELL)
    assert (found.code, found.out, found.err) == (0, "", "")


def test_slurm_tells_what_does_not_fail(call: Callable[..., Result]) -> None:
    """A warning passes a prolog and is narrated; --fail-on warning fails it."""
    degraded = ("--simulate", "no-reset@140", "--instance", "trn2.3xlarge")
    found = call("check", "--format", "slurm", *degraded)
    assert (found.code, found.out) == (0, "")
    assert found.err.startswith("neuron-observer: [node_problem] no-reset-set")
    strict = call("check", "--format", "slurm", "--fail-on", "warning", *degraded)
    assert (strict.code, strict.out) == (1, found.err)
    assert call("check", *degraded).code == 1
    assert call("check", "--fail-on", "critical", *degraded).code == 0


def test_json_is_the_findings_contract(call: Callable[..., Result]) -> None:
    """Schema, verdict, exit code, coverage, findings; scope and inventory beside them."""
    document = json.loads(call("check", "--format", "json", *SICK).out)
    assert document["schema"] == "neuron-observer/findings/1"
    assert (document["verdict"], document["exit_code"]) == ("unhealthy", 2)
    assert set(document["coverage"]) == {"decided", "required", "missing", "not_covered"}
    worst = document["findings"][0]
    assert (worst["id"], worst["confidence"]) == ("sram-uncorrectable", "confirmed")
    assert (worst["action"], worst["entity"]["device"]) == ("replace_instance", 0)
    assert worst["evidence"][0]["trust"] == "hardware"
    assert {item["topic"] for item in document["inventory"]} >= {"devices", "cores", "driver"}
    assert document["scope"] == {"devices": None, "told": ""}


def test_window_rules_are_listed_as_not_covered(call: Callable[..., Result]) -> None:
    """Two reads cannot tell what takes minutes; each such rule is named once."""
    document = json.loads(call("check", "--format", "json", *WELL).out)
    uncovered = [gap["id"] for gap in document["coverage"]["not_covered"]]
    assert "device-memory-leak" in uncovered
    assert len(uncovered) == len(set(uncovered))


def _judgement(document: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    found = [(one["id"], one["confidence"]) for one in document["findings"]]
    return document["verdict"], found


def test_e23_every_view_says_the_same(call: Callable[..., Result]) -> None:
    """E23: check, findings, status, snapshot, devices, doctor and top judge alike."""
    checked = json.loads(call("check", "--format", "json", *SICK).out)
    for verb in ("findings", "status"):
        assert _judgement(json.loads(call(verb, "--format", "json", *SICK).out)) == _judgement(
            checked
        )
    snapshot = json.loads(call("snapshot", "--format", "json", *SICK).out)
    told = {"verdict": snapshot["health"]["verdict"], "findings": snapshot["findings"]}
    assert _judgement(told) == _judgement(checked)
    devices = json.loads(call("devices", "--health", "--format", "json", *SICK).out)
    assert devices["health"]["devices"][0]["verdict"] == "unhealthy"
    reason = checked["reason"]
    assert f"unhealthy: {reason}" in call("devices", "--health", *SICK).out
    assert "verdict: unhealthy: sram-uncorrectable" in call("doctor", *SICK).out
    assert "unhealthy: sram-uncorrectable" in call("top", "--once", "--width", "160", *SICK).out


def test_some_devices(call: Callable[..., Result]) -> None:
    """A fault of device 0 keeps no work from device 1."""
    sick = ("--simulate", "sram-error@140", "--instance", "trn1.32xlarge")
    assert call("check", "--devices", "0", *sick).code == 2
    found = call("check", "--devices", "1-3", *sick)
    assert found.code == 0
    assert "Judged: devices 1-3" in found.out
    assert call("check", "--cores", "0-1", *sick).code == 2
    assert "which hold cores 2-3" in call("check", "--cores", "2-3", *sick).out


@pytest.mark.parametrize(
    "arguments", [("--devices", "x"), ("--devices", "1"), ("--cores", "9"), ("--cores", "")]
)
def test_a_wrong_scope_is_a_usage_error(
    arguments: tuple[str, str], call: Callable[..., Result]
) -> None:
    """64, never a verdict."""
    with pytest.raises(UsageError) as error:
        call("check", *arguments, "--host-root", SMALL)
    assert error.value.exit_code == 64
    assert error.value.remedy


def test_devices_and_cores_exclude_each_other(call: Callable[..., Result]) -> None:
    """Both at once mean nothing."""
    with pytest.raises(click.UsageError, match="give one of them"):
        call("check", "--devices", "0", "--cores", "0", "--host-root", SMALL)


def test_rules_of_ones_own(call: Callable[..., Result], tmp_path: Path) -> None:
    """A user's file changes a shipped rule: switched off it is not told any more."""
    file = tmp_path / "own.yaml"
    file.write_text("rules:\n  - {id: sram-uncorrectable, enabled: false}\n", encoding="utf-8")
    assert call("check", "--rules", str(file), *SICK).code == 0


def test_a_device_that_does_not_answer(call: Callable[..., Result]) -> None:
    """The deadline holds; what could not be read is named, and nothing is called healthy."""
    hanging = ("--simulate", "hanging-read@140", "--instance", "trn2.3xlarge")
    found = call("check", "--deadline", "0.3", *hanging)
    assert found.code == 1
    assert "no answer for 0.3 s" in found.out
    assert "missing: sram-uncorrectable of device 0: stale" in found.out


def test_a_host_without_neuron(call: Callable[..., Result], tmp_path: Path) -> None:
    """Nothing to judge is unknown, never healthy."""
    found = call("check", "--host-root", str(tmp_path))
    assert found.code == 3
    assert found.out.startswith("UNKNOWN: ")


@pytest.mark.parametrize(("said", "verdict"), [("no", "degraded"), ("yes", "unhealthy")])
def test_an_untested_driver_is_believed_on_request(
    said: str, verdict: str, tmp_path: Path, tree: Callable[[str], ListingFs]
) -> None:
    """Its registers alone make a node unhealthy only where the configuration says so."""
    config = tmp_path / "config.yaml"
    config.write_text(f"trust_untested_driver: {said}\n", encoding="utf-8")
    files = {
        DEVICE.format(0) + "stats/hardware/sram_ecc_uncorrected": b"1\n",
        "sys/module/neuron/version": b"9.9.9.0\n",
    }
    reader = reader_of(twice(tree("trn2.3xlarge-2.30.2-busy"), files))
    checked = look_and_check(reader, partial(make_judge, str(config)))
    assert checked.verdict.value == verdict


def test_it_is_light() -> None:
    """Neither a screen nor a numbers library is loaded."""
    code = (
        "import sys\n"
        "from neuron_observer.cli.group import cli\n"
        f"cli.main(['check', '--host-root', {SMALL!r}], standalone_mode=False)\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"textual", "rich", "numpy"} & set(run.stderr.splitlines())


def test_status(call: Callable[..., Result]) -> None:
    """Four lines and the exit code of check."""
    found = call("status", *SICK)
    assert found.code == 2
    assert found.out.splitlines()[1] == "devices:  0 of 1 healthy: 0 unhealthy"
    assert len(found.out.splitlines()) == 4
