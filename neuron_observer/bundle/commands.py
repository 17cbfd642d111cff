"""Command lines, environments and control groups: what tells their kind stays, the rest is named.

Of a command the interpreter, launchers, tools of the Neuron SDK, names of options and plain numbers
stay, so that a reader still sees what kind of work it is.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from neuron_observer.bundle.secrets import MASK
from neuron_observer.jobs.identity import ENVIRONMENT
from neuron_observer.parsers.process import masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.bundle.names import Kind, Names

_PROGRAMS: Final = re.compile(
    r"(?:python|pypy)[0-9.]*t?|torchrun|accelerate|deepspeed|trl|(?:ba|da|z)?sh|srun|slurmstepd"
    r"|mpirun|env|numactl|nccom-test|neuron-(?:monitor|top|ls|profile|explorer|observer|bench|det)"
    r"|neuron-monitor-prometheus\.py|jupyter(?:-.*)?|ipython3?|vllm|tensorflow_model_server_neuronx?"
    r"|optimum-cli|xla_spawn\.py|neuron_parallel_compile|run_(?:clm|mlm|glue|qa)\.py"
    r"|systemd|init|tini|dumb-init|docker-init|catatonit|containerd-shim.*|conmon|s6-svscan"
    r"|kthreadd|kworker.*|swapper.*"
)
_MODULES: Final = re.compile(
    r"torch\.distributed\.(?:run|launch)|torch_xla(?:\.\w+)*|neuronx_distributed(?:\.\w+)*"
    r"|optimum\.neuron(?:\.\w+)*|vllm(?:\.\w+)*|ipykernel(?:_launcher)?|notebook|accelerate\.\w+"
    r"|multiprocessing\.(?:spawn|forkserver)|neuron_observer"
)
_OPTION: Final = re.compile(r"(-{1,2}[A-Za-z][A-Za-z0-9_-]{0,40})(?:=(.*))?", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d{1,6}(?:\.\d{1,6})?|\*{3}|serve|-m|-c|-u|-")
_GROUPS: Final = re.compile(
    r"|0|system\.slice|user\.slice|init\.scope|machine\.slice|user-\d+\.slice|user@\d+\.service"
    r"|session-c?\d+\.scope|app\.slice|slurm(?:stepd\.scope)?|system|uid_\d+|step_\w{1,12}|user|task_\w{1,12}"
    r"|kubepods(?:-\w+)?(?:\.slice)?|besteffort|burstable|guaranteed|docker|containerd|crio|\.\."
)
_HEX: Final = re.compile(r"[0-9a-f]{12,64}")
_UID: Final = re.compile(
    r"[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}"
)
_VARIABLES: Final[dict[str, Kind]] = {
    "MASTER_ADDR": "host",
    "TORCHELASTIC_RUN_ID": "job",
    "SLURM_JOB_ID": "job",
    "NEURON_PROCESS_TAG": "job",
    "ROLE_NAME": "job",
}
_PLAIN_VALUE: Final = re.compile(r"[\d,: .-]*|default")


def is_common(base: str) -> bool:
    """Whether a program is one that everybody has."""
    return _PROGRAMS.fullmatch(base) is not None


def program(names: Names, word: str) -> str:
    """The name of a program, without the folders that it is in."""
    base = word.rpartition("/")[2]
    if "program" not in names.kinds:
        return word
    return base if is_common(base) else names.of("program", base)


def words(names: Names, arguments: Sequence[str]) -> list[str]:
    """A command line, argument for argument."""
    arguments = masked(arguments)
    if "argument" not in names.kinds or not arguments:
        return list(arguments)
    told = [program(names, arguments[0])]
    for before, word in pairwise(arguments):
        option = _OPTION.fullmatch(word)
        if before == "-m" and _MODULES.fullmatch(word):
            told.append(word)
        elif option:
            value = option[2]
            told.append(word if value is None else f"{option[1]}={_value(names, value)}")
        else:
            told.append(_value(names, word))
    return told


def _value(names: Names, word: str) -> str:
    base = word.rpartition("/")[2]
    if not word or _NUMBER.fullmatch(word):
        return word
    if is_common(base):
        return base
    if base.endswith(".py"):
        return names.of("program", base)
    return names.of("argument", word)


def text(names: Names, command: str) -> str:
    """A command line that was joined with blanks."""
    return " ".join(words(names, command.split(" "))) if command else command


def environment(names: Names, raw: str) -> str:
    """`NAME=VALUE` with NUL between: of variables that launchers set, always; no other is kept.

    Numbers stay, names are replaced, all else is masked. Of an environment without any of these `_`
    is left, so that it still reads as one.
    """
    told = []
    for entry in raw.split("\0"):
        name, equals, value = entry.partition("=")
        if equals and name in ENVIRONMENT:
            told.append(f"{name}={_variable(names, name, value)}\0")
    return "".join(["_=\0", *told]) if raw else ""


def _variable(names: Names, name: str, value: str) -> str:
    kind = _VARIABLES.get(name)
    if not names.kinds or value in ("", "none", "localhost", "127.0.0.1"):
        return value
    if kind is not None:
        return names.of(kind, value)
    return value if _PLAIN_VALUE.fullmatch(value) else MASK


def group(names: Names, path: str) -> str:
    """A path of control groups, or lines of /proc/PID/cgroup."""
    if "unit" not in names.kinds:
        return path
    return "\n".join(_row(names, row) for row in path.split("\n"))


def _row(names: Names, row: str) -> str:
    head, slash, rest = row.partition("/")
    rest, deleted, _ = rest.partition(" (deleted)")
    parts = "/".join(_part(names, part) for part in rest.split("/"))
    return f"{head}{slash}{parts}{deleted}"


def _part(names: Names, part: str) -> str:
    if _GROUPS.fullmatch(part):
        return part
    if part.startswith("job_") and part[4:].isdigit():
        return f"job_{names.of('job', part[4:])}"
    bare = _UID.sub(lambda found: _uid(names, found[0]), part)
    bare = _HEX.sub(lambda found: names.of("container", found[0]), bare) if bare == part else bare
    return bare if bare != part else names.of("unit", part)


def _uid(names: Names, word: str) -> str:
    given = names.of("uuid", word.replace("_", "-"))
    return given.replace("-", "_") if "_" in word else given
