"""Rows about heat. No Neuron driver up to 2.30.2 gives a temperature, by sysfs or otherwise.

They exist all the same: a file that a later driver, the kernel or the host offers is found by its
name and read in degrees. Source: the kernel's hwmon sysfs interface and its thermal zones.
"""

from __future__ import annotations

from neuron_observer.catalogue.spec import Format, Kind, MetricSpec, Scope, Source

_NONE_YET = "driver 2.24.7 to 2.30.2: no file, register name or document offers it"
HWMON = Source(
    "sensor", "temp*_input", "millidegrees", fact="hwmon/sysfs-interface.rst: thousandths of a °C"
)
ZONE = Source("sensor", "temp", "millidegrees", fact="thermal/sysfs-api.rst: thousandths of a °C")
LEAF = Source("sensor", "temp*", "temperature", fact="unit told by size; see parsers")
THROTTLE_LEAF = Source("sensor", "throttl*", "word", fact="form and meaning unknown")


def _row(
    name: str,
    scope: Scope,
    kind: Kind,
    text: str,
    sources: tuple[Source, ...],
    family: str,
    column: str | None = None,
) -> MetricSpec:
    return MetricSpec(
        id=name,
        scope=scope,
        kind=kind,
        unit="degrees Celsius" if kind is Kind.GAUGE else "",
        help=text,
        sources=sources,
        lane="slow",
        family=family,
        detail="device",
        column=column,
    )


def _threshold(name: str, file: str, text: str) -> MetricSpec:
    form: Format = "millidegrees"
    source = Source("sensor", file, form, fact="hwmon/sysfs-interface.rst")
    return _row(f"sensor.{name}", "sensor", Kind.INFO, text, (source,), f"sensor_{name}_celsius")


SENSOR_METRICS: tuple[MetricSpec, ...] = (
    _row(
        "device.thermal.temperature",
        "device",
        Kind.GAUGE,
        "Temperature of the device; the hottest of its sensors where there are several",
        tuple(
            Source(s.where, s.path, s.format, fact=f"{_NONE_YET}; {s.fact}") for s in (HWMON, LEAF)
        ),
        "device_temperature_celsius",
        "Temp",
    ),
    _row(
        "device.thermal.throttle",
        "device",
        Kind.STATE,
        "What a file named throttl* below the device says, as it stands",
        (Source("sensor", "throttl*", "word", fact=_NONE_YET),),
        "device_throttle",
    ),
    _row(
        "sensor.temperature",
        "sensor",
        Kind.GAUGE,
        "Temperature by a sensor of the host or one of several of a device",
        (HWMON, ZONE, LEAF),
        "sensor_temperature_celsius",
    ),
    _threshold("temperature_maximum", "temp*_max", "Highest temperature for steady use"),
    _threshold("temperature_critical", "temp*_crit", "Temperature at which the part shuts down"),
)
