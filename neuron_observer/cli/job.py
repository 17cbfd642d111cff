"""`job report`: what a job had of its machine, and a verdict on the hardware."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.hosts import make_judge, open_reader
from neuron_observer.cli.jobs import pace_of
from neuron_observer.cli.options import host_options
from neuron_observer.contract import instant
from neuron_observer.errors import InputError
from neuron_observer.history import History
from neuron_observer.jobs.documents import report_document
from neuron_observer.jobs.ownership import ranges
from neuron_observer.jobs.report import JobTally
from neuron_observer.loop import PERIODS
from neuron_observer.loop.schedule import Schedule
from neuron_observer.model import Frame
from neuron_observer.oneshot import let_time_pass
from neuron_observer.text import DASH, bytes_text, printable, seconds_text, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.jobs.report import JobReport, Sighting
    from neuron_observer.model import Job, Snapshot
    from neuron_observer.observer import HostReader

PERIOD = 2.0  # seconds
_MOVING = ("fast", "normal", "jobs")
_RANK_HEADS = ("RANK", "STEPS", "BUSY", "COLLECTIVES", "INPUT", "SLOW")


@click.group()
def command() -> None:
    """One job."""


@command.command()
@click.argument("job_id", metavar="ID")
@host_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 86_400),
    default=10.0,
    show_default=True,
    help="How long to watch; a recording is read to its end at most.",
)
def report(
    *,
    job_id: str,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    form: str,
    seconds: float,
) -> None:
    """Watch for some seconds, judge by the rules, and report on one job.

    ID is the one that `jobs` shows, its beginning, or a Slurm job id or torchrun run id.
    """
    judge = make_judge(config_file, one_shot=False)
    reader = open_reader(
        host_root, config_file, all_devices=all_devices, whole=True, kernel_log=True
    )
    tally, history = JobTally(), History()
    try:
        for snapshot in watch(reader, seconds, PERIOD):
            history.add(snapshot)
            tally.add(Frame(snapshot, *judge(snapshot, history)))
    finally:
        reader.close()
    found = _find(tally, job_id)
    if form == "json":
        click.echo(json.dumps(report_document(found), indent=1))
    else:
        click.echo("\n".join(printable(line) for line in lines(found)))


def watch(reader: HostReader, seconds: float, period: float = PERIOD) -> Iterator[Snapshot]:
    """A snapshot each `period` for `seconds`; of a recording one a pass, until it ends.

    What moves is read each time, all else at the loop's periods.
    """
    schedule = Schedule(PERIODS)
    begin: float | None = None  # the first read takes longest, and is no time that was watched
    while True:
        snapshot = reader.poll({*_MOVING, *schedule.due(reader.clock.monotonic())})
        begin = snapshot.monotonic if begin is None else begin
        yield snapshot
        if snapshot.monotonic - begin >= seconds or not let_time_pass(
            reader, reader.clock.monotonic(), period
        ):
            return


def _find(tally: JobTally, wanted: str) -> JobReport:
    """The one job that `wanted` means; InputError names those there are."""
    reports = [one for job in tally.ids if (one := tally.report(job))]
    exact = [r for r in reports if wanted in (r.job.id, r.job.slurm_job, r.job.run_id)]
    found = exact or [r for r in reports if r.job.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(r.job.id for r in found or reports) or "none"
    raise InputError(
        f"{wanted}: {'several jobs' if found else 'no such job'}",
        remedy=f"Jobs that may be meant: {there}. `neuron-observer jobs` shows more of them.",
    )


def lines(of: JobReport) -> Iterator[str]:
    """The report as text; a dash is unknown, and a note below says why."""
    yield f"job {of.job.id}  {of.job.kind}  {of.job.name}"
    yield f"verdict         {of.verdict}: {of.why}"
    until = f"ended, last seen {instant(of.watched_until)}" if of.ended else "running"
    yield f"state           {until}"
    yield f"started         {instant(of.job.started) or DASH}"
    yield f"watched         {seconds_text(of.watched)} from {instant(of.watched_from)}"
    devices = f"neuron{ranges(of.job.devices)}" if of.job.devices else "none"
    yield f"devices         {devices}, {len(of.job.ranks)} processes"
    yield f"core-hours      {_hours(of.core_hours)}, idle {_hours(of.idle_core_hours)}"
    yield f"HBM peak        {_bytes(of.hbm_peak)}"
    yield f"host memory     {_bytes(of.rss_peak)} at its peak"
    yield f"EFA resent      {DASH if of.retransmits is None else of.retransmits} packets"
    if of.job.pace:
        yield f"pace            {'; '.join(pace_of(of.job.pace))}"
        yield f"slowest rank    {of.slowest}"
    yield from (f"finding         {_seen(one)}" for one in of.sightings)
    yield from (f"in shadow       {_seen(one)}; not counted" for one in of.shadowed)
    yield from ranks_text(of.job)
    for note in of.notes:
        yield f"note: {note}"


def _seen(one: Sighting) -> str:
    when = f"{instant(one.first)} to {instant(one.last)}"
    sure = f"{one.finding.severity.value}, {one.finding.confidence.value}"
    return f"{one.finding.id} ({sure}): {one.finding.message} ({when})"


def ranks_text(job: Job) -> Iterator[str]:
    """What each rank spent its steps on, as its step hook told last; slow ones are marked."""
    paces = [(rank.rank, rank.pace) for rank in job.ranks if rank.pace]
    if not paces:
        return
    rows = [
        [
            DASH if number is None else str(number),
            str(pace.step),
            *(_seconds(value) for value in (pace.busy, pace.wait, pace.input)),
            f"{pace.straggler}, {pace.ratio:.2f}x" if pace.straggler and pace.ratio else "",
        ]
        for number, pace in paces
    ]
    shown = table(_RANK_HEADS, rows, (True,) * 5).splitlines()
    yield from (f"{'' if at else 'ranks':<16}{line}" for at, line in enumerate(shown))
    if job.pace and job.pace.detail:
        yield f"note: who is slow can be told only in part: {job.pace.detail}"


def _seconds(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f} s"


def _hours(hours: float | None) -> str:
    return DASH if hours is None else f"{hours:.3g} h"


def _bytes(number: int | None) -> str:
    return DASH if number is None else bytes_text(number)
