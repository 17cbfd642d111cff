"""Steps of installing and removing, taken in a folder that plays the root."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import HostError, UsageError
from neuron_observer.service import units
from neuron_observer.service.plan import activating, installing, removing, take

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.service.plan import Step

PYTHON = "/opt/neuron-observer/bin/python"


def install(
    root: Path, drop_ins: tuple[str, ...] | None = None, python: str = PYTHON
) -> list[Step]:
    """Plan and take."""
    steps = installing(root, python, drop_ins)
    for step in steps:
        take(step)
    return steps


def files(root: Path) -> dict[str, str]:
    """Path → text of all that is there."""
    return {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_a_first_time_and_again(tmp_path: Path) -> None:
    """All is written, readable for everybody; a second time nothing is."""
    before = os.umask(0o077)
    try:
        assert {step.what for step in install(tmp_path)} == {"write"}
    finally:
        os.umask(before)
    there = files(tmp_path)
    assert set(there) == {*units.texts(PYTHON), units.ENVIRONMENT}
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644)
    assert {step.what for step in install(tmp_path)} == {"keep"}
    assert files(tmp_path) == there


def test_an_upgrade_writes_anew_what_is_ours(tmp_path: Path) -> None:
    """The unit follows the interpreter; the environment file is the administrator's."""
    install(tmp_path)
    (tmp_path / units.ENVIRONMENT).write_text("NEURON_OBSERVER_EXPORT__DETAIL=full\n")
    steps = install(tmp_path, python="/srv/new/bin/python")
    assert [step.target for step in steps if step.changes] == [
        str(tmp_path / units.UNITS / units.SERVICE)
    ]
    there = files(tmp_path)
    assert "/srv/new/bin/python" in there[f"{units.UNITS}/{units.SERVICE}"]
    assert there[units.ENVIRONMENT] == "NEURON_OBSERVER_EXPORT__DETAIL=full\n"


def test_drop_ins_are_chosen_kept_and_dropped(tmp_path: Path) -> None:
    """Named ones are there, unnamed ones go; where none is named they stay as they are."""

    def here() -> set[str]:
        return {n for n in units.DROP_INS if (tmp_path / units.drop_in_path(n)).exists()}

    install(tmp_path, ("jobs", "push"))
    assert here() == {"jobs", "push"}
    install(tmp_path)
    assert here() == {"jobs", "push"}
    install(tmp_path, ("jobs",))
    assert here() == {"jobs"}
    install(tmp_path, ())
    assert here() == set()


def test_what_somebody_else_wrote_is_left_alone(tmp_path: Path) -> None:
    """It is named before anything is written."""
    target = tmp_path / units.UNITS / units.SERVICE
    target.parent.mkdir(parents=True)
    target.write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(UsageError, match="written by somebody else"):
        installing(tmp_path, PYTHON, None)
    with pytest.raises(UsageError, match="written by somebody else"):
        removing(tmp_path, running=False)
    assert len(files(tmp_path)) == 1


def test_removing_keeps_what_is_the_administrators(tmp_path: Path) -> None:
    """Units and drop-ins go; state, settings and somebody's own drop-in stay."""
    install(tmp_path, ("jobs", "reload"))
    kept = {
        f"{units.STATE}/events.db": "state",
        f"{units.CONFIGURATION}/config.yaml": "listen: []\n",
        f"{units.UNITS}/{units.SERVICE}.d/mine.conf": "[Service]\nNice=5\n",
    }
    for path, text in kept.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for step in removing(tmp_path, running=False):
        take(step)
    assert files(tmp_path) == {**kept, units.ENVIRONMENT: units.environment()}
    assert removing(tmp_path, running=True) == []


def commands(steps: list[Step]) -> list[str]:
    """What is run, without the paths."""
    return [" ".join(step.command[:3]) for step in steps if step.what == "run"]


def test_what_is_run(tmp_path: Path) -> None:
    """A restart only where something changed under a daemon that runs; sockets are opened anew."""
    first = installing(tmp_path, PYTHON, None)
    assert commands(activating(first, active=False))[2:] == [
        "systemctl daemon-reload",
        "systemctl enable --now",
    ]
    install(tmp_path)
    same = installing(tmp_path, PYTHON, None)
    assert commands(activating(same, active=True))[2:] == ["systemctl enable --now"]
    other = installing(tmp_path, PYTHON, ("jobs",))
    assert commands(activating(other, active=True))[2:] == [
        "systemctl daemon-reload",
        "systemctl enable --now",
        f"systemctl restart {units.SERVICE}",
    ]
    socket = tmp_path / units.UNITS / units.SOCKETS[0]
    socket.write_text(units.MARK)
    older = installing(tmp_path, PYTHON, None)
    assert f"systemctl stop {units.SERVICE}" in commands(activating(older, active=True))
    assert commands(removing(tmp_path, running=True)) == [
        "systemctl disable --now",
        "systemctl daemon-reload",
    ]


def test_a_write_that_fails_leaves_what_was(tmp_path: Path) -> None:
    """The old file is whole and nothing lies beside it; a command that fails says its words."""
    steps = installing(tmp_path, PYTHON, None)
    take(steps[0])
    broken = steps[0]._replace(text="\ud800")
    with pytest.raises(UnicodeEncodeError):
        take(broken)
    assert files(tmp_path) == {f"{units.UNITS}/{units.SERVICE}": steps[0].text}
    failing = steps[0]._replace(what="run", command=("sh", "-c", "echo no such unit >&2; exit 5"))
    with pytest.raises(HostError, match="exit code 5: no such unit"):
        take(failing)
