"""From a configuration to what a daemon goes by."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.cli.hosts import rules_of
from neuron_observer.cli.options import is_of_this_machine, monitor_feed
from neuron_observer.config import read
from neuron_observer.config.keys import keys, value_at
from neuron_observer.config.write import written
from neuron_observer.daemon.budget import Budget
from neuron_observer.daemon.plan import InForce, Plan, Setting
from neuron_observer.errors import InputError
from neuron_observer.exporters.http.limits import Limits
from neuron_observer.recording.flight import Limits as RecorderLimits
from neuron_observer.rules.patterns import load
from neuron_observer.store.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.config import Config, Loaded, Sources
    from neuron_observer.live import MonitorFeed
    from neuron_observer.rules.rule import Rule


def planned(sources: Sources, extra: Sequence[str], host_root: str) -> Plan:
    """Read and check all that there is; `ConfigError` of the first thing that is wrong."""
    loaded = read(sources)
    config = loaded.config
    return Plan(
        in_force(loaded, rules_of(config, extra)),
        host_root,
        config.listen,
        _socket(loaded, host_root),
        config.web.config_file,
        _limits(config),
        _state(loaded, host_root),
        Retention(config.state.retention, config.state.max_bytes),
        config.history.window,
        config.history.max_bytes,
        load(),
        config.kernel_log,
        _monitor(config, host_root),
        config.path_map,
        config.all_devices,
        config.kubelet,
        config.recorder.enabled,
        config.jobs.heartbeats or None,
    )


def in_force(loaded: Loaded, rules: tuple[Rule, ...]) -> InForce:
    """What a reload changes, too."""
    config, lanes = loaded.config, loaded.config.lanes
    settings = {
        key.name: Setting(written(key, value_at(config, path)), key.restart)
        for path, key in keys().items()
    }
    return InForce(
        settings,
        loaded.remarks,
        rules,
        config.trust_untested_driver,
        {name: getattr(lanes, name) for name in lanes.__struct_fields__},
        config.profile.quiet,
        Budget(config.budget.cpu, config.budget.memory),
        config.export.detail,
        config.export.job_labels,
        (config.log.format, config.log.level),
        recorder_limits(config),
    )


def _socket(loaded: Loaded, host_root: str) -> str:
    """The unix socket: as somebody said, else the usual one where that can be."""
    path = loaded.config.socket
    if ("socket",) in loaded.origins:
        return path
    usual = is_of_this_machine(host_root) and os.access(Path(path).parent, os.W_OK)
    return path if usual else ""


def _state(loaded: Loaded, host_root: str) -> str | None:
    """Where what is found is kept: as somebody said, else the usual place for this very host."""
    directory = loaded.config.state.directory
    if ("state", "directory") in loaded.origins:
        return directory
    usual = is_of_this_machine(host_root) and Path(host_root).resolve() == Path("/")
    return directory if usual and Path(directory).is_dir() else None


def _limits(config: Config) -> Limits:
    http = config.http
    return Limits(
        connections=http.connections,
        request_bytes=http.request_bytes,
        request_seconds=http.request,
        idle_seconds=http.idle,
        answer_seconds=http.answer,
    )


def recorder_limits(config: Config) -> RecorderLimits:
    """What the flight recorder may take."""
    told = config.recorder
    return RecorderLimits(told.window, told.max_bytes, told.disk_bytes, told.every)


def _monitor(config: Config, host_root: str) -> MonitorFeed | None:
    try:
        return monitor_feed(config.monitor.file or config.monitor.mode, host_root)
    except InputError as error:
        key = "file" if config.monitor.file else "mode"
        raise InputError(f"monitor.{key}: {error.message}", remedy=error.remedy) from None
