"""What the cells of batches are, as a document, and the name by which a client tells it again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.model import Layout

ID = r"[0-9a-f]{16}"
_ALL = 2**64 - 1  # of the interpreter's own hash of text; hashlib would take 4 MB of memory


class Layouts:
    """The name of the layouts of a frame; each is worked out once for as long as it is there."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Layout, int]] = {}

    def id(self, of: Iterable[Layout]) -> str:
        """Sixteen digits, equal for equal layouts as long as this process lives."""
        before, self._known = self._known, {}
        for one in of:
            self._known[id(one)] = before.get(id(one)) or (one, _digest(one))
        whole = repr([digest for _, digest in self._known.values()])
        return f"{hash(whole) & _ALL:016x}"


def _digest(of: Layout) -> int:
    return hash(json.dumps(layout(of)))


def layout(of: Layout) -> dict[str, Any]:
    """Metric → places, as [device, core, label], in the order of the cells."""
    return {
        metric: [[place.device, place.core, place.label] for place in column.places]
        for metric, column in of.columns.items()
    }
