"""What a job is told by its environment: the step hook on, and the folder that it writes to."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHARED = "/run/neuron-observer-ranks"  # systemd-tmpfiles makes it, for jobs of all users
HOOK, FOLDER = "NEURON_OBSERVER_HOOK", "NEURON_OBSERVER_HOOK_DIR"
_IN_MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own is made in it


class Told(NamedTuple):
    """The job's environment, and where its ranks write."""

    environment: dict[str, str]
    folder: str
    private: bool = False  # nobody else looks there


@contextmanager
def hooked(environment: Mapping[str, str], shared: str = SHARED) -> Iterator[Told]:
    """The environment with the hook on; what its user said of the hook stays.

    Where the shared folder cannot be written to, the job has one of its own, removed at the end.
    """
    told = {HOOK: "1", **environment}
    if folder := environment.get(FOLDER):
        yield Told(told, folder)
    elif os.access(shared, os.W_OK | os.X_OK):
        yield Told(told, shared)
    else:
        own = tempfile.mkdtemp(prefix="neuron-observer-ranks-", dir=_place(environment))
        try:
            yield Told({**told, FOLDER: own}, own, private=True)
        finally:
            shutil.rmtree(own, ignore_errors=True)


def _place(environment: Mapping[str, str]) -> str | None:
    """Memory rather than a disk: a rank writes with each step."""
    places = (environment.get("XDG_RUNTIME_DIR"), _IN_MEMORY)
    return next((one for one in places if one and os.access(one, os.W_OK | os.X_OK)), None)
