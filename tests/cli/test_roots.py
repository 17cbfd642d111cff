"""A host that cannot be opened: one line that says why and what to do, and no verdict."""

from __future__ import annotations

import gzip
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli.roots import open_root
from neuron_observer.errors import ExitCode, InputError
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Result

NOBODY = 65534


@pytest.fixture
def root() -> Iterator[Path]:
    """A host root that others may come to, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        (host := Path(above, "host")).mkdir()
        (host / "sys").mkdir()
        yield host
        host.chmod(0o700)


@contextmanager
def an_ordinary_user() -> Iterator[None]:
    """Whoever runs the tests, or nobody in the place of root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.parametrize("mode", [0o000, 0o644], ids=["closed", "listed but not entered"])
def test_a_host_root_that_may_not_be_opened(root: Path, mode: int) -> None:
    """It was a traceback and 1, by which Slurm drains a node."""
    root.chmod(mode)
    with an_ordinary_user(), pytest.raises(InputError) as raised:
        open_root(str(root))
    assert raised.value.exit_code == ExitCode.NO_INPUT
    assert str(raised.value) == (
        f"{root}: Permission denied\n"
        "  Call it as a user who may open that (sudo), or name another host root."
    )


def test_a_host_root_below_a_folder_that_may_not_be_opened(root: Path) -> None:
    """Nobody can say that it does not exist."""
    root.chmod(0o000)
    with an_ordinary_user(), pytest.raises(InputError, match="Permission denied"):
        open_root(f"{root}/sys")


def test_a_host_root_that_may_be_opened(root: Path) -> None:
    """The counterpart: an ordinary user reads what is open."""
    root.chmod(0o755)
    with an_ordinary_user():
        assert isinstance(open_root(str(root)), DirectoryFs)


@pytest.mark.parametrize("form", ["slurm", "npd", "text"])
def test_check_of_a_host_that_is_not_there(call: Callable[..., Result], form: str) -> None:
    """In every form it ends with `InputError`: 66."""
    with pytest.raises(InputError, match="no such directory or file"):
        call("check", "--format", form, "--host-root", "/no/such/host")


@pytest.mark.parametrize("raw", [b"\x7fELF\xd0\xff", gzip.compress(b"\xff\xfe\xfa")])
def test_a_host_root_that_is_no_text(tmp_path: Path, raw: bytes) -> None:
    """It is called what it is, in our words; not a byte and its position."""
    (file := tmp_path / "ls").write_bytes(raw)
    with pytest.raises(InputError) as caught:
        open_root(str(file))
    assert caught.value.message == f"{file}: is no text, so neither a listing nor a capture"
    assert "`neuron-observer capture`" in caught.value.remedy
