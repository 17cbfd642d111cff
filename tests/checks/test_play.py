from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.checks.play import differences, judge_capture, play
from neuron_observer.checks.timeline import Timeline, read_timelines
from neuron_observer.errors import ConfigError, InputError
from neuron_observer.model import Verdict
from neuron_observer.rules.loader import load
from neuron_observer.sources.listing import read_listing
from tests.conftest import TREES, tree_file

if TYPE_CHECKING:
    from pathlib import Path

DEVICE = "sys/devices/virtual/neuron_device/neuron0"
SRAM = f"{DEVICE}/stats/hardware/sram_ecc_uncorrected"
FIRING = "{entity: {kind: device, device: 0}, severity: critical, confidence: confirmed}"
RULES = load()


def timelines(folder: Path, steps: str, expect: str, **other: Any) -> tuple[Timeline, ...]:
    """One timeline of a small host."""
    fault = other.get("fault", "sram-uncorrectable")
    seconds = other.get("seconds", 25)
    (folder / "t.yaml").write_text(
        f"fault: {fault}\ntimelines:\n  - name: one\n    host: trn2.3xlarge-2.30.2-busy\n"
        f"    seconds: {seconds}\n    steps: [{steps}]\n    expect: [{expect}]\n"
    )
    return read_timelines(folder / "t.yaml", [TREES])


def problems(folder: Path, steps: str, expect: str, **other: Any) -> tuple[str, ...]:
    """What is not as it must be."""
    (timeline,) = timelines(folder, steps, expect, **other)
    return play(timeline, RULES).problems


def test_a_fault_is_found_by_the_real_reader(tmp_path: Path) -> None:
    """First probable, then confirmed; before that nothing."""
    expect = (
        "{at: 9, findings: [], verdict: healthy},"
        "{at: 11, findings: [{confidence: probable}], verdict: degraded},"
        f"{{at: 21, findings: [{FIRING}], verdict: unhealthy}}"
    )
    assert problems(tmp_path, f'{{at: 3, write: {{{SRAM}: "1\\n"}}}}', expect) == ()


def test_what_is_not_as_expected_is_told(tmp_path: Path) -> None:
    """Too many, too few, another field, another verdict, another finding beside it."""
    step = f'{{at: 3, write: {{{SRAM}: "1\\n"}}}}'
    expect = (
        "{at: 5, findings: [{entity: {device: 0}}], verdict: unknown},"
        "{at: 21, findings: [{entity: {device: 0}, action: reboot}], not_covered: true},"
        "{at: 22, findings: []}"
    )
    text = "\n".join(problems(tmp_path, step, expect))
    assert "at 5 s: no finding on {'device': 0}" in text
    assert "at 5 s: healthy, not unknown" in text
    assert "action is replace_instance, not reboot" in text
    assert "at 21 s: it is not told to be not covered" in text
    assert "at 22 s: a finding too many" in text
    beside = problems(tmp_path, step, "{at: 21, findings: []}", fault="dma-abort")
    assert "a finding beside it: sram-uncorrectable" in beside[0]
    allowed = "{at: 21, findings: [], others: [sram-uncorrectable]}"
    assert problems(tmp_path, step, allowed, fault="dma-abort") == ()


def test_steps_write_add_fail_remove_and_restore(tmp_path: Path) -> None:
    """In order, also repeated; what is restored is as it was."""
    core = f"{DEVICE}/neuron_core1/stats/status/hw_dma_abort_error/total"
    steps = (
        f"{{at: 2, every: 2, until: 6, add: {{{core}: 5}}}},"
        f"{{at: 8, fail: {{{DEVICE}/neuron_core1/stats/status: EIO}}}},"
        f"{{at: 10, restore: [{DEVICE}/neuron_core1/stats/status]}},"
        f"{{at: 12, remove: [{core}]}}"
    )
    expect = (
        "{at: 1, findings: []},"
        "{at: 7, findings: [{entity: {kind: core, device: 0, core: 1}, confidence: probable}]},"
        "{at: 9, findings: [{entity: {core: 1}}]}, {at: 14, findings: [{entity: {core: 1}}]}"
    )
    assert problems(tmp_path, steps, expect, seconds=15, fault="dma-abort") == ()


