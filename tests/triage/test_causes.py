"""What belongs together, what follows from what, on which node, and who is not at fault."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.triage import MATCHER, of_text
from neuron_observer.model import Action, Confidence, Severity, Verdict
from neuron_observer.triage.report import Report, triage

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.model import Finding

KERNEL_SRAM = (
    "[ 7638.723761] NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0123456789abcdef1 "
    "hostname=ip-10-0-0-2 nd-id=2 nc-id=1 serial-num=0123456789abcde2 action=TERMINATE_INSTANCE"
)
RUNTIME_SRAM = (
    "2026-Nov-30 10:04:30.123456 4444:4500 ERROR  TDRV:exec_consume   (FATAL-RT-UNDEFINED-STATE) "
    "[ND 2][NC 1] Uncorrectable memory error is detected, metadata: 0x16. Please terminate or "
    "stop/start this instance to prevent future impact from the hardware error."
)
STATUS = (
    "2026-Nov-30 10:04:31.223456 4444:4500 ERROR  NRT:nrt_execute_repeat      Failed to execute "
    "model file.neff with status {}"
)
HANG = (
    "2026-Nov-30 10:05:00.1{rank:05} 4444:4500 ERROR  TDRV:exec_consume   "
    "(FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device {device} NC {core}, "
    "model m.neff - suspected hang in collectives operation 0 out of 32"
)
PEER_GONE = (
    "2026-Nov-30 10:05:01.000000 4444:4500 ERROR   ENC:x    RX, connection closed by remote peer"
)
TIMEOUT = (
    "2026-Nov-30 10:04:00.000000 4444:4500 ERROR  TDRV:exec_consume   execution timeout (30000 ms) "
    "on Neuron Device 2 NC 1, model m.neff, waiting for execution completion notification"
)
OOM = "Nov 30 10:00:00 {host} kernel: [100.1] Out of memory: Killed process 30834 (python3)"


def reports(tmp_path: Path, **logs: list[str]) -> Report:
    """The report on several files: name and lines."""
    for name, lines in logs.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return triage([str(tmp_path / name) for name in logs], matcher=MATCHER)


def loud(found: Report) -> list[Finding]:
    """Findings that are more than an information."""
    return [finding for finding in found.findings if finding.severity is not Severity.INFO]


def test_a_fault_on_a_fourth_node_is_named(tmp_path: Path) -> None:
    """A hang on three nodes and an SRAM error on a fourth names the fourth; nobody else acts."""
    hang = [HANG.format(rank=rank, device=rank // 2, core=rank % 2) for rank in range(32)]
    found = reports(
        tmp_path,
        a=[*hang, STATUS.format(1200)],
        b=[*hang, STATUS.format(1200)],
        c=[*hang, STATUS.format(1200)],
        dmesg=[KERNEL_SRAM],
        d=[RUNTIME_SRAM, STATUS.format(1202), PEER_GONE],
    )
    (fault,) = loud(found)
    assert (fault.id, fault.action) == ("sram-uncorrectable", Action.REPLACE_INSTANCE)
    assert (fault.entity.node, fault.entity.device, fault.entity.core) == ("ip-10-0-0-2", 2, 1)
    assert fault.entity.serial == "0123456789abcde2"
    assert {item.kind for item in fault.evidence} >= {"kernel_line", "runtime_line"}
    victims = [f for f in found.findings if f is not fault]
    assert {f.action for f in victims} == {Action.NONE}
    assert all("ip-10-0-0-2, device 2, core 1" in f.message for f in victims)
    assert not any(f.blames_hardware for f in victims)
    assert len([f for f in victims if f.id == "collectives-hang"]) == 3


def test_log_lines_alone_are_probable() -> None:
    """However many lines say so, a log is hearsay: probable, so DEGRADED, never UNHEALTHY."""
    found = of_text("\n".join([KERNEL_SRAM, RUNTIME_SRAM, STATUS.format(1202)] * 10))
    (fault,) = loud(found)
    assert fault.severity is Severity.CRITICAL
    assert fault.confidence is Confidence.PROBABLE
    assert found.verdict is Verdict.DEGRADED
    assert fault.if_confirmed is Action.REPLACE_INSTANCE
    assert fault.confirm_by


def test_tear_down_does_not_hide_the_cause() -> None:
    """Dozens of errors of the tear-down, before and after, leave the one cause on top."""
    noise = [
        "2026-Nov-30 10:04:59.000000 4:4 ERROR  TDRV:x   Missing infer_status notification: (0:0)",
        STATUS.format(1),
        "NMGR:dlr_infer    Inference completed with err: 5. mode->h_nn=1001, lnc=0",
        PEER_GONE,
    ]
    found = of_text("\n".join([*noise * 20, RUNTIME_SRAM, *noise * 20]))
    (fault,) = loud(found)
    assert fault.id == "sram-uncorrectable"
    assert len(found.findings) == 1


def test_a_timeout_beside_a_fault_is_part_of_it() -> None:
    """An execution time-out on the device of an SRAM error is its consequence."""
    found = of_text(f"{TIMEOUT}\n{RUNTIME_SRAM}\n")
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]


def test_a_timeout_alone_is_a_suspect() -> None:
    """A time-out alone asks for a reset and says what would make it a fault."""
    (finding,) = of_text(TIMEOUT).findings
    assert finding.action is Action.RESET_DEVICE
    assert finding.severity is Severity.WARNING
    assert finding.if_confirmed is Action.REPLACE_INSTANCE
    assert not finding.blames_hardware


def test_the_first_cause_in_time_comes_first() -> None:
    """Of two causes without a hardware fault the earlier one leads, whatever the order of lines."""
    later = "2026-Nov-30 10:09:00.000000 1:1 ERROR   ENC:x   Too many open files"
    earlier = "2026-Nov-30 10:01:00.000000 1:1 ERROR   NRT:x   Could not open the nd1"
    for text in (f"{later}\n{earlier}", f"{earlier}\n{later}"):
        assert [f.id for f in of_text(text).findings] == ["rt-too-many-devices", "open-files"]


def test_a_killed_rank_explains_the_others(tmp_path: Path) -> None:
    """Where the kernel killed a rank for lack of memory, peers that lost it are victims."""
    found = reports(
        tmp_path,
        one=[OOM.format(host="trn1-7"), "Nov 30 10:00:03 trn1-7 train[9]: " + PEER_GONE],
        two=["Nov 30 10:00:03 trn1-8 train[9]: " + PEER_GONE],
    )
    (cause,) = loud(found)
    assert (cause.id, cause.entity.node) == ("oom-killed", "trn1-7")
    assert cause.action is Action.FIX_PROGRAM
    assert cause.entity.kind == "job"
    (victim,) = [f for f in found.findings if f is not cause]
    assert victim.entity.node == "trn1-8"
    assert "trn1-7" in victim.message


def test_a_hang_without_a_culprit(tmp_path: Path) -> None:
    """Where no log has a fault, nobody is named and nobody's hardware is blamed."""
    hang = [HANG.format(rank=0, device=0, core=0)]
    found = reports(tmp_path, a=hang, b=hang)
    assert {f.action for f in found.findings} == {Action.LOOK_AT_OTHER_WORKERS}
    assert len(loud(found)) == 2
    assert not any(f.blames_hardware for f in found.findings)


