"""Files that a person names to have something written into."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from neuron_observer.errors import InputError


def opened_new(name: str, *, force: bool = False) -> BinaryIO:
    """A file to write; one that is there only with `force`, what is no plain file always.

    `InputError` says why it cannot be.
    """
    path = Path(name)
    written_over = force or (path.exists() and not path.is_file())  # a FIFO, /dev/null
    try:
        return path.open("wb" if written_over else "xb")
    except FileExistsError:
        raise InputError(
            f"{name} is there already", remedy="--force writes over it; -o names another."
        ) from None
    except OSError as error:
        raise InputError(f"{name}: cannot be written: {error.strerror}") from error
