"""`hook`: how to switch it on, whether it works here, and the file to copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer import hook
from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result


def test_it_says_how(call: Callable[..., Result]) -> None:
    """The variable, the line, the copy; what it names is there."""
    out = call("hook").out
    assert "NEURON_OBSERVER_HOOK=1 torchrun" in out
    assert "import neuron_observer.hook as observer; observer.install()" in out
    assert callable(hook.install)
    assert (Path(__file__).parent.parent.parent / "docs/hook.md").is_file()


def test_the_copy_is_the_file(tmp_path: Path, call: Callable[..., Result]) -> None:
    """Byte for byte; a folder that is not there is an error with a remedy."""
    done = call("hook", "--write", str(tmp_path))
    copy = tmp_path / "neuron_observer_hook.py"
    assert done.out == f"wrote {copy}\n"
    assert copy.read_bytes() == Path(hook.__file__).read_bytes()
    with pytest.raises(InputError, match="No such file or directory"):
        call("hook", "--write", str(tmp_path / "none"))


def test_check(
    tmp_path: Path, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made and removed again where it can be; else why not, and the remedy."""
    done = call("hook", "--check", "--folder", str(tmp_path))
    assert (done.code, done.out[:4]) == (0, "yes:")
    assert not list(tmp_path.iterdir())
    tmp_path.chmod(0o700)
    assert "only those of its group" in call("hook", "--check", "--folder", str(tmp_path)).out
    monkeypatch.setenv("NEURON_OBSERVER_HOOK_DIR", str(tmp_path / "none"))
    done = call("hook", "--check")
    assert done.code == 2
    assert "No such file or directory" in done.out
    assert "chmod 1777" in done.out


def test_check_of_the_default_folder_names_its_maker(
    tmp_path: Path, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no service was installed."""
    monkeypatch.delenv("NEURON_OBSERVER_HOOK_DIR", raising=False)
    monkeypatch.setattr(hook, "FOLDER", str(tmp_path / "none"))
    assert "install-service" in call("hook", "--check").out
