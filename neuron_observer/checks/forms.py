"""A check in the form that somebody takes: what is printed where, and the exit code. Pure.

`check`, `status` and `findings` print it whether they looked themselves or asked the daemon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.checks import plugins, words
from neuron_observer.checks.verdict import exit_code
from neuron_observer.model import Verdict

if TYPE_CHECKING:
    from neuron_observer.checks.verdict import Checked

FORMS = ("text", "nagios", "npd", "slurm", "status", "findings")
FAIL_ON = ("warning", "critical")


class Said(NamedTuple):
    """What a check says: lines for standard output and standard error, and how it ends."""

    code: int
    out: str = ""
    err: str = ""


def said(checked: Checked, form: str, fail_on: str | None = None) -> Said:
    """A check in one of `FORMS`, or as `json`: then only its exit code is told."""
    code = exit_code(checked.verdict, fail_on or ("critical" if form == "slurm" else "warning"))
    if form == "slurm":
        return _slurm(checked, plugins.slurm_code(code))
    if form == "npd":
        return Said(plugins.npd_code(code), plugins.npd(checked))
    if form == "nagios":
        return Said(code, plugins.nagios(checked))
    if form == "status":
        return Said(code, "\n".join(words.status(checked)))
    if form == "findings":
        return Said(code, "\n".join(found(checked)))
    return Said(code, "\n".join(words.report(checked)) if form == "text" else "")


def _slurm(checked: Checked, code: int) -> Said:
    """A reason where the node must not take work; nothing at all where it is well."""
    if not code and checked.verdict is Verdict.HEALTHY:  # HealthCheckProgram must be silent
        return Said(code)
    reason = plugins.slurm(checked)
    return Said(code, reason) if code else Said(code, err=reason)


def found(checked: Checked) -> list[str]:
    """The verdict and the findings."""
    lines = [words.headline(checked), ""]
    lines += words.findings(checked.findings) or ["no finding"]
    if checked.shadow:
        lines += ["", "In shadow (shown, never counted)", *words.findings(checked.shadow)]
    return lines
