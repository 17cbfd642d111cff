"""Looks at hosts that a test makes up or that are shared, judged by the shipped rules."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.checks.inventory import take
from neuron_observer.checks.judging import Judge, Look, judge_by, load_rules, look
from neuron_observer.checks.scope import WHOLE_NODE, Scope
from neuron_observer.checks.verdict import Checked, check
from neuron_observer.clock import ManualClock
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.model import Finding
    from neuron_observer.rules.rule import Rule

WALL = 1_788_000_030.0  # at which the power figures of the shared listings are fresh
DEVICE = "sys/devices/virtual/neuron_device/neuron{}/"


@cache
def rules() -> tuple[Rule, ...]:
    """The shipped rules, loaded once a run."""
    return load_rules()


def make() -> Judge:
    """A judge of two reads."""
    return judge_by(rules(), one_shot=True)


def twice(
    host: ListingFs,
    files: Mapping[str, bytes] | None = None,
    later: Mapping[str, bytes] | None = None,
    kernel: Sequence[str] = (),
) -> ListingFs:
    """The same host at two instants 0.3 s apart: with other bytes in both, or in the later one."""
    first = host.listing.passes[0]
    nodes = first.nodes | {path: Node("file", 0o444, text) for path, text in (files or {}).items()}
    lines = [f"3,{number},5000000000,-;{line}" for number, line in enumerate(kernel, 1)]
    changed = {path: Node("file", 0o444, text) for path, text in (later or {}).items()}
    begin = replace(first, nodes=nodes, kernel=[*first.kernel, *lines])
    return ListingFs(Listing(host.listing.header, [begin, Pass(0.3, changed)]), "made up")


def reader_of(host: ListingFs, *, all_devices: bool = False) -> HostReader:
    """A reader as `check` has it."""
    options = Options(thorough=False, kernel_log=True, firmware_period=0.0, all_devices=all_devices)
    return HostReader(host, ManualClock(WALL), options)


def looked(host: ListingFs) -> Look:
    """A judged look at it."""
    reader = reader_of(host)
    found = look(reader, make)
    reader.close()
    return found


def checked(host: ListingFs, scope: Scope = WHOLE_NODE) -> Checked:
    """What `check` makes of it."""
    reader = reader_of(host)
    frame = look(reader, make).frame
    reader.close()
    return check(frame, scope, take(reader.topology, frame.snapshot))


def ids(findings: Sequence[Finding]) -> set[str]:
    """Ids of those that are more than information."""
    return {one.id for one in findings if one.severity.value != "info"}
