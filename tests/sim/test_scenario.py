"""Scenario files: what is read, and how each mistake is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.errors import InputError
from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.play import play
from neuron_observer.sim.scenario import Scenario, load, shipped

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """\
description: everything
instance: trn1.32xlarge
driver: "2.28"
instance_id: i-0123456789abcdef0
seed: 7
seconds: 600
warm_up: 60
jobs:
  - {name: pretrain, at: 1, until: 300, devices: "0-3,9", cores: [0], utilization: 0.9}
  - {at: 310, devices: all, memory: 0.2, executions: 2.5, traffic: 1, processors: 2, host_memory: 8}
faults:
  - {fault: throttled_core, device: 3, core: 1, at: 10, until: 20, pace: 0.5}
  - {fault: driver_reload, at: 400, restart_jobs: false}
  - {fault: efa_retransmits, port: 7, at: 5, packets: 3}
  - {fault: kernel_lines, text: "a line", level: 3}
"""


class Read:
    """Loads a scenario out of its text."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "mine.yaml"

    def __call__(
        self, text: str, *, instance: str | None = None, driver: str | None = None
    ) -> Scenario:
        """The scenario that the text is."""
        self._file.write_text(text, encoding="utf-8")
        return load(str(self._file), instance=instance, driver=driver)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Loads a scenario out of its text."""
    return Read(tmp_path)


def test_everything_is_read(read: Read) -> None:
    """Each key of a scenario, a job and a fault."""
    found = read(WHOLE)
    assert (found.description, found.seed, found.seconds, found.warm_up) == (
        "everything",
        7,
        600,
        60,
    )
    assert (found.instance.name, found.driver.version) == ("trn1.32xlarge", "2.28.0.0")
    assert found.instance_id == "i-0123456789abcdef0"
    first, second = found.jobs
    assert (first.devices, first.cores, first.until) == ((0, 1, 2, 3, 9), (0,), 300)
    assert (first.utilization, first.executions) == (0.9, 4.0)
    assert (len(second.devices), second.cores, second.memory) == (16, None, 0.2)
    slow, reload, again, line = found.faults
    assert (slow.device, slow.core, slow.at, slow.until) == (3, 1, 10, 20)
    assert slow.number("pace") == 0.5
    assert (reload.flag("restart_jobs"), reload.number("gone")) == (False, 5.0)
    assert (again.port, again.whole("packets"), again.whole("timeouts")) == (7, 3, 2)
    assert (line.text("text"), line.whole("level"), line.at) == ("a line", 3, 0.0)
    world = play(found)
    world.advance(600)
    assert world.node.instance_id == "i-0123456789abcdef0"


def test_the_caller_wins(read: Read) -> None:
    """Instance type and driver of the command line are taken."""
    found = read("description: x\ninstance: trn1.2xlarge\n", instance="inf1.xlarge")
    assert (found.instance.name, found.driver.version) == ("inf1.xlarge", "2.24.7.0")
    assert read("{}", driver="2.28").driver.version == "2.28.0.0"


WRONG = {
    "unknown key": ("intance: x", 1, "unknown key 'intance'", "'instance'"),
    "unknown key of a job": ("jobs:\n  - {att: 1}", 2, "unknown key 'att' of a job", "'at'"),
    "unknown parameter": (
        "faults:\n  - {fault: throttled_core, pase: 1}",
        2,
        "unknown key 'pase' of fault 'throttled_core'",
        "'pace'",
    ),
    "a place that the kind has not": (
        "faults:\n  - {fault: driver_reload, device: 1}",
        2,
        "unknown key 'device'",
        "",
    ),
    "unknown fault": ("faults:\n  - {fault: sram_eror}", 2, "no fault 'sram_eror'", "'sram_error'"),
    "no kind": ("faults:\n  - {device: 1}", 2, "a fault without `fault:`", "Known: "),
    "kind is no word": ("faults:\n  - {fault: [1]}", 2, "fault must be text", ""),
    "ends before it begins": (
        "faults:\n  - {fault: unbound, at: 9, until: 3}",
        2,
        "ends at 3 s, not after its beginning at 9 s",
        "since the beginning",
    ),
    "negative time": ("faults:\n  - {fault: unbound, at: -1}", 2, "is -1", "0 or more"),
    "begins after the end": (
        "seconds: 60\nfaults:\n  - {fault: unbound, at: 61}",
        3,
        "begins at 61 s, after the end of the scenario at 60 s",
        "more seconds",
    ),
    "ends after the end": (
        "seconds: 60\njobs:\n  - {until: 61}",
        3,
        "a job ends at 61 s, after the end",
        "",
    ),
    "warm-up beyond the end": ("seconds: 60\nwarm_up: 61", 2, "warm_up is 61", "0 to 60"),
    "does not end": (
        "faults:\n  - {fault: sram_error, until: 5}",
        2,
        "does not end",
        "Leave `until` out",
    ),
    "no such device": (
        "instance: trn2.3xlarge\nfaults:\n  - {fault: unbound, device: 1}",
        3,
        "no device 1",
        "trn2.3xlarge has devices 0 to 0",
    ),
    "no such core": ("faults:\n  - {fault: nc_error, core: 8}", 2, "no core 8", "cores 0 to 7"),
    "no adapters": (
        "instance: inf2.xlarge\nfaults:\n  - {fault: port_down}",
        3,
        "no port 0",
        "inf2.xlarge has none",
    ),
    "job on no device": ("jobs:\n  - {devices: 0-16}", 2, "no device 16", "devices 0 to 15"),
    "device is no number": ("jobs:\n  - {devices: first}", 2, "'first' is no number", "0-7"),
    "unknown choice": (
        "faults:\n  - {fault: component, component: hmb}",
        2,
        "no component 'hmb'",
        "'hbm'",
    ),
    "devices run backwards": ("jobs:\n  - {devices: 5-2}", 2, "'5-2' run backwards", "0-7"),
    "no device": ("jobs:\n  - {devices: []}", 2, "no device is named", "0-7"),
    "too often": (
        "faults:\n  - {fault: kernel_lines, every: 0.0001}",
        2,
        "every is 0.0001",
        "0, or 0.1 and more",
    ),
    "never looked at": ("warm_up: 31000000", 1, "warm_up is 3.1e+07", "0 to 86400"),
    "a number that is none": (
        "faults:\n  - {fault: unbound, at: soon}",
        2,
        "must be a number",
        "Digits",
    ),
    "text to YAML": ("seconds: 1e9", 1, "must be a number", "1.0e+9"),
    "not a number": ("seconds: .nan", 1, "must be a number", ""),
    "too much": ("faults:\n  - {fault: power_flat, percent: 101}", 2, "is 101", "0 to 100"),
    "no whole number": ("seed: 1.5", 1, "must be a whole number", ""),
    "no flag": ("faults:\n  - {fault: driver_reload, repairs: 1}", 2, "true or false", ""),
    "twice": ("seed: 1\nseed: 2", 2, "key 'seed' stands twice", ""),
    "unknown instance": ("seed: 1\ninstance: trn2.48xlarg", 2, "'trn2.48xlarg'", "'trn2.48xlarge'"),
    "unknown driver": ("driver: 2.30", 1, "no driver '2.30'", "'2.30.2'"),
    "impossible pair": (
        "instance: trn3.48xlarge\ndriver: 2.24.7",
        1,
        "2.25.4 was the first driver for Trainium3",
        "",
    ),
    "no mapping": ("- 1", 1, "a scenario must be a mapping", ""),
    "no list": ("jobs: 3", 1, "jobs must be a list", "dash"),
    "no text": ("description:", 1, "description must be text", ""),
    "alias": ("jobs: &a [{at: 1}]\nfaults: *a", 2, "aliases are not taken", "Write the value out"),
    "nested": ("jobs: " + "[" * 40 + "]" * 40, 1, "nested too deep", ""),
    "no YAML": ("jobs: [", 1, "", "docs/simulation.md"),
    "control character": ("description: a\nseed: \x01", 2, "control character", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_told(name: str, read: Read) -> None:
    """File, line, what is wrong, and what to do."""
    text, line, message, remedy = WRONG[name]
    with pytest.raises(InputError) as caught:
        read(text)
    assert f"mine.yaml:{line}: " in caught.value.message
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("text", ["", "# a comment\n", "---\n", "null\n"])
def test_an_empty_file_is_no_scenario(read: Read, text: str) -> None:
    """It was a healthy trn2.48xlarge; whoever means an idle node says {}."""
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.message.endswith("mine.yaml: is empty")
    assert "{} alone is an idle node" in caught.value.remedy
    assert read("{}\n").jobs == ()


def test_what_is_missing_at_the_end(read: Read) -> None:
    """The line is one that the file has."""
    with pytest.raises(InputError, match=r"mine\.yaml:2: expected ',' or ']'"):
        read("# a comment\njobs: [a\n\n")


def test_bomb_is_refused_at_once(read: Read) -> None:
    """A billion laughs stops at its first alias."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    with pytest.raises(InputError, match="aliases"):
        read(bomb)


