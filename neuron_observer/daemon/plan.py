"""What a daemon goes by: its configuration and rules as plain values.

Whoever reads them needs libraries that take more memory than all that was read; so another process
may do it, and hand this over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.daemon.budget import Budget
    from neuron_observer.exporters.http.limits import Limits
    from neuron_observer.live import MonitorFeed
    from neuron_observer.recording.flight import Limits as RecorderLimits
    from neuron_observer.rules.pattern import Pattern
    from neuron_observer.rules.rule import Rule
    from neuron_observer.store.retention import Retention


class Setting(NamedTuple):
    """A key's value as it is written in a file."""

    text: str
    restart: bool  # only a restart takes a change


class InForce(NamedTuple):
    """What a reload changes, too."""

    settings: Mapping[str, Setting]  # every key, by its name
    remarks: tuple[str, ...]  # on the configuration: odd, but no error
    rules: tuple[Rule, ...]
    trust_untested_driver: bool
    lanes: dict[str, float]  # seconds by lane
    quiet: bool
    budget: Budget
    detail: Detail
    job_labels: bool
    log: tuple[str, str]  # form, level
    recorder: RecorderLimits


class Plan(NamedTuple):
    """All of it; what is not in `in_force` holds for as long as the process lives."""

    in_force: InForce
    host_root: str
    listen: tuple[str, ...]
    socket: str  # empty: none
    web_config: str | None
    limits: Limits
    state: str | None  # directory
    retention: Retention
    window: float  # seconds of history
    history_bytes: int
    patterns: tuple[Pattern, ...]  # of the kernel log
    kernel_log: bool
    monitor: MonitorFeed | None
    path_map: Mapping[str, str]
    all_devices: bool
    kubelet: bool
    record: bool  # whether there is a flight recorder
    heartbeats: str | None  # folder of the step hook's files
