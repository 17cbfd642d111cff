"""Kinds of work: each row of the table has a command that it is for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.jobs.grouping import Around, group
from neuron_observer.jobs.identity import Ancestor
from neuron_observer.jobs.kinds import RULES, Signs, kind_of, markdown, orphan_reason, signs
from tests.jobs.makers import TRN1, TRN2, holder

if TYPE_CHECKING:
    from neuron_observer.jobs.ownership import NodeShape

PYTHON = "/opt/venv/bin/python3.10"
COMMANDS = [
    ("/opt/aws/neuron/bin/neuron-monitor -c x.json", (), "monitor"),
    ("/opt/aws/neuron/bin/neuron-ls --show-all-procs", (), "monitor"),
    ("neuron-top", (), "monitor"),
    (f"{PYTHON} /opt/aws/neuron/bin/neuron-monitor-prometheus.py", (), "monitor"),
    ("neuron-observer daemon", (), "monitor"),
    ("neuron-profile capture -n m.neff", (), "profiler"),
    ("neuron-explorer view", (), "profiler"),
    ("nccom-test allr -r 32", (), "test"),
    (f"{PYTHON} -m ipykernel_launcher -f k.json", (), "notebook"),
    (f"{PYTHON} /opt/venv/bin/jupyter-lab --port 8888", (), "notebook"),
    ("VLLM::Worker_TP3", (), "server"),
    (f"{PYTHON} -m vllm.entrypoints.openai.api_server --model m", (), "server"),
    (f"{PYTHON} /opt/venv/bin/vllm serve m", (), "server"),
    ("tensorflow_model_server_neuronx --port=8500", (), "server"),
    (f"{PYTHON} -m torch_xla.distributed.xla_spawn x.py", (), "xla"),
    (f"{PYTHON} /usr/bin/neuron_parallel_compile torchrun x.py", (), "xla"),
    (f"{PYTHON} examples/training/llama/tp_zero1_llama_nxd.py", ("RANK",), "xla"),
    (f"{PYTHON} bert_xla.py", (), "xla"),
    (f"{PYTHON} -u train.py", ("RANK", "TORCHELASTIC_RUN_ID"), "training"),
    (f"{PYTHON} /opt/venv/bin/accelerate launch x.py", (), "training"),
    (f"{PYTHON} -m accelerate.commands.launch x.py", (), "training"),
    (f"{PYTHON} /opt/venv/bin/trl sft --model m", (), "training"),
    (f"{PYTHON} -m torch.distributed.run x.py", (), "training"),
    (f"{PYTHON} x.py", ("RANK",), "training"),
    (f"{PYTHON} examples/run_clm.py", (), "training"),
    (f"{PYTHON} scripts/finetune_llama.py", (), "training"),
    (f"{PYTHON} serve.py", (), "unknown"),
    ("./a.out", (), "unknown"),
    ("", (), "unknown"),
]


@pytest.mark.parametrize(("command", "variables", "kind"), COMMANDS)
def test_kind_of_a_command(command: str, variables: tuple[str, ...], kind: str) -> None:
    """The kind of each command, on Trainium2."""
    found, why = kind_of(tuple(command.split()), variables, ("Trainium2",))
    assert found == kind
    assert why


def test_every_kind_of_the_table_is_tried() -> None:
    """No kind stands in the table without a command above."""
    assert {rule.kind for rule in RULES} <= {kind for _, _, kind in COMMANDS}


@pytest.mark.parametrize(
    ("chips", "kind"),
    [
        (("Trainium1",), "xla"),
        (("Inferentia2",), "xla"),
        (("Trainium2",), "training"),
        (("Trainium3",), "training"),
        (("Trainium1", "Trainium2"), "training"),
        ((), "training"),
    ],
)
def test_a_rank_on_a_chip_without_torchneuron(chips: tuple[str, ...], kind: str) -> None:
    """TorchNeuron needs Trainium2 or later; of an unknown chip nothing is concluded."""
    assert kind_of(("python3", "-u", "train.py"), ("RANK",), chips)[0] == kind


@pytest.mark.parametrize(
    ("command", "program", "module"),
    [
        ("python3 -u -W ignore train.py --x", "train.py", ""),
        ("python3 -m a.b c", "python3", "a.b"),
        ("python3 -ma.b c", "python3", "a.b"),
        ("python3 -c code", "python3", ""),
        ("python3", "python3", ""),
        ("/usr/bin/neuron-ls", "neuron-ls", ""),
    ],
)
def test_signs(command: str, program: str, module: str) -> None:
    """The script or module counts, not its interpreter."""
    found = signs(command.split())
    assert (found.program, found.module) == (program, module)


@given(st.lists(st.text(max_size=12), max_size=5))
def test_any_command_line_has_a_kind(words: list[str]) -> None:
    """Nothing raises, whatever the words."""
    assert isinstance(signs(words), Signs)
    assert kind_of(tuple(words), (), ())[1]


TORCHRUN = ("TORCHELASTIC_RUN_ID", "RANK")


@pytest.mark.parametrize(
    ("parent", "pid", "arguments"),
    [
        ("systemd", 1, ["/sbin/init"]),
        ("systemd", 900, ["/lib/systemd/systemd", "--user"]),
        ("containerd-shim", 4000, ["/usr/bin/containerd-shim-runc-v2"]),
        ("tini", 1, ["tini", "--", "run.sh"]),
        ("sleep", 1, ["sleep", "infinity"]),
    ],
)
def test_an_adopted_rank_of_torchrun_is_left_over(
    parent: str, pid: int, arguments: list[str]
) -> None:
    """Its agent stays its parent for as long as it lives."""
    assert f"adopted by {parent}" in orphan_reason(TORCHRUN, parent, pid, arguments)


@pytest.mark.parametrize(
    ("variables", "parent", "pid", "arguments"),
    [
        (("RANK",), "containerd-shim", 4000, ["containerd-shim"]),
        ((), "systemd", 1, ["/sbin/init"]),
        (TORCHRUN, "torchrun", 4100, ["python3", "/usr/bin/torchrun"]),
        (TORCHRUN, "python3", 1, ["python3", "launch.py"]),
        (TORCHRUN, "torchrun", 1, ["/usr/bin/torchrun"]),
        (TORCHRUN, "sh", 4100, ["sh", "-c", "x"]),
        (TORCHRUN, None, 1, []),
    ],
)
def test_others_are_not_left_over(
    variables: tuple[str, ...], parent: str | None, pid: int, arguments: list[str]
) -> None:
    """Daemons, single processes of containers and ranks of a launcher that is process 1."""
    assert not orphan_reason(variables, parent, pid, arguments)


def test_the_page_has_the_table() -> None:
    """docs/jobs.md prints the rules as they are."""
    page = (Path(__file__).parents[2] / "docs/jobs.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- kinds -->\n")
    assert rest.partition("\n<!-- end -->")[0] == markdown()


@pytest.mark.parametrize(
    ("launcher", "shape", "kind"),
    [
        ("python3 /opt/bin/accelerate launch --cpu x.py", TRN2, "training"),
        ("python3 /opt/bin/accelerate launch x.py", TRN1, "xla"),
        ("python3 -m torch.distributed.run x.py", TRN2, "training"),
        ("bash start.sh", TRN2, "unknown"),
    ],
)
def test_a_script_is_what_its_launcher_makes_it(launcher: str, shape: NodeShape, kind: str) -> None:
    """One process below accelerate has no rank, and its name says nothing."""
    above = (Ancestor(9, 1.0, "x", tuple(launcher.split())),)
    (job,) = group([holder(command="python3 x.py", above=above)], Around(shape))
    assert job.kind == kind
