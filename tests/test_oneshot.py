"""Watching a host for a while: a snapshot each period, or a recording's passes to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.observer import HostReader
from neuron_observer.oneshot import watch
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.sources.listing import ListingFs


@pytest.mark.parametrize(("seconds", "times"), [(0.0, [0]), (2.0, [0, 2]), (5.0, [0, 2, 4, 6])])
def test_a_live_host(seconds: float, times: list[float], tmp_path: Path) -> None:
    """One read at once and one each period, until the time has passed."""
    (tmp_path / "sys").mkdir()
    clock = ManualClock()
    reader = HostReader(DirectoryFs(str(tmp_path)), clock)
    begin = clock.monotonic()
    found = [snapshot.monotonic - begin for snapshot in watch(reader, seconds, 2.0)]
    reader.close()
    assert found == times


def test_a_recording_ends_where_it_ends(tree: Callable[[str], ListingFs]) -> None:
    """Three passes, at their own times, however long was asked for."""
    reader = HostReader(tree("proc-torchrun"), ManualClock())
    found = list(watch(reader, 3600.0, 2.0))
    assert [round(one.monotonic - found[0].monotonic) for one in found] == [0, 2, 20]
    assert [len(one.jobs) for one in found] == [3, 3, 2]
