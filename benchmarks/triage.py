"""How right and how fast `triage` is: precision and recall over field cases, time for 100 MB.

Run: python -m benchmarks.triage [--megabytes 100]
"""

from __future__ import annotations

import argparse
import io
import json
import resource
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from neuron_observer.clock import SystemClock
from neuron_observer.model import Action, Finding, Severity
from neuron_observer.rules.matcher import Matcher
from neuron_observer.rules.patterns import load
from neuron_observer.triage.report import Report, triage

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[1] / "tests" / "cases"

# words of the index → our actions (docs/architecture.md §8)
ACTIONS: dict[str, frozenset[Action]] = {
    "tell_user": frozenset({Action.FIX_PROGRAM}),
    "update_driver": frozenset({Action.UPDATE_SOFTWARE}),
    "find_other_worker": frozenset({Action.LOOK_AT_OTHER_WORKERS}),
    "check_scope": frozenset({Action.LOOK_AT_OTHER_WORKERS}),
    "reset_then_recheck": frozenset({Action.RESET_DEVICE}),
    "correlate": frozenset({Action.WATCH}),
    "reload_driver_or_reboot": frozenset({Action.RELOAD_DRIVER, Action.REBOOT}),
} | {action.value: frozenset({action}) for action in Action}

MATCHER = Matcher(load())
QUIET = frozenset({"benign", "info"})


class Seen(NamedTuple):
    """What was made of one line."""

    verdict: str
    device: int | None
    core: int | None
    code: str | None
    action: Action | None
    finding: Finding | None


@dataclass(slots=True)
class Score:
    """Lines that were read right and wrong."""

    lines: int = 0
    wrong: list[str] = field(default_factory=list)  # any field of any line
    hardware: int = 0  # lines of a hardware fault
    hardware_found: int = 0  # of them, blamed on hardware with the right place, code and action
    blamed: int = 0  # lines blamed on hardware
    blamed_right: int = 0
    quiet: int = 0  # benign and informative lines
    alarms: int = 0  # of them, with a warning or worse
    cases: int = 0  # whole files
    cases_wrong: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """Share of hardware faults that were found."""
        return self.hardware_found / self.hardware

    @property
    def precision(self) -> float:
        """Share of what was blamed on hardware that is hardware."""
        return self.blamed_right / self.blamed if self.blamed else 1.0


def of_text(text: str | bytes) -> Report:
    """The report on a text."""
    data = text.encode() if isinstance(text, str) else text
    return triage(["-"], streams={"-": io.BytesIO(data)}, matcher=MATCHER)


def see(line: str, among: str | None = None) -> Seen:
    """What is made of `line`, alone or within a longer text."""
    report = of_text(among or line)
    facts = [fact for fact in report.facts if fact.text.strip() == line.strip()[:300]]
    if not facts:
        return Seen("unknown", None, None, None, None, None)
    fact = facts[0]
    if fact.harmless:
        verdict = fact.pattern.verdict if fact.pattern.quiet else "benign"
        return Seen(verdict, fact.device, fact.core, fact.code, fact.action, None)
    finding = report.findings[0]
    place = finding.entity
    code = fact.code
    return Seen(fact.pattern.verdict, place.device, place.core, code, finding.action, finding)


def score() -> Score:
    """Everything measured over the cases A, B and C."""
    result = Score()
    rows = {row["id"]: row for row in _rows(CASES / "C" / "C01-log-lines.jsonl")}
    for row in rows.values():
        pair = rows.get(row.get("pair", ""))
        among = "\n".join(sorted((row["line"], pair["line"]))) if pair else None
        _score_line(result, row, see(row["line"], among))
    for name, right in _cases():
        result.cases += 1
        if not right:
            result.cases_wrong.append(name)
    return result


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        yield json.loads(line)


def _score_line(result: Score, row: dict[str, Any], seen: Seen) -> None:
    result.lines += 1
    problems = line_problems(row, seen)
    result.wrong += [f"{row['id']}: {problem}" for problem in problems]
    blamed = seen.finding is not None and seen.finding.blames_hardware
    if row["verdict"] == "hw_fault":
        result.hardware += 1
        result.hardware_found += blamed and not problems
    if blamed:
        result.blamed += 1
        result.blamed_right += row["verdict"] == "hw_fault"
    if row["verdict"] in QUIET:
        result.quiet += 1
        result.alarms += seen.finding is not None and seen.finding.severity is not Severity.INFO


