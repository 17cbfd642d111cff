"""Output of neuron-ls: JSON and the tables of every generation (neuron-ls.rst, field captures).

Read in this order: exit status, then what the streams say. Nothing is guessed around a gap: output
that does not parse as a whole is *bad output*, and a column that is not there is None.
"""

from __future__ import annotations

import re

from neuron_observer.parsers.neuron_ls_json import read_json
from neuron_observer.parsers.neuron_ls_listing import NeuronListing, Outcome
from neuron_observer.parsers.neuron_ls_table import is_table, read_table

_MISSING = {126: "not executable", 127: "command not found"}  # the shell's own statuses


def parse(stdout: str, *, status: int = 0, stderr: str = "") -> NeuronListing:
    """The outcome of one call; `status` is negative for a child ended by a signal."""
    if status in _MISSING:
        return NeuronListing(Outcome.TOOL_MISSING, detail=_first(stderr) or _MISSING[status])
    if status < 0:
        return NeuronListing(Outcome.BAD_OUTPUT, detail=f"ended by signal {-status}")
    return _failed(stdout, status, stderr) if status else _answered(stdout)


def _answered(stdout: str) -> NeuronListing:
    if not stdout.strip():
        why = "status 0 without output: the driver does not answer"
        return NeuronListing(Outcome.BAD_OUTPUT, detail=why)
    if is_table(stdout):
        return read_table(stdout)
    start = re.search(r"^\s*[\[{]", stdout, re.MULTILINE)
    if start:
        return read_json(stdout[start.start() :])
    return NeuronListing(Outcome.BAD_OUTPUT, detail=f"neither table nor JSON: {_first(stdout)}")


def _failed(stdout: str, status: int, stderr: str) -> NeuronListing:
    if stdout.strip():
        return NeuronListing(Outcome.USAGE_ERROR, detail=_first(stdout))
    message = re.search(r'error="([^"]*)"', stderr)
    detail = message[1] if message else _first(stderr) or f"status {status} without output"
    return NeuronListing(Outcome.NO_DEVICE, detail=detail)


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:300] if lines else ""
