"""Where a rule applies on a host: its places, or why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.chips import parse_version
from neuron_observer.model import NODE, Place
from neuron_observer.rules import rule as r

if TYPE_CHECKING:
    from neuron_observer.rules.rule import Rule
    from neuron_observer.rules.view import View


class Places:
    """The places of rules on a host as it is now; those of a scope are the same objects to all."""

    def __init__(self, view: View) -> None:
        self._view = view
        devices = view.devices.values()
        self._scopes = {
            "node": (NODE,),
            "device": tuple(Place(index) for index in sorted(view.devices)),
            "core": tuple(Place(one.index, core.index) for one in devices for core in one.cores),
        }

    def of(self, rule: Rule) -> tuple[tuple[Place, ...], str]:
        """The places at which a rule is evaluated, and, if there are none, why."""
        view = self._view
        why = _not_for_driver(rule, view)
        if why:
            return (), why
        known = self._scopes.get(rule.scope)
        places = _read(rule, view) if known is None else known
        if rule.scope == "device" and any(
            isinstance(leaf, r.MissingDevice) for leaf in r.leaves(rule.when)
        ):
            places = tuple(Place(index) for index in sorted({*view.devices, *expected(view)}))
        chosen = places
        if rule.chips:
            chosen = tuple(place for place in places if _fits_chip(rule, place, view))
        if places and not chosen:
            return (), f"only on {', '.join(rule.chips)}"
        return chosen, "" if chosen else f"no {rule.scope} here"


def _not_for_driver(rule: Rule, view: View) -> str:
    text = view.snapshot.driver.version if view.snapshot else None
    version = parse_version(text)
    if version is None:
        return ""
    if rule.since and version < rule.since:
        return f"from driver {'.'.join(map(str, rule.since))}, this is {text}"
    if rule.until and version > rule.until:
        return f"up to driver {'.'.join(map(str, rule.until))}, this is {text}"
    return ""


def _fits_chip(rule: Rule, place: Place, view: View) -> bool:
    names = {device.name for device in view.devices.values()}
    if place.device is not None and place.device in view.devices:
        names = {view.devices[place.device].name}
    return bool(names & set(rule.chips))


def _read(rule: Rule, view: View) -> tuple[Place, ...]:
    """Where the metrics of a rule's own scope are read."""
    own = [metric for metric in r.inputs(rule) if METRICS[metric].scope == rule.scope]
    return tuple({place: None for metric in sorted(own) for place in view.places(metric)})


def expected(view: View) -> set[int]:
    """Indexes that the instance type should have: a gap on trn1 and later.

    On inf1 later devices shift down, so none can be named (driver 2.24.7 neuron_pci.c:256); where
    devices are hidden in a container it cannot be told which.
    """
    snapshot = view.snapshot
    number = view.see("node.devices_expected", NODE).cell
    hidden = view.see("node.devices_hidden", NODE).cell
    kind = (snapshot.instance_type if snapshot else None) or ""
    if not isinstance(number, int) or hidden != 0 or kind.startswith("inf1"):
        return set()
    return set(range(number))


def reached(scope: str, place: Place) -> tuple[Place, ...]:
    """The place of a scope that a place is, or is part of; nothing if it is neither."""
    if scope == "node":
        return (NODE,)
    if scope == "device":
        at = Place(place.device)
        return () if place.device is None else (place if place == at else at,)
    if scope == "core":
        at = Place(place.device, place.core)
        return () if place.core is None else (place if place == at else at,)
    return (place,) if place.label else ()
