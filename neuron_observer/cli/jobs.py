"""`jobs`: who uses the devices, as a tree: job, ranks, cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from neuron_observer.cli.asking import named
from neuron_observer.cli.hosts import open_reader, wait_for_report
from neuron_observer.cli.options import (
    connect_options,
    host_options,
    kubelet_option,
    monitor_feed,
    monitor_option,
)
from neuron_observer.jobs.ownership import ranges
from neuron_observer.model import Missing, Why
from neuron_observer.oneshot import read_once
from neuron_observer.text import DASH, Footnotes, bytes_text, printable, seconds_text, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.client import Client
    from neuron_observer.model import Cores, Job, JobPace, JobScan, Process, Rank, Snapshot

# what ownership of cores rests on: identity and chips of the devices
LANES = ("slow", "firmware", "jobs")
_HEADS = ("RANK", "PID", "DEVICE", "CORES", "USER", "AGE", "CPU", "MEMORY")
_RIGHT = (True, True, False, False, False, True, True, True)
_PACE_HEADS = ("STEP", "BUSY", "WAIT", "INPUT")  # where a rank of the job has the step hook
_STATES = {"D": "uninterruptible", "Z": "zombie", "T": "stopped"}
_LEGEND = (
    "CORES logical cores of the node: reported by neuron-monitor, stated for the process,"
    "\nor derived from its local rank; CPU processors busy between two reads"
)


@click.command()
@connect_options
@host_options
@monitor_option
@kubelet_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    monitor: str,
    kubelet: bool,
    form: str,
) -> None:
    """Show the jobs that hold Neuron devices, their ranks and cores.

    Two reads 300 ms apart. The device of a process is certain; its cores are said with their
    source. Job ids of a scheduler are taken from the folder that DCGM_HPC_JOB_MAPPING_DIR names.
    """
    client = named()
    if client is not None:
        _by_daemon(client, form)
        return
    reader = open_reader(
        host_root,
        config_file,
        all_devices=all_devices,
        monitor=monitor_feed(monitor, host_root),
        kubelet=kubelet,
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


def _by_daemon(client: Client, form: str) -> None:
    if form == "json":
        import json  # noqa: PLC0415 - only for JSON

        click.echo(json.dumps(client.get("jobs"), indent=1))
        return
    from neuron_observer.client.frames import frame  # noqa: PLC0415 - only for a daemon's
    from neuron_observer.clock import SystemClock  # noqa: PLC0415 - the same

    snapshot = frame(client.get("snapshot"), SystemClock().monotonic()).snapshot
    click.echo("\n".join(lines(snapshot)))


def lines(snapshot: Snapshot) -> Iterator[str]:
    """The tree as text: each job, below it its processes, and what is not known with its reason."""
    scan = snapshot.job_scan
    if scan is None:
        why = next((run.error for run in snapshot.runs if run.collector == "jobs"), "")
        yield f"jobs: not known, {printable(why) or 'no processes can be seen here'}"
        return
    notes = Footnotes()
    for job in snapshot.jobs:
        yield from _job(job, notes)
    if snapshot.jobs:
        yield _LEGEND
    else:
        unsure = " as far as can be seen" if scan.denied or scan.pending or scan.notes else ""
        yield f"no process holds a Neuron device{unsure}"
    for line in notes.lines():
        yield printable(line.replace(f"{Why.UNSUPPORTED.value}: ", "", 1))
    yield from _remarks(snapshot, scan)


def _remarks(snapshot: Snapshot, scan: JobScan) -> Iterator[str]:
    held = {device for job in snapshot.jobs for device in job.devices}
    for device, ids in scan.mapped:
        if device not in held and ids:
            yield f"neuron{device}: job {', '.join(ids)} by the scheduler, no process holds it"
    for pid in scan.stray_hooks:
        yield f"note: the step hook wrote for pid {pid}, which holds no device"
    if scan.pending:
        yield f"note: {scan.pending} processes were not looked at yet"
    for note in scan.notes:
        yield f"note: {note}"


def _job(job: Job, notes: Footnotes) -> Iterator[str]:
    yield printable(f"{job.id}  {job.kind}  {job.name}")
    yield printable(f"  {'; '.join(_about(job))}")
    if job.pace:
        yield printable(f"  {'; '.join(pace_of(job.pace))}")
    paced = any(rank.pace for rank in job.ranks)
    heads = (*_HEADS, *(_PACE_HEADS if paced else ()), "")
    right = (*_RIGHT, *((True,) * len(_PACE_HEADS) if paced else ()), False)
    rows = [_row(rank, notes, paced=paced) for rank in job.ranks]
    for line in table(heads, rows, right).splitlines():
        yield f"  {line}"
    yield ""


def pace_of(pace: JobPace) -> Iterator[str]:
    """How it gets on: phase, step, slowness, who is slow, and what cannot be said."""
    if pace.source == "hook" or pace.phase not in ("init", "unknown"):
        yield pace.phase
    if pace.period is not None:
        yield f"{'step' if pace.source == 'hook' else 'execution'} {seconds_text(pace.period)}"
    if pace.quiet is not None:
        yield f"no execution ended for {seconds_text(round(pace.quiet))}"
    if pace.ratio is not None:
        yield f"{pace.ratio:.2f}x as slow as it was"
    if pace.slowest is not None:
        yield f"slowest: rank {pace.slowest}"
    if pace.detail:
        yield pace.detail


def _about(job: Job) -> Iterator[str]:
    yield job.why
    if job.world_size is not None:
        here = f"{len(job.ranks)} of {job.world_size} ranks here"
        alone = job.node_rank is None or job.world_size <= len(job.ranks)
        yield here if alone else f"{here}, node {job.node_rank}"
    if job.slurm_job:
        yield f"Slurm {job.slurm_job}" + (f".{job.slurm_step}" if job.slurm_step else "")
    if job.restarts:
        yield f"restarted {job.restarts} times" if job.restarts > 1 else "restarted once"
    if job.tag:
        yield f"tag {job.tag}"
    if job.mapped:
        yield f"scheduler says {', '.join(job.mapped)}"


def _row(rank: Rank, notes: Footnotes, *, paced: bool) -> list[str]:
    process = rank.process
    return [
        "" if rank.rank is None else str(rank.rank),
        str(process.pid),
        f"neuron{ranges(process.devices)}" if process.devices else DASH,
        cores_text(rank.cores, notes),
        printable(process.user or (DASH if process.uid is None else str(process.uid))),
        DASH if process.age is None else seconds_text(process.age),
        DASH if process.processors is None else f"{process.processors:.1f}",
        DASH if process.rss is None else bytes_text(process.rss),
        *(_pace(rank) if paced else ()),
        printable(", ".join((*_standing(rank), *_remarks_on(process)))),
    ]


def _pace(rank: Rank) -> tuple[str, ...]:
    pace = rank.pace
    if pace is None:
        return (DASH,) * len(_PACE_HEADS)
    times = (DASH if t is None else seconds_text(t) for t in (pace.busy, pace.wait, pace.input))
    return (str(pace.step), *times)


def _standing(rank: Rank) -> Iterator[str]:
    """What stands out of a rank: that it is slow, or does not come."""
    pace = rank.pace
    if pace is None:
        return
    if pace.straggler:
        ratio = "" if pace.ratio is None else f" {pace.ratio:.2f}x"
        yield f"STRAGGLER{ratio} ({pace.kind}, {pace.straggler})"
    if pace.phase != "training":
        yield pace.phase


def cores_text(cores: Cores, notes: Footnotes) -> str:
    """Logical cores and how that is known; else how many, or a dash and its reason."""
    size = " LNC 2" if cores.size == 2 else ""
    if cores.numbers:
        return f"{ranges(cores.numbers)}{size} {cores.confidence}"
    mark = notes.mark(Missing(Why.UNSUPPORTED, cores.detail))
    return f"any {cores.how_many}{size} {mark}" if cores.how_many else mark


def _remarks_on(process: Process) -> Iterator[str]:
    if process.pod:
        name = process.pod.name or process.pod.uid
        yield f"pod {process.pod.namespace}/{name}" if process.pod.namespace else f"pod {name}"
    elif process.container:
        yield f"container {process.container[:12]}"
    if process.state in _STATES:
        yield _STATES[process.state]
    if process.hook is False:
        yield "no step hook"
    yield from process.unknown
