"""Rows of what the observer itself costs and how it reads; what it does while it runs for months.

`collector` labels and what changes with every scrape are not readings: `exporters/own.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer.catalogue.spec import Kind, MetricSpec, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

LANES = ("fast", "normal", "slow", "firmware", "jobs")
PROFILES = ("full", "quiet")


def _row(name: str, kind: Kind, text: str, family: str, unit: str = "", **known: Any) -> MetricSpec:
    fields: dict[str, Any] = {"lane": "slow", "detail": "node", **known}
    return MetricSpec(
        id=f"observer.{name}",
        scope="node",
        kind=kind,
        unit=unit,
        help=text,
        sources=(Source("process", name),),
        family=f"observer_{family}",
        **fields,
    )


def of_part(part: str, rows: Iterable[tuple[str, Kind, str, str, str]]) -> tuple[MetricSpec, ...]:
    """Rows of how a part of the observer does: name, kind, unit, help, family."""
    return tuple(
        MetricSpec(
            id=f"observer.{part}.{name}",
            scope="node",
            kind=kind,
            unit=unit,
            help=text,
            sources=(Source("process", name),),
            family=f"observer_{family}",
            lane="slow",
            detail="node",
        )
        for name, kind, unit, text, family in rows
    )


def _cpu(mode: str, text: str) -> MetricSpec:
    labels = (("mode", mode),)
    return _row(f"cpu_{mode}", Kind.COUNTER, text, "cpu_seconds_total", "seconds", labels=labels)


OWN_METRICS: tuple[MetricSpec, ...] = (
    _cpu("user", "Processor time of this program"),
    _cpu("system", "Kernel time of this program"),
    _row(
        "resident_memory",
        Kind.GAUGE,
        "Memory of this program",
        "resident_memory_bytes",
        "bytes",
    ),
    _row("open_descriptors", Kind.GAUGE, "Open files of this program", "open_descriptors"),
    _row("threads", Kind.GAUGE, "Threads of this program", "threads"),
    _row(
        "start_time",
        Kind.GAUGE,
        "When this program began, seconds since 1970",
        "start_time_seconds",
        "s since 1970",
    ),
    _row(
        "kernel_memory",
        Kind.GAUGE,
        "Kernel memory of this program's control group, kept descriptors included; only where no"
        " other program is in it (version 2)",
        "kernel_memory_bytes",
        "bytes",
    ),
)


def _of_lane(lane: str) -> tuple[MetricSpec, MetricSpec]:
    labels = (("lane", lane),)
    return (
        _row(
            f"lane.{lane}.period",
            Kind.GAUGE,
            "Time between two reads of a lane, as it is now",
            "lane_period_seconds",
            "seconds",
            labels=labels,
        ),
        _row(
            f"lane.{lane}.skipped",
            Kind.COUNTER,
            "Reads of a lane that did not take place because the loop was late",
            "reads_skipped_total",
            "reads",
            labels=labels,
        ),
    )


RELOAD_METRICS: tuple[MetricSpec, ...] = (
    _row(
        "config_reload.successful",
        Kind.GAUGE,
        "Whether the configuration was right when last read; if not, the one before holds",
        "config_last_reload_successful",
        lane="normal",
    ),
    _row(
        "config_reload.success_time",
        Kind.GAUGE,
        "When the configuration was last read and right",
        "config_last_reload_success_timestamp_seconds",
        "s since 1970",
        lane="normal",
    ),
)

LOOP_METRICS: tuple[MetricSpec, ...] = (
    *(spec for lane in LANES for spec in _of_lane(lane)),
    _row("loop.frames", Kind.COUNTER, "Frames that were made", "frames_total", "frames"),
    _row(
        "loop.seconds",
        Kind.COUNTER,
        "Time that reading, judging and telling the frames took",
        "frame_seconds_total",
        "seconds",
    ),
    _row(
        "loop.lateness",
        Kind.GAUGE,
        "Longest time that a read began too late since this was last told",
        "lateness_seconds",
        "seconds",
    ),
    _row("loop.history", Kind.GAUGE, "How far the history goes back", "history_seconds", "seconds"),
    _row(
        "profile",
        Kind.STATE,
        "How often it reads: quiet while a job runs on this node",
        "profile",
        states=PROFILES,
    ),
    _row(
        "budget.step",
        Kind.GAUGE,
        "Steps by which lanes are longer because this program cost more than its budget; 0: none",
        "budget_step",
    ),
)
