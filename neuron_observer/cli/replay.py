"""`replay`: a recording through the same collectors, rules and page as the host was."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.options import rules_option
from neuron_observer.clock import SystemClock
from neuron_observer.errors import ExitCode, UsageError
from neuron_observer.model import State
from neuron_observer.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.checks.judging import Judge
    from neuron_observer.clock import Clock
    from neuron_observer.exporters.page import Page
    from neuron_observer.model import Finding, Frame
    from neuron_observer.recording.reader import Recording
    from neuron_observer.replay import Player

FORMS = ("text", "findings", "json", "page", "openmetrics")


@click.command()
@click.argument("file")
@click.option(
    "--speed",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 10_000),
    help="Recorded seconds a second; 0: as fast as it goes.",
)
@click.option(
    "--seek",
    type=float,
    metavar="SECONDS",
    help="Tell from here on, since the beginning; below 0 before the end.",
)
@click.option(
    "--until",
    type=float,
    metavar="SECONDS",
    help="Stop here, since the beginning; below 0 before the end.",
)
@click.option("--step", is_flag=True, help="Print each frame, the next one after Enter.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="text",
    help="What is printed of the last frame: findings is JSON of the findings, json everything.",
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    help="Rules and trust of this configuration; that of this machine counts for nothing.",
)
@rules_option
def command(  # noqa: PLR0913 - one an option
    *,
    file: str,
    speed: float,
    seek: float | None,
    until: float | None,
    step: bool,
    form: str,
    config_file: str | None,
    extra: tuple[str, ...],
) -> int:
    """Play FILE, made by `record`, `capture` or a daemon beside a finding, and say how it ends.

    What begins and ends on the way is told on stderr. The same file gives the same output on any
    machine. The exit code is that of `check`, or 66 for a file that is damaged: it is then played
    up to there.
    """
    from neuron_observer.recording.reader import opened  # noqa: PLC0415 - help needs none

    recording = opened(file)
    playing = _Playing(recording, config_file, extra, form)
    try:
        code = playing.play(speed, (seek, until), SystemClock(), step=step)
    finally:
        playing.player.close()
    if recording.note:
        click.echo(f"neuron-observer: {file}: {recording.note}", err=True)
        return ExitCode.NO_INPUT
    return code


class _Playing:
    """A recording on its way to the last frame that is asked for."""

    def __init__(
        self, recording: Recording, config_file: str | None, extra: tuple[str, ...], form: str
    ) -> None:
        from neuron_observer.exporters.page import Page  # noqa: PLC0415 - help needs none
        from neuron_observer.replay import Player  # noqa: PLC0415 - the same

        self._recording, self._form = recording, form
        self.player: Player = Player(recording, judge_maker(recording, config_file, extra))
        python = str(recording.header.get("python", "unknown"))
        clock: Clock = self.player.clock
        self._page: Page = Page(self.player.loop.feed, clock, python=python)
        self._told: dict[object, Finding] = {}

    def play(
        self,
        speed: float,
        bounds: tuple[float | None, float | None],
        pace: Clock,
        *,
        step: bool,
    ) -> int:
        """Play; the exit code of the last frame."""
        begin, end = self._instants(bounds)
        started, last, code = pace.monotonic(), None, 0
        for number, at in enumerate(self._recording.times):
            if at > end and last is not None:
                break
            if speed and at > begin:
                pace.wait(started + (at - begin) / speed - pace.monotonic())
            elif at <= begin:
                started = pace.monotonic()
            frame = self.player.step()
            if frame is None:
                break
            last = frame
            self._page.note(frame)
            self._narrate(frame, at, silent=at < begin)
            if step and at >= begin:
                code = self._print(frame)
                if not self._goes_on(number):
                    return code
        if last is None:
            return ExitCode.UNKNOWN
        return code if step else self._print(last)

    def _instants(self, bounds: tuple[float | None, float | None]) -> tuple[float, float]:
        span = self._recording.span
        begin, end = (None if b is None else b + span if b < 0 else b for b in bounds)
        if begin is not None and begin > span:
            raise UsageError(
                f"--seek {begin:g}: the recording is {span:.1f} s long",
                remedy="A number below 0 counts from its end.",
            )
        if begin is not None and end is not None and begin > end:
            raise UsageError(
                f"--seek {begin:g} comes after --until {end:g}: nothing would be told",
                remedy="Both count from the beginning of the recording.",
            )
        return begin or 0.0, span if end is None else end

    def _goes_on(self, number: int) -> bool:
        """Wait for somebody to press Enter; where nobody can, go on."""
        if number + 1 >= len(self._recording.times) or not sys.stdin.isatty():
            return True
        return bool(sys.stdin.readline())

    def _narrate(self, frame: Frame, at: float, *, silent: bool) -> None:
        """Tell findings as they change."""
        for one in frame.findings:
            whose = one.id, one.entity._replace(serial=None)
            before = self._told.get(whose)
            self._told[whose] = one
            if silent or (before is not None and before.state is one.state):
                continue
            if one.state is not State.PENDING and not one.shadow:
                text = f"{at:.2f} s: {one.state.value}: {one.id}: {printable(one.message)}"
                click.echo(text, err=True)

    def _print(self, frame: Frame) -> int:
        """Print a frame in the form that is asked for; its exit code."""
        from neuron_observer import contract  # noqa: PLC0415 - help needs none
        from neuron_observer.checks.documents import document  # noqa: PLC0415 - the same
        from neuron_observer.checks.forms import said  # noqa: PLC0415 - the same
        from neuron_observer.checks.verdict import check  # noqa: PLC0415 - the same
        from neuron_observer.exporters.exposition import Format  # noqa: PLC0415 - the same

        checked = check(frame)
        told = said(checked, "findings")
        if self._form == "text":
            click.echo(told.out)
        elif self._form == "findings":
            click.echo(json.dumps(document(checked, told.code, "recording"), indent=1))
        elif self._form == "json":
            whole = contract.snapshot_document(frame, sources=True)
            events = [contract.event(one) for one in frame.snapshot.events]
            click.echo(json.dumps(whole | {"events": events}, indent=1))
        else:
            form = Format.TEXT if self._form == "page" else Format.OPENMETRICS
            click.echo(self._page.render(form), nl=False)
        return told.code


def judge_maker(
    recording: Recording, config_file: str | None, extra: tuple[str, ...]
) -> Callable[[bool], Judge]:
    """Makes the judge of a recording; of this machine's own configuration nothing counts."""
    from neuron_observer.checks.judging import judge_by  # noqa: PLC0415 - costs yaml
    from neuron_observer.cli.configured import config_of  # noqa: PLC0415 - the same
    from neuron_observer.cli.hosts import rules_of  # noqa: PLC0415 - the same

    config = config_of(config_file)
    rules = rules_of(config, extra)
    if config is not None:
        trusted = config.trust_untested_driver
    else:
        trusted = bool(recording.options.get("trust_untested_driver", False))

    def make(one_shot: bool) -> Judge:  # noqa: FBT001 - a port
        return judge_by(rules, one_shot=one_shot, trust_untested_driver=trusted)

    return make
