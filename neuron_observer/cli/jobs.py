"""`jobs`: who uses the devices, as a tree: job, ranks, cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from neuron_observer.cli.options import (
    host_options,
    monitor_feed,
    monitor_option,
    open_reader,
    wait_for_report,
)
from neuron_observer.jobs.ownership import ranges
from neuron_observer.oneshot import read_once
from neuron_observer.text import DASH, bytes_text, printable, ratio_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.model import Cores, Job, Process, Rank, Snapshot

# what ownership of cores rests on: identity and chips of the devices
LANES = ("slow", "firmware", "jobs")


@click.command()
@host_options
@monitor_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    *, host_root: str, config_file: str | None, all_devices: bool, monitor: str, form: str
) -> None:
    """Show the jobs that hold Neuron devices, their ranks and cores.

    Two reads 300 ms apart. The device of a process is certain; its cores are said with their
    source. Job ids of a scheduler are taken from the folder that DCGM_HPC_JOB_MAPPING_DIR names.
    """
    reader = open_reader(
        host_root, config_file, all_devices=all_devices, monitor=monitor_feed(monitor, host_root)
    )
    try:
        wait_for_report(reader)
        snapshot = read_once(reader, LANES)
    finally:
        reader.close()
    if form == "json":
        import json  # noqa: PLC0415 - only for JSON

        from neuron_observer.contract import jobs_document  # noqa: PLC0415 - the same

        click.echo(json.dumps(jobs_document(snapshot), indent=1))
    else:
        click.echo("\n".join(lines(snapshot)))


def lines(snapshot: Snapshot) -> Iterator[str]:
    """The tree as text."""
    scan = snapshot.job_scan
    if scan is None:
        yield "jobs: not known, no processes can be seen here"
        return
    for job in snapshot.jobs:
        yield from _job(job)
    if not snapshot.jobs:
        unsure = " as far as can be seen" if scan.denied or scan.pending or scan.notes else ""
        yield f"no process holds a Neuron device{unsure}"
    held = {device for job in snapshot.jobs for device in job.devices}
    for device, ids in scan.mapped:
        if device not in held and ids:
            yield f"neuron{device}: job {', '.join(ids)} by the scheduler, no process holds it"
    for pid in scan.stray_hooks:
        yield f"note: the step hook wrote for pid {pid}, which holds no device"
    for note in scan.notes:
        yield f"note: {note}"


def _job(job: Job) -> Iterator[str]:
    yield printable(f"{job.id}  {job.kind}  {job.name}  ({', '.join(_about(job))})")
    last = len(job.ranks) - 1
    for number, rank in enumerate(job.ranks):
        yield printable(f"{'└─' if number == last else '├─'} {_rank(rank)}")
        for reason in rank.process.unknown:
            yield printable(f"{'  ' if number == last else '│ '}   not known: {reason}")


def _about(job: Job) -> Iterator[str]:
    yield job.why
    if job.world_size is not None:
        yield f"{len(job.ranks)} of {job.world_size} ranks here"
    if job.slurm_job:
        yield f"Slurm {job.slurm_job}" + (f".{job.slurm_step}" if job.slurm_step else "")
    if job.restarts:
        yield f"{job.restarts} restarts"
    if job.tag:
        yield f"tag {job.tag}"
    if job.mapped:
        yield f"scheduler says {', '.join(job.mapped)}"


def _rank(rank: Rank) -> str:
    process = rank.process
    who = "" if rank.rank is None else f"rank {rank.rank}  "
    devices = ranges(process.devices)
    return f"{who}pid {process.pid}  neuron{devices}  {cores_text(rank.cores)}  {_use(process)}"


def cores_text(cores: Cores) -> str:
    """Which logical cores, and how that is known."""
    size = "" if cores.size is None else f" of {cores.size}"
    if cores.numbers:
        return f"logical cores {ranges(cores.numbers)}{size} ({cores.source}, {cores.confidence})"
    if cores.how_many:
        return f"{cores.how_many} logical cores, {cores.detail}"
    return f"cores {DASH} ({cores.detail})" if cores.detail else f"cores {DASH}"


def _use(process: Process) -> str:
    parts = [process.user or ("user " + (DASH if process.uid is None else str(process.uid)))]
    if process.pod:
        name = process.pod.name or process.pod.uid
        parts.append(f"pod {process.pod.namespace}/{name}" if process.pod.namespace else name)
    elif process.container:
        parts.append(f"container {process.container[:12]}")
    if process.age is not None:
        parts.append(f"for {seconds_text(process.age)}")
    if process.processors is not None:
        parts.append(f"CPU {ratio_text(process.processors)}")
    if process.rss is not None:
        parts.append(bytes_text(process.rss))
    if process.state in ("D", "Z", "T"):
        parts.append({"D": "in a system call", "Z": "zombie", "T": "stopped"}[process.state])
    if process.hook is False:
        parts.append("no step hook")
    return ", ".join(parts)
