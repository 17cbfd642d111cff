"""The screen of `top` in a terminal of its own: stopped and gone on with, small, alone."""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager
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
        for key in (b"\x1a", None):
            if key:
                seen.type(key)
            else:
                seen.send(signal.SIGTSTP)
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


def test_a_terminal_that_stalls_and_is_cut() -> None:
    """A connection that takes nothing any more blocks it; when it is cut the process is gone."""
    with top("--host-root", SMALL) as seen:
        seen.until(HINT)
        for columns in range(100, 1000):
            seen.resize(columns, 80)
            if seen.is_blocked():
                break
        else:
            raise AssertionError("nothing was written that fills a terminal")
        seen.hang_up()
        assert seen.exit_code() in (128 + signal.SIGHUP, -signal.SIGALRM)


def test_a_daemon_that_goes_and_comes_back(tmp_path: Path) -> None:
    """The last frame stays and a banner says why; keys go on; then frames come again."""
    made = Simulated()
    with answering(made.answers, tmp_path) as client, ExitStack() as opened:
        seen = opened.enter_context(top("--connect", str(client.address)))
        seen.until(HINT)
        later = opened.pop_all()
    with later:
        (tmp_path / "o.sock").unlink()
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
    made.close()
