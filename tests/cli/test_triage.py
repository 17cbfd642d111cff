"""The verb `triage`, as it is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases"
C02 = str(CASES / "C/C02-collectives-hang-root-cause.txt")
C06 = str(CASES / "C/C06-infodump-block.txt")


def run(
    *arguments: str, given: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Call the program; its environment is ours but for what is given."""
    return subprocess.run(
        [sys.executable, "-m", "neuron_observer", "triage", *arguments],
        input=given,
        capture_output=True,
        check=False,
        env=os.environ | environment,
        cwd=CASES.parents[1],
    )


def test_the_first_line_says_what_to_do() -> None:
    """An engineer sees at once what to do, where, and how sure it is."""
    done = run(C02)
    first, blank, *rest = done.stdout.decode().splitlines()
    assert first == (
        "CALL AWS: REPLACE THE INSTANCE - SRAM uncorrectable: node-b, device 2, core 1 (probable)"
    )
    assert blank == ""
    assert any(line.startswith("  Confirm by") for line in rest)
    assert any("C02-collectives-hang-root-cause.txt:3" in line for line in rest)
    assert done.returncode == 1
    assert done.stderr == b""


def test_a_program_is_told_to_be_fixed() -> None:
    """The headline of a program's error says that the hardware is not blamed."""
    first = run(C06).stdout.decode().splitlines()[0]
    assert first == (
        "FIX THE PROGRAM - out of bounds: host0, device 0, core 0 (probable, hardware not blamed)"
    )


def test_json() -> None:
    """JSON is the findings document, with inputs, facts and what is novel beside."""
    document = json.loads(run("--format", "json", C02).stdout)
    assert document["schema"] == "neuron-observer/findings/1"
    assert (document["verdict"], document["exit_code"]) == ("degraded", 1)
    finding = document["findings"][0]
    assert finding["id"] == "sram-uncorrectable"
    assert finding["entity"]["node"] == "node-b"
    assert finding["evidence"][0]["line"] == 3
    assert finding["evidence"][0]["trust"] == "hearsay"
    assert {fact["pattern"] for fact in document["facts"]} >= {"hw-err-sram", "cc-hang"}
    assert document["inputs"][0]["lines"] == 9
    assert document["novel"] == {"lines": 0, "examples": []}
    assert document["summary"].startswith("CALL AWS")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"[1.0] neuron:npid_attach: neuron:npid_attach: pid=1, slot=0\n", 0),
        (b"RX, connection closed by remote peer\n", 1),
        (b"nothing of interest\n", 3),
    ],
)
def test_exit_codes(text: bytes, code: int) -> None:
    """0 no fault, 1 something is wrong, 3 cannot tell; from standard input, with and without -."""
    assert run(given=text).returncode == code
    assert run("-", given=text).returncode == code


def test_nothing_could_be_read(tmp_path: Path) -> None:
    """Exit code 66, the reasons on standard error, nothing on standard output."""
    done = run(str(tmp_path), str(tmp_path / "absent"))
    assert done.returncode == 66
    assert done.stdout == b""
    assert b"is a directory" in done.stderr
    assert b"No such file" in done.stderr


def test_a_part_that_could_not_be_read(tmp_path: Path) -> None:
    """A partial result is stated as partial, however long the path; no clean bill of health."""
    done = run(
        str(tmp_path / ("long" * 20) / "absent"), "-", given=b"neuron: module verification failed\n"
    )
    assert done.returncode == 3
    assert b"CANNOT TELL" in done.stdout
    assert b"not read" in done.stdout


def test_explain() -> None:
    """Every kind of line is explained, with the source of the knowledge and its grade."""
    text = run("--explain", C02, COLUMNS="200").stdout.decode()
    assert "hw-err-sram: hw_fault, replace_instance" in text
    assert "(document)" in text
    assert "serial-num=0123456789abcde2" in text


def test_what_was_not_understood() -> None:
    """Unknown lines of the driver are counted and shown, and are no alarm."""
    done = run(given=b"[1.0] neuron:nr_new: nd3: quite new\n" * 3)
    assert b"Not understood: 3 lines" in done.stdout
    assert b"quite new" in done.stdout
    assert done.returncode == 3


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A forged line cannot move the cursor or colour the verdict."""
    done = run(given=b"NEURON_HW_ERR=X\x08\x08\x9b31m nd-id=1 \x1b[2J\x07 colour=\x85red\n")
    assert not any(byte in done.stdout for byte in b"\x07\x08\x1b")


def test_a_locale_without_unicode() -> None:
    """What the locale cannot print is escaped, and nothing fails for it."""
    text = "2026-Jan-03 21:00:34.5 2:3 ERROR  ENC:月  RX, connection closed by remote peer 月\n"
    done = run(given=text.encode(), PYTHONIOENCODING="latin-1", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 1
    assert b"\\u6708" in done.stdout
    assert done.stderr == b""


def test_help_and_usage() -> None:
    """Help names the forms that are read; a wrong option is a usage error."""
    assert b"dmesg, journal, syslog" in run("--help").stdout
    assert run("--colour").returncode == 64
