"""What the step hook costs the job that it is in.

    python -m benchmarks.hook [--rounds N]

Each act is timed in a loop beside the same act without a hook, and beside a floor: a wrapper around
it that only reads the clock twice, which is the least that any measurement costs. All three take
turns within a round; the figure is the least of all rounds, because others on the machine only ever
add. Goals: a wrapped call costs at most 0.5 µs more than that floor, a step 2 µs more than without.
Calls are those of a stand-in of PyTorch (tests/hook/stand_in.py) that do nothing themselves.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import tempfile
import time
from timeit import Timer
from typing import TYPE_CHECKING, Any

from benchmarks.measuring import machine
from neuron_observer import hook
from tests.hook import stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

CALL_GOAL = 0.5  # µs over the floor
STEP_GOAL = 2.0  # µs over none
CALLS = 100  # in a round: few, so that some rounds are disturbed by nobody
monotonic = time.monotonic  # noqa: TID251 - what the floor is made of


def floor(original: Callable[..., Any]) -> Callable[..., Any]:
    """The least that a timing wrapper does."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        monotonic()
        try:
            return original(*args, **kwargs)
        finally:
            monotonic()

    return call


def least(rounds: int, *acts: Callable[[], Any]) -> list[float]:
    """The least time of each act, µs a call; they take turns."""
    timers = [Timer(act) for act in acts]
    best = [float("inf")] * len(acts)
    for _ in range(rounds):
        for number, timer in enumerate(timers):
            best[number] = min(best[number], timer.timeit(CALLS) / CALLS * 1e6)
    return best


def world() -> dict[str, Any]:
    """The stand-in in place of PyTorch."""
    made = stand_in.modules()
    sys.modules.update(made)
    return made


def acts(made: dict[str, Any]) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Function and arguments of everything that a job calls often."""
    distributed = made["torch.distributed"]
    loader = made["torch.utils.data.dataloader"]._BaseDataLoaderIter  # noqa: SLF001 - as PyTorch has it
    batches = loader(iter(int, 1))
    tensor = made["torch"].Tensor()
    return {
        "all_reduce(tensor)": (distributed.all_reduce, (tensor,)),
        "barrier()": (distributed.barrier, ()),
        "next(loader)": (loader.__next__, (batches,)),
    }


def main() -> int:
    """Print the table; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3000)
    rounds = parser.parse_args().rounds
    bare = acts(world())
    made = world()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NEURON_OBSERVER_HOOK_DIR"] = folder
        if not hook.install():
            return 1
        ours = acts(made)
        print(f"{machine()}\n{rounds} rounds of {CALLS} calls, the least of them, µs a call")
        print(f"{'':22}{'bare':>8}{'floor':>8}{'hooked':>8}{'over floor':>12}{'ratio':>8}")
        missed = [_row(rounds, name, bare[name], ours[name]) for name in ours]
        missed.append(_steps(rounds, made))
        hook.uninstall()
    return int(any(missed))


def _row(rounds: int, name: str, bare: Any, ours: Any) -> bool:
    timed = floor(bare[0])
    free, least_of_all, hooked = least(
        rounds,
        lambda: bare[0](*bare[1]),
        lambda: timed(*bare[1]),
        lambda: ours[0](*ours[1]),
    )
    over = hooked - least_of_all
    print(
        f"{name:22}{free:8.2f}{least_of_all:8.2f}{hooked:8.2f}{over:12.2f}"
        f"{hooked / least_of_all:8.2f}  goal {CALL_GOAL}{' MISSED' * (over > CALL_GOAL)}"
    )
    return over > CALL_GOAL


def _steps(rounds: int, made: dict[str, Any]) -> bool:
    """A step: with its hook, and without any; of an optimizer, of DDP's gradients, by hand."""
    other = stand_in.modules()
    bare, hooked = (_pair(modules) for modules in (other, made))
    over = [
        _print_step(name, *least(rounds, before, after))
        for (name, before), after in zip(bare.items(), hooked.values(), strict=True)
    ]
    by_hand = _print_step("with step():", *least(rounds, _nothing, _by_hand))
    return max(over[0], by_hand) > STEP_GOAL


def _pair(made: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    torch = made["torch"]
    model = torch.nn.parallel.DistributedDataParallel()
    optimizer = made["torch.optim.optimizer"].Optimizer()
    return {
        "optimizer.step()": optimizer.step,
        "backward() of DDP": functools.partial(torch.autograd.backward, model),
    }


def _nothing() -> None:
    pass


def _by_hand() -> None:
    with hook.step():
        pass


def _print_step(name: str, free: float, hooked: float) -> float:
    over = hooked - free
    goal = "" if "backward" in name else f"goal {STEP_GOAL}{' MISSED' * (over > STEP_GOAL)}"
    print(f"{name:22}{free:8.2f}{'':8}{hooked:8.2f}{over:12.2f}{'':8}  over bare  {goal}")
    return over


if __name__ == "__main__":
    sys.exit(main())