def line_problems(row: dict[str, Any], seen: Seen) -> list[str]:
    """What of a line was read otherwise than the case says."""
    problems = []
    if seen.verdict not in row["accept"]:
        problems.append(f"is {seen.verdict}, not {row['verdict']}")
    problems += [
        f"{key} {getattr(seen, key)}, not {row[key]}"
        for key in ("device", "core", "code")
        if getattr(seen, key) != row[key]
    ]
    if seen.verdict == row["verdict"] and seen.action not in ACTIONS[row["action"]]:
        problems.append(f"action {seen.action}, not {row['action']}")
    asked = {seen.action, seen.finding.if_confirmed if seen.finding else None}
    if row["replace_node"] is False and Action.REPLACE_INSTANCE in asked:
        problems.append("asks to replace the node")
    if row["replace_node"] is True and Action.REPLACE_INSTANCE not in asked:
        problems.append("does not ask to replace the node")
    return problems


def _cases() -> Iterator[tuple[str, bool]]:
    for path in sorted((*(CASES / "A").glob("A*"), *(CASES / "B").glob("B*"))):
        report = triage([str(path)], matcher=MATCHER)
        loud = [f for f in report.findings if f.severity is not Severity.INFO]
        hardware = any(f.blames_hardware for f in report.findings)
        no_device = path.name.startswith("B12")  # says that there is no device; a warning is right
        yield path.name, not hardware and (not loud or no_device)
    hang = triage([str(CASES / "C" / "C02-collectives-hang-root-cause.txt")])
    critical = [f for f in hang.findings if f.severity is Severity.CRITICAL]
    places = [(f.entity.node, f.entity.device, f.entity.core, f.action) for f in critical]
    yield "C02", places == [("node-b", 2, 1, Action.REPLACE_INSTANCE)]
    mixed = triage([str(CASES / "C" / "C05-interleaved-lines.txt")])
    named = sorted(finding.id for finding in mixed.findings)
    yield "C05", named == ["cc-devmem-reservation", "open-files"]
    dump = triage([str(CASES / "C" / "C06-infodump-block.txt")])
    found = [(f.id, f.entity.device, f.entity.core, f.action) for f in dump.findings]
    yield "C06", found == [("out-of-bounds", 0, 0, Action.FIX_PROGRAM)]


def synthetic(megabytes: int) -> bytes:
    """A job's log: training lines, one in twenty of the runtime or the driver, one fault."""
    rows = list(_rows(CASES / "C" / "C01-log-lines.jsonl"))
    known = [row["line"] for row in rows if row["verdict"] in QUIET | {"app_error", "victim"}]
    lines, size, number = [], 0, 0
    while size < megabytes * 1_000_000:
        number += 1
        if number % 20:
            line = (
                f"2026-11-30 10:{number % 60:02d}:{number % 59:02d},{number % 1000:03d} INFO "
                f"[rank{number % 64}] step={number} loss={1 / number:.6f} "
                f"tokens/s={number * 7 % 9973}"
            )
        else:
            line = known[number // 20 % len(known)]
        lines.append(line)
        size += len(line) + 1
    return ("\n".join(lines) + "\n").encode()


def dense(megabytes: int) -> bytes:
    """The driver's log alone: every line is known."""
    form = "[%6d.%06d] neuron:npid_attach: neuron:npid_attach: pid=%d, slot=%d\n"
    lines = [form % (n, n, n % 65536, n % 16) for n in range(megabytes * 1_000_000 // 75)]
    return "".join(lines).encode()


def flood(megabytes: int) -> bytes:
    """One warning over and over, with another number each time."""
    form = (
        "[%6d.%06d] neuron:ndma_memcpy_wait_for_completion: "
        "DMA completion timeout on nd%02d for UDMA_ENG_%d q0 desc count %d\n"
    )
    lines = [form % (n, n, n % 16, n % 33, n) for n in range(megabytes * 1_000_000 // 115)]
    return "".join(lines).encode()


def _timed(name: str, data: bytes) -> None:
    clock = SystemClock()
    before, used = clock.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
    report = triage(["-"], streams={"-": cast("BinaryIO", io.BytesIO(data))})
    seconds = clock.monotonic() - before
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu, peak = usage.ru_utime - used, usage.ru_maxrss // 1024
    print(
        f"{name:<42}{len(data) / 1e6:6.0f} MB {seconds:6.2f} s, {cpu:5.2f} s of a processor, "
        f"{report.inputs[0].lines:>9} lines, peak {peak} MiB (the data itself included)"
    )


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    size = parser.parse_args().megabytes
    result = score()
    right = result.lines - len({problem.split(":")[0] for problem in result.wrong})
    print(f"lines of C01 read right in every field: {right} of {result.lines}")
    print(f"hardware faults: recall {result.recall:.3f}, precision {result.precision:.3f}")
    print(f"alarms on {result.quiet} benign and informative lines: {result.alarms}")
    print(
        f"whole cases of A, B, C right: {result.cases - len(result.cases_wrong)} of {result.cases}"
    )
    for problem in (*result.wrong, *result.cases_wrong):
        print(f"  wrong: {problem}")
    _timed("job log, one line in twenty known", synthetic(size))
    _timed("driver log, every line known and normal", dense(size))
    _timed("driver log, every line a warning", flood(size))


if __name__ == "__main__":
    main()
