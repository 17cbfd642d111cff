"""Calling the command line as a user does, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from neuron_observer.cli.group import cli

if TYPE_CHECKING:
    from collections.abc import Callable


class Result(NamedTuple):
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def call() -> Callable[..., Result]:
    """Calls `neuron-observer` with some arguments."""

    def run(*arguments: str) -> Result:
        done = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        code = done.return_value if isinstance(done.return_value, int) else done.exit_code
        return Result(code, done.stdout, done.stderr)

    return run
