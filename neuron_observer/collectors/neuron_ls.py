"""One call of neuron-ls, on request: it opens the devices, so nobody calls it in a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.parsers.neuron_ls import parse
from neuron_observer.parsers.neuron_ls_listing import NeuronListing, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.sources.child import Children

COMMAND = ("/opt/aws/neuron/bin/neuron-ls", "-j")  # not on the PATH of sudo and systemd
SECONDS = 20.0


def list_devices(
    children: Children, *, command: Sequence[str] = COMMAND, seconds: float = SECONDS
) -> NeuronListing:
    """What neuron-ls lists, or how the call failed; a hung driver gives NO_ANSWER."""
    ended = children.run(command, seconds=seconds)
    errors = ended.stderr.decode("utf-8", "backslashreplace")
    if ended.status is None:
        why = errors.strip() or f"no answer within {seconds:g} s"
        return NeuronListing(Outcome.NO_ANSWER, detail=why)
    if ended.cut:
        return NeuronListing(Outcome.BAD_OUTPUT, detail="endless output")
    output = ended.stdout.decode("utf-8", "backslashreplace")
    return parse(output, status=ended.status, stderr=errors)
