"""The node in one line: instance, driver, devices, verdict, age of the frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import NODE, Missing, Verdict, Why
from neuron_observer.text import printable, seconds_text
from neuron_observer.tui.lines import Line, Span, apart, joined, length, line
from neuron_observer.tui.view import GONE_AFTER, clock_text

if TYPE_CHECKING:
    from neuron_observer.model import Health
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

TONES: dict[Verdict, Tone] = {
    Verdict.HEALTHY: "good",
    Verdict.DEGRADED: "warn",
    Verdict.UNHEALTHY: "bad",
    Verdict.UNKNOWN: "dim",
}


NOT_HELD = Missing(Why.UNSUPPORTED, "verdicts of the past are not held")


def node_line(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """One line; the age of the frame stands at the right end."""
    between = Span(f" {view.signs.dot} ", "dim")
    snapshot = view.snapshot
    name = line(Span(printable(snapshot.instance_type or "instance type unknown"), "heading"))
    driver, said = driver_text(view), line(_verdict(view))
    pieces = (name, line(printable(driver)), count(view), said)
    if length(joined(pieces, between)) + length(age(view)) > width:
        number = count(view)[0]._replace(text=count(view)[0].text.replace(" of ", "/"))
        short = number._replace(text=number.text.partition(" ")[0])
        pieces = (name, line(printable(driver.removesuffix(" live"))), line(short), said)
    return [apart(joined(pieces, between), age(view), width)]


def driver_text(view: View) -> str:
    """What is known of the kernel module."""
    driver = view.snapshot.driver
    if driver.state == "absent":
        return "driver not loaded"
    return f"driver {driver.version or 'of unknown version'} {driver.state}"


def count(view: View) -> Line:
    """How many devices of how many."""
    number = len(view.snapshot.devices)
    expected = view.cells.at("node.devices_expected", NODE)
    if not isinstance(expected, int):
        return line(f"{number} device{'' if number == 1 else 's'}")
    text = f"{number} of {expected} device{'' if expected == 1 else 's'}"
    return line(Span(text, "plain" if number == expected else "warn"))


def is_judged(health: Health) -> bool:
    """Whether any rule looked at the frame."""
    return health.verdict is not Verdict.UNKNOWN or bool(health.coverage.required)


def _verdict(view: View) -> Span:
    if view.is_past:
        return Span(f"{view.signs.dash} verdict not held", "dim")
    return verdict(view.frame.health)


def verdict(health: Health) -> Span:
    """The verdict, why, and on how much it rests where that is not all of it."""
    if not is_judged(health):
        return Span("not judged", "dim")
    reason = f": {printable(health.reason)}" if health.reason else ""
    decided, required = health.coverage.decided, health.coverage.required
    covered = f" ({decided} of {required} signals)" if decided < required else ""
    return Span(health.verdict.value + reason + covered, TONES[health.verdict])


def age(view: View) -> Line:
    """How old the frame is, in whole seconds: a line that changes at each look is unrest."""
    seconds = max(view.now - view.instant, 0.0)
    text = "<1 s" if seconds < 1 else seconds_text(int(seconds))
    if view.is_past:
        return line(" ", Span(f"{clock_text(view.at)} UTC, {text} ago", "chosen"))
    if view.paused:
        return line(" ", Span(f"paused, {text} old", "chosen"))
    return line(" ", Span(f"{text} old", "bad" if seconds > GONE_AFTER else "dim"))
