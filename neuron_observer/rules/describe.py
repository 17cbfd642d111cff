"""Conditions in words: what is looked at, in which files and lines, and what it must show."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue import METRICS
from neuron_observer.rules import rule as r
from neuron_observer.rules.rule import EVENTS
from neuron_observer.text import seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.catalogue.spec import MetricSpec
    from neuron_observer.rules.rule import Condition

SYSFS = "/sys/devices/virtual/neuron_device"
_BELOW: Mapping[str, str] = {
    "device": f"{SYSFS}/neuronN/",
    "core": f"{SYSFS}/neuronN/neuron_coreM/",
    "class": "/sys/class/neuron_device/",
    "module": "/sys/module/neuron/",
    "port": "/sys/class/infiniband/NAME/ports/1/",
    "efa": "/sys/class/infiniband/NAME/",
    "proc": "/proc/",
    "pci": "/sys/bus/pci/devices/ADDRESS/",
}
_EVENT_WORDS: Mapping[str, str] = {
    "driver_reloaded": "the driver was seen to go and come back",
    "devices_changed": "devices came or went",
    "files_moved": "files of the driver moved",
    "counter_reset": "a counter fell",
}


class Line(NamedTuple):
    """A line of a list, and how deep it stands."""

    depth: int
    text: str


def condition(of: Condition, depth: int = 0) -> Iterator[Line]:
    """A condition as a nested list."""
    if isinstance(of, (r.AllOf, r.AnyOf)):
        yield Line(depth, "all of:" if isinstance(of, r.AllOf) else "any of:")
        for part in of.parts:
            yield from condition(part, depth + 1)
    elif isinstance(of, (r.Not, r.Unless, r.Anywhere)):
        heads = {r.Not: "not:", r.Unless: "unless:", r.Anywhere: "anywhere on the node:"}
        yield Line(depth, heads[type(of)])
        yield from condition(of.part, depth + 1)
    else:
        yield Line(depth, leaf(of))


def path(metric: str) -> str:
    """Where a metric stands on a host, as far as a path can say it."""
    spec = METRICS[metric]
    return _path(spec) or spec.help.lower()


def _path(spec: MetricSpec) -> str:
    first = spec.sources[0]
    if first.where in _BELOW:
        part = f" ({first.part})" if first.part else ""
        return f"`{_BELOW[first.where]}{first.path}`{part}"
    return ""


def origin(metric: str) -> str:
    """On which chips and drivers a metric is there, and where it says nothing."""
    spec = METRICS[metric]
    first = spec.sources[0]
    said = []
    if first.chips:
        said.append(", ".join(first.chips))
    if first.since:
        said.append(f"from driver {_version(first.since)}")
    if first.until:
        said.append(f"up to driver {_version(first.until)}")
    if first.live_since:
        said.append(f"before driver {_version(first.live_since)} it moves only when a process ends")
    if spec.constant_on:
        said.append(f"always 0 on {', '.join(spec.constant_on)}")
    return "; ".join(said)


def _version(of: tuple[int, ...]) -> str:
    return ".".join(map(str, of))


@singledispatch
def leaf(of: object) -> str:
    """One predicate in words."""
    raise TypeError(f"no words for {type(of).__name__}")


@leaf.register
def _(of: r.Above) -> str:
    return f"{path(of.metric)} is above {_limit(of)}{_clearing(of.clear_at, of.than)}"


@leaf.register
def _(of: r.Below) -> str:
    return f"{path(of.metric)} is below {_limit(of)}{_clearing(of.clear_at, of.than)}"


def _limit(of: r.Above | r.Below) -> str:
    if isinstance(of.than, str):
        share = "" if of.times == 1 else f"{of.times:g} of "
        return f"{share}{path(of.than)}"
    return f"{of.than * of.times:g}"


def _clearing(clear_at: float | None, than: float | str) -> str:
    if clear_at is None:
        return ""
    return f", until it is back at {clear_at:g}" + (" of it" if isinstance(than, str) else "")


@leaf.register
def _(of: r.OneOf) -> str:
    return f"{path(of.metric)} reads {_words(of.values)}"


@leaf.register
def _(of: r.NoneOf) -> str:
    return f"{path(of.metric)} reads anything but {_words(of.values)}"


def _words(values: tuple[str | int, ...]) -> str:
    return " or ".join(f"`{value}`" for value in values)


@leaf.register
def _(of: r.Contains) -> str:
    return f"{path(of.metric)} names `{of.word}`"


@leaf.register
def _(of: r.Increased) -> str:
    steps = ""
    if of.steps > 1:
        apart = f", {seconds_text(of.apart)} apart" if of.apart else ""
        steps = f", in at least {of.steps} reads{apart}"
    until = "" if of.clear_at is None else f", until it is {of.clear_at} or fewer"
    by = f"by {of.by} or more " if of.by > 1 else ""
    since = f"; no rise before {_EVENT_WORDS[of.ended_by]} counts" if of.ended_by else ""
    return f"{path(of.metric)} rises {by}within {seconds_text(of.within)}{steps}{until}{since}"


@leaf.register
def _(of: r.RateAbove) -> str:
    per, window = seconds_text(of.per), seconds_text(of.window)
    clearing = _clearing(of.clear_at, of.than)
    return f"{path(of.metric)} rises faster than {of.than:g} each {per}, over {window}{clearing}"


@leaf.register
def _(of: r.Stuck) -> str:
    return f"{path(of.metric)} has not changed for {seconds_text(of.lasting)}"


@leaf.register
def _(of: r.AbsentFor) -> str:
    said = f" ({of.saying.rstrip(':')})" if of.saying else ""
    lasting = f" for {seconds_text(of.lasting)}" if of.lasting else ""
    whys = " or ".join(why.value for why in of.whys)
    return f"{path(of.metric)} has no value{lasting}: {whys}{said}"


@leaf.register
def _(of: r.Matches) -> str:
    within = seconds_text(of.within)
    if of.finding in EVENTS:
        return f"{_EVENT_WORDS[of.finding]}, within the last {within}"
    count = f"{of.at_least} lines" if of.at_least > 1 else "a line"
    after = f", and no `{of.ended_by}` line since" if of.ended_by else ""
    beside = f", without a `{of.excused_by}` line beside it" if of.excused_by else ""
    return f"{count} of the kernel log that says `{of.finding}`, within {within}{after}{beside}"


@leaf.register
def _(of: r.DiffersFromPeers) -> str:
    least = f"{of.least_share:g} of their median" if of.least_share else f"{of.least:g}"
    side = {"low": "below", "high": "above", "both": "off"}[of.side]
    among = f"the same {of.among}"
    return f"{path(of.metric)}: {side} the others of {among} by more than {least}"


@leaf.register
def _(of: r.Trend) -> str:
    per, window = seconds_text(of.per), seconds_text(of.window)
    return f"{path(of.metric)} climbs by more than {of.than:g} each {per}, over {window}"


@leaf.register
def _(_of: r.MissingDevice) -> str:
    return f"`{SYSFS}/neuronN` is not there, and the instance type has it or it was there before"


@leaf.register
def _(of: r.CollectorFails) -> str:
    return f"a part of this program that reads has failed for {seconds_text(of.lasting)}"


@leaf.register
def _(of: r.ClockJumped) -> str:
    within = seconds_text(of.within)
    return (
        f"the wall clock moved by {of.by} s or more against the time that went by, within {within}"
    )
