"""The rows about heat: degrees everywhere, and honest about today's drivers."""

from __future__ import annotations

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.catalogue.thermal import SENSOR_METRICS


def test_temperatures_are_in_degrees_celsius() -> None:
    """Names and units say the same; nothing is scaled twice."""
    for spec in SENSOR_METRICS:
        if "temperature" in spec.id:
            assert spec.family.endswith("_celsius")
            assert spec.scale == 1.0
    assert METRICS["device.thermal.temperature"].unit == "degrees Celsius"


def test_a_device_row_exists_although_no_driver_has_it() -> None:
    """It stands in the catalogue with the fact that no driver offers it."""
    spec = METRICS["device.thermal.temperature"]
    assert spec.scope == "device"
    assert spec.kind is Kind.GAUGE
    assert all("no file" in source.fact for source in spec.sources)