def test_too_much_is_refused(read: Read) -> None:
    """Files larger than a person writes, and more rows than that."""
    with pytest.raises(InputError, match="more than 262144 bytes"):
        read("#" * 300_000)
    with pytest.raises(InputError, match="more than 1000 jobs"):
        read("jobs:\n" + "  - {}\n" * 1_001)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Not there, a directory, no text."""
    with pytest.raises(InputError, match="No such file"):
        load(str(tmp_path / "none.yaml"))
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InputError, match="directory"):
        load(str(tmp_path / "folder.yaml"))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        load(str(tmp_path / "bytes.yaml"))


def test_unknown_name_has_a_remedy() -> None:
    """The nearest scenario, and how a file is named."""
    with pytest.raises(InputError) as caught:
        load("helthy")
    assert "Did you mean 'healthy'?" in caught.value.remedy
    assert "./mine.yaml" in caught.value.remedy


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@given(text=_TEXT)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_scenario_or_a_clear_error(text: str, read: Read) -> None:
    """Nothing but InputError that names the file, whatever it holds."""
    told = "mine.yaml"
    try:
        read(text)
    except InputError as error:
        told = error.message
    assert "mine.yaml" in told


def test_shipped_scenarios_are_described_and_play() -> None:
    """Each has a line; each kind of fault has a scenario; each plays on its type to its end."""
    known = shipped()
    assert {"healthy", "idle", "training", "bad-day"} <= set(known)
    assert all(0 < len(text) <= 90 for text in known.values())
    scenarios = {name: load(name) for name in known}
    shown = {fault.kind.name for one in scenarios.values() for fault in one.faults}
    assert shown == set(FAULTS)
    assert len({fault.kind.name for fault in scenarios["bad-day"].faults}) >= 8


@pytest.mark.parametrize("instance", ["inf1.xlarge", "trn1.2xlarge", "trn2.3xlarge"])
def test_shipped_scenarios_play_on_small_types(instance: str) -> None:
    """All but those of adapters and the bad day fit one device, and play."""
    refused = []
    for name in set(shipped()) - {"bad-day"}:
        try:
            scenario = load(name, instance=instance)
        except InputError as error:
            refused.append(error.message)
            continue
        world = play(scenario)
        world.advance(800)
        assert world.now == 800
    assert all("no port" in message for message in refused)
    assert len(refused) == (0 if instance == "trn2.3xlarge" else 4)
