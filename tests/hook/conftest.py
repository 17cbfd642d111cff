"""A folder for heartbeat files, and a process that forgets its hook afterwards."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer import hook
from tests.hook import stand_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The heartbeat folder of this test."""
    place = tmp_path / "ranks"
    place.mkdir()
    monkeypatch.setenv("NEURON_OBSERVER_HOOK_DIR", str(place))
    for name in (*_VARIABLES, "NEURON_OBSERVER_HOOK", "NEURON_OBSERVER_HOOK_FLIGHT_RECORDER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("_failed", False), ("_by_hand", False)):
        monkeypatch.setattr(hook, name, value)
    yield place
    hook.uninstall()


@pytest.fixture
def torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """PyTorch's stand-in, imported."""
    made = stand_in.modules()
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    return made
