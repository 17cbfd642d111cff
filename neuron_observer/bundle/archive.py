"""The archive: one compressed tar file of plain members, the same bytes for the same content.

Written whole or not at all: beside its name first, for its owner's eyes alone, then named.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

MODE = 0o600


class Member(NamedTuple):
    """A file in the archive."""

    name: str
    data: bytes


def pack(folder: str, members: Sequence[Member], at: float) -> bytes:
    """The archive's bytes: one folder, members in their order, one time, no owner."""
    out = io.BytesIO()
    with (
        gzip.GzipFile(
            filename="", fileobj=out, mode="wb", compresslevel=6, mtime=int(at)
        ) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for member in members:
            about = tarfile.TarInfo(f"{folder}/{member.name}")
            about.size, about.mode, about.mtime = len(member.data), MODE, int(at)
            tar.addfile(about, io.BytesIO(member.data))
    return out.getvalue()


def write(path: Path, data: bytes) -> None:
    """Write a new file, 0600, whole or not at all; `InputError` says why it cannot be."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            _name(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                Path(temporary).unlink()
    except FileExistsError:
        raise InputError(
            f"{path} is there already", remedy="Nothing is written over it: --out names another."
        ) from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}",
            remedy="Nothing is left of it. --out takes a file in a folder with room for it.",
        ) from error


def _name(temporary: str, path: Path) -> None:
    """Give it its name, which nobody may have; some file systems know no links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists() or path.is_symlink():
            raise FileExistsError from None
        Path(temporary).rename(path)
