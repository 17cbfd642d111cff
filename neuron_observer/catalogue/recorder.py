"""Rows of how the flight recorder does (docs/recording.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.own import of_part
from neuron_observer.catalogue.spec import Kind

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import MetricSpec

_ROWS = (
    (
        "bytes",
        Kind.GAUGE,
        "bytes",
        "What the flight recorder holds in memory",
        "recorder_bytes",
    ),
    (
        "window",
        Kind.GAUGE,
        "seconds",
        "How far back the flight recorder reaches, in seconds",
        "recorder_window_seconds",
    ),
    (
        "dumps",
        Kind.COUNTER,
        "files",
        "Dumps that the flight recorder wrote",
        "recorder_dumps_total",
    ),
    (
        "failed",
        Kind.COUNTER,
        "files",
        "Dumps that the flight recorder could not write",
        "recorder_dumps_failed_total",
    ),
    (
        "disk_bytes",
        Kind.GAUGE,
        "bytes",
        "What the dumps of the flight recorder take on the disk",
        "recorder_disk_bytes",
    ),
)

RECORDER_METRICS: tuple[MetricSpec, ...] = of_part("recorder", _ROWS)
