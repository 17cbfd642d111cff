"""Variables `NEURON_OBSERVER_KEY`, with `__` between a group and its key, as what they say.

Of a service that is called neuron-observer, Kubernetes gives every pod variables of the same
prefix (`…_SERVICE_HOST`, `…_PORT_9744_TCP`): those are no keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.config.document import unknown
from neuron_observer.config.keys import keys
from neuron_observer.config.said import Origin, Word, Words, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Struct

    from neuron_observer.config.keys import Key, Path
    from neuron_observer.config.said import Said
    from neuron_observer.errors import ConfigError

PREFIX = "NEURON_OBSERVER_"
_OTHERS = ("HOOK", "CONFIG", "HOST_ROOT")  # of the hook, of options
# of the hook, of `--connect`; of Kubernetes
_OF_OTHERS = ("HOOK_", "CONNECT_", "SERVICE_", "PORT_")


def variable(key: Key) -> str:
    """What a key is called in the environment."""
    return PREFIX + "__".join(key.path).upper()


def is_key(name: str) -> bool:
    """Whether a variable is meant as a key."""
    if not name.startswith(PREFIX):
        return False
    rest = name.removeprefix(PREFIX)
    return not (rest in (*_OTHERS, "PORT") or rest.startswith(_OF_OTHERS))


def read_environment(
    environment: Mapping[str, str], struct: type[Struct], problems: list[ConfigError]
) -> dict[Path, Said]:
    """What variables say, by key. An empty one says the empty text, or the empty list."""
    by_name = {variable(key): key for key in keys(struct).values()}
    found: dict[Path, Said] = {}
    for name, text in sorted(environment.items()):
        if not is_key(name):
            continue
        key, origin = by_name.get(name), Origin(name)
        if key is None:
            message, remedy = unknown("variable", name, by_name, ())
            problems.append(wrong(origin, message, remedy))
        elif key.form == "map":
            message = f"{key.name} cannot stand in the environment"
            problems.append(wrong(origin, message, "Put it into a file."))
        else:
            found[key.path] = _said(key, text, origin)
    return found


def _said(key: Key, text: str, origin: Origin) -> Said:
    if key.form not in ("paths", "addresses"):
        return Word(text, "", origin)
    items = tuple(Word(part.strip(), "", origin) for part in text.split(",") if part.strip())
    return Words(items, origin)