def test_two_faults_name_no_culprit(tmp_path: Path) -> None:
    """Where two nodes have a fault, it is not guessed which one the others waited for."""
    hang = [HANG.format(rank=0, device=0, core=0)]
    other = KERNEL_SRAM.replace("ip-10-0-0-2", "ip-10-0-0-3")
    found = reports(tmp_path, a=hang, b=[KERNEL_SRAM], c=[other])
    assert [f.entity.node for f in found.findings if f.blames_hardware] == [
        "ip-10-0-0-2",
        "ip-10-0-0-3",
    ]
    (victim,) = [f for f in found.findings if f.id == "collectives-hang"]
    assert victim.action is Action.LOOK_AT_OTHER_WORKERS


def test_two_views_of_one_node(tmp_path: Path) -> None:
    """The kernel log and the job's log of a node make one finding, with both as evidence."""
    found = reports(tmp_path, dmesg=[KERNEL_SRAM], job=[RUNTIME_SRAM, STATUS.format(1202)])
    (fault,) = found.findings
    assert {item.source for item in fault.evidence} == {
        str(tmp_path / "dmesg"),
        str(tmp_path / "job"),
    }


def test_two_devices_are_two_findings() -> None:
    """Faults of two devices are not thrown together; a code without a device belongs to one."""
    other = RUNTIME_SRAM.replace("[ND 2]", "[ND 5]")
    found = of_text(f"{RUNTIME_SRAM}\n{other}\n{STATUS.format(1202)}\n")
    assert [f.entity.device for f in found.findings] == [2, 5]


