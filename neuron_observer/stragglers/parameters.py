"""Every number of the detector, frozen, with its source.

Sources: [G] Greyhound, ATC'25 (arXiv 2410.12588); [M] Minder, NSDI'25 (arXiv 2411.01791);
[S] Siegmund, Sequential Analysis (1985), average run length of a CUSUM; [W] What-if, OSDI'25
(arXiv 2505.05713) and its public traces; [B] our own benchmark, `benchmarks/stragglers`;
[P] design value of the prototype that docs/stragglers.md describes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameters:
    """Numbers of the detector; ratios are natural-log units unless said, counts are updates."""

    # effect and noise
    effect: float = 0.05  # δ, smallest slowdown looked for (ratio) [P]; Holmes' limit is about 0.04
    effect_noisy: float = 0.20  # δ where noise cannot be removed [P]
    noisy_z: float = 6.0  # … or this many sigma of the windowed medians, if that is more [W]
    noisy_above: float = 0.03  # sigma above which single steps say nothing [P]
    sigma_floor: float = (
        0.005  # smallest sigma believed [P]; rank noise of [W] fixed shape is 0.3-0.5 %
    )
    gate: float = 0.8  # share of δ that a step must exceed to count as slow [P]
    normal: float = 0.4  # share of δ below which a step is back to normal [B]
    # own baseline and scale
    warm_up: int = 20  # updates dropped at the start: compilation, caches [P]
    baseline: int = 40  # good updates that make a rank's own baseline [P]
    scale_window: int = 64  # updates in the running median of sigma [P]
    drift: float = (
        0.001  # the baseline follows by this many sigma an update while nothing is open [B]
    )
    # alarms
    false_alarms_a_day: float = 0.01  # alpha over all ranks of a job [P]; sets h by [S]
    least_h: float = 4.0  # [P]
    steps_to_notice: int = 4  # cap h/4 an update: no fewer slow updates can alarm [P]
    steps_to_notice_noisy: int = 8  # median that confirms where sigma is high [P]
    window: int = 16  # updates in the median of the noisy regime [P]
    stride: int = 4  # the noisy regime judges every fourth update [B]
    persist: int = 10  # k: slow updates … [P]; continuity is what lifts [M] from 0.757
    persist_of: int = 12  # … of the last m make a warning [P]
    clear: int = 4  # updates below h/4 that close an episode [B]
    critical_after: float = 240.0  # s that a warning must last [M: 4 minutes]
    critical_cost: float = 0.10  # share of the job's rank-seconds lost [P]
    # peers
    least_ranks: int = 5  # below: own baseline only [P]
    least_nodes: int = 3  # below: no comparison of levels [P]
    least_replica: int = 4  # ranks in a replica of one role for its term to be removed [P]
    # a rank that was always slow
    always_every: float = 3600.0  # s [P]
    always_slow: float = 0.10  # ratio - 1 [P]
    always_z: float = 4.0  # robust z against the spread between ranks [P]
    # job slowdown (stage A)
    slowdown: float = 1.10  # verified ratio of the period [G]
    slowdown_z: float = 5.0  # … and this many standard errors of the median period [B]
    slowdown_share: float = 0.75  # of these periods that must be half as much longer [B]
    slowdown_periods: int = 10  # periods that verify it [G: 10 iterations per segment]
    period_window: int = 100  # last good periods [P]
    pause: float = 3.0  # periods above this multiple of the median are pauses [P]
    pause_samples: int = 24  # samples in a row that are a pause, seen from outside [B]
    # network and input
    transfer: float = 0.20  # rise of a group's transfer time [P]
    input_share: float = 0.05  # share of the period that input must cost [P]
    # scopes
    scope_share: float = 0.5  # of a device's or node's ranks [P]
    scope_explains: float = 0.9  # of the flagged ranks [P]
    whole_share: float = 0.9  # of a role's or replica's ranks that make it "whole" [P]
    # kinds
    kind_share: float = 0.5  # share of the excess that a side column must explain [P]
    power_cap: float = 0.95  # share of maximum power [P]
    token_correlation: float = 0.5  # [W] calls sequence-length imbalance above 0.9, [P] 0.5
    agreement: float = 0.5  # share of the excess by which the culprit must wait less [P]
    # hangs
    stall_periods: float = 10.0  # x p99 step period [P]
    stall_least: float = 60.0  # s [P]
    stall_most: float = 600.0  # s [P]


ONLINE = Parameters()
"""One update a step, in the daemon or from a hook."""

SCRAPED = Parameters(
    persist=3,
    persist_of=4,
    steps_to_notice=2,
    clear=2,
    warm_up=4,
)
"""One update a 15-s scrape of medians over 12 steps, which bring their own persistence [B]."""

RETROSPECTIVE = Parameters(warm_up=0, drift=0.0, least_ranks=4, least_nodes=1, window=8, stride=1)
"""A whole table at once: the baseline is the trace itself; three peers are enough [W]."""
