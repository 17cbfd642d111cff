"""How a host is read: what a command or a configuration may choose."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.collectors.firmware import PERIOD

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from neuron_observer.collectors.kmsg import Cursor
    from neuron_observer.collectors.own import LastReload
    from neuron_observer.live import MonitorFeed

HEARTBEATS = "/run/neuron-observer-ranks"
ALL_LANES = ("fast", "normal", "slow", "firmware", "jobs", "expensive")


class Options(NamedTuple):
    """How a host is read."""

    path_map: Mapping[str, str] = MappingProxyType({})
    thorough: bool = True  # list every folder, so that unknown files are counted exactly
    keep: bool = False  # keep descriptors of the fast and normal lanes
    all_devices: bool = False  # also devices without a /dev node in this container
    firmware_deadline: float | None = None
    firmware_period: float = PERIOD  # seconds after which a device that answers is asked again
    wait_for_firmware: bool = True  # off in a daemon: an answer is taken when it is there
    only: Collection[str] | None = None  # metrics of the node, devices, cores to read; None: all
    machine: bool = True  # also EFA adapters, host figures, temperatures, our own cost
    jobs: bool = True  # also which processes hold devices
    job_mapping: str | None = None  # folder of a scheduler: a file a device that holds job ids
    heartbeats: str | None = HEARTBEATS  # folder of the step hook's files; None: not read
    kubelet: bool = False  # ask the kubelet for names of pods
    kernel_log: bool = False  # also lines of the kernel log, as events
    kernel_cursor: Cursor | None = None  # how far that log was read before
    reload: LastReload | None = None  # of the configuration, by a program that lasts
    monitor: MonitorFeed | None = None  # where reports of neuron-monitor come from; None: off
