"""What a finding about a running job means, by its id; `explain` and the runbooks say it."""

from __future__ import annotations

from typing import Final

_WATCHED: Final = (
    " Jobs are judged by what watches them for a while: the daemon, `findings --watch`,"
    " `job report`, `run`."
)
_TEXTS: Final = {
    "straggler": (
        "A rank, or the ranks of one device or node, work longer in a step than their peers and"
        " than they used to, so all others wait for them. Its class says what else changed at the"
        " same time: compute, chip (memory errors), throttled (power), host, input (data), network."
        " What to do: go by the class; compare a profile of the rank with one of a healthy peer."
    ),
    "job-slow": (
        "The job's steps take at least a tenth longer than they did. Where no rank can be blamed"
        " the message says why nobody is named. What to do: look at the same job on its other"
        " nodes, then at storage and fabric."
    ),
    "imbalance": (
        "A whole pipeline stage or a whole replica works longer than it did: how the work or the"
        " data is split, not a machine. It is never more than information. What to do: nothing to"
        " the machine; balance the work if it costs too much."
    ),
    "hang-crashed-peer": (
        "The process of a rank is gone, and the others wait for it in a collective until their"
        " time-out ends them. What to do: see why it went (its log, dmesg), start the job again."
    ),
    "hang-host": (
        "A rank never came to the collective in which the others wait, and neither its device nor"
        " its data loader is seen to be busy: its program, a lock, or its host. What to do: take"
        " the stacks of that rank first."
    ),
    "hang-input": (
        "A rank asked its data loader and got no answer; the others wait for it in a collective."
        " What to do: look at its loader's workers and its storage."
    ),
    "hang-compute": (
        "A rank's device is busy without completing, or its execution timed out, while the others"
        " wait for it. What to do: start the job without that device; once confirmed replace it."
    ),
    "hang-collective": (
        "All ranks that are seen wait inside the same collective: a link, the fabric, or a rank on"
        " another node that did not come. A device is blamed only by a counter of the hardware."
        " What to do: look at the job's other nodes before this one."
    ),
    "hang-desync": (
        "Ranks wait in different collectives under the same number, or with other shapes: the"
        " program takes different ways on different ranks. What to do: fix the program; the flight"
        " recorder's dumps show both calls."
    ),
    "hang-unknown": (
        "Nothing of the job moves, and no rank of this node differs from the others: why, and"
        " because of whom, cannot be told from here. What to do: take the stacks of all ranks, and"
        " look at the job's other nodes."
    ),
}
MEANINGS: Final = {name: f"{text}{_WATCHED}" for name, text in _TEXTS.items()}
