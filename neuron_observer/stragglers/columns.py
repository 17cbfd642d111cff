"""What the detector is fed: per-rank columns of one step, and what is known of the ranks.

A rank is a row: all arrays of one job are `(N,)` float64 in the order of `Topology.ranks`.
NaN is a value that is missing, None a column that nobody measures. Times are seconds.

    topology = Topology.of(range(64), role=stages, replica=dp, node=nodes, device=devices)
    detector = Detector(topology, job="llm-7b")    # parameters=ONLINE or SCRAPED
    assessment = detector.update(StepColumns(step=7, at=wall, period=5.02,
                                             busy=Times(busy, TimeSource.EVENT)))
    assessment.suspects    # open: scope, kind, tier, ranks, first_step, last_step, ratio, cost …
    assessment.closed      # those that ended with this update
    assessment.slowdown    # stage A, None while the job is as fast as it was
    assessment.refusals    # why nobody is named
    findings(assessment, topology)    # neuron_observer.stragglers.findings: model.Finding
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]

UNKNOWN = -1  # code of a label that is not known


class TimeSource(IntEnum):
    """How a time was taken; work on the device is asynchronous, so not every clock tells it."""

    NONE = 0  # around an asynchronous call: says nothing of the device; treated as missing
    EVENT = 1  # device events
    BLOCKING = 2  # the host waited for the device


NO_SOURCE: Final = int(TimeSource.NONE)  # to compare codes with: an enum takes numpy long


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """A column of seconds and how each was taken: one source for all, or `(N,)` codes."""

    seconds: Floats
    source: TimeSource | Bytes = TimeSource.EVENT

    def sources(self) -> Bytes:
        """The source of each rank, `(N,)`."""
        if isinstance(self.source, TimeSource):
            return np.full(self.seconds.shape, self.source, dtype=np.uint8)
        return self.source

    def known(self) -> Floats:
        """The seconds; NaN where they say nothing or are no time at all."""
        seconds = np.asarray(self.seconds, dtype=np.float64)
        good = np.isfinite(seconds) & (seconds >= 0)
        if isinstance(self.source, TimeSource):
            good &= self.source is not TimeSource.NONE
        else:
            good &= self.source != NO_SOURCE
        return np.where(good, seconds, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """One label a rank, as codes into `names`; `UNKNOWN` where it is not known."""

    codes: Ints
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[Hashable]) -> Labels:
        """Codes in order of first appearance; None is unknown."""
        index: dict[Hashable, int] = {}
        codes = [
            UNKNOWN if value is None else index.setdefault(value, len(index)) for value in values
        ]
        names = tuple(
            "/".join(str(part) for part in key) if isinstance(key, tuple) else str(key)
            for key in index
        )
        return cls(np.array(codes, dtype=np.int64), names)

    def name(self, row: int) -> str | None:
        """The label of one row."""
        code = int(self.codes[row])
        return None if code == UNKNOWN else self.names[code]

    @property
    def complete(self) -> bool:
        """Whether every row has a label."""
        return bool((self.codes != UNKNOWN).all())


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """The ranks of a job and where each one sits; None for what is not known of any rank.

    `role` is what the rank computes (pipeline stage, tensor-parallel position): only ranks of one
    role are compared in level. `replica` is its data-parallel index: ranks of one replica
    share their data. `group` is its collective group, by default its role. `device` is
    unique together with its node. `core` and `device` are indices as the job knows them.
    """

    ranks: Ints
    role: Labels | None = None
    replica: Labels | None = None
    node: Labels | None = None
    device: Labels | None = None
    group: Labels | None = None
    device_index: Ints | None = None
    core: Ints | None = None

    @classmethod
    def of(
        cls,
        ranks: Iterable[int],
        *,
        role: Sequence[Hashable] | None = None,
        replica: Sequence[Hashable] | None = None,
        node: Sequence[Hashable] | None = None,
        device: Sequence[int | None] | None = None,
        group: Sequence[Hashable] | None = None,
        core: Sequence[int] | None = None,
    ) -> Topology:
        """From plain sequences, one entry a rank; raises ValueError if their lengths differ."""
        ids = np.array(list(ranks), dtype=np.int64)
        for column in (role, replica, node, device, group, core):
            if column is not None and len(column) != ids.size:
                raise ValueError(f"{len(column)} labels for {ids.size} ranks")
        if len(set(ids.tolist())) != ids.size:
            raise ValueError("a rank is listed twice")
        places: list[Hashable] | None = None
        if device is not None:
            hosts = node if node is not None else [""] * ids.size
            places = [
                None if at is None or index is None else (at, index)
                for at, index in zip(hosts, device, strict=True)
            ]
        return cls(
            ids,
            None if role is None else Labels.of(role),
            None if replica is None else Labels.of(replica),
            None if node is None else Labels.of(node),
            None if places is None else Labels.of(places),
            None if group is None else Labels.of(group),
            None
            if device is None
            else np.array([UNKNOWN if d is None else int(d) for d in device], dtype=np.int64),
            None if core is None else np.array(core, dtype=np.int64),
        )

    @property
    def size(self) -> int:
        """The number of ranks."""
        return int(self.ranks.size)


@dataclass(frozen=True, slots=True, eq=False)
class SideColumns:
    """What else was seen during the step, aligned by rank; used to say *what kind*, never *who*.

    Counts are increments since the step before; figures of a device or a node stand on all of its
    ranks.
    """

    host_gap: Floats | None = None  # s in the step between launches, device idle, host busy
    host_wait: Floats | None = None  # s ready to run but not running: run queue, D state, throttled
    ecc: Floats | None = None  # corrected and repairable HBM ECC events
    unhealthy: Floats | None = None  # 1 where unhealthy_components is not empty
    power: Floats | None = None  # share of maximum power, 0-1
    fabric_events: Floats | None = None  # EFA retransmit time-outs, unresponsive, impaired remotes


@dataclass(frozen=True, slots=True, eq=False)
class StepColumns:
    """One step of one job (or one scrape: medians of the last steps).

    `period` is the time from the end of the step before to the end of this one; NaN if unknown.
    `busy` is the rank's own work: step - collectives - input. `wait` is the time inside
    collectives and point-to-point transfers, waiting for peers included. `transfer` is
    the shortest collective of the step on this rank. `input` is the time in `next(dataloader)`.
    `restart` is the restart count of the job: a change forgets everything.
    """

    step: int
    at: float  # wall clock
    period: float = float("nan")
    busy: Times | None = None
    wait: Times | None = None
    input: Times | None = None
    transfer: Times | None = None
    tokens: Floats | None = None
    side: SideColumns = field(default_factory=SideColumns)
    pause: bool = False  # checkpoint, evaluation
    compiled: bool = False  # a model was loaded in this step
    restart: int = 0
