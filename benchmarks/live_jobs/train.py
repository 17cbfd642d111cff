"""A training job on the processor: steps of sleep, a real collective, a real hook, one fault.

Started by torchrun, one process a rank. A step fetches a batch, works (sleeps: all ranks share a
few cores), sums its gradients over all ranks and ends with the optimizer. The script knows nothing
of whoever watches it.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

from neuron_observer import hook
from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

CLOCK = SystemClock()
FOR_EVER = 1e9  # seconds
FAULTS = ("none", "slow", "hang", "input", "die")
WAYS = ("blocking", "async", "compiled")  # of summing gradients


class Batches(Dataset[torch.Tensor]):  # type: ignore[misc,unused-ignore]
    """So many batches; each takes a while to fetch, on the starved rank longer from a step on."""

    def __init__(self, options: argparse.Namespace, *, starved: bool) -> None:
        self._options, self._starved = options, starved

    def __len__(self) -> int:  # noqa: D105
        return int(self._options.steps)

    def __getitem__(self, number: int) -> torch.Tensor:  # noqa: D105
        given = self._options
        late = self._starved and number >= given.at
        CLOCK.wait(given.fetch * (given.times * 5 if late else 1))
        return torch.ones(8)


class SlowDisk(io.BytesIO):
    """A file that takes a while to begin to write."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def write(self, data: object) -> int:  # type: ignore[override,unused-ignore]
        """Wait at first."""
        CLOCK.wait(self._seconds)
        self._seconds = 0.0
        return super().write(data)  # type: ignore[arg-type,unused-ignore]


class Job:
    """One rank of it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.given = options
        self.rank = dist.get_rank()
        self.sick = self.rank == options.rank
        self.model = torch.nn.Linear(8, 8)
        self.optimizer = None if options.by_hand else torch.optim.SGD(self.model.parameters())
        self.average = self._compiled() if options.way == "compiled" else self._average

    def run(self) -> None:
        """All steps."""
        starved = self.sick and self.given.fault == "input"
        loader = DataLoader(Batches(self.given, starved=starved), batch_size=None)
        for number, batch in enumerate(loader):
            if self.optimizer is None:
                with hook.step():
                    self._step(number, batch)
            else:
                self._step(number, batch)
                self.optimizer.step()
            if number and number % self.given.every == 0:
                self._pause()

    def _step(self, number: int, batch: torch.Tensor) -> None:
        """Forward, backward, and the sum over all ranks, with what is wrong on this one."""
        given = self.given
        fault = given.fault if self.sick and number >= given.at and self._now() else "none"
        if fault != "none" and number == given.at:
            given.mark.write_text(str(CLOCK.wall()))
        self.model.zero_grad()
        CLOCK.wait(given.work * (given.times if fault == "slow" else 1))
        self.model(batch).sum().backward()
        if fault == "hang":
            CLOCK.wait(FOR_EVER)
        if fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        self.average()

    def _now(self) -> bool:
        """Whether the fault is there: one that ends the job is not there after a restart."""
        return self.given.fault != "die" or os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0"

    def _average(self) -> None:
        handles = []
        for parameter in self.model.parameters():
            way = self.given.way == "async"
            handles.append(dist.all_reduce(parameter.grad, async_op=way))
        for handle in filter(None, handles):
            handle.wait()

    def _compiled(self) -> Callable[[], None]:
        from torch.distributed._functional_collectives import all_reduce  # noqa: PLC0415

        def average() -> None:
            for parameter in self.model.parameters():
                parameter.grad = all_reduce(parameter.grad, "sum", dist.group.WORLD)

        compiled: Callable[[], None] = torch.compile(average, backend="eager")
        return compiled

    def _pause(self) -> None:
        """A checkpoint by rank 0 for which all wait, then an evaluation by all."""
        if self.given.checkpoint:
            if self.rank == 0:
                torch.save(self.model.state_dict(), SlowDisk(self.given.checkpoint))
            dist.barrier()
        if self.given.evaluation:
            self.model.eval()
            with torch.no_grad():
                CLOCK.wait(self.given.evaluation)
                self.model(torch.ones(8))
            self.model.train()


def options() -> argparse.Namespace:
    """What is to happen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--way", choices=WAYS, default="blocking")
    parser.add_argument("--rank", type=int, default=0, help="that has the fault")
    parser.add_argument("--at", type=int, default=100, help="step from which on it is there")
    parser.add_argument("--times", type=float, default=1.6, help="as slow as the others")
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--work", type=float, default=0.1, help="seconds of a step")
    parser.add_argument("--fetch", type=float, default=0.02, help="seconds of a batch")
    parser.add_argument("--every", type=int, default=40, help="steps between two pauses")
    parser.add_argument("--checkpoint", type=float, default=0.0, help="seconds of each")
    parser.add_argument("--evaluation", type=float, default=0.0, help="seconds of each")
    parser.add_argument("--by-hand", action="store_true", help="no optimizer: hook.step()")
    parser.add_argument("--mark", type=Path, default=Path(os.devnull), help="when it began")
    parser.add_argument("--ready", type=Path, help="folder: a file a rank that is ready")
    parser.add_argument("--gate", type=Path, help="begin once this file is there")
    return parser.parse_args()


def wait_for_all(given: argparse.Namespace) -> None:
    """Many jobs begin together, so that none trains while others start, which takes all cores."""
    if given.gate is None:
        return
    (given.ready / str(os.getpid())).touch()
    while not given.gate.exists():
        CLOCK.wait(0.05)


def main() -> None:
    """One rank, from begin to end."""
    given = options()
    dist.init_process_group("gloo")
    job = Job(given)
    wait_for_all(given)
    job.run()
    dist.barrier()  # gloo aborts where a rank leaves while others still talk to it
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
