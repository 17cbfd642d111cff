"""The screen of `top` in a terminal of its own: stopped and gone on with, small, alone."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cli.terminal import Terminal
from tests.client.servers import answering
from tests.conftest import tree_file
from tests.daemon.daemons import Simulated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))
HINT = rb"EFA"  # in one of the last lines of the screen


@contextmanager
def top(
    *arguments: str, size: tuple[int, int] = (80, 24), **environment: str
) -> Iterator[Terminal]:
    """`top` under a terminal; ended by its own pid if the test does not."""
    terminal = Terminal("top", *arguments, environment=environment, size=size)
    try:
        yield terminal
    finally:
        terminal.close()


def test_stopped_and_gone_on_with() -> None:
    """Ctrl-Z gives the terminal back as it was; `fg` draws all of it anew; then SIGTSTP as well."""
    with top("--host-root", SMALL) as seen:
        seen.until(HINT)
        for stop in (lambda: seen.type(b"\x1a"), lambda: seen.send(signal.SIGTSTP)):
            stop()
            seen.stopped()
            assert seen.is_restored()
            seen.written = b""
            seen.send(signal.SIGCONT)
            seen.until(rb"(?s)1049h.*trn2\.3xlarge.*" + HINT)
        seen.type(b"q")
        assert seen.exit_code() == 0
        assert seen.is_restored()


def test_a_window_that_is_dragged() -> None:
    """From 20x5 up and down and back: each time what fits stands there; then it ends as ever."""
    with top("--host-root", SMALL, size=(20, 5)) as seen:
        seen.until(rb"trn2")
        for columns, rows in [(300, 80), (1, 1), (40, 10), (2, 60), (120, 40)] * 3:
            seen.resize(columns, rows)
        seen.until(HINT)
        seen.type(b"q")
        assert seen.exit_code() == 0
        assert seen.is_restored()


def test_a_daemon_that_goes_and_comes_back(tmp_path: Path) -> None:
    """The last frame stays and a banner says why; keys go on; then frames come again."""
    made = Simulated()
    arguments = ("--connect", f"unix://{tmp_path}/o.sock")
    with answering(made.answers, tmp_path):
        seen = Terminal("top", *arguments)
        seen.until(HINT)
    (tmp_path / "o.sock").unlink()
    try:
        seen.until(rb"lost: what is shown is .* old; asked again each \d+ s")
        seen.type(b"8")
        seen.again(rb"before-we-watched")
        seen.type(b"1")
        with answering(made.answers, tmp_path):
            made.go(1.0)
            seen.again(rb"<1 s old")
        seen.send(signal.SIGTERM)
        assert seen.exit_code() == 128 + signal.SIGTERM
        assert seen.is_restored()
    finally:
        seen.close()
        made.close()
