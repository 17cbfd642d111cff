"""The catalogue's rows and families: complete, constant where they must be, nobody else's names."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import neuron_observer.catalogue
from neuron_observer.catalogue import METRICS, Kind, MetricSpec
from neuron_observer.observer import HostReader
from neuron_observer.parsers.sysfs import SCALARS
from neuron_observer.parsers.tables import TABLES
from neuron_observer.readings import columns
from tests.hosts import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import ManualClock
    from neuron_observer.model import Cell, Place
    from neuron_observer.sources.listing import ListingFs

SPECS = tuple(METRICS.values())
FILES = ("device", "core", "class", "module", "dmi", "pci", "port", "efa", "proc", "block")
FOREIGN = Path(__file__).with_name("foreign_names.txt")
HEADS = {
    "node": ("node", "driver", "ultraserver", "host", "observer"),
    "port": ("efa",),
}

# What is constant while a machine runs: who it is and how it is set up. Nothing that is measured,
# counted or dated may be added here (a changing label starts a new series at every scrape).
IDENTITY = re.compile(
    r"node\.(?:instance_type|vendor)|driver\.(?:version|source_version|taint|parameter\.\w+)"
    r"|ultraserver\.(?:server_id_[24]|reservation_id)"
    r"|device\.(?:name|family|arch|serial|core_count|connected_devices)"
    r"|device\.firmware\.(?:api_version|build)|core\.arch"
    r"|pci\.(?:vendor|device_id|class|revision|numa_node|link_speed_maximum|link_width_maximum)"
    r"|efa\.(?:firmware|node_guid|pci_device_id|numa_node)|efa\.port\.link_layer"
    r"|sensor\.temperature_(?:maximum|critical)|runtime\.tag"
)

# unit as read → factor to the base unit, and how the family ends
UNITS = {
    "bytes": (1.0, "bytes"),
    "sectors": (512.0, "bytes"),
    "seconds": (1.0, "seconds"),
    "s since 1970": (1.0, "seconds"),
    "milliseconds": (1e-3, "seconds"),
    "microseconds": (1e-6, "seconds"),
    "ticks": (1e-2, "seconds"),
    "ratio": (1.0, "ratio"),
    "percent": (1e-2, "ratio"),
    "basis points": (1e-4, "ratio"),
    "degrees Celsius": (1.0, "celsius"),
    "gigabits per second": (125e6, "bytes_per_second"),
    "GT/s": (1e9, "transfers_per_second"),
}
BASE_UNITS = {"bytes", "seconds", "ratio", "celsius"}


def families() -> dict[str, list[MetricSpec]]:
    """Family → its rows."""
    found: dict[str, list[MetricSpec]] = {}
    for spec in SPECS:
        found.setdefault(spec.family, []).append(spec)
    return found


def foreign() -> list[tuple[str, str, str]]:
    """Source, scope and name of each line of the list."""
    lines = FOREIGN.read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [(source, scope, name) for source, scope, name in rows]


def foreign_names() -> set[str]:
    """Every form that the names take in the exposition of other exporters."""
    found: set[str] = set()
    for source, scope, name in foreign():
        if source == "monitor":
            found.add(name)
            continue
        stem = f"neuron_{name}" if scope in {"info", "aggregate"} else f"neuron_{scope}_{name}"
        for strategy in ("", "_sum", "_avg", "_min", "_max", "_p50", "_p99"):
            found |= {f"{stem}{strategy}", f"{stem}{strategy}_total"}
    return found


def test_the_list_of_foreign_names_is_whole() -> None:
    """134 names of AWS's exporter, by scope; the two info metrics; neuron-monitor's."""
    counts = Counter((source, scope) for source, scope, _ in foreign())
    exported = [counts["aws", scope] for scope in ("device", "vcpu", "core", "system", "efa")]
    assert exported == [29, 7, 66, 10, 22]
    assert sum(exported) == 134
    assert (counts["aws", "info"], counts["monitor", "-"]) == (2, 20)
    assert len(set(foreign())) == len(foreign())
    assert "neuron_core_infer_completed_sum_total" in foreign_names()


def test_every_row_is_in_the_catalogue_once() -> None:
    """Two rows with one id would be one, silently."""
    rows: list[MetricSpec] = []
    for module in pkgutil.iter_modules(neuron_observer.catalogue.__path__):
        loaded = importlib.import_module(f"neuron_observer.catalogue.{module.name}")
        for name, group in vars(loaded).items():
            if name.isupper() and isinstance(group, tuple):
                rows += [row for row in group if isinstance(row, MetricSpec)]
    assert len(rows) > 300
    assert sorted(row.id for row in rows) == sorted(METRICS)
    assert all(METRICS[row.id] == row for row in rows)


# rows


def test_every_row_is_complete() -> None:
    """An id by its scope, a help line, a place where it is read, a unit where it counts."""
    for spec in SPECS:
        assert re.fullmatch(r"[a-z]\w*(?:\.\w+)+", spec.id)
        assert spec.id.partition(".")[0] in HEADS.get(spec.scope, (spec.scope,)), spec.id
        assert re.fullmatch(r"[A-Z0-9].*[^.\s]", spec.help), spec.id
        assert spec.sources, spec.id
        assert spec.unit or spec.kind is not Kind.COUNTER, spec.id
        read = any(source.where != "derived" for source in spec.sources)
        assert read is (spec.lane != "derived"), spec.id


def test_every_source_can_be_read() -> None:
    """A path below its place and a form that a parser knows; parts only of tables."""
    for spec in SPECS:
        for source in spec.sources:
            assert source.path, spec.id
            if source.where not in FILES:
                continue
            assert not source.path.startswith("/"), spec.id
            assert ".." not in source.path.split("/"), spec.id
            assert source.format in SCALARS.keys() | TABLES.keys(), spec.id
            assert bool(source.part) is (source.format in TABLES), spec.id
            assert not (source.since and source.until) or source.since <= source.until, spec.id


def test_info_is_identity_and_nothing_that_changes() -> None:
    """E01: only what is constant may become a label; identity is info and nothing else."""
    for spec in SPECS:
        assert (spec.kind is Kind.INFO) is bool(IDENTITY.fullmatch(spec.id)), spec.id


def test_labels_are_constant_words() -> None:
    """Names are Prometheus', values fixed texts; what tells a place apart is no constant label."""
    for spec in SPECS:
        for name, text in spec.labels:
            assert re.fullmatch(r"[a-z][a-z_]*", name), spec.id
            assert name not in {"neuron_device", "neuron_core", "le", "quantile", "job"}, spec.id
            assert text, spec.id


