"""One rank of a small training job on the processor, in one of the styles that people train in.

Started by torchrun. Rank 1 sleeps 20 ms a step more than the others. The script knows nothing of a
hook; at the end it prints the sum of its parameters and copies its heartbeat file, if it has one.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 64
SLOW = 0.02  # seconds that rank 1 sleeps in each step


class Batches(Dataset[torch.Tensor]):  # type: ignore[misc,unused-ignore]
    """The same batches on every run."""

    def __init__(self, steps: int) -> None:
        self._all = torch.randn(steps * 4, WIDTH, generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:  # noqa: D105
        return len(self._all)

    def __getitem__(self, number: int) -> torch.Tensor:  # noqa: D105
        return self._all[number]


class Reentrant(nn.Module):  # type: ignore[misc,unused-ignore]
    """A block whose backward pass runs another backward pass."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, batch: torch.Tensor) -> torch.Tensor:  # noqa: D102
        held: torch.Tensor = checkpoint(self.block, batch.requires_grad_(), use_reentrant=True)
        return held


def blocks() -> nn.Sequential:
    """A model of a few layers."""
    return nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4)))


def sharded(model: nn.Sequential) -> nn.Module:
    """FSDP2."""
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415 - of this style
    from torch.distributed.fsdp import fully_shard  # noqa: PLC0415

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def sharded_flat(model: nn.Sequential) -> nn.Module:
    """FSDP1."""
    from torch.distributed.fsdp import FullyShardedDataParallel  # noqa: PLC0415

    return FullyShardedDataParallel(model, device_id=torch.device("cpu"))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "ddp": lambda: DistributedDataParallel(blocks()),
    "ddp-workers": lambda: DistributedDataParallel(blocks()),
    "ddp-accumulated": lambda: DistributedDataParallel(blocks()),
    "ddp-buffers": lambda: DistributedDataParallel(
        nn.Sequential(blocks(), nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, WIDTH))
    ),
    "ddp-unused": lambda: DistributedDataParallel(blocks(), find_unused_parameters=True),
    "ddp-static": lambda: DistributedDataParallel(blocks(), static_graph=True),
    "ddp-reentrant": lambda: DistributedDataParallel(
        nn.Sequential(Reentrant(blocks()), nn.Linear(WIDTH, WIDTH)), static_graph=True
    ),
    "ddp-compiled": lambda: DistributedDataParallel(blocks()),
    "fsdp2": lambda: sharded(blocks()),
    "fsdp1": lambda: sharded_flat(blocks()),
}


def averaging(style: str, model: nn.Module) -> Callable[[], None]:
    """How the gradients are summed where no wrapper of the model does it."""
    from torch.distributed import _functional_collectives as functional  # noqa: PLC0415

    def blocking() -> None:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)

    def handles() -> None:
        for work in [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]:
            work.wait()

    def functionally() -> None:
        for parameter in model.parameters():
            total = functional.all_reduce(parameter.grad, "sum", dist.group.WORLD)
            parameter.grad = functional.wait_tensor(total)

    def inside() -> None:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)

    ways: dict[str, Callable[[], None]] = {
        "async": handles,
        "functional": functionally,
        "compiled": torch.compile(inside, backend="eager", fullgraph=True),
    }
    return ways.get(style, blocking)


def _nothing() -> None:
    """The model does it by itself."""


def train(style: str, steps: int) -> nn.Module:
    """Some steps in a style."""
    model = MODELS.get(style, blocks)()
    called = torch.compile(model, backend="eager") if style == "ddp-compiled" else model
    average: Callable[[], None] = averaging(style, model) if style not in MODELS else _nothing
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    workers = 1 if style == "ddp-workers" else 0
    for number, batch in enumerate(DataLoader(Batches(steps), batch_size=4, num_workers=workers)):
        if dist.get_rank() == 1:
            time.sleep(SLOW)  # noqa: TID251 - somebody's own program: no Clock of ours
        if style == "hang" and number == steps // 2 and dist.get_rank() == 1:
            time.sleep(3600)  # noqa: TID251 - the same
        if style == "ddp-accumulated" and number % 2 == 0:
            with model.no_sync():
                called(batch).pow(2).mean().backward()
            continue
        called(batch).pow(2).mean().backward()
        average()
        optimizer.step()
        optimizer.zero_grad()
    return model


def total(model: nn.Module) -> str:
    """The sum of all parameters, every digit of it."""
    parameters: list[Any] = list(model.parameters())
    parts = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in parameters]
    return repr(sum(part.double().sum().item() for part in parts))


def main() -> None:
    """One rank, from begin to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("style")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--keep", required=True, help="folder for a copy of the heartbeat file")
    given = parser.parse_args()
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    model = train(given.style, given.steps)
    rank = dist.get_rank()
    result = total(model)
    folder = os.environ.get("NEURON_OBSERVER_HOOK_DIR", "")
    for path in glob.glob(f"{folder}/rank-{os.getpid()}-*.hb"):  # noqa: PTH207 - one at most
        shutil.copy(path, f"{given.keep}/{rank}.hb")
    sys.stdout.write(json.dumps({"rank": rank, "result": result}) + "\n")
    sys.stdout.flush()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
