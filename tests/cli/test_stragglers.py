"""`neuron-observer stragglers FILE`, as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from neuron_observer.cli.stragglers import command
from neuron_observer.errors import InputError, UsageError

TRACES = Path(__file__).parents[1] / "cases" / "F"
ST = str(TRACES / "F20-bytedance-ST-per-rank-step.csv")
F21 = str(TRACES / "F21-alibaba-job1-minibatch.csv")
MAPS = ["--map", "busy_s=compute_s", "--map", "role=stage"]
F21_MAPS = ["--map", "busy_s=batch_time_norm", "--map", "rank=worker", "--map", "step=time"]


def call(*arguments: str, stdin: str | None = None) -> Result:
    """The command in this process; its errors come through."""
    return CliRunner().invoke(
        command, arguments, input=stdin, standalone_mode=False, catch_exceptions=False
    )


def slow_table(tmp_path: Path) -> str:
    """Eight ranks of which rank 5 is a fifth slower from step 50 to step 80."""
    lines = ["step,rank,busy_s,role,node"]
    for step in range(100):
        for rank in range(8):
            seconds = 1 + 0.001 * ((step * 7 + rank * 3) % 5)
            seconds *= 1.2 if rank == 5 and 50 <= step <= 80 else 1.0
            lines.append(f"{step},{rank},{seconds:.5f},0,n{rank // 2}")
    file = tmp_path / "job.csv"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def test_a_heavy_stage_is_an_information() -> None:
    """F20-ST as it is: exit 0, no warning, the stage is named."""
    result = call(ST, *MAPS)
    assert result.return_value == 0
    assert "INFO role 3 works 1.63x" in result.stdout
    assert "no rank is slower" in result.stdout
    assert "WARNING" not in result.stdout


def test_the_findings_document_of_a_transient() -> None:
    """F21: one finding, resolved, with its steps and ratio."""
    result = call(F21, *F21_MAPS, "--format", "json")
    document = json.loads(result.stdout)
    assert document["schema"] == "neuron-observer/findings/1"
    assert (document["verdict"], document["exit_code"]) == ("healthy", 0)
    (finding,) = document["findings"]
    assert finding["entity"]["rank"] == 6
    assert (finding["severity"], finding["state"]) == ("info", "resolved")
    assert finding["blames_hardware"] is False
    evidence = finding["evidence"][0]
    assert evidence["kind"] == "statistic"
    assert (evidence["first_step"], evidence["last_step"]) == (1811, 1941)
    assert 1.3 <= evidence["ratio"] <= evidence["max_ratio"]
    assert {gap["id"] for gap in document["coverage"]["not_covered"]} >= {"network-slow"}


def test_a_slow_rank_makes_exit_code_1(tmp_path: Path) -> None:
    """Who, how much, since which step and until when."""
    result = call(slow_table(tmp_path))
    assert result.return_value == 1
    assert "WARNING rank 5 (node n2): busy 1.20x" in result.stdout
    assert "steps 50-80" in result.stdout


def test_standard_input(tmp_path: Path) -> None:
    """`-` reads what is piped in."""
    text = Path(slow_table(tmp_path)).read_text()
    result = call("-", stdin=text)
    assert "standard input: 800 rows" in result.stdout
    assert result.return_value == 1


def test_a_table_that_cannot_be_judged_is_unknown(tmp_path: Path) -> None:
    """Three steps: exit 3, and why."""
    file = tmp_path / "short.csv"
    file.write_text(
        "step,rank,busy_s\n" + "".join(f"{s},{r},1\n" for s in range(3) for r in (0, 1))
    )
    result = call(str(file))
    assert result.return_value == 3
    assert "3 steps are too few" in result.stdout


def test_the_heat_map_is_a_picture(tmp_path: Path) -> None:
    """Well-formed SVG with one red band for the slow rank and a title."""
    target = tmp_path / "map.svg"
    call(slow_table(tmp_path), "--plot", str(target))
    root = ET.parse(target).getroot()  # noqa: S314 - our own file
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "rank 5" in texts
    reds = [
        element
        for element in root.iter("{http://www.w3.org/2000/svg}rect")
        if element.get("fill", "").startswith("#ff") and element.get("fill") != "#ffffff"
    ]
    assert any(int(red.get("width", "0")) > 200 for red in reds)


@pytest.mark.parametrize("text", ["busy_s", "busy_s=", "=x", "speed=x"])
def test_a_wrong_map_is_a_usage_error(text: str) -> None:
    """OURS=THEIRS with one of our names."""
    with pytest.raises(UsageError, match="--map"):
        call(ST, "--map", text)


def test_a_column_mapped_twice_is_a_usage_error() -> None:
    """The second one would silently win."""
    with pytest.raises(UsageError, match="mapped twice"):
        call(ST, "--map", "role=stage", "--map", "role=dp_rank")


def test_no_such_file() -> None:
    """The file and the reason."""
    with pytest.raises(InputError, match=r"nowhere\.csv: No such file"):
        call("nowhere.csv")


def test_a_plot_that_cannot_be_written(tmp_path: Path) -> None:
    """A directory that is not there."""
    with pytest.raises(InputError, match="cannot be written: No such file"):
        call(ST, *MAPS, "--plot", str(tmp_path / "no" / "map.svg"))


def test_errors_end_the_program_with_code_66(tmp_path: Path) -> None:
    """The whole program: message on stderr with file and line, nothing on stdout."""
    file = tmp_path / "bad.csv"
    file.write_text("step,rank,busy_s\n0,0,1\n0,1,-1\n")
    done = subprocess.run(
        [sys.executable, "-m", "neuron_observer", "stragglers", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 66
    assert f"{file}:3: busy_s is '-1': negative" in done.stderr
    assert done.stdout == ""


def test_help_loads_no_numpy() -> None:
    """`neuron-observer --help` names the verb and stays light."""
    code = "import sys\nsys.argv = ['x', '--help']\nfrom neuron_observer.cli.group import cli\n"
    code += "cli.main(standalone_mode=False)\nassert 'numpy' not in sys.modules\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "stragglers" in done.stdout
