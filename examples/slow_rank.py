"""A small training job in which one rank becomes slow, to see neuron-observer find it.

    neuron-observer run -- torchrun --nproc-per-node 4 examples/slow_rank.py --slow 2

It trains on the processor, needs no Neuron device, and knows nothing of who watches it. Add
`--allow unknown` behind `run` on a machine without Neuron devices.
"""

from __future__ import annotations

import argparse
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Train for about a minute; rank `--slow` takes half as long again from step `--after` on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", type=int, default=-1, metavar="RANK", help="who; -1: nobody")
    parser.add_argument("--after", type=int, default=150, metavar="STEP", help="from when on")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--work", type=float, default=0.15, help="seconds that a step takes")
    given = parser.parse_args()

    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(16, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = DataLoader(TensorDataset(torch.ones(given.steps, 16)))
    for step, (batch,) in enumerate(batches):
        slow = dist.get_rank() == given.slow and step >= given.after
        time.sleep(given.work * (1.5 if slow else 1.0))  # stands for the work of a device
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        if step % 50 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
