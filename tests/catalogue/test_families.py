"""Families: one kind, one help, one scale; what OpenMetrics asks of a name."""

from __future__ import annotations

import re

import pytest

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.catalogue.families import BASE_UNITS, HELP, FamilyType, families
from neuron_observer.exporters.judged import JUDGED, TAIL

FAMILIES = families(METRICS.values())
BY_NAME = {family.name: family for family in FAMILIES}


@pytest.mark.parametrize(
    ("name", "kind", "sample", "unit"),
    [
        ("neuron_execution_status", "counter", "neuron_execution_status_total", ""),
        (
            "neuron_core_time_in_use_seconds",
            "counter",
            "neuron_core_time_in_use_seconds_total",
            "seconds",
        ),
        ("neuron_core_utilization_ratio", "gauge", "neuron_core_utilization_ratio", "ratio"),
        ("neuron_device_identity", "info", "neuron_device_identity_info", ""),
        ("neuron_device_power_status", "stateset", "neuron_device_power_status", ""),
        ("neuron_device_state", "gauge", "neuron_device_state", ""),
        (
            "neuron_efa_port_rate_bytes_per_second",
            "gauge",
            "neuron_efa_port_rate_bytes_per_second",
            "bytes_per_second",
        ),
        (
            "neuron_sensor_temperature_critical_celsius",
            "gauge",
            "neuron_sensor_temperature_critical_celsius",
            "celsius",
        ),
    ],
)
def test_what_a_row_becomes(name: str, kind: str, sample: str, unit: str) -> None:
    """The table of the module, by example."""
    family = BY_NAME[name]
    assert (family.type.value, family.sample_name, family.unit) == (kind, sample, unit)


def test_every_row_is_in_one_family() -> None:
    """Nothing of the catalogue is lost or told twice."""
    rows = [row.id for family in FAMILIES for row in family.rows]
    assert sorted(rows) == sorted(METRICS)


def test_families_stand_by_name_and_once() -> None:
    """A page is sorted by this; the families that are no readings have names of their own."""
    names = [family.name for family in FAMILIES]
    assert names == sorted(set(names))
    others = [family.name for family in (*JUDGED, *TAIL)]
    assert len({*names, *others}) == len(names) + len(others)
    samples = [family.sample_name for family in (*FAMILIES, *JUDGED, *TAIL)]
    assert len(set(samples)) == len(samples)


def test_rows_of_a_family_have_one_scale_and_one_set_of_states() -> None:
    """The writer takes both from the first row."""
    for family in FAMILIES:
        assert len({row.scale for row in family.rows}) == 1, family.name
        assert {row.states for row in family.rows} == {family.states}, family.name


def test_scales_are_whole_numbers_or_parts() -> None:
    """Whole numbers stay whole: the factor or its inverse is one."""
    for family in FAMILIES:
        factor = family.scale if family.scale >= 1 else 1 / family.scale
        assert factor == pytest.approx(round(factor), rel=1e-12), family.name


def test_only_states_have_words() -> None:
    """Words are of states; a StateSet's words are constant, distinct and without commas."""
    for row in METRICS.values():
        assert row.kind is Kind.STATE or not row.states, row.id
        assert len(set(row.states)) == len(row.states), row.id
        assert not any("," in state or not state for state in row.states), row.id


def test_several_rows_have_a_help_of_their_own() -> None:
    """A family's HELP says what all its rows are, not what the first is; none is left over."""
    several = {f.rows[0].family for f in FAMILIES if len({row.help for row in f.rows}) > 1}
    assert set(HELP) == several


def test_openmetrics_names() -> None:
    """A unit is the name's ending; no name ends as a suffix that its type reserves."""
    for family in (*FAMILIES, *JUDGED, *TAIL):
        assert re.fullmatch(r"neuron(?:_[a-z0-9]+)+", family.name)
        assert family.help, family.name
        assert not family.name.endswith(("_total", "_info", "_created", "_bucket", "_count"))
        assert not family.unit or family.name.endswith(f"_{family.unit}")
        if family.type in (FamilyType.COUNTER, FamilyType.GAUGE):
            ends = family.name.rpartition("_")[2]
            assert ends not in BASE_UNITS or family.unit, family.name