def test_a_changed_power_line_changes_no_label(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """E01: the two scrapes of the report differ in values only."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    lines = (
        b"POWER_STATUS_VALID,1788000000,0.00,0.00,0.00\n",
        b"POWER_STATUS_VALID,1788000020,0.10,2.82,1.57\n",
    )
    labels: list[list[tuple[str, Place, Cell]]] = []
    values: list[list[Cell]] = []
    identity = [spec.id for spec in SPECS if spec.kind is Kind.INFO]
    for line in lines:
        batches = HostReader(changed(host, utilization=line), clock).poll().batches
        labels.append(
            [(name, place, cell) for name in identity for _, place, cell in columns(batches, name)]
        )
        values.append([cell for _, _, cell in columns(batches, "device.power.maximum")])
    assert labels[0] == labels[1]
    assert len(labels[0]) > 8
    assert values == [[0.0], [2.82]]


# families


def test_no_family_is_another_exporters() -> None:
    """No name of AWS's exporter and none of neuron-monitor's, so that all can be scraped."""
    ours = {f"neuron_{family}" for family in families()}
    assert ours & foreign_names() == set()


@pytest.mark.parametrize("family", ["core_flop_count", "efa_tx_bytes", "device_info"])
def test_names_that_would_collide_are_known(family: str) -> None:
    """The list does tell: these are names that others give."""
    assert f"neuron_{family}" in foreign_names()


def test_families_are_prometheus_names() -> None:
    """Lower case, no prefix of their own, and `_total` exactly on counters."""
    for family, rows in families().items():
        assert re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", family)
        assert not family.startswith("neuron_")
        for spec in rows:
            assert family.endswith("_total") is (spec.kind is Kind.COUNTER), spec.id


def test_families_differ_without_their_total() -> None:
    """A counter x_total and a gauge x would be one family in the exposition."""
    bare = [family.removesuffix("_total") for family in families()]
    assert len(set(bare)) == len(bare)


def test_families_have_base_units() -> None:
    """Bytes, seconds, ratios, degrees, transfers: the factor is right, the name says which."""
    for family, rows in families().items():
        stem = family.removesuffix("_total")
        for spec in rows:
            if spec.kind is Kind.INFO:
                continue
            if spec.unit in UNITS:
                scale, ending = UNITS[spec.unit]
                assert spec.scale == pytest.approx(scale), spec.id
                assert stem.endswith(f"_{ending}"), spec.id
            else:
                assert spec.scale == 1.0, spec.id
                assert stem.rpartition("_")[2] not in BASE_UNITS, spec.id


def test_rows_of_a_family_differ_by_labels_of_the_same_names() -> None:
    """One kind, one scope, one set of label names, and no two rows with the same values."""
    for family, rows in families().items():
        assert len({(spec.kind, spec.scope) for spec in rows}) == 1, family
        assert len({tuple(name for name, _ in spec.labels) for spec in rows}) == 1, family
        if rows[0].kind is Kind.INFO:
            assert not any(spec.labels for spec in rows), family
            told = {spec.id.rpartition(".")[2] for spec in rows}  # each row becomes a label
        else:
            told = {str(spec.labels) for spec in rows}
        assert len(told) == len(rows), family
