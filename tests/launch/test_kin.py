"""Whose process a process is."""

from __future__ import annotations

import os

from neuron_observer.launch.kin import descends, status_of

OWN = os.getpid()
NOBODY = 2**22 + 1  # beyond the largest pid


def test_a_process_descends_from_its_parents() -> None:
    """From itself and from whoever started it, not from a child or a stranger."""
    assert descends(OWN, OWN)
    assert descends(OWN, os.getppid())
    assert not descends(os.getppid(), OWN)
    assert not descends(NOBODY, OWN)


def test_the_state_of_a_process() -> None:
    """None where there is none."""
    found = status_of(OWN)
    assert found is not None
    assert found.parent == os.getppid()
    assert status_of(NOBODY) is None
