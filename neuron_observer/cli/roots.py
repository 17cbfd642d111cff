"""A host by its root, without the command line's library: what a daemon needs, too."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from typing import TYPE_CHECKING

from neuron_observer.errors import InputError
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.sources.hostfs import HostFs

JOB_MAPPING = "DCGM_HPC_JOB_MAPPING_DIR"  # as dcgm-exporter calls it
ENOUGH_DESCRIPTORS = 10_000  # a trn2.48xlarge has some 8,000 files that are read again and again


def open_root(root: str) -> HostFs:
    """A directory as it is, a file as a capture or listing; `InputError` if it cannot be opened."""
    if os.path.isfile(root):  # noqa: PTH113 - pathlib is a tenth of what starting costs
        from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only for files

        return ListingFs.open(root)
    try:
        os.stat(f"{root}/.")  # noqa: PTH116 - the same; a folder that is listed may yet be closed
        names = os.listdir(root)  # noqa: PTH208 - the same
    except FileNotFoundError:
        raise InputError(
            f"{root}: no such directory or file",
            remedy="--host-root takes the directory that holds sys/, or a file made by `capture`.",
        ) from None
    except OSError as error:
        raise InputError(
            f"{root}: {error.strerror}",
            remedy="Call it as a user who may open that (sudo), or name another host root.",
        ) from None
    _refuse_one_level_down(root, names)
    return DirectoryFs(root)


def _refuse_one_level_down(root: str, names: Sequence[str]) -> None:
    """A directory that is itself a /sys is an easy mistake, and would look like an empty host."""
    inside = {"sys", "class", "devices"}.intersection(names)
    if {"class", "devices"} <= inside and "sys" not in inside:
        raise InputError(
            f"{root}: holds class/ and devices/, so it plays the part of /sys itself",
            remedy="--host-root takes the directory above it, the one that holds sys/.",
        )


def enough_descriptors() -> bool:
    """Whether all files may stay open; allows itself what an administrator allows, not a shell."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most >= ENOUGH_DESCRIPTORS
