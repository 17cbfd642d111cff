"""The command line: one module a verb, each imported only when its verb is called."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from neuron_observer import __version__

# verb → (module, first line of help); help needs no import of the module
COMMANDS: dict[str, tuple[str, str]] = {
    "ack": ("neuron_observer.cli.ack", "Say that a finding is known."),
    "bundle": ("neuron_observer.cli.bundle", "All that is known of this node's faults, to send."),
    "capture": ("neuron_observer.cli.capture", "Write what this host shows into one file."),
    "check": ("neuron_observer.cli.check", "May this host take work? Nagios, NPD, Slurm, JSON."),
    "config": ("neuron_observer.cli.config", "The configuration: begin one, show it, check it."),
    "daemon": ("neuron_observer.cli.daemon", "Read all the time and serve Prometheus."),
    "devices": ("neuron_observer.cli.devices", "The devices at a glance."),
    "doctor": ("neuron_observer.cli.doctor", "Say what cannot be read here, why, and the remedy."),
    "events": ("neuron_observer.cli.events", "What happened to this host; or as it happens."),
    "explain": ("neuron_observer.cli.explain", "What a finding means, and what to do about it."),
    "findings": ("neuron_observer.cli.findings", "What is wrong with this host now."),
    "hook": ("neuron_observer.cli.hook", "Have a job tell of its steps, so that slow ranks show."),
    "install-service": (
        "neuron_observer.cli.install_service",
        "Install the daemon as a hardened systemd service.",
    ),
    "job": ("neuron_observer.cli.job", "`job report`: what a job had of its machine."),
    "jobs": ("neuron_observer.cli.jobs", "Who uses the devices: jobs, ranks, cores."),
    "metrics": ("neuron_observer.cli.metrics", "The catalogue, and what this host provides."),
    "record": ("neuron_observer.cli.record", "Record what is read of this host, to be replayed."),
    "replay": ("neuron_observer.cli.replay", "Play a recording through the rules and the page."),
    "rules": ("neuron_observer.cli.rules", "The rules: list them, or test them on timelines."),
    "run": ("neuron_observer.cli.run", "Run a job, e.g. `run -- torchrun …`, and watch it."),
    "set-healthy": ("neuron_observer.cli.set_healthy", "Take a device as it is for well."),
    "simulate": ("neuron_observer.cli.simulate", "Write a simulated host, and keep it moving."),
    "snapshot": ("neuron_observer.cli.snapshot", "Everything that can be read of this host, once."),
    "status": ("neuron_observer.cli.status", "How this host is, in a few lines."),
    "stragglers": (
        "neuron_observer.cli.stragglers",
        "Who was slow, in a table of per-rank step times.",
    ),
    "suppress": ("neuron_observer.cli.suppress", "Have a rule count for nothing for a while."),
    "top": ("neuron_observer.cli.top", "The devices, cores and host on a screen that moves."),
    "triage": ("neuron_observer.cli.triage", "Say what a log means and what to do about it."),
    "unsuppress": ("neuron_observer.cli.unsuppress", "Take back what `suppress` said."),
}

QUICK = ("check", "status", "findings")  # a daemon may answer them; see cli/quick.py


def main() -> None:
    """The console script."""
    try:
        _run()
    except Exception:  # noqa: BLE001 - all of them: it is told whole
        from neuron_observer.cli.crashes import crashed  # noqa: PLC0415 - rarely needed

        sys.exit(crashed())


def _run() -> None:
    """`--version` alone does not wait for the command line's library."""
    if sys.argv[1:] == ["--version"]:
        with suppress(OSError):  # closed, full or nobody there: nothing more to say
            os.write(1, f"neuron-observer {__version__}\n".encode())
        return
    if sys.argv[1:2] and sys.argv[1] in QUICK:
        from neuron_observer.cli.quick import answer  # noqa: PLC0415 - see there

        code = answer(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    if sys.argv[1:2] == ["daemon"]:
        from neuron_observer.cli import apart  # noqa: PLC0415 - see there

        code = apart.answer(sys.argv[2:])
        if code is not None:
            sys.exit(code)
    from neuron_observer.cli.group import run  # noqa: PLC0415 - see above

    run()
