"""Which configuration a verb goes by; costs neither yaml nor msgspec where there is none.

`--config FILE` (or NEURON_OBSERVER_CONFIG) names it. By itself /etc/neuron-observer counts, for the
daemon and for every verb alike, so that all judge by the same: but only where a host is looked at
that is there. A capture and a simulation are other machines, for which this one's path map and
rules would be wrong.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.config import Config, Sources

FOLDER = "/etc/neuron-observer"
RULES = f"{FOLDER}/rules.d"  # as the configuration has it by default
_PREFIX = "NEURON_OBSERVER_"
# those that are asked for more often; config.environment knows all
_NO_KEYS = tuple(f"{_PREFIX}{name}" for name in ("CONFIG", "CONNECT_", "HOST_ROOT", "HOOK"))


def default_file() -> str:
    """The file that counts if nobody names one."""
    return os.path.join(FOLDER, "config.yaml")  # noqa: PTH118 - pathlib costs a start its tenth


def chosen_file(named: str | None, *, of_this_machine: bool) -> str | None:
    """The file that a call goes by; None where nothing says anything, so that nothing is read.

    A folder that cannot be looked at counts as there: whoever reads it says why it cannot be.
    """
    if named is not None:
        return named
    if of_this_machine:
        return default_file() if _is_there(FOLDER) or _is_said() else None
    return os.devnull if _is_said() else None  # a variable needs no file


def _is_there(folder: str) -> bool:
    try:
        os.stat(folder)  # noqa: PTH116 - as above
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_said() -> bool:
    return any(name.startswith(_PREFIX) and not name.startswith(_NO_KEYS) for name in os.environ)


def sources_of(file: str | None) -> Sources:
    """What there is to read; the default file need not be there."""
    from neuron_observer.config import Sources  # noqa: PLC0415 - costs yaml and msgspec

    return Sources(file, required=file != default_file(), environment=os.environ)


def config_of(chosen: str | Config | None) -> Config | None:
    """The configuration of a file as `chosen_file` gives it, or the one that is here already."""
    if chosen is None or not isinstance(chosen, str):
        return chosen
    from neuron_observer.config import read  # noqa: PLC0415 - costs yaml and msgspec

    return read(sources_of(chosen)).config


def rule_paths(config: Config | None, extra: Sequence[str] = ()) -> list[str]:
    """Folders and files of rules beside the shipped ones; those of a call come last.

    The folder that counts by default need not be there; one that somebody named must be.
    """
    if config is None:
        return list(extra)
    found = []
    for folder in config.rules.directories:
        try:
            os.listdir(folder)  # noqa: PTH208 - as above; a glob would not say that it may not
        except OSError as error:
            if folder == RULES and isinstance(error, FileNotFoundError):
                continue
            missing = isinstance(error, FileNotFoundError)
            how = "make it" if missing else "let this user read it"
            raise ConfigError(
                f"cannot be read: {error.strerror}",
                file=folder,
                remedy=f"rules.directories names it: {how}, or take it out there.",
            ) from error
        found.append(folder)
    return [*found, *extra]
