"""What somebody said about a key, and where: the same for files, environment and flags."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from neuron_observer.errors import ConfigError


class Origin(NamedTuple):
    """Where a value comes from: a file and line, a variable, a flag; by itself: a default."""

    name: str = "default"
    line: int | None = None

    def __str__(self) -> str:
        """As it stands in messages."""
        return self.name if self.line is None else f"{self.name}:{self.line}"


DEFAULT = Origin()


class Word(NamedTuple):
    """A scalar. Its tag is YAML's without the prefix; of what is no YAML empty: any is right."""

    text: str
    tag: str
    origin: Origin


class Words(NamedTuple):
    """A list of scalars."""

    items: tuple[Word, ...]
    origin: Origin


Said: TypeAlias = "Word | Words"


def wrong(origin: Origin, message: str, remedy: str = "") -> ConfigError:
    """The error of what stands there."""
    return ConfigError(message, file=origin.name, line=origin.line, remedy=remedy)