def test_a_vague_word_joins_the_clear_one() -> None:
    """The kernel's HBM line joins the runtime's, which says that a reload repairs it."""
    kernel = "NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR nd-id=4 nc-id=0 action=REBOOT"
    runtime = (
        "Uncorrectable HBM memory error is detected. Execution results may be invalid. Please "
        "reload the neuron driver or reboot your EC2 instance to prevent future impact"
    )
    (fault,) = of_text(f"{kernel}\n{runtime}\n").findings
    assert (fault.id, fault.action) == ("hbm-repairable", Action.RELOAD_DRIVER)
    assert fault.entity.device == 4


def test_a_failed_reset_after_a_fault_is_part_of_it() -> None:
    """A reset that fails after an SRAM error of the same device is settled by the replacement."""
    reset = "[ 7640.7] neuron:nr_reset_thread_fn: nd2: reset request 4444 failed"
    (fault,) = of_text(f"{KERNEL_SRAM}\n{reset}\n").findings
    assert fault.id == "sram-uncorrectable"
    elsewhere = reset.replace("nd2", "nd7")
    assert len(of_text(f"{KERNEL_SRAM}\n{elsewhere}\n").findings) == 2


def test_a_retried_copy_is_harmless() -> None:
    """Each time-out with a retry beside it is harmless; one without is not."""
    line = "neuron:x: DMA completion timeout for UDMA_ENG_33 q0"
    retry = "Failed to copy memory during a NeuronCore reset: nd 0, size 5. Retrying the copy."
    assert of_text("\n".join([line, retry] * 3)).findings == ()
    assert of_text("\n".join([retry, line] * 3)).findings == ()
    (finding,) = of_text("\n".join([line, retry, *["other"] * 5, line])).findings
    assert finding.id == "dma-timeout"


def test_inferred_rows_are_never_counted() -> None:
    """A row that rests on an inferred fact is shown as an information."""
    (finding,) = of_text(
        "Invalid power utilization value: 65535, skipped 0 logging messages"
    ).findings
    assert finding.severity is Severity.INFO
    assert "inferred" in finding.message


@pytest.mark.parametrize("lines", [1, 64])
def test_a_program_error_on_many_cores_is_one_finding(lines: int) -> None:
    """The same error of a program on all cores is one finding; a device is named if it is one."""
    form = "nd{}:nc{}:h_model.id1107: failed to run scatter/gather, due to out-of-bound access."
    found = of_text("\n".join(form.format(n // 2, n % 2) for n in range(lines)))
    (finding,) = found.findings
    assert finding.entity.device == (0 if lines == 1 else None)
    assert sum(int(item.fields["count"]) for item in finding.evidence) >= min(lines, 8)


def test_the_journal_of_a_job() -> None:
    """Lines from the journal of a unit are attributed to node, process, job, device and core."""
    entry = {
        "MESSAGE": RUNTIME_SRAM,
        "_HOSTNAME": "trn1-7",
        "_PID": "300",
        "_SYSTEMD_UNIT": "train.service",
        "SYSLOG_FACILITY": "3",
    }
    (fault,) = of_text(json.dumps(entry)).findings
    place = fault.entity
    assert (place.node, place.job, place.device, place.core) == ("trn1-7", "train.service", 2, 1)
    assert fault.evidence[0].fields["pids"] == "300"
    assert "A process wrote" not in fault.message


def test_the_rank_of_a_program_error() -> None:
    """The rank is named where one rank is meant; the device is not lost for it."""
    form = "[rank{}]: nd0:nc{}: failed to run scatter/gather, due to out-of-bound access."
    (one,) = of_text(form.format(3, 1) + "\n" + form.format(3, 1)).findings
    assert (one.entity.rank, one.entity.device, one.entity.core) == (3, 0, 1)
    (many,) = of_text("\n".join(form.format(n, n % 2) for n in range(8))).findings
    assert (many.entity.rank, many.entity.device, many.entity.core) == (None, 0, None)


def test_a_job_on_thousands_of_nodes() -> None:
    """One fault among two thousand nodes is named, and every other node waited for it."""
    lines = [f"trn-{n}: {STATUS.format(1200)}" for n in range(2000)]
    lines.append("trn-2000: NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR nd-id=1 nc-id=1")
    found = of_text("\n".join(lines))
    (fault,) = loud(found)
    assert fault.entity.node == "trn-2000"
    assert len(found.findings) == 2001
    assert all("trn-2000" in f.message for f in found.findings if f is not fault)
