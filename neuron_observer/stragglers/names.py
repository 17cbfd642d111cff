"""Sorts of hangs, and the ids of all findings about running jobs."""

from __future__ import annotations

from enum import Enum


class HangKind(str, Enum):
    """What sort of hang it is."""

    CRASHED_PEER = "crashed_peer"
    HOST = "host_deadlock"
    INPUT = "input_hang"
    COMPUTE = "compute_hang"
    COLLECTIVE = "collective_hang"
    DESYNC = "desync"
    UNKNOWN = "unknown"


HANGS = {
    HangKind.CRASHED_PEER: "hang-crashed-peer",
    HangKind.HOST: "hang-host",
    HangKind.INPUT: "hang-input",
    HangKind.COMPUTE: "hang-compute",
    HangKind.COLLECTIVE: "hang-collective",
    HangKind.DESYNC: "hang-desync",
    HangKind.UNKNOWN: "hang-unknown",
}
OF_JOBS = frozenset({"straggler", "job-slow", "imbalance", *HANGS.values()})  # ids of findings
