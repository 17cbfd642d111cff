"""Rows of how the observer's own memory does (docs/store.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.own import of_part
from neuron_observer.catalogue.spec import Kind

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import MetricSpec

_ROWS = (
    (
        "writable",
        Kind.GAUGE,
        "",
        "Whether findings and events can be written to the disk now; 0: kept in memory only",
        "store_writable",
    ),
    ("bytes", Kind.GAUGE, "bytes", "What the state takes on the disk", "store_bytes"),
    (
        "written_at",
        Kind.GAUGE,
        "s since 1970",
        "When the state was last written, seconds since 1970",
        "store_last_write_timestamp_seconds",
    ),
    (
        "waiting",
        Kind.GAUGE,
        "",
        "Events and findings that are over, of which a restart would know nothing",
        "store_waiting",
    ),
    (
        "dropped",
        Kind.COUNTER,
        "events",
        "Events that were not kept because too many came at once",
        "store_events_dropped_total",
    ),
)

STORE_METRICS: tuple[MetricSpec, ...] = of_part("store", _ROWS)
