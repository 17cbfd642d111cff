"""What kind of work a process does, by rules that are data.

A rule is told from outside: from the command line, the process title, and whether a launcher's
variables are set. What a training script imports cannot be seen, so on Trainium2 and later, where
TorchNeuron and older XLA jobs look alike, a plain script counts as training.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.model import JobKind

Where: TypeAlias = Literal["program", "module", "words", "title", "variables"]

# TorchNeuron's documentation: Trainium2 and Trainium3 only; on the others torch means XLA
XLA_CHIPS: Final = frozenset({"Inferentia", "Inferentia2", "Trainium1"})
NO_WORK: Final = frozenset({"monitor", "leftover"})  # they execute nothing: nothing can hit them

LAUNCHERS: Final = re.compile(r"torchrun|accelerate|deepspeed|trl")
LAUNCHER_MODULES: Final = re.compile(r"torch\.distributed\.(run|launch)|accelerate\..*|trl(\..*)?")


class KindRule(NamedTuple):
    """The first rule that matches counts."""

    kind: JobKind
    where: Where
    pattern: str  # a regular expression for the whole program, module, title; for a part of words
    why: str
    chips: frozenset[str] = frozenset()  # only on these; empty: on all


RULES: Final[tuple[KindRule, ...]] = (
    KindRule("monitor", "program", r"neuron-(monitor|top|ls)", "a tool of the Neuron SDK"),
    KindRule("monitor", "program", r"neuron-monitor-.*\.py", "a companion of neuron-monitor"),
    KindRule("monitor", "program", r"neuron-(observer|healthd?|problem-detector)", "a monitor"),
    KindRule("profiler", "program", r"neuron-(profile|explorer|det)", "a profiler of the SDK"),
    KindRule("test", "program", r"nccom-test|neuron-bench|nrt_test.*", "a test tool of the SDK"),
    KindRule("notebook", "module", r"ipykernel(_launcher)?|jupyter.*|notebook", "a notebook"),
    KindRule("notebook", "program", r"jupyter(-.*)?|ipython3?", "a notebook"),
    KindRule("server", "title", r"VLLM::.*", "a process title of vLLM"),
    KindRule("server", "module", r"vllm(\..*)?", "the vllm module"),
    KindRule("server", "program", r"vllm", "the vllm command"),
    KindRule("server", "program", r"tensorflow_model_server_neuronx?", "TensorFlow Serving"),
    KindRule(
        "xla", "module", r"torch_xla\..*|neuronx_distributed.*|optimum\.neuron.*", "XLA module"
    ),
    KindRule("xla", "program", r"optimum-cli|xla_spawn\.py|neuron_parallel_compile", "XLA program"),
    KindRule(
        "xla",
        "words",
        r"torch_xla|neuronx_distributed|optimum[-_/]neuron|nxdt?[-_/]|[-_]nxdt?\.|[-_/]xla[-_./]",
        "XLA, NxD or optimum-neuron in the command",
    ),
    KindRule(
        "xla", "variables", "RANK", "a launched rank on a chip without TorchNeuron", XLA_CHIPS
    ),
    KindRule("training", "variables", "TORCHELASTIC_RUN_ID", "a rank of torchrun"),
    KindRule("training", "program", LAUNCHERS.pattern, "a training launcher"),
    KindRule("training", "module", LAUNCHER_MODULES.pattern, "a training launcher"),
    KindRule("training", "variables", "RANK", "a launched rank"),
    KindRule("training", "program", r"run_(clm|mlm|glue|qa)(_.*)?\.py", "a Transformers script"),
    KindRule("training", "program", r"(sft|dpo|grpo|.*train.*|.*finetun.*)\.py", "by its name"),
)
_RULES: Final = [(rule, re.compile(rule.pattern, re.IGNORECASE)) for rule in RULES]
_PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*t?")
# Who adopts a process whose parent has ended
REAPERS: Final = frozenset(
    [
        "systemd",
        "init",
        "tini",
        "dumb-init",
        "docker-init",
        "catatonit",
        "containerd-shim",
        "conmon",
        "s6-svscan",
    ]
)
_WITH_VALUE: Final = frozenset({"-W", "-X", "--check-hash-based-pycs"})


class Signs(NamedTuple):
    """What a command line shows."""

    program: str = ""  # the base name of what runs: a script rather than its interpreter
    module: str = ""  # python -m MODULE
    title: str = ""  # the first word as it is
    words: str = ""  # all of them


def signs(arguments: Sequence[str]) -> Signs:
    """What a command line shows; a path of a script, a module, an interpreter's own options."""
    if not arguments:
        return Signs()
    title, words = arguments[0], " ".join(arguments)
    program = _base(title)
    if not _PYTHON.fullmatch(program):
        return Signs(program, "", title, words)
    rest = iter(arguments[1:])
    for word in rest:
        if word == "-m" or (word.startswith("-m") and len(word) > 2):
            return Signs(program, word[2:] or next(rest, ""), title, words)
        if word == "-c":
            break
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return Signs(_base(word), "", title, words)
    return Signs(program, "", title, words)


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def kind_of(
    arguments: tuple[str, ...], variables: Iterable[str], chips: Iterable[str]
) -> tuple[JobKind, str]:
    """The kind, and by which sign.

    `variables` are the names of a launcher's variables that are set, `chips` those of its devices.
    """
    return _kind_of(arguments, frozenset(variables), frozenset(chips))


@lru_cache(maxsize=1024)
def _kind_of(
    arguments: tuple[str, ...], variables: frozenset[str], chips: frozenset[str]
) -> tuple[JobKind, str]:
    shown = signs(arguments)
    for rule, pattern in _RULES:
        if rule.chips and not (chips and chips <= rule.chips):
            continue
        if rule.where == "variables":
            matches = rule.pattern in variables
        elif rule.where == "words":
            matches = pattern.search(shown.words) is not None
        else:
            matches = pattern.fullmatch(getattr(shown, rule.where)) is not None
        if matches:
            return rule.kind, rule.why
    return "unknown", "no rule knows this command"


def orphan_reason(
    variables: Iterable[str], parent: str | None, pid: int, arguments: Sequence[str]
) -> str:
    """Why a rank counts as left over from a dead job; empty where it does not.

    Only launchers that stay the parent of their ranks tell this: torchrun's agent, a Python
    program, does. Orphans go to process 1 or to whoever adopts them below it.
    """
    name = parent or ""
    if "TORCHELASTIC_RUN_ID" not in variables:
        return ""
    adopts = name in REAPERS or name.startswith("containerd-shim")
    if adopts or (pid == 1 and arguments and not _may_launch(arguments)):
        return f"its launcher has ended; it was adopted by {name}"
    return ""


def is_launcher(arguments: Sequence[str]) -> bool:
    """Whether a command is a launcher of training, whatever it launches."""
    shown = signs(arguments)
    return bool(LAUNCHERS.fullmatch(shown.program) or LAUNCHER_MODULES.fullmatch(shown.module))


def _may_launch(arguments: Sequence[str]) -> bool:
    return bool(_PYTHON.fullmatch(_base(arguments[0]))) or is_launcher(arguments)


def markdown() -> str:
    """The table of kinds for docs/jobs.md."""
    heads = ["| kind | sign | on | matches |", "|---|---|---|---|"]
    return "\n".join([*heads, *map(_row, RULES)])


def _row(rule: KindRule) -> str:
    pattern = rule.pattern.replace("|", "\\|")
    chips = ", ".join(sorted(rule.chips)) or "all"
    return f"| {rule.kind} | {rule.why} | {chips} | {rule.where} `{pattern}` |"
