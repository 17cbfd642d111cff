"""The files of a configuration: which there are, and whether they may be believed.

A process of root does what they say with root's rights (listens, writes its state, reads
certificates). As sudo, logrotate and the Beats do, it therefore refuses a file that anybody may
write; of `conf.d`, which nobody named, also what belongs to somebody else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from neuron_observer.config.document import MOST_BYTES, text_of
from neuron_observer.errors import ConfigError

FRAGMENTS = "conf.d"
_MOST_FRAGMENTS = 1000
_NO_FILE = {stat.S_IFDIR: "cannot be read: Is a directory"}
_ODD = "is a pipe or a device: what is read again on SIGHUP must be a file"


class Text(NamedTuple):
    """A file as text."""

    file: str
    text: str
    public: bool  # anybody on this machine may read it


class Found(NamedTuple):
    """The files, in the order in which they count, and what is odd about them."""

    texts: tuple[Text, ...]
    problems: tuple[ConfigError, ...]
    remarks: tuple[str, ...]


def find(file: str, *, required: bool) -> Found:
    """A file and the `conf.d/*.yaml` beside it, by name; a file that is not there may be missed."""
    texts: list[Text] = []
    problems: list[ConfigError] = []
    remarks: list[str] = []
    try:
        names = _fragments(Path(file).parent / FRAGMENTS, remarks)
    except ConfigError as error:
        names = []
        problems.append(error)
    for path in (file, *names):
        try:
            texts.append(_read(path, named=path == file))
        except FileNotFoundError:
            if required or path != file:
                problems.append(ConfigError("cannot be read: No such file or directory", file=path))
        except OSError as error:
            problems.append(_unreadable(path, error))
        except ConfigError as error:
            problems.append(error)
    return Found(tuple(texts), tuple(problems), tuple(remarks))


def _unreadable(path: str, error: OSError) -> ConfigError:
    remedy = ""
    if isinstance(error, PermissionError):
        remedy = "Let this user read it, or name another with --config FILE (/dev/null: none)."
    return ConfigError(f"cannot be read: {error.strerror}", file=path, remedy=remedy)


def _fragments(folder: Path, remarks: list[str]) -> list[str]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names, not paths, are sorted
        status = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(str(folder), error) from error
    _believe(str(folder), status, named=False)
    chosen = [name for name in names if name.endswith(".yaml") and not name.startswith(".")]
    remarks += [
        f"{folder / name}: not read: only names that end in .yaml are"
        for name in names
        if name.endswith((".yml", ".json", ".YAML")) and not name.startswith(".")
    ]
    if len(chosen) > _MOST_FRAGMENTS:
        raise ConfigError(f"holds more than {_MOST_FRAGMENTS} files", file=str(folder))
    return [str(folder / name) for name in chosen]


def _read(path: str, *, named: bool) -> Text:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe may hang
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) and path != os.devnull:
            raise ConfigError(_NO_FILE.get(stat.S_IFMT(status.st_mode), _ODD), file=path)
        _believe(path, status, named=named)
        raw = b""
        while len(raw) <= MOST_BYTES and (more := os.read(descriptor, MOST_BYTES)):
            raw += more
    finally:
        os.close(descriptor)
    return Text(path, text_of(raw, path), public=bool(status.st_mode & stat.S_IROTH))


def _believe(path: str, status: os.stat_result, *, named: bool) -> None:
    if os.geteuid() != 0 or not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return
    if status.st_mode & stat.S_IWOTH:
        raise ConfigError(
            "anybody may write it, and root would do what it says",
            file=path,
            remedy=f"chmod o-w {path}",
        )
    if not named and status.st_uid != 0:
        raise ConfigError(
            f"belongs to user {status.st_uid}, and root would do what it says",
            file=path,
            remedy=f"chown root {path}, or remove it.",
        )
