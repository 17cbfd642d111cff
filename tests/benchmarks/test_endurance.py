"""The screen endures what nobody would do on purpose; the long run is benchmarks.endurance."""

from __future__ import annotations

from benchmarks.endurance import endure_events, endure_frames, keys


def test_random_events() -> None:
    """Keys, clicks, wheel, resizes from 1x1 to 300x80 and frames, in an order of a fixed seed."""
    assert len(keys()) > 40
    endure_events(150, seed=1)


def test_frames() -> None:
    """Each is painted; no descriptor and next to no object is left behind."""
    before, after = endure_frames(50)
    assert after.descriptors <= before.descriptors
    assert after.objects - before.objects < 500
