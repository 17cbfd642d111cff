"""Families of how the observer itself does that are no readings: they change with every frame or
scrape, or are told by collector.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer import __version__
from neuron_observer.catalogue.families import Family, FamilyType
from neuron_observer.exporters.series import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Run

PYTHON = ".".join(map(str, sys.version_info[:3]))
_GAUGE, _COUNTER = FamilyType.GAUGE, FamilyType.COUNTER
_COLLECTOR = "neuron_observer_collector"

INFO = Family("neuron_observer", FamilyType.INFO, "This program, and the Python that runs it")
MISSING = Family("neuron_observer_missing_readings", _GAUGE, "Readings without a value, by reason")
SUCCESS = Family(f"{_COLLECTOR}_success", _GAUGE, "Whether its last run succeeded")
DURATION = Family(f"{_COLLECTOR}_duration_seconds", _GAUGE, "How long its last run took", "seconds")
LAST_SUCCESS = Family(
    f"{_COLLECTOR}_last_success_timestamp_seconds",
    _GAUGE,
    "When a run last succeeded, seconds since 1970",
    "seconds",
)
RUNS = Family(f"{_COLLECTOR}_runs", _COUNTER, "Its runs since this program started")
FAILURES = Family(f"{_COLLECTOR}_failures", _COUNTER, "Its runs that failed")
SECONDS = Family(f"{_COLLECTOR}_seconds", _COUNTER, "How long all its runs took", "seconds")
# These stand at the end of a page: they change with every scrape, or count the rest.
FRAME_AGE = Family(
    "neuron_observer_frame_age_seconds", _GAUGE, "Age of what this page shows", "seconds"
)
SCRAPES = Family("neuron_observer_scrapes", _COUNTER, "Pages that were rendered before this one")
SCRAPE_SECONDS = Family(
    "neuron_observer_scrape_seconds", _COUNTER, "How long rendering them took", "seconds"
)
SERIES = Family("neuron_observer_series", _GAUGE, "Series on this page")

LABELS = {
    INFO.name: ("python", "version"),
    MISSING.name: ("reason",),
    **{
        family.name: ("collector",)
        for family in (SUCCESS, DURATION, LAST_SUCCESS, RUNS, FAILURES, SECONDS)
    },
}
FAMILIES = (INFO, MISSING, SUCCESS, DURATION, LAST_SUCCESS, RUNS, FAILURES, SECONDS)
TAIL = (FRAME_AGE, SCRAPES, SCRAPE_SECONDS, SERIES)


class Ran(NamedTuple):
    """The runs of a collector: the last one, when one last succeeded, and all of them."""

    run: Run
    succeeded: float | None  # wall clock
    runs: int = 1
    failures: int = 0
    seconds: float = 0.0


class Scrapes(NamedTuple):
    """Pages that were rendered."""

    pages: int = 0
    seconds: float = 0.0


def ran(before: Ran | None, run: Run, at: float) -> Ran:
    """A collector's runs with one more, of a frame of that time (wall clock)."""
    known = before or Ran(run, None, 0)
    return Ran(
        run,
        at if run.ok else known.succeeded,
        known.runs + 1,
        known.failures + (not run.ok),
        known.seconds + run.seconds,
    )


def info(python: str = PYTHON) -> Sample:
    """Who we are, and which Python ran what read the host."""
    return Sample((("python", python), ("version", __version__)), 1)


def collectors(of: Mapping[str, Ran]) -> dict[str, list[Sample]]:
    """Samples by the name of their family."""
    told: dict[str, list[Sample]] = {family.name: [] for family in FAMILIES[2:]}
    for name, one in sorted(of.items()):
        values = {
            SUCCESS: int(one.run.ok),
            DURATION: round(one.run.seconds, 6),
            LAST_SUCCESS: None if one.succeeded is None else round(one.succeeded, 3),
            RUNS: one.runs,
            FAILURES: one.failures,
            SECONDS: round(one.seconds, 6),
        }
        for family, value in values.items():
            if value is not None:
                told[family.name].append(Sample((("collector", name),), value))
    return told


def tail(
    age: float | None, series: int, scrapes: Scrapes | None = None
) -> list[tuple[Family, Sample]]:
    """The end of a page whose other series are so many."""
    found: list[tuple[Family, Sample]] = []
    if age is not None:
        found.append((FRAME_AGE, Sample((), round(max(age, 0.0), 3))))
    if scrapes is not None:
        found += [
            (SCRAPES, Sample((), scrapes.pages)),
            (SCRAPE_SECONDS, Sample((), round(scrapes.seconds, 6))),
        ]
    return [*found, (SERIES, Sample((), series + len(found) + 1))]
