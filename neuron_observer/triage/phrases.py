"""What each action, kind of evidence and finding is called towards people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Action

if TYPE_CHECKING:
    from neuron_observer.model import Finding

HEADLINES = {
    Action.REPLACE_INSTANCE: "CALL AWS: REPLACE THE INSTANCE",
    Action.RELOAD_DRIVER: "RELOAD THE DRIVER OR REBOOT",
    Action.REBOOT: "REBOOT",
    Action.RESET_DEVICE: "RESET THE DEVICE, THEN TRY AGAIN",
    Action.RESTART_JOB: "RESTART THE JOB",
    Action.FIX_PROGRAM: "FIX THE PROGRAM",
    Action.UPDATE_SOFTWARE: "UPDATE THE SOFTWARE",
    Action.LOOK_AT_OTHER_WORKERS: "LOOK AT THE OTHER WORKERS",
    Action.WATCH: "WATCH",
    Action.NONE: "NOTHING TO DO",
}
DO = {
    Action.REPLACE_INSTANCE: "Take the node out of service and replace the instance: terminate it, "
    "or stop and start it. A reboot keeps the same chip. Restart the job from its last checkpoint "
    "elsewhere.",
    Action.RELOAD_DRIVER: "Stop the jobs of the node, then reload the driver (rmmod neuron; "
    "modprobe neuron) or reboot. Restart the job from its last checkpoint.",
    Action.REBOOT: "Stop the jobs of the node and reboot it.",
    Action.RESET_DEVICE: "Start a job on the device again: its start resets the cores (unless "
    "NEURON_RT_RESET_CORES=0). Watch whether the same comes back.",
    Action.RESTART_JOB: "Start the job again from its last checkpoint.",
    Action.FIX_PROGRAM: "Tell the owner of the job: it is the program or its settings. "
    "Keep the node.",
    Action.UPDATE_SOFTWARE: "Bring driver, runtime and compiler to releases that fit each other. "
    "Keep the node.",
    Action.LOOK_AT_OTHER_WORKERS: "Keep this node. Gather the logs of all workers of the job and "
    "hand them over together: neuron-observer triage FILE...",
    Action.WATCH: "Nothing yet; look again if it repeats.",
    Action.NONE: "Nothing.",
}
# What a program is not given, seen on one node: the others need not know, the host may.
NOT_GIVEN = frozenset({"no-device", "efa-missing"})
COMPARE = "COMPARE WITH THE HOST AND OTHER NODES"
COMPARED = (
    "Keep this node. Compare what the program is given with what the host has, outside the "
    "container, and with a node where it works: `neuron-observer doctor` on the host tells whether "
    "driver and devices are there, `neuron-observer check` also of the fabric adapters (EFA)."
)
KIND = {
    "kernel_line": "the kernel log",
    "runtime_line": "the job's log",
    "monitor": "a report of a Neuron tool",
}


PREFIXES = {"rt", "cc"}
SPELLED = {
    word: word.upper() for word in ("sram", "hbm", "dma", "efa", "pcie", "nfs", "oom", "ecc")
} | {
    "hw": "hardware",
    "nq": "notification queue",
}


def title(finding: Finding) -> str:
    """What to do about a finding, as a report begins."""
    return COMPARE if _is_compared(finding) else HEADLINES[finding.action]


def what_to_do(finding: Finding) -> str:
    """The same in full."""
    return COMPARED if _is_compared(finding) else DO[finding.action]


def _is_compared(finding: Finding) -> bool:
    return finding.action is Action.LOOK_AT_OTHER_WORKERS and finding.id in NOT_GIVEN
