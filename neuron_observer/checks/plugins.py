"""The forms that monitors and schedulers take: one line each, and their own exit codes. Pure.

Nagios: `OK - text | perfdata`, at most 4 KiB, codes 0 to 3 (Nagios plugin interface). Node Problem
Detector: at most 80 characters (max_output_length), 0 OK, 1 a problem, 2 unknown (its documentation
of custom plugins). Slurm: a reason for `scontrol update … reason=`, which slurmdbd keeps in 255
bytes (tinytext), or nothing; a prolog that ends with anything but 0 drains the node.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from neuron_observer.checks.words import grouped, places
from neuron_observer.model import Severity, Verdict
from neuron_observer.rules.explain import ACTIONS
from neuron_observer.weight import of_finding, rank, worst_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.checks.verdict import Checked
    from neuron_observer.model import Finding

NAGIOS_BYTES = 4096
NPD_CHARACTERS = 80
SLURM_BYTES = 255
PREFIX = "neuron-observer:"  # whoever takes a node out again takes only reasons that begin so

_WORDS = {
    Verdict.HEALTHY: "OK",
    Verdict.DEGRADED: "WARNING",
    Verdict.UNHEALTHY: "CRITICAL",
    Verdict.UNKNOWN: "UNKNOWN",
}
_SPELLED = {"—": "-", "·": "-", "→": "->", "…": "...", "µ": "u", "²": "2"}
_NPD_CODES = {0: 0, 3: 2}
_UNSAFE = re.compile(r"[^ A-Za-z0-9.,:;/()\[\]{}<>=+%_@#*?!-]")  # quotes, $, ` and what shells take


def ascii_line(text: str) -> str:
    """One line of plain characters: signs spelled, accents dropped, blanks joined."""
    spelled = "".join(_SPELLED.get(sign, sign) for sign in text)
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())


def cut(text: str, most: int) -> str:
    """At most so many characters; what is left out is told by dots."""
    return text if len(text) <= most else text[: most - 3].rstrip() + "..."


def summary(checked: Checked) -> str:
    """What is worst, where, and what to do; the reason where nothing was found."""
    worst = _worst(checked)
    if not worst:
        return checked.reason
    first = worst[0]
    return f"{first.id} on {places(worst)} ({first.confidence.value}): {ACTIONS[first.action]}"


def _worst(checked: Checked) -> list[Finding]:
    """The findings that give the verdict, of the kind that its reason tells."""
    if checked.verdict not in (Verdict.DEGRADED, Verdict.UNHEALTHY):
        return []
    giving = [one for one in checked.findings if of_finding(one) is checked.verdict]
    groups = grouped(sorted(giving, key=worst_first))
    return groups[0] if groups else []


def nagios(checked: Checked) -> str:
    """`CRITICAL - text | perfdata`."""
    text = f"NEURON {_WORDS[checked.verdict]} - {summary(checked)}".replace("|", "/")
    data = " ".join(f"{name}={value}" for name, value in _figures(checked).items())
    room = NAGIOS_BYTES - len(data) - len(" | ") - 1
    return f"{cut(ascii_line(text), room)} | {data}"


def _figures(checked: Checked) -> Mapping[str, str]:
    covered, found = checked.coverage, checked.findings
    healthy = sum(device.verdict is Verdict.HEALTHY for device in checked.devices)
    counted = [one for one in found if rank(of_finding(one)) > 0]
    return {
        "devices_healthy": f"{healthy};;;0;{len(checked.devices) + checked.lacking}",
        "critical": f"{sum(one.severity is Severity.CRITICAL for one in counted)};;;0",
        "warning": f"{sum(one.severity is Severity.WARNING for one in counted)};;;0",
        "decided": f"{covered.decided};;;0;{covered.required}",
        "not_covered": f"{len(covered.not_covered)};;;0",
        "time": f"{checked.seconds:.3f}s;;;0",
    }


def npd(checked: Checked) -> str:
    """One line of at most 80 characters; it names the finding first, so that it stays stable."""
    return cut(ascii_line(summary(checked)), NPD_CHARACTERS)


def npd_code(code: int) -> int:
    """0 OK, 1 a problem, 2 unknown."""
    return _NPD_CODES.get(code, 1)


def slurm(checked: Checked) -> str:
    """A reason without anything that a shell or `scontrol` could take for its own."""
    worst = _worst(checked)
    whose = "user_problem" if worst and not _of_node(worst[0]) else "node_problem"
    line = f"{PREFIX} [{whose}] {ascii_line(summary(checked))}"
    return cut(_UNSAFE.sub("", line), SLURM_BYTES)


def _of_node(finding: Finding) -> bool:
    """Whether it is the machine's: a process that somebody left behind is not."""
    return finding.entity.job is None and not finding.program


def slurm_code(code: int) -> int:
    """1 where the node must not take the job; what is unknown is no reason to drain a node."""
    return int(code in (1, 2))
