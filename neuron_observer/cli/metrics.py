"""`metrics`: the catalogue, and what of it this host provides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.catalogue.families import FamilyType, make_family
from neuron_observer.cli.hosts import open_reader
from neuron_observer.cli.options import host_options
from neuron_observer.collectors.plan import version_text
from neuron_observer.model import Missing
from neuron_observer.oneshot import read_once
from neuron_observer.readings import columns
from neuron_observer.text import table

if TYPE_CHECKING:
    from neuron_observer.catalogue import MetricSpec, Source
    from neuron_observer.model import Snapshot

HEADS = ("METRIC", "SCOPE", "KIND", "UNIT", "LANE", "SINCE", "LIVE", "HERE")


@click.command()
@host_options
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
@click.option("--missing", "only_missing", is_flag=True, help="Only what this host does not give.")
def command(
    *, host_root: str, config_file: str | None, all_devices: bool, form: str, only_missing: bool
) -> None:
    """List every metric: unit, since which driver, live since which, and whether it is here.

    HERE counts places with a value of all places, or gives the reason where there is none.
    """
    if form == "markdown":
        click.echo(markdown())
        return
    reader = open_reader(host_root, config_file, all_devices=all_devices)
    try:
        snapshot = read_once(reader)
    finally:
        reader.close()
    here = {metric: _here(snapshot, metric) for metric in METRICS}
    chosen = [spec for spec in METRICS.values() if not only_missing or here[spec.id]["values"] == 0]
    if form == "json":
        click.echo(json.dumps([_document(spec) | here[spec.id] for spec in chosen], indent=1))
        return
    rows = [(*_cells(spec), _here_text(here[spec.id])) for spec in chosen]
    click.echo(table(HEADS, rows))


def _here(snapshot: Snapshot, metric: str) -> dict[str, Any]:
    values, reasons = 0, dict[str, int]()
    for _, _, cell in columns(snapshot.batches, metric):
        if isinstance(cell, Missing):
            reason = f"{cell.why.value}: {cell.detail}"
            reasons[reason] = reasons.get(reason, 0) + 1
        else:
            values += 1
    return {"values": values, "places": values + sum(reasons.values()), "reasons": reasons}


def _here_text(here: dict[str, Any]) -> str:
    if not here["places"]:
        return "nothing here has it"
    reason = next(iter(here["reasons"]), "")
    return f"{here['values']}/{here['places']}" + (f"  {reason}" if reason else "")


def _since(source: Source) -> str:
    text = version_text(source.since) if source.since else "always"
    return f"{text} to {version_text(source.until[:2])}" if source.until else text


def _live(source: Source) -> str:
    return version_text(source.live_since) if source.live_since else "always"


def _cells(spec: MetricSpec) -> tuple[str, ...]:
    first = spec.sources[0]
    since, live = _since(first), _live(first)
    return (spec.id, spec.scope, spec.kind.value, spec.unit or "-", spec.lane, since, live)


def _document(spec: MetricSpec) -> dict[str, Any]:
    return {
        "id": spec.id,
        "scope": spec.scope,
        "kind": spec.kind.value,
        "unit": spec.unit,
        "lane": spec.lane,
        "detail": spec.detail,
        "clearable": spec.clearable,
        "help": spec.help,
        "prometheus": f"neuron_{spec.family}",
        "labels": dict(spec.labels),
        "sources": [
            {
                "where": source.where,
                "path": source.path,
                "part": source.part,
                "since": _since(source),
                "live_since": _live(source),
                "chips": list(source.chips),
                "fact": source.fact,
            }
            for source in spec.sources
        ],
    }


def markdown() -> str:
    """The page docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "Made from the catalogue by `neuron-observer metrics --format markdown`; do not edit.",
        "*Since* is the driver that first shows it, *live* the driver from which it moves while a",
        "job runs. *Clearable*: a person can zero the counter by writing to its file.",
        _SERIES,
    ]
    for scope in dict.fromkeys(spec.scope for spec in METRICS.values()):
        lines += ["", f"## Scope {scope}", ""]
        lines += ["| metric | kind, unit | series, from detail | lane | source | since | live |"]
        lines[-1] += " clearable | meaning |"
        lines += ["|---|---|---|---|---|---|---|---|---|"]
        lines += [_row(spec) for spec in METRICS.values() if spec.scope == scope]
    return "\n".join([*lines, *_families_of_the_page()])


_SERIES = """
## Series

`/metrics` has a family for every name in the column *series*, from the `--detail` on that stands
beside it: `node`, `device`, `core` (default), `full`; each has all of the one before. Values are
in base units: seconds, bytes, ratios from 0 to 1. Whole numbers keep all digits.

- A reading without a value is no series: neither 0 nor NaN. How many there are, and why, is in
  `neuron_observer_missing_readings`.
- Labels are `neuron_device` and `neuron_core` (physical, counted in the device); `pci`, `port`,
  `efa`, `disk`, `sensor`, `runtime`, `logical_core` where these tell places apart; and those in
  the column *series*, which are constant.
- A state in words is a StateSet: a series a word, 1 where it holds, the label named as the
  family. A state in numbers is a gauge. Identity is a label of an `_info` family, always 1.
- There are no timestamps. A frame older than 15 s shows no readings, and its verdict is
  `unknown`; its age is in `neuron_observer_frame_age_seconds`.
- OpenMetrics 1.0 where a scraper asks for it, else text 0.0.4; the series are the same."""


def _families_of_the_page() -> list[str]:
    """The table of families that are no readings."""
    from neuron_observer.exporters.judged import JUDGED, LABELS, TAIL  # noqa: PLC0415 - this page's

    lines = ["", "## Verdict, findings, the observer itself", ""]
    lines += ["| series | type | labels | meaning |", "|---|---|---|---|"]
    for family in (*JUDGED, *TAIL):
        labels = ", ".join(f"`{name}`" for name in LABELS.get(family.name, ()))
        kind = f"{family.type.value}: {', '.join(family.states)}" if family.states else ""
        lines.append(
            f"| `{family.sample_name}` | {kind or family.type.value} | {labels} | {family.help} |"
        )
    return lines


def _shown(spec: MetricSpec) -> str:
    """The series of a row, and from which detail on."""
    family = make_family(spec.family, (spec,))
    if spec.kind is Kind.STATE and not spec.states and spec.sources[0].format == "word":
        return "none: no number"
    labels = ",".join(f'{name}="{value}"' for name, value in spec.labels)
    if family.type is FamilyType.INFO:
        labels = spec.id.rpartition(".")[2]
    return f"`{family.sample_name}{f'{{{labels}}}' if labels else ''}` {spec.detail}"


def _row(spec: MetricSpec) -> str:
    first = spec.sources[0]
    part = f"#{first.part}" if first.part else ""
    kind = f"{spec.kind.value}, {spec.unit}" if spec.unit else spec.kind.value
    clearable = "yes" if spec.clearable else "no"
    chips = f" ({', '.join(first.chips)})" if first.chips else ""
    return (
        f"| `{spec.id}` | {kind} | {_shown(spec)} | {spec.lane}"
        f" | {first.where}: `{first.path}{part}`{chips}"
        f" | {_since(first)} | {_live(first)} | {clearable} | {spec.help} |"
    )
