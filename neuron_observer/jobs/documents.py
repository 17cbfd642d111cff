"""The report of a job as others may build on it: job-report/1 (docs/architecture.md §8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer.contract import finding, instant, job

if TYPE_CHECKING:
    from neuron_observer.jobs.report import JobReport, Sighting

JOB_REPORT_SCHEMA = "neuron-observer/job-report/1"


def report_document(of: JobReport) -> dict[str, Any]:
    """The whole document that `job report --format json` prints; null is unknown."""
    return {
        "schema": JOB_REPORT_SCHEMA,
        "job": job(of.job),
        "watched_from": instant(of.watched_from),
        "watched_until": instant(of.watched_until),
        "ended": of.ended,
        "watched_seconds": round(of.watched, 3),
        "core_hours": of.core_hours,
        "idle_core_hours": of.idle_core_hours,
        "hbm_peak_bytes": of.hbm_peak,
        "rss_peak_bytes": of.rss_peak,
        "retransmitted_packets": of.retransmits,
        "slowest": of.slowest,
        "verdict": of.verdict,
        "why": of.why,
        "findings": [_sighting(one) for one in of.sightings],
        "shadow_findings": [_sighting(one) for one in of.shadowed],
        "notes": list(of.notes),
    }


def _sighting(of: Sighting) -> dict[str, Any]:
    return {"from": instant(of.first), "until": instant(of.last), **finding(of.finding)}
