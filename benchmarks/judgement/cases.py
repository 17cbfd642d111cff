"""Each simulated fault, and what must be found of it.

What a finding is like (severity, action, confidence, from which driver on) is not said here but in
the table of faults (tests/rules/faults.yaml), which was written before the rules, from the driver's
source. Here stands only which rows a fault of the simulation is, and where.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.sim.faults.kind import Setting

Spot: TypeAlias = Literal["node", "device", "core", "port", "cores", "first"]
CLOCK_STEP = "clock_step"  # no fault of the simulation: the wall clock is set
NOTHING: Mapping[str, Setting] = MappingProxyType({})
NO_REASONS: Mapping[str, str] = MappingProxyType({})


class Expected(NamedTuple):
    """A row of the table that must be found."""

    id: str
    spot: Spot  # the fault's device, core or port; all cores of the device; its first core
    busy: bool = False  # only if a job runs there
    line: bool = False  # a line of the kernel log shows it, whatever the driver can count
    grows: float = 0.0  # seconds until there is enough of it, at most
    blocking: float = 0.0  # more of them on drivers whose reads block
    cores: int = 1  # of a device, at least, for there to be peers
    lane: str = ""  # the slowest that shows it, if not that of the table's first signal


class Case(NamedTuple):
    """One fault with its parameters."""

    name: str
    fault: str
    expects: tuple[Expected, ...] = ()
    values: Mapping[str, Setting] = NOTHING
    beside: Mapping[str, str] = NO_REASONS  # findings that may stand too, and why
    watch: float = 12.0  # seconds for which nothing else may be found after the fault
    only: str = ""  # the instance type, if the fault is of one type


def _core(id_: str) -> tuple[Expected, ...]:
    return (Expected(id_, "core"),)


def _line(name: str, id_: str, spot: Spot, text: str, only: str = "") -> Case:
    return Case(
        f"line: {name}",
        "kernel_lines",
        (Expected(id_, spot, line=True),),
        {"text": text, "level": 3},
        watch=3.0,
        only=only,
    )


_COMPONENTS = {
    "hbm": "firmware-hbm",
    "firmware_service_api": "firmware-service-api",
    "firmware_service_processor": "firmware-service-processor",
    "sram": "firmware-sram",
    "link_intraserver": "link-intraserver",
    "link_host": "link-host",
    "link_efa": "link-efa",
    "link_interserver": "link-interserver",
    "link_switch": "link-switch",
    "axi_fabric": "axi-fabric",
}
_COUNTERS = {
    "timeout": "compute-hang",
    "exec_bad_input": "bad-input",
    "hw_error": "hw-error",
    "execute_completed_with_error": "completed-with-error",
    "execute_completed_with_num_error": "numerical-error",
    "resource_error": "resource",
    "resource_nc_error": "core-in-use",
    "unsupported_neff_version": "neff-unsupported",
    "oob_error": "out-of-bounds",
    "hw_collectives_error": "collectives-hang",
    "hw_hbm_ue_error": "hbm-uncorrectable",
    "hw_nc_ue_error": "nc-uncorrectable",
    "hw_dma_abort_error": "dma-abort",
    "execute_sw_nq_overflow": "nq-overflow",
    "execute_sw_semaphore_error": "model-error",
    "execute_sw_event_error": "model-error",
    "execute_sw_psum_collision": "model-error",
    "execute_sw_sequencer_fatal": "model-error",
    "hw_repairable_hbm_ue_error": "hbm-repairable",
}
_UNNAMED = ("failure", "generic_error", "execute_failed_to_queue", "invalid_error")
_EFA = {
    "efa-retransmits": {"packets": 1000, "timeouts": 0},
    "efa-timeouts": {"packets": 0, "timeouts": 3},
    "efa-unresponsive-remote": {"packets": 0, "timeouts": 0, "unresponsive": 3},
    "efa-impaired-remote": {"packets": 0, "timeouts": 0, "impaired": 3},
    "efa-receive-drops": {"packets": 0, "timeouts": 0, "drops": 50},
}
_EFA_GROWS = {"efa-retransmits": 2.0, "efa-timeouts": 1.0, "efa-receive-drops": 1.0}
_ADDED_UP = (
    "drivers up to 2.25.4 add repairable errors of Trainium1 and Inferentia2 up in one count"
)
_NO_NUMBER = "the driver's line names a PCI address, so that the node has the finding, too"
_NOT_BOUND = "its PCI function is there and not bound"
# Inferentia1 numbers its devices anew, so that nobody can say which one is gone
_LOST = (Expected("device-lost", "device"), Expected("inf1-device-lost", "node"))

# rows of the table that no fault of the simulation shows
UNSIMULATED: Mapping[str, str] = MappingProxyType(
    {
        "driver-incompatible": "told by neuron-monitor, which is not simulated",
        "driver-reload-pending": "told by what is installed, not by the driver",
        "efa-rdma-errors": "no fault of the simulation counts failed remote reads",
        "open-files": "the simulation's host has descriptors enough",
        "collector-failing": "files of the simulation answer, or are gone",
        "kernel-log-overrun": "forged lines overrun the log in tests/rules",
        "device-slots-full": "lines of loading that no fault of the simulation prints",
        "dma-32bit": "the same",
        "dma-init-failed": "the same",
        "dma-start-failed": "the same",
        "register-read-failed": "the same",
        "inf1-register-failed": "the same",
        "power-value-invalid": "the same",
        "disk-error": "disks of the simulation are sound",
        "disk-space": "the same",
        "filesystem-readonly": "the same",
        "machine-check": "processors of the simulation are sound",
        "pcie-fatal": "the simulation has no error counters of the bus",
        "pcie-nonfatal": "the same",
        "pcie-link-down": "the same",
    }
)

CASES: tuple[Case, ...] = (
    Case(
        "ECC storm, HBM",
        "corrected_ecc_storm",
        (Expected("ecc-corrected-storm", "device", grows=9.5),),
        {"rate": 2.0},
        watch=22.0,
    ),
    Case(
        "ECC storm, SRAM",
        "corrected_ecc_storm",
        (Expected("ecc-corrected-storm", "device", grows=1.0),),
        {"rate": 20.0, "where": "sram"},
    ),
    Case(
        "ECC trend",
        "corrected_ecc_storm",
        (Expected("ecc-corrected-trend", "device", grows=270.0),),
        {"rate": 1 / 20},
        watch=300.0,
    ),
    Case(
        "HBM repair pending",
        "hbm_repair",
        (
            Expected("hbm-repair-pending", "device"),
            Expected("hbm-repairable", "first", busy=True),
        ),
        beside={"hbm-unrepairable": _ADDED_UP},
    ),
    Case(
        "HBM repair fails",
        "hbm_repair",
        (
            Expected("hbm-repair-failed", "device"),
            Expected("hbm-repairable", "first", busy=True),
        ),
        {"fails_after": 0.1, "ends_job": False},
        {"hbm-unrepairable": _ADDED_UP, "hbm-repair-pending": "its errors are counted on"},
    ),
    Case(
        "HBM unrepairable",
        "hbm_unrepairable",
        (
            Expected("hbm-unrepairable", "device"),
            Expected("hbm-uncorrectable", "first", line=True),
        ),
    ),
    Case(
        "SRAM error",
        "sram_error",
        (
            Expected("sram-uncorrectable", "device", line=True),
            Expected("nc-uncorrectable", "first", busy=True),
        ),
    ),
    Case(
        "core error",
        "nc_error",
        (
            Expected("nc-uncorrectable", "core", busy=True),
            Expected("sram-uncorrectable", "device", line=True),
        ),
    ),
    Case(
        "DMA abort",
        "dma_abort",
        (
            Expected("dma-abort", "core", line=True),
            Expected("dma-timeout", "device", line=True),
        ),
    ),
    *(
        Case(f"counter: {counter}", "status_errors", _core(id_), {"counter": counter}, watch=3.0)
        for counter, id_ in _COUNTERS.items()
    ),
    *(
        Case(f"counter: {counter}", "status_errors", (), {"counter": counter}, watch=3.0)
        for counter in _UNNAMED
    ),
    *(
        Case(
            f"component: {word}",
            "component",
            (Expected(id_, "device"),),
            {"component": word},
            watch=3.0,
        )
        for word, id_ in _COMPONENTS.items()
    ),
    Case(
        "heartbeat stuck",
        "heartbeat_stuck",
        (Expected("heartbeat-stuck", "device"),),
        watch=612.0,
    ),
    Case(
        "firmware dead",
        "firmware_dead",
        (Expected("device-not-answering", "device", lane="firmware", blocking=60.0),),
        watch=60.0,
    ),
    Case(
        "reads hang",
        "hanging_read",
        (Expected("collector-stuck", "device", blocking=50.0),),
        {"seconds": 3600.0},
        watch=40.0,
    ),
    Case(
        "power flat",
        "power_flat",
        (Expected("power-flat", "device", grows=236.0),),
        watch=246.0,
    ),
    Case(
        "power starved",
        "power_starved",
        (Expected("power-stale", "device", grows=118.0),),
        watch=150.0,
    ),
    Case("off the bus", "off_the_bus", (Expected("device-off-bus", "device"),), watch=45.0),
    Case(
        "device missing",
        "device_missing",
        _LOST,
        beside={"init-error": "the class files count a device that has no folder"},
        watch=45.0,
    ),
    Case(
        "device unbound",
        "unbound",
        (Expected("device-unbound", "node"), *_LOST),
        watch=45.0,
    ),
    Case(
        "init error",
        "init_error",
        (Expected("init-error", "node"), *_LOST),
        beside={"device-unbound": _NOT_BOUND, "device-lost": _NO_NUMBER},
        watch=45.0,
    ),
    Case(
        "driver reload",
        "driver_reload",
        (Expected("driver-reloaded", "node", line=True, grows=5.0),),
        watch=60.0,
    ),
    Case(
        "driver loads long",
        "driver_reload",
        (Expected("driver-loading-long", "node", grows=5.0),),
        {"coming": 400.0},
        watch=330.0,
    ),
    Case("driver absent", "driver_absent", (Expected("driver-not-loaded", "node"),), watch=55.0),
    Case("no_reset", "module_parameter", (Expected("no-reset-set", "node"),)),
    Case(
        "reset loop",
        "reset_loop",
        (Expected("reset-loop", "cores", grows=8.0),),
        {"every": 2.0},
        watch=14.0,
    ),
    Case(
        "resets fail",
        "reset_loop",
        (Expected("reset-failed", "device", line=True), Expected("device-invalid-state", "device")),
        {"every": 60.0, "fails": True},
    ),
    Case(
        "memory leak",
        "memory_leak",
        (Expected("device-memory-leak", "core", grows=600.0),),
        {"rate": 2.0},
        {"device-memory-full": "a core of Inferentia1 has 2 GiB"},
        watch=640.0,
    ),
    Case(
        "host memory",
        "memory_leak",
        (Expected("host-memory", "node", grows=60.0),),
        {"where": "host", "rate": 65_536.0},
        watch=95.0,
    ),
    Case(
        "throttled core",
        "throttled_core",
        (Expected("throttling-suspected", "core", busy=True, grows=60.0, cores=5),),
        {"pace": 0.5},
        watch=150.0,
    ),
    Case("job hangs", "job_hang"),
    Case("job ends", "job_restart"),
    Case("counter cleared", "counter_cleared", watch=3.0),
    *(
        Case(
            f"EFA: {id_}",
            "efa_retransmits",
            (Expected(id_, "port", grows=_EFA_GROWS.get(id_, 0.0)),),
            values,
            watch=6.0,
        )
        for id_, values in _EFA.items()
    ),
    Case("EFA: port down", "port_down", (Expected("efa-port-down", "port"),), watch=45.0),
    Case(
        "EFA: lost command",
        "efa_lost_commands",
        (Expected("efa-silent", "port"), Expected("efa-command-failed", "port", grows=25.0)),
        watch=50.0,
    ),
    Case("EFA: missing", "adapter_missing", (Expected("efa-missing", "node"),), watch=55.0),
    Case(
        "election failed",
        "election_failed",
        (Expected("ultraserver-link", "device", line=True),),
        only="trn2u.48xlarge",
        watch=3.0,
    ),
    _line(
        "scrub",
        "hbm-scrub-failed",
        "device",
        "neuron:ncdev_scrub: Scrub failed for nd{device} HBM 1",
    ),
    _line("sysfs", "sysfs-incomplete", "node", "failed to register sysfs metric for neuron_core0"),
    _line(
        "driver bug",
        "driver-bug",
        "node",
        "WARNING: CPU: 3 PID: 4242 at /var/lib/dkms/aws-neuronx/2.30.2.0/build/neuron_mempool.c:304"
        " mc_remove+0x10 [neuron]",
    ),
    _line(
        "routing id",
        "duplicate-routing-id",
        "node",
        "scheduling unload of neuron due to duplicate routing id",
    ),
    _line(
        "memory full",
        "device-memory-full",
        "device",
        "neuron:mc_alloc_contiguous: nd {device} HBM 2: Could not allocate 4294967296 bytes at"
        " offset 0 for contiguous scratchpad",
    ),
    _line(
        "OOM",
        "oom-killed",
        "node",
        "Out of memory: Killed process 30834 (python3) total-vm:123456kB, anon-rss:100000kB",
    ),
    _line(
        "disk full",
        "disk-full",
        "node",
        "systemd-journald[412]: Failed to write entry (22 items, 753 bytes), ignoring: No space"
        " left on device",
    ),
    _line(
        "miswired",
        "ultraserver-miswired",
        "device",
        "neuron:npe_check: nd{device:02d}: left ultraserver link is miss-wired to nd07"
        " (0123456789abcdef)",
        only="trn2u.48xlarge",
    ),
    _line(
        "serials differ",
        "ultraserver-serial-mismatch",
        "device",
        "neuron:npe_read: nd{device:02d}: Serial numbers on left link pair don't match:"
        " 0123456789abcde0 vs.  0123456789abcdef",
        only="trn2u.48xlarge",
    ),
    Case(
        "clock step",
        CLOCK_STEP,
        (Expected("clock-jump", "node"),),
        {"seconds": 3600.0},
        watch=3.0,
    ),
)