def test_a_kernel_line_is_stamped_with_its_time(tmp_path: Path) -> None:
    """And it may be forbidden to read the log."""
    line = "NEURON_HW_ERR=DMA_ERROR nd-id=0 nc-id=1 action=TERMINATE_INSTANCE"
    step = f'{{at: 3, kernel: ["{line}"]}}'
    firing = "{entity: {kind: core, device: 0, core: 1}, state: firing}"
    expect = f"{{at: 2, findings: []}}, {{at: 3.5, findings: [{firing}]}}"
    assert problems(tmp_path, step, expect, seconds=4, fault="dma-abort") == ()


def test_a_register_that_hangs_is_owed_until_it_is_restored(tmp_path: Path) -> None:
    """Nothing waits; what was found stays, and the device is unknown once the answer is late."""
    steps = (
        f'{{at: 2, write: {{{SRAM}: "1\\n"}}}}, {{at: 15, hang: [{DEVICE}/info/serial_number]}},'
        f"{{at: 40, restore: [{DEVICE}]}}"
    )
    expect = (
        "{at: 12, findings: [{confidence: probable}]},"
        "{at: 35, findings: [{confidence: probable}], others: [collector-stuck]},"
        "{at: 90, findings: []}"
    )
    assert problems(tmp_path, steps, expect, seconds=90) == ()


def test_the_process_may_be_stopped_and_the_clock_may_jump(tmp_path: Path) -> None:
    """Neither is a fault of a heartbeat."""
    steps = "{at: 5, stall: 700}, {at: 710, wall: 86400}"
    expect = "{at: 720, findings: []}"
    assert problems(tmp_path, steps, expect, seconds=725, fault="heartbeat-stuck") == ()


def test_a_fault_without_a_rule_is_a_problem(tmp_path: Path) -> None:
    """It never passes by being unknown."""
    assert "no rule has the id" in problems(tmp_path, "", "{at: 1}", fault="made-up")[0]


@pytest.mark.parametrize(
    ("steps", "expect", "message"),
    [
        ("{at: 1, wriet: {}}", "{at: 1}", "unknown key 'wriet'; did you mean 'write'?"),
        ("{at: -1}", "{at: 1}", "at must be a number of seconds"),
        ("{at: 1, fail: {a: EWRONG}}", "{at: 1}", "'EWRONG' is no errno"),
        ("{at: 1, space: {/: [100, 5.5]}}", "{at: 1}", "is no [size, available] in bytes"),
        ("{at: 1, add: {a: x}}", "{at: 1}", "'x' is no whole number"),
        ("{at: 1, kernel: 5}", "{at: 1}", "kernel must be a list of texts"),
        ("{at: 1, write: [a]}", "{at: 1}", "write must be a mapping of paths"),
        ("{at: 1, every: 0}", "{at: 1}", "every must be longer"),
        ("", "{at: 1, finding: []}", "unknown key 'finding'"),
    ],
)
def test_a_broken_timeline_names_its_place(
    tmp_path: Path, steps: str, expect: str, message: str
) -> None:
    """File, timeline, key."""
    with pytest.raises(ConfigError, match="one: ") as caught:
        timelines(tmp_path, steps, expect)
    assert message in str(caught.value)
    assert "t.yaml" in str(caught.value)


def test_a_host_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With where it was looked for."""
    (tmp_path / "t.yaml").write_text(
        "fault: a\ntimelines: [{name: one, host: none, seconds: 1, expect: []}]\n"
    )
    with pytest.raises(InputError, match="no listing 'none'"):
        read_timelines(tmp_path / "t.yaml", [TREES])
    (tmp_path / "t.yaml").write_text("fault: a\n")
    with pytest.raises(ConfigError, match="the keys fault and timelines"):
        read_timelines(tmp_path / "t.yaml", [TREES])


def test_a_listing_is_judged_as_it_stands() -> None:
    """A recording of one instant: seen once, so probable."""
    findings, health = judge_capture(
        read_listing(str(tree_file("inf2.48xlarge-2.30.2-worn"))), RULES
    )
    assert [one.id for one in findings if one.severity.value == "critical"] == [
        "sram-uncorrectable"
    ]
    assert health.verdict is Verdict.DEGRADED


def test_a_state_that_is_not_asked_for_is_not_compared(tmp_path: Path) -> None:
    """Pending and resolved findings are no findings of a timeline."""
    (timeline,) = timelines(tmp_path, "", "{at: 1, findings: []}")
    result = play(timeline, RULES)
    assert result.problems == ()
    findings, health = judge_capture(read_listing(timeline.host), RULES)
    assert differences("sram-uncorrectable", timeline.expect[0], findings, health) == []
