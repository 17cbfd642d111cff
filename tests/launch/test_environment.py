"""What a job is told of the step hook."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_observer.launch.environment import hooked


def test_where_the_shared_folder_is_the_job_writes_there(tmp_path: Path) -> None:
    """Nothing but the hook itself has to be said then: it is what the hook takes by itself."""
    with hooked({"PATH": "/bin"}, str(tmp_path)) as told:
        assert told.environment == {"PATH": "/bin", "NEURON_OBSERVER_HOOK": "1"}
        assert (told.folder, told.private) == (str(tmp_path), False)


def test_without_it_there_is_a_folder_for_this_job_alone(tmp_path: Path) -> None:
    """Only its user may look into it, and it goes with the job and all that is in it."""
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    with hooked(environment, str(tmp_path / "none")) as told:
        folder = Path(told.folder)
        assert told.environment["NEURON_OBSERVER_HOOK_DIR"] == told.folder
        assert told.private
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "rank-1-1.hb").touch()
    assert not folder.exists()


@pytest.mark.parametrize("word", ["0", "1"])
def test_what_the_user_said_of_the_hook_stays(word: str, tmp_path: Path) -> None:
    """Also that there shall be none."""
    own = {"NEURON_OBSERVER_HOOK": word, "NEURON_OBSERVER_HOOK_DIR": str(tmp_path / "mine")}
    with hooked(own, str(tmp_path)) as told:
        assert told.environment == own
        assert (told.folder, told.private) == (str(tmp_path / "mine"), False)
