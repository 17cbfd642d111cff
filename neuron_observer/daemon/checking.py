"""`check` from the last frame: the same document, words and exit codes as a look of one's own.

What a check by two reads cannot decide, rules that need a longer look, is decided here. A frame
that is too old proves nothing: without a finding the node is then unknown, never healthy.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from neuron_observer.checks import scope as scopes
from neuron_observer.checks.documents import document
from neuron_observer.checks.forms import said
from neuron_observer.checks.inventory import take
from neuron_observer.checks.verdict import check
from neuron_observer.daemon.asked import WrongQuery
from neuron_observer.errors import UsageError
from neuron_observer.model import Confidence, Gap, Severity, State, Verdict

if TYPE_CHECKING:
    from neuron_observer.checks.verdict import Checked
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.daemon.asked import Asked
    from neuron_observer.daemon.standing import Aged, Standing
    from neuron_observer.model import Finding, Snapshot

SECOND_READ = 15.0  # seconds in which registers, read each 10, have been read again
_NOT_YET = "not yet"  # as text.cell_text says Why.NOT_YET


def checked(standing: Standing, aged: Aged, asked: Asked) -> dict[str, Any]:
    """findings/1 of the devices asked for; with `format` also what `check` prints in it."""
    begin = standing.clock.monotonic()
    topology, frame = standing.topology(), aged.frame
    found = check(
        frame,
        _scope(asked, topology, frame.snapshot),
        take(topology, frame.snapshot) if topology else (),
    )
    if aged.stale:
        found = _too_old(found, aged)
    found = found._replace(seconds=standing.clock.monotonic() - begin)
    form = asked["format"]
    told = said(found, form or "json", asked["fail_on"])
    whole = {
        **document(found, told.code, "daemon"),
        "host_root": frame.snapshot.host_root,
        "settled": _settled(found, frame.snapshot.at),
    }
    return whole | {"output": told.out, "narration": told.err} if form else whole


def _scope(asked: Asked, topology: Topology | None, of: Snapshot) -> scopes.Scope:
    devices, cores = asked["devices"], asked["cores"]
    if devices is None and cores is None:
        return scopes.WHOLE_NODE
    if devices is not None and cores is not None:
        raise WrongQuery("devices and cores stand together", "give one of them")
    if topology is None:
        raise WrongQuery("devices cannot be told apart yet", "ask for the whole node")
    try:
        if devices is not None:
            return scopes.by_devices(devices, topology)
        return scopes.by_cores(cores or (), asked["core_size"], topology, of.devices)
    except UsageError as error:
        raise WrongQuery(error.message, error.remedy) from None


def _settled(found: Checked, now: float) -> bool:
    """Whether a look of one's own would know no more: nothing is held back, or waits for a read.

    Just after the start registers are not read yet; a fault must stand for a while before it
    counts, and be read twice before it is certain. Two reads in a row tell all of that at once.
    """
    unread = any(gap.why.startswith(_NOT_YET) for gap in found.coverage.missing)
    return not unread and not any(_is_young(one, now) for one in found.findings)


def _is_young(one: Finding, now: float) -> bool:
    if one.severity is Severity.INFO:
        return False
    by_hardware = any(evidence.trust == "hardware" for evidence in one.evidence)
    read_once = one.confidence is Confidence.PROBABLE and by_hardware
    age = inf if one.first_seen is None else now - one.first_seen
    return one.state is State.PENDING or (read_once and age < SECOND_READ)


def _too_old(found: Checked, aged: Aged) -> Checked:
    why = f"the last frame is {aged.age:.0f} s old"
    covered = found.coverage
    gap = Gap("frame", why)
    found = found._replace(coverage=covered._replace(missing=(gap, *covered.missing)))
    if found.verdict is not Verdict.HEALTHY:
        return found._replace(reason=f"{found.reason} ({why})")
    return found._replace(verdict=Verdict.UNKNOWN, reason=why)
